"""What a background command plants is in force for nothing that runs beside it."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from indwell.agent.background.board import Board
from indwell.agent.background.tool import make_commands
from indwell.agent.events import Event, Notice
from indwell.cli.confining import confiner
from indwell.policy.widening import Widening
from indwell.settings.model import Settings
from indwell.tools.base import ToolContext
from indwell.tools.commands.bash import Shell
from indwell.tools.seen import Seen
from indwell.tools.table import standard_tools
from indwell.workspace.disk import DiskWorkspace
from support.bubblewrap import needs_bubblewrap
from support.running_on import SOON_S

pytestmark = needs_bubblewrap

PLANTS = "mkdir -p pkg/.vscode && echo {} >pkg/.vscode/tasks.json; echo ready; cat gate"


class Beside:
    """A workspace in which one command runs on, held back by a pipe."""

    def __init__(self, folder: Path) -> None:
        self.workspace = folder / "workspace"
        self.workspace.mkdir()
        os.mkfifo(self.workspace / "gate")
        self.board = Board(begin_s=0.3)
        self.heard: list[Event] = []
        self.board.outside = self.heard.append
        self._folder = folder
        self._bounds = confiner((self.workspace,), Settings, home=folder / "home")
        self._tools = standard_tools(
            Shell(self.workspace), make_commands(self.board), background=self.board
        )

    async def call(self, tool: str, **arguments: object) -> str:
        async def spill(name: str, _text: str) -> Path:
            return self._folder / name

        context = ToolContext(
            *(DiskWorkspace([self.workspace]), Seen(), spill, lambda _text: None),
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


async def test_it_is_put_aside_before_another_command_runs_and_said_once(beside: Beside) -> None:
    begun = await beside.call("bash", command=PLANTS, background=True)
    assert begun.startswith("ready\n[b1 runs on")
    listed = await beside.call("bash", command="ls -A pkg")
    assert listed == "quarantined-.vscode.txt\nexit code 0"
    (notice,) = beside.notices()
    assert notice.startswith("b1: the command made 'pkg/.vscode', ")
    note = f"[{notice.removeprefix('b1: ')}]"
    assert note in await beside.call("commands", id="b1")
    await asyncio.to_thread((beside.workspace / "gate").write_text, "open\n")
    last = await beside.call("commands", id="b1", wait_s=int(SOON_S))
    assert "exit code 0" in last
    assert note not in last
    assert beside.notices() == [notice]
    (one,) = beside.board.commands
    assert one.finished is not None
    assert one.finished.notes == (note[1:-1],)


async def test_a_look_puts_aside_and_the_users_editor_keeps_what_it_makes(beside: Beside) -> None:
    await beside.call("bash", command=PLANTS, background=True)
    (beside.workspace / ".vscode" / "settings.json").write_text("{}")  # in the stub of the sandbox
    (beside.workspace / ".env").write_text("A=b")
    looked = await beside.call("commands", id="b1")
    assert "[the command made 'pkg/.vscode', " in looked
    assert ".env" not in looked
    assert (beside.workspace / ".vscode" / "settings.json").read_text() == "{}"
    assert [one.name for one in (beside.workspace / "pkg").iterdir()] == ["quarantined-.vscode.txt"]
