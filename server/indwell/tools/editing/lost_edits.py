"""Determines whether an edit with a lost result was applied (PER-10).

This module changes no file and repeats no call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from indwell.errors import ToolError
from indwell.lazy_pattern import lazy_pattern
from indwell.messages import ToolUse
from indwell.tools.editing.edit import EDIT_FILE, EditFile
from indwell.tools.editing.replace import Replacement
from indwell.tools.editing.write import WRITE_FILE, WriteFile
from indwell.workspace.base import Workspace

State: TypeAlias = Literal["done", "not done", "neither"]

_BREAK = lazy_pattern(r"\r\n|\r")
_WORDS: dict[State, str] = {
    "done": "the file reads as it would after this call, so it was done",
    "not done": "the file reads as it did before this call, so it was not done",
    "neither": "the file reads neither as before nor as after this call",
}


async def looked_up(use: ToolUse, workspace: Workspace) -> str:
    """Return a sentence on the file of an edit whose result was lost; other calls give no text."""
    try:
        arguments = _arguments(use)
        if arguments is None:
            return ""
        path = workspace.resolve(arguments.path)
    except ToolError:
        return ""
    try:
        text: str | None = (await workspace.read(path)).text
    except ToolError:
        text = None
    return f"Now {_WORDS[state_of(arguments, text)]}; read it before you go on."


def state_of(arguments: EditFile | WriteFile, text: str | None) -> State:
    """Return whether the edit was applied; ``text`` is the file's text or None. Pure."""
    if text is None:
        return "not done" if isinstance(arguments, WriteFile) else "neither"
    text = _plain(text)
    if isinstance(arguments, WriteFile):
        return "done" if text == _plain(arguments.content) else "neither"
    return _of_all([_of_one(edit, text) for edit in arguments.edits])


def _arguments(use: ToolUse) -> EditFile | WriteFile | None:
    match use.name:
        case "edit_file":
            return EDIT_FILE.read(use.name, use.arguments)[0]
        case "write_file":
            return WRITE_FILE.read(use.name, use.arguments)[0]
        case _:
            return None


def _of_one(edit: Replacement, text: str) -> State:
    """Return whether one replacement was made; the longer of two nested texts decides."""
    old, new = _plain(edit.old), _plain(edit.new)
    has_old, has_new = old in text, new in text
    if not new:
        return "not done" if has_old else "done"
    if old in new:
        return "done" if has_new else "not done" if has_old else "neither"
    if new in old:
        return "not done" if has_old else "done" if has_new else "neither"
    if has_old == has_new:
        return "neither"
    return "done" if has_new else "not done"


def _of_all(states: Sequence[State]) -> State:
    """Combine the states of all replacements; an edit is applied as a whole or not at all."""
    return states[0] if len(set(states)) == 1 else "neither"


def _plain(text: str) -> str:
    return _BREAK.sub("\n", text)
