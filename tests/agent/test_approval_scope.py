"""A user's yes applies only to the shown call, with the folder, paths and rules of the question."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from indwell.agent.loop.dispatch import MOST_CALLS
from indwell.bounds.rules import Rules
from indwell.policy.approvals import Answer, Question
from indwell.policy.call_facts import Allow, CallFacts, Deny, Policy
from indwell.policy.decide import decide
from indwell.tools.commands.bash import Shell
from indwell.wiring.features import standard_tools
from indwell.workspace.disk import DiskWorkspace
from support.memory_workspace import ROOT, MemoryWorkspace
from support.platforms import posix_only
from support.session import World, a_world, asks, call, says


class Meddler:
    """Answers every question with "once", after running a callback."""

    def __init__(self, happens: Callable[[], None]) -> None:
        self.questions: list[Question] = []
        self._happens = happens

    async def ask(self, question: Question) -> Answer:
        self.questions.append(question)
        self._happens()
        return "once"


def on_disk(folder: Path) -> tuple[DiskWorkspace, Path]:
    work = folder / "work"
    (work / "evil").mkdir(parents=True)
    (work / "out").mkdir()
    (work / ".git" / "hooks").mkdir(parents=True)
    (work / "a.py").write_bytes(b"x = 1\n")
    workspace = DiskWorkspace([work])
    return workspace, workspace.roots[0]


def meddle(world: World, happens: Callable[[], None]) -> Meddler:
    meddler = Meddler(happens)
    world.session.parts = dataclasses.replace(world.session.parts, approver=meddler)
    return meddler


async def test_a_permission_question_names_the_folder_where_the_command_would_run(
    tmp_path: Path,
) -> None:
    workspace, root = on_disk(tmp_path)
    script = [
        asks(*(call("bash", command=f"rm -f x; {one}") for one in ("cd evil", "pwd"))),
        says("done"),
    ]
    registry = standard_tools(Shell(root))
    async with a_world(
        tmp_path, script, workspace=workspace, registry=registry, answers=["once", "once"]
    ) as world:
        await world.turn()
    assert [one.title for one in world.approver.questions] == [
        f"Run a command in {root.as_posix()}?",
        f"Run a command in {(root / 'evil').as_posix()}?",
    ]
    assert Path(world.results[1].text.removesuffix("\nexit code 0")) == root / "evil"


async def test_a_rule_for_one_folder_does_not_apply_to_another_folder(tmp_path: Path) -> None:
    workspace, root = on_disk(tmp_path)
    calls = ("rm -f x; pwd", "rm -f x; cd evil", "rm -f x; pwd")
    script = [asks(*(call("bash", command=one) for one in calls)), says("done")]
    registry = standard_tools(Shell(root))
    async with a_world(
        tmp_path, script, workspace=workspace, registry=registry, answers=["session", "once", "no"]
    ) as world:
        await world.turn()
    assert [one.detail for one in world.approver.questions] == list(calls)
    assert "did not allow" in world.results[2].text


@posix_only("symlinks")
async def test_a_write_is_refused_if_the_folder_becomes_a_link_during_the_question(
    tmp_path: Path,
) -> None:
    workspace, root = on_disk(tmp_path)
    script = [asks(call("write_file", path="out/pre-commit", content="evil")), says("done")]

    def swap() -> None:
        (root / "out").rmdir()
        (root / "out").symlink_to(root / ".git" / "hooks")

    async with a_world(tmp_path, script, workspace=workspace, policy=Policy("ask")) as world:
        meddle(world, swap)
        await world.turn()
    assert "changed while the user was asked" in world.results[0].text
    assert list((root / ".git" / "hooks").iterdir()) == []


async def test_a_permission_ends_when_the_mode_changes(tmp_path: Path) -> None:
    workspace, root = on_disk(tmp_path)
    script = [asks(call("bash", command="touch ran")), says("done")]
    modes = ["auto"]
    registry = standard_tools(Shell(root))
    async with a_world(tmp_path, script, workspace=workspace, registry=registry) as world:
        world.session.parts = dataclasses.replace(
            world.session.parts, rules=lambda: Rules(Policy(modes[-1]))
        )
        meddle(world, lambda: modes.append("plan"))
        await world.turn()
    assert "not allowed" in world.results[0].text
    assert not (root / "ran").exists()


async def test_too_many_calls_in_one_reply_are_cut_and_each_call_gets_a_result(
    tmp_path: Path,
) -> None:
    flood = [call("read_file", path="a.py", offset=number + 1) for number in range(MOST_CALLS + 6)]
    async with a_world(tmp_path, [asks(*flood), says("done")], files={"a.py": "x\n"}) as world:
        await world.turn()
    cut = [result.is_error and "was not run" in result.text for result in world.results]
    assert cut[-6:] == [True] * 6
    assert len(cut) == MOST_CALLS + 6
    assert not any(cut[:MOST_CALLS])


@pytest.mark.parametrize("effect", ["read", "edit"])
def test_no_tool_may_access_the_folders_of_indwell(effect: str) -> None:
    policy = Policy("auto", own=("/h/.local/state/indwell", "/h/.config/indwell"))
    asked = CallFacts(
        tool="t", effect=effect, paths=("x",), resolved=("/h/.config/Indwell/config.toml",)
    )
    assert isinstance(decide(asked, policy), Deny)
    near = msgspec.structs.replace(asked, resolved=("/h/.config/indwell-notes/a.md",))
    assert isinstance(decide(near, policy), Allow)


def test_spilled_texts_of_the_session_are_read_only() -> None:
    spill = "/h/.local/state/indwell/sessions/w/1/spill"
    policy = Policy("auto", own=("/h/.local/state/indwell",), readable=(spill,))
    read = CallFacts(tool="read_file", effect="read", paths=("x",), resolved=(f"{spill}/1.txt",))
    assert decide(read, policy) == Allow()
    assert isinstance(decide(msgspec.structs.replace(read, effect="edit"), policy), Deny)
    log = msgspec.structs.replace(
        read, resolved=("/h/.local/state/indwell/sessions/w/1/log.jsonl",)
    )
    assert isinstance(decide(log, policy), Deny)


def test_a_command_too_long_to_analyse_is_denied() -> None:
    asked = CallFacts(tool="bash", effect="run", command="true " + "#" * 8_000)
    assert isinstance(decide(asked, Policy("auto")), Deny)


@pytest.mark.parametrize(
    ("typed", "taken"), [("above", True), ("on the edited line", False), ("beside it", False)]
)
async def test_typing_in_another_file_during_a_question_does_not_void_the_yes(
    tmp_path: Path, typed: str, *, taken: bool
) -> None:
    lines = [f"x{number} = {number}\n" for number in range(40)]
    workspace = MemoryWorkspace({"a.py": "".join(lines)})
    edit = call("edit_file", path="a.py", edits=[{"old": "x20 = 20", "new": "x20 = 21"}])
    script = [asks(call("read_file", path="a.py")), asks(edit), says("done")]
    at = {"above": 3, "on the edited line": 20, "beside it": 19}[typed]

    def type_something() -> None:
        text = "".join(
            [*lines[:at], "typed\n", *lines[at if typed != "on the edited line" else at + 1 :]]
        )
        workspace.files[ROOT / "a.py"] = text

    async with a_world(tmp_path, script, workspace=workspace, policy=Policy("ask")) as world:
        meddle(world, type_something)
        await world.turn()
    now = workspace.files[ROOT / "a.py"]
    assert "typed\n" in now
    assert ("x20 = 21" in now) == taken
