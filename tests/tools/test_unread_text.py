"""``write_file`` does not remove text that the model was never shown."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from indwell.errors import EditRefused
from indwell.tools.editing.rebase import Collision, propose
from indwell.tools.editing.replace import Replacement
from indwell.workspace.base import AppliedChange, Snapshot, TextStamp, digest
from support.memory_workspace import ROOT, MemoryWorkspace
from tools.calling import Agent

PATH = ROOT / "a"
LINES = [f"line {i}\n" for i in range(1, 5_001)]
MANY = "".join(f"the user's line {i}, never shown whole\n" for i in range(100))


class Formatting(MemoryWorkspace):
    """A workspace with a formatter that writes right after each edit."""

    async def write(
        self, path: Path, base: Snapshot | None, text: str, *, label: str
    ) -> AppliedChange:
        change = await super().write(path, base, text, label=label)
        after = f"{change.after}formatted\n"
        self.files[path] = after
        return msgspec.structs.replace(
            change, after=after, stamp=TextStamp(digest(after)), verified=False
        )


def over(tmp_path: Path, text: str) -> tuple[MemoryWorkspace, Agent]:
    workspace = MemoryWorkspace({"a": text})
    return workspace, Agent(workspace, tmp_path / "spill")


async def read(agent: Agent, offset: int = 1, limit: int = 2_000) -> None:
    await agent.call("read_file", path="a", offset=offset, limit=limit)


async def refusal(agent: Agent) -> str:
    with pytest.raises(EditRefused, match="nothing was written") as caught:
        await agent.call("write_file", path="a", content="all new\n")
    return str(caught.value)


async def write(agent: Agent) -> None:
    await agent.call("write_file", path="a", content="all new\n")


async def test_a_text_that_changes_after_a_merge_must_be_read(tmp_path: Path) -> None:
    workspace = Formatting({"a": "".join(LINES[:300])})
    agent = Agent(workspace, tmp_path / "spill")
    await read(agent)
    workspace.files[PATH] = "".join([*LINES[:150], MANY, *LINES[150:300]])
    edits = [{"old": "line 3\n", "new": "three\n"}]
    outcome = await agent.call("edit_file", path="a", edits=edits)
    assert "right after the edit" in outcome.text
    assert MANY not in outcome.text
    assert "never shown" not in str(agent.context.seen.text(PATH))
    await refusal(agent)


async def test_a_file_read_only_in_part_cannot_be_overwritten(tmp_path: Path) -> None:
    workspace, agent = over(tmp_path, "".join(LINES))
    await read(agent, 1, 1)
    assert await refusal(agent) == (
        "'a' was shown only in part; nothing was written; read_file lines 2 to 5,000 first, or "
        "change it with edit_file"
    )
    await agent.call("edit_file", path="a", edits=[{"old": "line 9\n", "new": "nine\n"}])
    assert "lines 1 to 5,000 first" in await refusal(agent)
    assert workspace.files[PATH] == "".join(LINES).replace("line 9\n", "nine\n")


async def test_a_long_file_that_was_read_in_pages_may_be_written(tmp_path: Path) -> None:
    workspace, agent = over(tmp_path, "".join(LINES))
    for offset in (2_001, 1, 4_001):
        assert "first" in await _refused_or_new(agent)
        await read(agent, offset)
    await write(agent)
    assert workspace.files[PATH] == "all new\n"
    # The model knows the text that it wrote.
    await agent.call("write_file", path="a", content="newer\n")


async def _refused_or_new(agent: Agent) -> str:
    return await refusal(agent) if agent.context.seen.digest(PATH) else "first"


async def test_lines_changed_since_the_read_must_be_shown(tmp_path: Path) -> None:
    workspace, agent = over(tmp_path, "".join(LINES[:300]))
    await read(agent)
    workspace.files[PATH] = "".join([*LINES[:150], MANY, *LINES[150:290]])
    assert "read_file it again" in await refusal(agent)
    await read(agent, 1, 1)
    assert "read_file lines 151 to 250, 390 first" in await refusal(agent)
    await read(agent, 151, 100)
    assert "read_file lines 390 first" in await refusal(agent)
    await read(agent, 390)
    await write(agent)


async def test_a_partly_read_file_that_changes_must_be_read_completely_before_a_write(
    tmp_path: Path,
) -> None:
    workspace, agent = over(tmp_path, "".join(LINES[:300]))
    await read(agent, 1, 200)
    workspace.files[PATH] = "new\n" + workspace.files[PATH]
    assert "has changed since it was read (by the user" in await refusal(agent)
    await read(agent, 200)
    assert "read_file lines 1 to 199 first" in await refusal(agent)
    await read(agent)
    await write(agent)


async def test_a_file_that_was_emptied_or_deleted_may_be_written(tmp_path: Path) -> None:
    workspace, agent = over(tmp_path, "".join(LINES[:300]))
    await read(agent, 1, 1)
    workspace.files[PATH] = ""
    await read(agent)
    await write(agent)
    workspace.files[PATH] = "".join(LINES)
    await read(agent, 1, 1)
    del workspace.files[PATH]
    with pytest.raises(Exception, match="deleted or renamed meanwhile"):
        await write(agent)
    await write(agent)
    await agent.call("write_file", path="a", content="newer\n")


def test_a_conflict_in_a_huge_line_is_shown_shortened_and_does_not_count_as_read() -> None:
    base = "a" * 50_000 + " needle " + "b" * 50_000
    proposal = propose(base, f"{base}user", [Replacement(" needle ", " thing ")], "a")
    assert isinstance(proposal, Collision)
    assert "[… 99,012 more characters]" in proposal.words
    assert len(proposal.words) < 2_500
    assert proposal.known == base


def test_a_conflict_in_many_long_lines_is_shown_shortened() -> None:
    base = "x\n" * 30
    now = "".join(f"{i} {'y' * 900}\n" for i in range(30))
    proposal = propose(base, now, [Replacement(base, "mine\n")], "a")
    assert isinstance(proposal, Collision)
    assert "[… 25 more lines; read_file them …]" in proposal.words
    assert len(proposal.words) < 5_000
    assert proposal.known == base
