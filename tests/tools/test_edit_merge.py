"""Edits of a file that others change between the agent's read and write."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from indwell.errors import EditRefused, ToolError
from indwell.tools.known_texts import KEPT_CHARS
from indwell.workspace.base import AppliedChange, Snapshot, digest
from indwell.workspace.disk import DiskWorkspace
from support.memory_workspace import ROOT, MemoryWorkspace
from tools.calling import Agent

TEXT = "".join(f"line {i}\n" for i in range(1, 21))
CHANGED = "has changed since it was read (by the user, a sub-agent, a formatter or a command)"
PATH = ROOT / "a"


class Racing(MemoryWorkspace):
    """A workspace in which others change the text before each of the first writes."""

    n_races = 0
    n_tries = 0
    change: Callable[[str], str]

    async def write(
        self, path: Path, base: Snapshot | None, text: str, *, label: str
    ) -> AppliedChange:
        self.n_tries += 1
        if self.n_races:
            self.n_races -= 1
            self.files[path] = type(self).change(self.files[path])
        return await super().write(path, base, text, label=label)


@pytest.fixture
def workspace() -> MemoryWorkspace:
    return MemoryWorkspace({"a": TEXT})


@pytest.fixture
async def agent(workspace: MemoryWorkspace, tmp_path: Path) -> Agent:
    agent = Agent(workspace, tmp_path / "spill")
    await agent.call("read_file", path="a")
    return agent


async def edit(agent: Agent, old: str, new: str) -> str:
    return (await agent.call("edit_file", path="a", edits=[{"old": old, "new": new}])).text


async def refusal(agent: Agent, old: str, new: str) -> str:
    with pytest.raises(ToolError) as caught:
        await edit(agent, old, new)
    return str(caught.value)


async def test_edt_06_changes_by_others_at_other_lines_are_merged_and_reported(
    agent: Agent, workspace: MemoryWorkspace
) -> None:
    workspace.files[PATH] = "the user's\n" + TEXT.replace("line 3\n", "")
    assert await edit(agent, "line 12", "twelve") == (
        "edited a: +1 \N{MINUS SIGN}1\n"
        "--- a/a\n+++ b/a\n"
        "@@ -9,7 +9,7 @@\n line 9\n line 10\n line 11\n-line 12\n+twelve\n line 13\n line 14\n"
        " line 15\n"
        "a had changed since it was read, and the edit was merged with that change:\n"
        "--- a/a\n+++ b/a\n"
        "@@ -1,6 +1,6 @@\n+the user's\n line 1\n line 2\n-line 3\n line 4\n line 5\n line 6"
    )
    assert workspace.files[PATH] == "the user's\n" + TEXT.replace("line 3\n", "").replace(
        "line 12", "twelve"
    )


async def test_lines_shown_after_a_merge_count_as_read(
    agent: Agent, workspace: MemoryWorkspace
) -> None:
    workspace.files[PATH] = "the user's\n" + TEXT
    await edit(agent, "line 12", "twelve")
    assert "had changed" not in await edit(agent, "the user's", "ours")
    await agent.call("write_file", path="a", content="all new\n")
    assert workspace.files[PATH] == "all new\n"


async def test_after_a_merge_with_a_cut_diff_the_agent_may_not_overwrite_the_file(
    agent: Agent, workspace: MemoryWorkspace
) -> None:
    workspace.files[PATH] = "".join(f"the user's {i}\n" for i in range(300)) + TEXT
    assert "more lines of diff …]" in await edit(agent, "line 12", "twelve")
    with pytest.raises(EditRefused, match="nothing was written"):
        await agent.call("write_file", path="a", content="all new\n")
    await edit(agent, "twelve", "XII")
    assert workspace.files[PATH].endswith(TEXT.replace("line 12", "XII"))


async def test_edt_05_a_conflict_shows_only_the_changes_of_the_same_lines(
    agent: Agent, workspace: MemoryWorkspace
) -> None:
    theirs = "new\n" + TEXT.replace("line 12\n", "line 12, mine\nand more\n")
    workspace.files[PATH] = theirs
    assert await refusal(agent, "line 12\n", "twelve\n") == (
        f"'a' {CHANGED}, in lines that this edit changes too; nothing was edited. Repeat the edit "
        "on the current text\n"
        "lines 13 to 14 now:\n13\tline 12, mine\n14\tand more\nthe edit wanted there:\ntwelve"
    )
    assert workspace.files[PATH] == theirs
    # The agent may repeat the edit on the shown lines, but does not know the first line.
    with pytest.raises(EditRefused, match="nothing was written"):
        await agent.call("write_file", path="a", content="all new\n")


async def test_edt_05_the_edit_may_be_repeated_on_the_lines_that_were_shown(
    agent: Agent, workspace: MemoryWorkspace
) -> None:
    theirs = "new\n" + TEXT.replace("line 12\n", "line 12, mine\n")
    workspace.files[PATH] = theirs
    await refusal(agent, "line 12", "twelve")
    assert "+new" in await edit(agent, "line 12, mine", "twelve, mine")
    assert workspace.files[PATH] == theirs.replace("line 12, mine", "twelve, mine")


async def test_a_deleted_line_that_is_edited_is_reported(
    agent: Agent, workspace: MemoryWorkspace
) -> None:
    workspace.files[PATH] = TEXT.replace("line 12\n", "")
    assert (await refusal(agent, "line 12", "twelve")).endswith(
        "\nbefore line 12, where lines were deleted:\nthe edit wanted there:\ntwelve"
    )


async def test_a_large_edit_conflict_is_shown_in_part(
    agent: Agent, workspace: MemoryWorkspace
) -> None:
    mine = "".join(f"user {i}\n" for i in range(5_000))
    workspace.files[PATH] = mine
    said = await refusal(agent, TEXT, "short\n")
    assert "[… 4960 more lines; read_file them …]" in said
    assert len(said) < 2_000
    assert agent.context.seen.text(PATH) == TEXT  # the agent was not shown the whole change


async def test_an_edit_that_others_have_already_made_is_reported_as_done(
    agent: Agent, workspace: MemoryWorkspace
) -> None:
    workspace.files[PATH] = TEXT.replace("line 12", "twelve")
    assert (await edit(agent, "line 12", "twelve")).startswith(
        "a already reads so: others made the same change; nothing was written"
    )


async def test_an_edit_that_matches_only_unread_text_is_refused_with_a_diff(
    agent: Agent, workspace: MemoryWorkspace
) -> None:
    workspace.files[PATH] = TEXT.replace("line 12", "formatted")
    said = await refusal(agent, "formatted", "twelve")
    assert "The edit fits the current text; repeat it if it is still right." in said
    assert "-line 12\n+formatted\n" in said
    await edit(agent, "formatted", "twelve")
    assert workspace.files[PATH] == TEXT.replace("line 12", "twelve")


async def test_an_edit_that_does_not_fit_is_refused_with_the_changes(
    agent: Agent, workspace: MemoryWorkspace
) -> None:
    workspace.files[PATH] = TEXT.replace("line 12", "formatted")
    said = await refusal(agent, "no such text", "x")
    assert said.startswith(
        f"'a' {CHANGED}; nothing was edited. In the current text, old text does not appear"
    )


async def test_a_text_read_too_long_ago_must_be_read_again(
    agent: Agent, workspace: MemoryWorkspace
) -> None:
    agent.context.seen.record(ROOT / "big", digest("x"), "x" * KEPT_CHARS)
    workspace.files[PATH] = "new\n" + TEXT
    assert await refusal(agent, "line 12", "twelve") == (
        f"'a' {CHANGED}; read_file it again and repeat the edit on the current text"
    )


async def test_changed_line_endings_are_not_a_conflict(
    agent: Agent, workspace: MemoryWorkspace
) -> None:
    workspace.files[PATH] = TEXT.replace("\n", "\r\n")
    await edit(agent, "line 12\nline 13", "twelve\nand a half\nline 13")
    assert workspace.files[PATH] == TEXT.replace("line 12", "twelve\nand a half").replace(
        "\n", "\r\n"
    )


async def racing(tmp_path: Path, n_races: int, change: Callable[[str], str]) -> Agent:
    workspace = Racing({"a": TEXT})
    Racing.change = staticmethod(change)
    agent = Agent(workspace, tmp_path / "spill")
    await agent.call("read_file", path="a")
    workspace.n_races = n_races
    return agent


async def test_edt_07_a_text_changed_between_read_and_write_is_merged(
    tmp_path: Path,
) -> None:
    agent = await racing(tmp_path, 2, lambda text: f"typed\n{text}")
    assert "merged with that change" in await edit(agent, "line 12", "twelve")
    workspace = agent.context.workspace
    assert isinstance(workspace, Racing)
    assert workspace.files[PATH] == "typed\ntyped\n" + TEXT.replace("line 12", "twelve")
    assert workspace.n_tries == 3


async def test_edt_07_an_edit_gives_up_after_three_concurrent_changes(tmp_path: Path) -> None:
    agent = await racing(tmp_path, 99, lambda text: f"typed\n{text}")
    assert await refusal(agent, "line 12", "twelve") == (
        "'a' was changed by others 3 times while it was being edited; nothing was edited; "
        "read_file it again"
    )
    workspace = agent.context.workspace
    assert isinstance(workspace, Racing)
    assert workspace.files[PATH] == "typed\n" * 3 + TEXT


async def test_edt_07_a_file_that_changes_during_a_write_is_not_replaced(tmp_path: Path) -> None:
    agent = await racing(tmp_path, 1, lambda text: f"typed\n{text}")
    with pytest.raises(EditRefused, match="Write it again with this change taken in"):
        await agent.call("write_file", path="a", content="all new\n")
    workspace = agent.context.workspace
    assert isinstance(workspace, Racing)
    assert workspace.files[PATH] == "typed\n" + TEXT


@pytest.mark.parametrize("fate", ["deleted", "renamed"])
async def test_fs_15_an_edit_of_a_file_deleted_after_a_read_creates_no_file(
    tmp_path: Path, fate: str
) -> None:
    root = tmp_path / "w"
    root.mkdir()
    (root / "a").write_bytes(TEXT.encode())
    agent = Agent(DiskWorkspace([root]), tmp_path / "spill")
    await agent.call("read_file", path="a")
    if fate == "deleted":
        (root / "a").unlink()
    else:
        (root / "a").rename(root / "b")
    before = sorted(root.iterdir())
    said = await refusal(agent, "line 12", "twelve")
    assert "deleted or renamed meanwhile; nothing was edited and nothing created" in said
    assert sorted(root.iterdir()) == before


async def test_a_preview_shows_what_a_merge_would_write(
    agent: Agent, workspace: MemoryWorkspace
) -> None:
    workspace.files[PATH] = "the user's\n" + TEXT
    edits = [{"old": "line 12", "new": "twelve"}]
    preview = await agent.preview("edit_file", path="a", edits=edits)
    outcome = await agent.call("edit_file", path="a", edits=edits)
    assert preview == outcome.diff
    assert "the user's" not in preview


async def test_enc_15_json_that_an_edit_broke_is_reported(tmp_path: Path) -> None:
    files = {"a.json": '{"a": 1}\n', "b.ipynb": '{"cells": []}\n', "c.toml": "[a]\nb = 1\n"}
    agent = Agent(MemoryWorkspace(files), tmp_path / "spill")
    for path, old, kind in (
        ("a.json", "}", "JSON"),
        ("b.ipynb", "]", "JSON"),
        ("c.toml", "1", "TOML"),
    ):
        await agent.call("read_file", path=path)
        outcome = await agent.call("edit_file", path=path, edits=[{"old": old, "new": "<"}])
        assert f"; {path} was valid {kind} before and is not now (" in outcome.text.splitlines()[0]
    mended = await agent.call("edit_file", path="a.json", edits=[{"old": "<", "new": "}"}])
    assert "valid" not in mended.text


async def test_enc_15_json_with_comments_is_not_checked(tmp_path: Path) -> None:
    agent = Agent(MemoryWorkspace({"a.json": '// so\n{"a": 1}\n'}), tmp_path / "spill")
    await agent.call("read_file", path="a.json")
    outcome = await agent.call("edit_file", path="a.json", edits=[{"old": "1", "new": "2"}])
    assert "valid" not in outcome.text


async def test_an_edit_reports_the_number_of_places_and_the_kind_of_match(tmp_path: Path) -> None:
    agent = Agent(MemoryWorkspace({"a": "x\ny  \nx\n"}), tmp_path / "spill")
    await agent.call("read_file", path="a")
    outcome = await agent.call(
        "edit_file",
        path="a",
        edits=[{"old": "x", "new": "z", "all": True}, {"old": "y\nz", "new": "Y\nz"}],
    )
    assert outcome.text.splitlines()[0] == (
        "edited a: +3 \N{MINUS SIGN}3; edit 1 replaced in 2 places; edit 2 matched with other "
        "trailing blanks at line 2"
    )


async def test_the_result_for_undecodable_text_is_valid_json(tmp_path: Path) -> None:
    agent = Agent(MemoryWorkspace({"a": "caf\udce9\ntwo\n"}), tmp_path / "spill")
    await agent.call("read_file", path="a")
    outcome = await agent.call("edit_file", path="a", edits=[{"old": "two", "new": "2"}])
    assert " caf\\xe9\n" in outcome.diff
    assert json.dumps([outcome.text, outcome.diff]).isascii()
    outcome.text.encode()
