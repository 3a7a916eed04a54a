"""Calls the standard tools as the agent's loop does."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from indwell.bounds.rules import ReadableFolders
from indwell.files.append_log import make_private_folder
from indwell.files.private import write_private
from indwell.tools.base import Outcome, ToolContext
from indwell.tools.commands.bash import Shell
from indwell.tools.known_texts import KnownTexts
from indwell.wiring.features import standard_tools
from indwell.workspace.base import Workspace


class Agent:
    """The tools of one workspace; spilled texts go to a readable folder."""

    def __init__(self, workspace: Workspace, spill_folder: Path) -> None:
        make_private_folder(spill_folder)
        self.shell = Shell(workspace.roots[0])
        self.tools = standard_tools(self.shell)
        self.live: list[str] = []
        self.spilled: list[str] = []
        self._spill_folder = spill_folder
        self.context = ToolContext(
            workspace=workspace,
            seen=KnownTexts(),
            spill=self._spill,
            on_output=self.live.append,
            readable=ReadableFolders((spill_folder,)),
        )

    async def call(self, tool: str, **arguments: object) -> Outcome:
        """Run a tool with the model's arguments."""
        return await self.tools.bind(tool, json.dumps(arguments)).run(self.context)

    async def preview(self, tool: str, **arguments: object) -> str:
        """Return the change that a person would be asked to confirm."""
        preview = self.tools.bind(tool, json.dumps(arguments)).preview
        assert preview is not None
        return (await preview(self.context)).diff

    async def _spill(self, label: str, text: str) -> Path:
        self.spilled.append(text)
        name = f"{label}-{len(self.spilled)}.txt"
        path = self._spill_folder / name
        return await asyncio.to_thread(lambda: write_private(path, text.encode()))
