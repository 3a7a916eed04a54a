"""Connects a folder, an editor in the same process, and agents with the real tools."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

from lsprotocol import types

from indwell.errors import ToolError
from indwell.tools.base import Outcome, ToolContext, ToolTable
from indwell.tools.editing.edit import make_edit_file
from indwell.tools.editing.write import make_write_file
from indwell.tools.known_texts import KnownTexts
from indwell.tools.read import make_read_file
from support.fake_editor.buffer import Buffer
from support.fake_editor.profiles import PLAIN, Profile
from support.near_editor import NearEditor
from support.virtual_time import run

NAME = "shop.py"
SOURCE = (
    "def total(items):\n    return sum(items) + 1\n\n\ndef count(items):\n    return len(items)\n"
)
MENDED = SOURCE.replace(" + 1", "")
MEND = {"old": " + 1", "new": ""}
MINE = "# mine 😀\n"


def in_no_time(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run an asynchronous test on a loop whose time-outs take no real time."""

    @functools.wraps(test)
    def at_once(**fixtures: Any) -> None:
        run(test(**fixtures))

    return at_once


class Agent:
    """An agent with the tools read, edit and write, and its record of seen files."""

    def __init__(self, room: Room) -> None:
        self.seen = KnownTexts()
        self._tools = ToolTable([make_read_file(), make_edit_file(), make_write_file()])
        self._context = ToolContext(
            workspace=room.editor.workspace,
            seen=self.seen,
            spill=self._no_spill,
            on_output=lambda _text: None,
        )

    async def call(self, tool: str, **arguments: Any) -> Outcome:
        """Run a tool.

        Raises:
            ToolError: The error that the model would receive.
        """
        return await self._tools.bind(tool, json.dumps(arguments)).run(self._context)

    async def read(self, name: str = NAME) -> str:
        """Read a file; return the text that the model receives."""
        return (await self.call("read_file", path=name)).text

    async def edit(self, *edits: dict[str, str], name: str = NAME) -> str:
        """Edit a file; return the result of the successful edit."""
        return (await self.call("edit_file", path=name, edits=edits or (MEND,))).text

    async def refused(self, *edits: dict[str, str], name: str = NAME) -> str:
        """Edit a file; return the error of the refused edit."""
        try:
            told = await self.edit(*edits, name=name)
        except ToolError as error:
            return str(error)
        raise AssertionError(f"it was done: {told}")

    async def tried(self, *edits: dict[str, str]) -> str | None:
        """Edit a file; return the error or an empty text."""
        try:
            await self.edit(*edits)
        except ToolError as error:
            return str(error)
        return None

    async def _no_spill(self, _label: str, _text: str) -> Path:
        raise AssertionError


class Room:
    """A folder with ``shop.py``, which is open in an editor by default."""

    def __init__(
        self,
        folder: Path,
        profile: Profile = PLAIN,
        *,
        text: str = SOURCE,
        extensions: Sequence[str] = (),
        is_open: bool = True,
    ) -> None:
        self.folder = folder.resolve()
        self.path = self.folder / NAME
        self.path.write_bytes(text.encode())
        self.editor = NearEditor(self.folder, profile, extensions=tuple(extensions))
        self.agent = Agent(self)
        if is_open:
            self.editor.open(self.path)

    @property
    def buffer(self) -> Buffer:
        """Return the open buffer."""
        return self.editor.desk.buffers[self.path.as_uri()]

    @property
    def text(self) -> str:
        """Return the text that the user sees."""
        return self.buffer.text

    @property
    def on_disk(self) -> str:
        """Return the text on disk."""
        return self.path.read_bytes().decode()

    def type_text(self, at: int, text: str = MINE) -> None:
        """Type text, as the user does."""
        self.editor.type_text(self.buffer, at, at, text)

    def types_before_each_edit(self, at: Callable[[str], int], times: int = 1) -> list[str]:
        """Let the user type before the next edits; return a list that receives the typed texts."""
        typed: list[str] = []

        async def before(_edit: types.WorkspaceEdit) -> None:
            if len(typed) < times:
                typed.append(f"# {len(typed)} 😀\n")
                self.type_text(at(self.text), typed[-1])

        self.editor.moments.before = before
        return typed
