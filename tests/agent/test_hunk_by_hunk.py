"""The user can answer the question about an edit hunk by hunk (POL-22)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from indwell.agent.core.events import EditApplied, PermissionAnswered
from indwell.policy.approvals import Chosen, Question, Reply
from indwell.policy.call_facts import Policy
from indwell.sessions.records import Decided
from support.memory_workspace import ROOT, MemoryWorkspace
from support.session import World, a_world, asks, call, says

BEFORE = "".join(f"line {n}\n" for n in range(1, 41))
EDITS = [
    {"old": "line 2\n", "new": "two\n"},
    {"old": "line 20\n", "new": "twenty\ntwenty and a half\n"},
    {"old": "line 38\n", "new": "thirty-eight\n"},
]
SCRIPT = [
    asks(call("read_file", path="a.txt")),
    asks(call("edit_file", "c2", path="a.txt", edits=EDITS)),
    says("done"),
]


class Choosing:
    """Approves the hunks with these numbers, after running a callback."""

    def __init__(self, *numbers: int, happens: Callable[[], None] = lambda: None) -> None:
        self.questions: list[Question] = []
        self._numbers = numbers
        self._happens = happens

    async def ask(self, question: Question) -> Reply:
        self.questions.append(question)
        self._happens()
        return Chosen(tuple(question.hunks[number - 1].id for number in self._numbers))


class Agreeing:
    """Says yes to the whole edit, after running a callback."""

    def __init__(self, happens: Callable[[], None]) -> None:
        self._happens = happens

    async def ask(self, question: Question) -> Reply:
        del question
        self._happens()
        return "once"


def answer_with(world: World, approver: Choosing | Agreeing) -> None:
    world.session.parts = dataclasses.replace(world.session.parts, approver=approver)


def changed(*pairs: tuple[str, str]) -> str:
    text = BEFORE
    for old, new in pairs:
        text = text.replace(old, new)
    return text


async def test_pol_22_only_accepted_hunks_are_applied_and_the_model_is_told_which(
    tmp_path: Path,
) -> None:
    workspace = MemoryWorkspace({"a.txt": BEFORE})
    async with a_world(tmp_path, SCRIPT, workspace=workspace, policy=Policy("ask")) as world:
        approver = Choosing(1)
        answer_with(world, approver)
        await world.turn()
        (question,) = approver.questions
        assert [hunk.header for hunk in question.hunks] == [
            "@@ -1,5 +1,5 @@",
            "@@ -17,7 +17,8 @@",
            "@@ -35,6 +36,6 @@",
        ]
        assert all(hunk.text in question.detail for hunk in question.hunks)
        assert workspace.files[ROOT / "a.txt"] == changed(("line 2\n", "two\n"))
        assert not world.results[-1].is_error
        assert world.results[-1].text == (
            "edited a.txt: +1 −1\n"
            "--- a/a.txt\n+++ b/a.txt\n"
            "@@ -1,5 +1,5 @@\n line 1\n-line 2\n+two\n line 3\n line 4\n line 5\n"
            "The user was asked hunk by hunk: 1 of 3 hunks of this edit were allowed, and the diff "
            "above is all that was applied. 2 were refused and not applied; do not repeat them "
            "unless the user asks:\n"
            "@@ -17,7 +17,8 @@\n line 17\n line 18\n line 19\n-line 20\n+twenty\n"
            "+twenty and a half\n line 21\n line 22\n line 23\n"
            "@@ -35,6 +36,6 @@\n line 35\n line 36\n line 37\n-line 38\n+thirty-eight\n"
            " line 39\n line 40"
        )
        (applied,) = world.told(EditApplied)
        assert (applied.added, applied.removed) == (1, 1)
        (answered,) = world.told(PermissionAnswered)
        assert (answered.answer, answered.hunks) == ("hunks", (question.hunks[0].id,))
        decided = [one for one in await world.records() if isinstance(one, Decided)]
        assert decided[-1].answer == "1 of 3 hunks"


async def test_the_model_knows_the_current_text_after_a_partial_refusal(tmp_path: Path) -> None:
    """The model's next edit of the refused lines finds the unchanged lines."""
    again = [{"old": "line 20\n", "new": "20\n"}, {"old": "two\n", "new": "2\n"}]
    script = [*SCRIPT[:2], asks(call("edit_file", "c3", path="a.txt", edits=again)), says()]
    workspace = MemoryWorkspace({"a.txt": BEFORE})
    async with a_world(tmp_path, script, workspace=workspace, policy=Policy("ask")) as world:
        answer_with(world, Choosing(1))
        await world.turn()
        assert [one.is_error for one in world.results] == [False, False, False]
        assert workspace.files[ROOT / "a.txt"] == changed(("line 2\n", "2\n"))


async def test_the_user_answers_a_rewritten_file_hunk_by_hunk(tmp_path: Path) -> None:
    text = changed(("line 2\n", "two\n"), ("line 38\n", ""))
    write = asks(call("write_file", "c2", path="a.txt", content=text))
    workspace = MemoryWorkspace({"a.txt": BEFORE})
    async with a_world(
        tmp_path, [SCRIPT[0], write, says()], workspace=workspace, policy=Policy("ask")
    ) as world:
        answer_with(world, Choosing(2))
        await world.turn()
        assert workspace.files[ROOT / "a.txt"] == changed(("line 38\n", ""))
        assert world.results[-1].text.startswith("wrote a.txt (39 lines): +0 −1\n")
        assert "1 of 2 hunks of this edit were allowed" in world.results[-1].text


@pytest.mark.parametrize("numbers", [(), (1, 2, 3)])
async def test_choosing_no_hunk_is_a_no_and_choosing_all_is_a_yes(
    tmp_path: Path, numbers: tuple[int, ...]
) -> None:
    workspace = MemoryWorkspace({"a.txt": BEFORE})
    async with a_world(tmp_path, SCRIPT, workspace=workspace, policy=Policy("ask")) as world:
        answer_with(world, Choosing(*numbers))
        await world.turn()
        (answered,) = world.told(PermissionAnswered)
        assert answered.answer == ("once" if numbers else "no")
        assert world.results[-1].is_error == (not numbers)
        assert "hunk by hunk" not in world.results[-1].text
        assert (workspace.files[ROOT / "a.txt"] == BEFORE) == (not numbers)


async def test_an_answer_applies_to_the_shown_hunks_even_if_their_lines_moved(
    tmp_path: Path,
) -> None:
    workspace = MemoryWorkspace({}, unsaved={"a.txt": BEFORE})
    path = ROOT / "a.txt"

    typed = ("line 10\n", "10\n" + "typed\n" * 9)

    def type_above() -> None:
        workspace.buffers[path] = changed(typed)

    async with a_world(tmp_path, SCRIPT, workspace=workspace, policy=Policy("ask")) as world:
        answer_with(world, Choosing(3, happens=type_above))
        await world.turn()
        assert workspace.buffers[path] == changed(typed, ("line 38\n", "thirty-eight\n"))
        assert "right after the edit" not in world.results[-1].text


BLOCK = "a\nb\nc\nd\ne\nf\ng\nh\n"


@pytest.mark.parametrize("is_above", [True, False])
@pytest.mark.parametrize("numbers", [None, (1,)])
@pytest.mark.parametrize("is_all", [True, False])
async def test_an_answer_about_a_hunk_is_void_if_equal_lines_appeared_since(
    tmp_path: Path, *, is_all: bool, numbers: tuple[int, ...] | None, is_above: bool
) -> None:
    """After the change, the lines do not show which of the equal blocks the answer meant."""
    path, before = ROOT / "a.txt", BLOCK * 6
    workspace = MemoryWorkspace({}, unsaved={"a.txt": before})
    now = BLOCK + before if is_above else f"{before}x\n{BLOCK}"

    def type_one_more() -> None:
        workspace.buffers[path] = now

    after = before.replace("d\n", "D\n", -1 if is_all else 2)
    write = asks(call("edit_file", "c2", path="a.txt", edits=[{"old": before, "new": after}]))
    script = [SCRIPT[0], write, says()]
    async with a_world(tmp_path, script, workspace=workspace, policy=Policy("ask")) as world:
        approver = Agreeing(type_one_more)
        answer_with(world, Choosing(*numbers, happens=type_one_more) if numbers else approver)
        await world.turn()
        assert world.results[-1].is_error
        assert workspace.buffers[path] == now


async def test_equal_hunks_are_answered_separately_if_nothing_moved(tmp_path: Path) -> None:
    path = ROOT / "a.txt"
    workspace = MemoryWorkspace({}, unsaved={"a.txt": BLOCK * 6})
    edits = [{"old": "d\n", "new": "D\n", "all": True}]
    script = [SCRIPT[0], asks(call("edit_file", "c2", path="a.txt", edits=edits)), says()]
    async with a_world(tmp_path, script, workspace=workspace, policy=Policy("ask")) as world:
        answer_with(world, Choosing(3))
        await world.turn()
        assert workspace.buffers[path] == BLOCK * 2 + BLOCK.replace("d", "D") + BLOCK * 3


async def test_an_answer_is_void_if_a_hunk_changed_during_the_question(tmp_path: Path) -> None:
    workspace = MemoryWorkspace({}, unsaved={"a.txt": BEFORE})
    path = ROOT / "a.txt"

    def type_near() -> None:
        workspace.buffers[path] = workspace.buffers[path].replace("line 36\n", "36\n")

    async with a_world(tmp_path, SCRIPT, workspace=workspace, policy=Policy("ask")) as world:
        answer_with(world, Choosing(1, happens=type_near))
        await world.turn()
        assert world.results[-1].text.startswith("what it would do changed while the user")
        assert workspace.buffers[path] == changed(("line 36\n", "36\n"))
