"""A protected file that a background command creates never affects another program."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from indwell.agent.core.events import Event, Notice
from indwell.agent.features.background.board import BackgroundBoard
from indwell.agent.features.background.feature import make_commands
from indwell.bounds.command_bounds import confiner
from indwell.policy.rules import Widening
from indwell.settings.model import Settings
from indwell.tools.base import ToolContext
from indwell.tools.commands.bash import Shell
from indwell.tools.known_texts import KnownTexts
from indwell.wiring.features import standard_tools
from indwell.workspace.disk import DiskWorkspace
from support.bubblewrap import needs_bubblewrap
from support.running_on import SOON_S, has_written

pytestmark = needs_bubblewrap

PLANTS = "mkdir -p pkg/.vscode && echo {} >pkg/.vscode/tasks.json; cat gate"


class Beside:
    """A workspace with a running background command that waits for input from a pipe."""

    def __init__(self, folder: Path) -> None:
        self.workspace = folder / "workspace"
        self.workspace.mkdir()
        os.mkfifo(self.workspace / "gate")
        self.board = BackgroundBoard()
        self.board.begun = has_written
        self.heard: list[Event] = []
        self.board.outside = self.heard.append
        self._folder = folder
        self._bounds = confiner(
            (self.workspace,), Settings, home=folder / "home", quarantine=folder / "quarantine"
        )
        self._tools = standard_tools(
            Shell(self.workspace), make_commands(self.board), background=self.board
        )

    async def call(self, tool: str, **arguments: object) -> str:
        async def spill(name: str, _text: str) -> Path:
            return self._folder / name

        context = ToolContext(
            *(DiskWorkspace([self.workspace]), KnownTexts(), spill, lambda _text: None),
            confinement=self._bounds(Widening()),
        )
        return (await self._tools.bind(tool, json.dumps(arguments)).run(context)).text

    def notices(self) -> list[str]:
        return [one.message for one in self.heard if isinstance(one, Notice)]


@pytest.fixture
async def beside(tmp_path: Path) -> AsyncIterator[Beside]:
    made = Beside(tmp_path)
    yield made
    await made.board.close()


async def test_a_background_command_that_plants_a_file_is_stopped_at_once_and_reported_once(
    beside: Beside,
) -> None:
    begun = await beside.call("bash", command=f"echo ready; cat gate; {PLANTS}", background=True)
    assert begun.startswith("ready\n[b1 runs on")
    # No other command runs, and the turn has ended, so only the file watch can notice the new file.
    await asyncio.to_thread((beside.workspace / "gate").write_text, "open\n")
    (one,) = beside.board.commands
    assert one.task is not None
    await asyncio.wait({one.task}, timeout=SOON_S)
    assert one.finished is not None
    assert one.finished.stopped
    assert list((beside.workspace / "pkg").iterdir()) == []
    (notice,) = beside.notices()
    assert notice.startswith("b1: the command made 'pkg/.vscode', ")
    note = notice.removeprefix("b1: ")
    assert one.finished.notes == (note,)
    told = await beside.call("commands", id="b1")
    assert "stopped by Indwell at once" in told
    assert told.count(f"[{note}]") == 1
    assert beside.notices() == [notice]


async def test_files_that_the_users_editor_creates_are_not_moved_away(beside: Beside) -> None:
    await beside.call("bash", command="echo ready; cat gate", background=True)
    (beside.workspace / ".vscode" / "settings.json").write_bytes(
        b"{}"
    )  # a file that the sandbox itself creates
    looked = await beside.call("commands", id="b1")
    assert "b1 runs" in looked
    assert (beside.workspace / ".vscode" / "settings.json").read_text(encoding="utf-8") == "{}"
