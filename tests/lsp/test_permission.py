from __future__ import annotations

import msgspec
import pytest

from indwell.lsp import protocol
from indwell.lsp.features import Features
from indwell.lsp.permission import EditorApprover
from indwell.policy.approvals import Question

QUESTION = Question(
    id="q1", title="Run a command in .?", detail="make", reason="every command", rule="bash: make"
)
ONCE_ONLY = msgspec.structs.replace(QUESTION, rule="")


class Dialog:
    """An editor whose user gives one answer."""

    def __init__(self, answer: str | None, *names: str) -> None:
        self.features = Features(experimental=frozenset(names))
        self.asked: list[object] = []
        self._answer = answer

    async def choose(self, message: str, titles: tuple[str, ...], timeout_s: float) -> str | None:
        self.asked.append((message, titles, timeout_s))
        return self._answer

    async def permission(self, params: protocol.PermissionParams, timeout_s: float) -> str | None:
        self.asked.append((params, timeout_s))
        return self._answer


async def ask(dialog: Dialog, question: Question = QUESTION) -> str:
    return await EditorApprover(dialog, timeout_s=9).ask(question)


async def test_no_stands_first_and_always_shows_its_exact_rule() -> None:
    dialog = Dialog(None)
    await ask(dialog)
    titles = ("No", "Once", "This session", "Always: bash: make")
    message = "Run a command in .? (every command)\n│ make"
    assert dialog.asked == [(message, titles, 9)]


async def test_what_the_model_wants_is_said_outside_of_the_command() -> None:
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
        "The model asks for more: with network to example.com, for this one call\n"
        "The model says: to install\n"
        "Commands here: sandboxed (bubblewrap), no network"
    )


async def test_nobody_in_time_is_told_from_a_no() -> None:
    unhurried = EditorApprover(Dialog(None), timeout_s=9)
    hurried = EditorApprover(Dialog(None), timeout_s=0)
    assert [await one.ask(QUESTION) for one in (unhurried, hurried)] == ["no", "unanswered"]


async def test_what_no_rule_may_allow_is_offered_once_only() -> None:
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
async def test_only_the_exact_title_is_a_yes(chosen, answer) -> None:
    assert await ask(Dialog(chosen)) == answer


@pytest.mark.parametrize("chosen", ["This session", "Always: "])
async def test_a_title_that_was_not_offered_is_a_no(chosen) -> None:
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
    del told["uncovered"]  # of nobody who can be asked
    params = protocol.PermissionParams(**told)
    assert dialog.asked[0] == (params, 9)
