"""Renames in real turns: all files or none, review by hunk, and refusals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from indwell.agent.features.tool_features import navigation_feature
from indwell.errors import EditRefused
from indwell.messages import ToolResult
from indwell.navigation.navigator import CodeAnswer, CodeQuestion, Navigator, ServerEdit
from indwell.navigation.user_servers import RunningServers, UserServers
from indwell.policy.call_facts import Policy
from indwell.review.ledger import ReviewLedger
from indwell.review.verdicts import Scope, reject
from indwell.workspace.base import AppliedChange, Snapshot
from support.memory_workspace import ROOT, MemoryWorkspace
from support.session import a_world, asks, call, says, with_parts

A, B = ROOT / "a.py", ROOT / "b.py"
ELSE = ROOT.parent / "else" / "c.py"
FILES = {"a.py": "x = 1\nold = '🙂'; old\n", "b.py": "from a import old\n" + "\n" * 20 + "old\n"}
RENAMED = {name: text.replace("old", "new") for name, text in FILES.items()}
NO_SERVERS = UserServers(RunningServers(), (), dict, lambda: None, lambda: False)
RENAME = asks(call("navigate", action="rename", path="a.py", line=2, symbol="old", new_name="new"))
EDITS = {
    A: (ServerEdit(1, 0, 1, 3, "new"), ServerEdit(1, 12, 1, 15, "new")),
    B: (ServerEdit(21, 0, 21, 3, "new"), ServerEdit(0, 14, 0, 17, "new")),
}


class Renames:
    """A source that answers with a rename; columns count UTF-16 units."""

    def __init__(self, changes: Mapping[Path, tuple[ServerEdit, ...]], refusal: str = "") -> None:
        self._answer = CodeAnswer("a server", changes=changes, refusal=refusal)

    async def ask(self, question: CodeQuestion) -> CodeAnswer | None:
        assert (question.action, question.line, question.column) == ("rename", 1, 0)
        return self._answer


async def renamed(
    tmp_path: Path, source: Renames, workspace: MemoryWorkspace, **more: Any
) -> ToolResult:
    features = [navigation_feature(Navigator((source,)), NO_SERVERS)]
    async with a_world(
        tmp_path, [RENAME, says("done")], workspace=workspace, features=features, **more
    ) as world:
        await world.turn()
        (result,) = world.results
    return result


def texts(workspace: MemoryWorkspace) -> dict[str, str]:
    return {path.name: text for path, text in workspace.files.items()}


async def test_columns_of_a_server_are_read_in_its_encoding(tmp_path: Path) -> None:
    workspace = MemoryWorkspace(FILES)
    result = await renamed(tmp_path, Renames(EDITS), workspace)
    assert result.text.strip().startswith("renamed old to new: 4 places in 2 files\n")
    assert texts(workspace) == RENAMED


async def test_each_hunk_of_a_rename_can_be_rejected(tmp_path: Path) -> None:
    workspace = MemoryWorkspace(FILES)
    ledger = await ReviewLedger.open(tmp_path / "review", workspace.roots)
    features = [navigation_feature(Navigator((Renames(EDITS),)), NO_SERVERS)]
    async with a_world(
        tmp_path,
        [RENAME, says("done")],
        workspace=workspace,
        features=features,
        policy=Policy("review"),
    ) as world:
        with_parts(world.session, review=ledger)
        await world.turn()
        assert [len(ledger.hunks(path)) for path in (A, B)] == [1, 2]
        await reject(ledger, world.workspace, Scope(hunks=(ledger.hunks(B)[1].id,)))
    await ledger.close()
    assert texts(workspace) == {
        "a.py": RENAMED["a.py"],
        "b.py": RENAMED["b.py"].removesuffix("new\n") + "old\n",
    }


async def test_if_one_file_cannot_be_written_the_changes_of_other_files_are_reverted(
    tmp_path: Path,
) -> None:
    class Stubborn(MemoryWorkspace):
        async def write(
            self, path: Path, base: Snapshot | None, text: str, **more: Any
        ) -> AppliedChange:
            if path == B:
                raise EditRefused("b.py is read-only")
            return await super().write(path, base, text, **more)

    workspace = Stubborn(FILES)
    result = await renamed(tmp_path, Renames(EDITS), workspace)
    assert result.is_error
    assert "b.py is read-only" in result.text
    assert texts(workspace) == FILES


async def test_a_rename_is_reverted_if_the_user_leaves_out_a_place_in_the_editor(
    tmp_path: Path,
) -> None:
    class Choosing(MemoryWorkspace):
        async def write(
            self, path: Path, base: Snapshot | None, text: str, **more: Any
        ) -> AppliedChange:
            asked.append((path, sorted(more["marks"].kinds), bool(more["marks"].asks)))
            is_chosen = path == B and more["marks"].asks
            change = await super().write(path, base, f"{text}\n" if is_chosen else text, **more)
            return msgspec.structs.replace(change, n_left_out=1) if is_chosen else change

    asked: list[tuple[Path, list[str], bool]] = []
    workspace = Choosing(FILES)
    ledger = await ReviewLedger.open(tmp_path / "review", workspace.roots)
    features = [navigation_feature(Navigator((Renames(EDITS),)), NO_SERVERS)]
    async with a_world(
        tmp_path,
        [RENAME, says("done")],
        workspace=workspace,
        features=features,
        policy=Policy("auto"),
    ) as world:
        rules = replace(world.session.parts.rules(), confirm=("rename",))
        with_parts(world.session, review=ledger, rules=lambda: rules)
        await world.turn()
        (result,) = world.results
    await ledger.close()
    assert result.is_error
    assert "nothing was renamed" in result.text
    assert texts(workspace) == FILES
    assert asked == [
        *((path, ["rename"], True) for path in (A, B)),
        *((path, [], False) for path in (B, A)),
    ], "the editor asks about the rename, and not about its revert"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (Renames({}, "a keyword cannot be renamed"), "refuses the rename: a keyword cannot"),
        (Renames({}), "a server found nothing to rename"),
        (Renames({**EDITS, ELSE: EDITS[A]}), f"the rename would change {ELSE.as_posix()}"),
        (Renames({A: (ServerEdit(0, 0, 0, 3, "new"),)}), "knows an older text of a.py"),
        (Renames({A: (ServerEdit(9, 0, 9, 3, "new"),)}), "knows an older text of a.py"),
        (Renames({A: EDITS[A], ROOT / "secret/k.py": EDITS[A]}), "a file that you may not see"),
    ],
)
async def test_a_rename_that_cannot_be_complete_is_refused(
    tmp_path: Path, source: Renames, said: str
) -> None:
    workspace = MemoryWorkspace(FILES)
    result = await renamed(tmp_path, source, workspace, policy=Policy("auto", deny=("secret/**",)))
    assert result.is_error
    assert said in result.text
    assert texts(workspace) == FILES


async def test_in_plan_mode_nothing_is_renamed(tmp_path: Path) -> None:
    workspace = MemoryWorkspace(FILES)
    result = await renamed(tmp_path, Renames(EDITS), workspace, policy=Policy("plan"))
    assert result.is_error
    assert "not allowed" in result.text
    assert texts(workspace) == FILES
