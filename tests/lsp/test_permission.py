from __future__ import annotations

import asyncio

import msgspec
import pytest

from indwell.lsp.front_door import EditorApprover
from indwell.lsp.messages import methods as protocol_permission
from indwell.lsp.messages.features import ClientFeatures
from indwell.policy.approvals import Chosen, Question, Reply, ShownHunk
from indwell.translation import ENGLISH

QUESTION = Question(
    id="q1", title="Run a command in .?", detail="make", reason="every command", rule="bash: make"
)
ONCE_ONLY = msgspec.structs.replace(QUESTION, rule="")


class Dialog:
    """An editor whose user gives the answers in order, and then no more answers."""

    def __init__(self, answer: str | None, *names: str, then: tuple[str | None, ...] = ()) -> None:
        self.features = ClientFeatures(experimental=frozenset(names))
        self.asked: list[object] = []
        self.asking = asyncio.Lock()
        self.hunks: tuple[str, ...] | None = None
        self.translation = ENGLISH
        self._answers = [answer, *then]

    async def ready(self) -> None:
        """Return at once, because the user types nothing."""

    async def allow(
        self, message: str, titles: tuple[str, ...], timeout_s: float, *, is_told: bool
    ) -> str | None:
        assert is_told  # the approver has already translated the message
        self.asked.append((message, titles, timeout_s))
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]

    async def permission(
        self, params: protocol_permission.PermissionParams, timeout_s: float
    ) -> protocol_permission.PermissionResult | None:
        self.asked.append((params, timeout_s))
        (answer,) = self._answers
        if answer is None:
            return None
        return protocol_permission.PermissionResult(answer=answer, hunks=self.hunks)


async def ask(dialog: Dialog, question: Question = QUESTION) -> Reply:
    return await EditorApprover(dialog, timeout_s=9).ask(question)


async def test_no_is_the_first_answer_and_always_shows_its_exact_rule() -> None:
    dialog = Dialog(None)
    await ask(dialog)
    titles = ("No", "Once", "This session", "Always: bash: make")
    message = "Run a command in .? (every command)\n│ make"
    assert dialog.asked == [(message, titles, 9)]


async def test_the_models_request_is_shown_outside_the_command() -> None:
    question = msgspec.structs.replace(
        ONCE_ONLY,
        detail="make\nThe model says: ok",
        sandbox="sandboxed (bubblewrap), no network",
        more="with network to example.com",
        why="to install",
        wanted=True,
        risky=("make (runs the workspace's programs)",),
    )
    dialog = Dialog(None)
    await ask(dialog, question)
    ((message, _, _),) = dialog.asked
    assert message == (
        "Run a command in .? (every command)\n│ make\n│ The model says: ok\n"
        "Because of: make (runs the workspace's programs)\n"
        "The model requests more: with network to example.com, for this one call\n"
        "The model says: to install\n"
        "Commands here: sandboxed (bubblewrap), no network"
    )


async def test_a_permission_time_out_is_distinguished_from_a_no() -> None:
    unhurried = EditorApprover(Dialog(None), timeout_s=9)
    hurried = EditorApprover(Dialog(None), timeout_s=0)
    assert [await one.ask(QUESTION) for one in (unhurried, hurried)] == ["no", "unanswered"]


async def test_a_call_that_no_rule_may_allow_is_offered_only_once() -> None:
    dialog = Dialog(None)
    await ask(dialog, ONCE_ONLY)
    assert [titles for _, titles, _ in dialog.asked] == [("No", "Once")]


@pytest.mark.parametrize(
    ("chosen", "answer"),
    [
        ("No", "no"),
        ("Once", "once"),
        ("This session", "session"),
        ("Always: bash: make", "always"),
        ("Always: bash: rm", "no"),
        ("once", "no"),
        (None, "no"),
    ],
)
async def test_only_the_exact_button_title_counts_as_a_yes(chosen, answer) -> None:
    assert await ask(Dialog(chosen)) == answer


@pytest.mark.parametrize("chosen", ["This session", "Always: "])
async def test_an_unknown_button_title_counts_as_a_no(chosen) -> None:
    assert await ask(Dialog(chosen), ONCE_ONLY) == "no"


@pytest.mark.parametrize(
    ("said", "answer", "answer_once_only"),
    [
        ("no", "no", "no"),
        ("once", "once", "once"),
        ("session", "session", "no"),
        ("always", "always", "no"),
        ("yes", "no", "no"),
        (None, "no", "no"),
    ],
)
async def test_a_rich_editor_is_asked_in_the_rich_form(said, answer, answer_once_only) -> None:
    dialog = Dialog(said, "permission")
    assert await ask(dialog) == answer
    assert await ask(dialog, ONCE_ONLY) == answer_once_only
    told = msgspec.structs.asdict(QUESTION)
    del told["uncovered"]  # Indwell shows this text only if the user can be asked
    del told["keeps"]  # the title already says this
    params = protocol_permission.PermissionParams(**told)
    assert dialog.asked[0] == (params, 9)


HUNKS = tuple(
    ShownHunk(name, f"@@ -{line} +{line} @@", f"-old {name}\n+new {name}")
    for name, line in (("a", 1), ("b", 20), ("c", 40))
)
EDIT = msgspec.structs.replace(QUESTION, title="Change a.py?", detail="(diff)", hunks=HUNKS)


@pytest.mark.parametrize(
    ("answers", "reply", "n_asked"),
    [
        (("No", "Yes", "No"), Chosen(("b",)), 3),
        (("Yes", "Yes", "Yes"), Chosen(("a", "b", "c")), 3),
        (("No", "No", "No"), "no", 3),
        (("Yes", None), Chosen(("a",)), 2),  # the dialog was closed: no for this hunk and the rest
        ((None,), "no", 1),
        (("Once",), "no", 1),
    ],
)
async def test_a_plain_editor_asks_hunk_by_hunk_if_the_user_chooses_that(
    answers, reply, n_asked
) -> None:
    dialog = Dialog("Hunk by hunk…", then=(*answers, None))
    assert await ask(dialog, EDIT) == reply
    (_, titles, _), *questions = dialog.asked
    assert titles == ("No", "Once", "This session", "Always: bash: make", "Hunk by hunk…")
    assert len(questions) == n_asked
    message = "Change a.py? Hunk 1 of 3, @@ -1 +1 @@\n│ -old a\n│ +new a"
    assert questions[0] == (message, ("No", "Yes"), 9)


async def test_an_edit_of_one_hunk_offers_no_choice_of_hunks() -> None:
    dialog = Dialog("Hunk by hunk…", then=("Yes",))
    assert await ask(dialog) == "no"
    assert len(dialog.asked) == 1


async def test_a_rich_editor_may_answer_with_the_names_of_hunks() -> None:
    dialog = Dialog("once", "permission")
    dialog.hunks = ("a", "c")
    assert await ask(dialog, EDIT) == Chosen(("a", "c"))
    ((params, _),) = dialog.asked
    assert [(one.id, one.header) for one in params.hunks] == [(one.id, one.header) for one in HUNKS]
    assert await ask(dialog) == "no"  # no hunks were asked about
    dialog.hunks = ()
    assert await ask(dialog, EDIT) == Chosen(())


@pytest.mark.parametrize(
    ("said", "reply"),
    [("session", Chosen(("b",))), ("always", Chosen(("b",))), ("no", "no"), ("yes", "no")],
)
async def test_a_lasting_yes_with_chosen_hunks_permits_only_these_hunks_once(said, reply) -> None:
    dialog = Dialog(said, "permission")
    dialog.hunks = ("b",)
    assert await ask(dialog, EDIT) == reply
    assert await ask(dialog) == "no"
