"""Verdicts: their effects, the questions before them, and the messages.

The tests work on disk, without an editor's edits.
"""

from __future__ import annotations

import asyncio

import msgspec
import pytest
from lsprotocol import types

from indwell.errors import UserError
from indwell.lsp.editor.answering import Answering
from indwell.lsp.messages.documents import VerdictArguments
from indwell.lsp.messages.features import ClientFeatures
from indwell.lsp.review.verdicts import KEEP, RESTORE, Verdicts
from indwell.review.hunk import Actor
from indwell.workspace.disk import DiskWorkspace
from support.ledgers import ME, change, ledger_in
from support.review_desk import Desk

BEFORE = "".join(f"line {number}\n" for number in range(1, 21))
LATER = Actor("s1", 2)


def new(*lines: int, text: str = BEFORE) -> str:
    for line in lines:
        text = text.replace(f"line {line}\n", f"new {line}\nand {line}\n")
    return text


class Client:
    """Answers questions, and records messages; without ``answer``, questions stay open."""

    def __init__(self) -> None:
        self.features = ClientFeatures(progress=True)
        self.answer: str | None = KEEP
        self.asked: list[tuple[str, tuple[str, ...]]] = []
        self.told: list[str] = []
        self.progressed: list[object] = []
        self.on_progress = lambda _value: None
        self.on_told = lambda: None

    async def choose(self, message: str, titles: tuple[str, ...], timeout_s: float) -> str | None:
        assert timeout_s <= 60
        self.asked.append((message, titles))
        if self.answer is None:
            await asyncio.Event().wait()
        return self.answer

    def show(self, level: types.MessageType, message: str) -> None:
        assert level == types.MessageType.Info
        self.told.append(message)
        self.on_told()

    async def create_progress(self, _token: str) -> bool:
        return True

    def progress(self, token: str, value: object) -> None:
        self.progressed.append(value)
        self.on_progress(token)


class Court(Desk):
    """A review on disk, with a user who accepts and rejects changes."""

    def __init__(self, folder, ledger, answer_s: float = 8.0) -> None:
        super().__init__(folder, ledger)
        self.client = Client()
        self.workspace = DiskWorkspace([folder])
        self.verdicts = Verdicts(
            self.reviewing,
            self.client,
            self.chores,
            Answering(self.client, self.chores),
            lambda: self.workspace,
            answer_s=answer_s,
        )
        self.reviewing.attach(ledger)

    async def judge(self, verb, **arguments):
        return await self.verdicts.judge(verb, VerdictArguments(**arguments))

    async def changed(self, name: str, *lines: int, actor: Actor = ME):
        """Create a file in which the agent replaced lines."""
        path = self.path(name)
        before = path.read_text(encoding="utf-8") if path.exists() else BEFORE
        path.write_bytes(new(*lines, text=before).encode())
        await change(self.ledger, path, before, path.read_text(encoding="utf-8"), actor)
        return path


@pytest.fixture
async def court(tmp_path):
    court = Court(tmp_path, await ledger_in(tmp_path, tmp_path))
    yield court
    court.reviewing.stop()
    await court.chores.stop()
    await court.ledger.close()


async def test_rejecting_one_hunk_of_three_reverts_and_reports_only_that_hunk(court) -> None:
    path = await court.changed("a.txt", 3, 9, 15)
    _, middle, _ = court.ledger.hunks(path)
    result = await court.judge("reject", hunks=(middle.id,), uri=path.as_uri())
    assert path.read_text(encoding="utf-8") == new(3, 15)
    assert (result.hunks, result.kept, result.gone) == ((middle.id,), (), ())
    assert court.client.told == ["Indwell: rejected 1 change in a.txt"]
    assert court.client.asked == []


async def test_a_rich_client_gets_the_result_only_in_the_answer(court) -> None:
    court.client.features = ClientFeatures(experimental=frozenset({"events"}))
    path = await court.changed("a.txt", 3)
    result = await court.judge("accept", uri=path.as_uri())
    assert result.message == "accepted 1 change in a.txt"
    assert court.client.told == []
    assert path.read_text(encoding="utf-8") == new(3)
    assert court.ledger.n_pending == 0


@pytest.mark.parametrize("verb", ["accept", "reject"])
async def test_verdicts_apply_to_a_file_a_turn_a_session_or_all_changes(court, verb) -> None:
    first = await court.changed("a.txt", 3)
    second = await court.changed("b.txt", 3, actor=LATER)
    third = await court.changed("c.txt", 3, actor=Actor("s0", 1))

    def pending() -> set[str]:
        return {path.name for path in court.ledger.paths()}

    await court.judge(verb, turn=2)
    assert pending() == {"a.txt", "c.txt"}
    assert (second.read_text(encoding="utf-8") == BEFORE) == (verb == "reject")
    await court.judge(verb, session="s1")
    assert pending() == {"c.txt"}
    await court.judge(verb, all=True)
    assert pending() == set()
    assert (first.read_text(encoding="utf-8") == third.read_text(encoding="utf-8") == BEFORE) == (
        verb == "reject"
    )


@pytest.mark.parametrize("verb", ["accept", "reject"])
async def test_undo_takes_back_verdicts_of_several_files_newest_first(court, verb) -> None:
    first = await court.changed("a.txt", 3)
    second = await court.changed("b.txt", 3, 9)
    await court.judge(verb, uri=first.as_uri())
    await court.judge(verb, all=True)
    assert court.verdicts.undoable == f"{verb}ed 2 changes in b.txt"
    undone = await court.verdicts.undo(wait=True)
    assert (undone.verdict, len(undone.hunks), undone.left, undone.kept) == (verb, 2, 1, ())
    assert undone.message == "2 changes in b.txt await your verdict again"
    assert court.ledger.n_pending == 2
    assert second.read_text(encoding="utf-8") == new(3, 9)
    undone = await court.verdicts.undo(wait=True)
    assert court.client.told[-1] == "Indwell: 1 change in a.txt awaits your verdict again"
    assert court.ledger.n_pending == 3
    assert first.read_text(encoding="utf-8") == new(3)
    undone = await court.verdicts.undo(wait=True)
    assert (undone.verdict, undone.message) == (None, "there is no verdict to undo")


async def test_an_undo_that_would_lose_lines_of_the_user_says_why(court) -> None:
    path = await court.changed("a.txt", 3)
    await court.judge("reject", all=True)
    path.write_bytes(BEFORE.replace("line 3\n", "mine\n").encode())
    undone = await court.verdicts.undo(wait=True)
    assert [(one.path, one.why) for one in undone.kept] == [
        ("a.txt", "you have changed the same lines since")
    ]
    assert undone.message == (
        "the reject in a.txt cannot be undone: you have changed the same lines since"
    )
    assert "mine\n" in path.read_text(encoding="utf-8")


async def test_review_arguments_must_select_changes(court) -> None:
    with pytest.raises(UserError, match="say which changes"):
        await court.judge("reject")
    with pytest.raises(UserError, match="is not a file"):
        await court.judge("reject", uri="untitled:x")
    court.session = None
    with pytest.raises(UserError, match="name the session of the turn"):
        await court.judge("reject", turn=1)


async def test_a_review_action_on_a_decided_hunk_does_nothing_and_reports_the_reason(court) -> None:
    path = await court.changed("a.txt", 3)
    (hunk,) = court.ledger.hunks(path)
    await court.judge("accept", hunks=(hunk.id,))
    result = await court.judge("reject", hunks=(hunk.id,))
    assert (result.hunks, result.gone) == ((), (hunk.id,))
    assert path.read_text(encoding="utf-8") == new(3)
    assert court.client.told[-1] == (
        "Indwell: the change that was shown is no longer pending, and nothing was done for it"
    )
    await court.judge("reject", all=True)
    assert court.client.told[-1] == "Indwell: nothing is pending there"


async def test_a_review_action_on_a_hunk_edited_since_does_nothing(
    court,
) -> None:
    path = await court.changed("a.txt", 3)
    (hunk,) = court.ledger.hunks(path)
    path.write_bytes(path.read_text(encoding="utf-8").replace("and 3", "mine").encode())
    court.documents.changed_on_disk([path.as_uri()])
    result = await court.judge("reject", hunks=(hunk.id,))
    assert (result.hunks, result.gone) == ((), (hunk.id,))
    assert "mine\n" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("answer", "expected", "n_kept"),
    [
        (KEEP, new(3).replace("and 3", "mine"), 1),
        ("", new(3).replace("and 3", "mine"), 1),
        (RESTORE, BEFORE, 0),
    ],
)
async def test_rejecting_lines_that_the_user_changed_needs_a_yes_and_is_one_edit(
    court, answer, expected, n_kept
) -> None:
    path = await court.changed("a.txt", 3, 9)
    path.write_bytes(path.read_text(encoding="utf-8").replace("and 3", "mine").encode())
    court.documents.changed_on_disk([path.as_uri()])
    court.client.answer = answer
    result = await court.judge("reject", uri=path.as_uri())
    ((message, titles),) = court.client.asked
    assert titles == (KEEP, RESTORE)  # the first title is the default
    assert message == (
        "Indwell: reject this change anyway, and lose later changes?\na.txt, line 3: you have "
        "changed lines of it since"
    )
    assert path.read_text(encoding="utf-8") == expected
    assert len(result.kept) == n_kept
    if n_kept:
        (told,) = court.client.told
        assert told == (
            "Indwell: rejected 1 change in a.txt; 1 change stays pending (a.txt: you have "
            "changed lines of it since)"
        )


async def test_files_that_need_no_question_do_not_wait_for_an_answer_about_others(court) -> None:
    path, other = await court.changed("a.txt", 3), await court.changed("b.txt", 3)
    path.write_bytes(path.read_text(encoding="utf-8").replace("and 3", "mine").encode())
    court.documents.changed_on_disk([path.as_uri()])
    court.client.answer = None
    gone = asyncio.Event()
    court.ledger.on_change(lambda: gone.set() if not court.ledger.hunks(other) else None)
    judging = asyncio.create_task(court.judge("reject", all=True))
    async with asyncio.timeout(60):
        await gone.wait()
    assert other.read_text(encoding="utf-8") == BEFORE
    assert court.verdicts.cancel("indwell-verdict-1")  # cancelling ends the question as well
    result = await judging
    assert [row.why for row in result.kept] == ["stopped before this one"]
    assert "mine\n" in path.read_text(encoding="utf-8")


async def test_a_slow_command_is_answered_in_time_and_its_end_reported_later(tmp_path) -> None:
    court = Court(tmp_path, await ledger_in(tmp_path, tmp_path), answer_s=0.05)
    path = await court.changed("a.txt", 3)
    path.write_bytes(path.read_text(encoding="utf-8").replace("and 3", "mine").encode())
    court.documents.changed_on_disk([path.as_uri()])
    court.client.answer = None
    result = await court.judge("reject", all=True)
    assert (result.running, result.hunks) == (True, ())
    told = asyncio.Event()
    court.client.on_told = told.set
    assert court.verdicts.cancel("indwell-verdict-1")
    async with asyncio.timeout(60):
        await told.wait()
    assert court.client.told == ["Indwell: 1 change stays pending (a.txt: stopped before this one)"]
    court.reviewing.stop()
    await court.chores.stop()
    await court.ledger.close()


async def test_rejecting_lines_that_a_later_turn_rewrote_needs_another_yes(court) -> None:
    path = await court.changed("a.txt", 3)
    before = path.read_text(encoding="utf-8")
    path.write_bytes(before.replace("new 3", "newer 3").encode())
    await change(court.ledger, path, before, path.read_text(encoding="utf-8"), LATER)
    result = await court.judge("reject", turn=1)
    assert (len(court.client.asked), result.hunks) == (1, ())
    assert [row.why for row in result.kept] == ["a later change rewrote the same lines"]
    assert path.read_text(encoding="utf-8") == before.replace("new 3", "newer 3")


async def test_a_long_verdict_shows_its_progress_and_can_be_stopped_between_files(court) -> None:
    paths = [await court.changed(f"{number:02}.txt", 3) for number in range(30)]

    def stop(token: str) -> None:
        if len(court.client.progressed) == 4:
            court.verdicts.cancel(token)

    court.client.on_progress = stop
    result = await court.judge("reject", all=True)
    done = [path for path in paths if path.read_text(encoding="utf-8") == BEFORE]
    assert 0 < len(done) < 30
    assert {row.why for row in result.kept} == {"stopped before this one"}
    assert len(result.hunks) + len(result.kept) == 30
    begin, *_, end = court.client.progressed
    assert isinstance(begin, types.WorkDoneProgressBegin)
    assert begin.cancellable
    assert isinstance(end, types.WorkDoneProgressEnd)
    assert not court.verdicts.cancel("indwell-verdict-1")


async def test_a_verdict_waits_for_a_running_edit_of_the_agent(court) -> None:
    path = await court.changed("a.txt", 3)
    (hunk,) = court.ledger.hunks(path)
    after = new(9, text=path.read_text(encoding="utf-8"))
    pending = await court.ledger.begin(LATER, "call", path, path.read_text(encoding="utf-8"), after)
    judging = asyncio.create_task(court.judge("reject", hunks=(hunk.id,)))
    await asyncio.sleep(0)
    path.write_bytes(after.encode())
    await court.ledger.finish(pending, after, accepted=False)
    await judging
    assert path.read_text(encoding="utf-8") == new(9)


async def test_created_and_deleted_files_are_accepted_or_rejected_as_a_whole(court) -> None:
    made, gone = court.path("made.txt", "a\nb\n"), court.path("gone.txt")
    await change(court.ledger, made, None, "a\nb\n")
    await court.ledger.made(ME, "call", gone, "was\n", None, accepted=False)
    result = await court.judge("reject", all=True)
    assert len(result.hunks) == 2
    assert not made.exists()
    assert gone.read_text(encoding="utf-8") == "was\n"


async def test_a_verdicts_result_survives_json(court) -> None:
    await court.changed("a.txt", 3)
    result = await court.judge("accept", all=True)
    assert msgspec.json.decode(msgspec.json.encode(result))["verdict"] == "accept"
