"""Runs a turn that leaves pending changes, and judges them as the user of an editor."""

from __future__ import annotations

import json
from typing import Any

from lsprotocol import types

from support.editing import USAGE, Editor, Home
from support.fake_editor.buffer import Buffer, lines_range
from support.loopback_endpoint import Answer, say

BEFORE = "".join(f"line {number}\n" for number in range(1, 31))
CHANGED = (4, 15, 26)  # The turn replaces each of these lines, from 1, by two lines.


def changed(*lines: int, text: str = BEFORE) -> str:
    """Return ``text`` with these lines replaced as the turn replaces them."""
    for line in lines:
        text = text.replace(f"line {line}\n", f"new {line}\nnew {line} too\n")
    return text


AFTER = changed(*CHANGED)


def edit(path: str, *lines: int) -> tuple[str, str]:
    """Return the call that replaces lines."""
    edits = [{"old": f"line {line}\n", "new": f"new {line}\nnew {line} too\n"} for line in lines]
    return "edit_file", json.dumps({"path": path, "edits": edits})


def look(path: str) -> tuple[str, str]:
    """Return the call that reads a file."""
    return "read_file", json.dumps({"path": path})


def turn(path: str = "work.txt", lines: tuple[int, ...] = CHANGED) -> list[Answer]:
    """Return three replies: read a file, edit the file, end the turn."""
    return [
        say(calls=[look(path)], usage=USAGE),
        say(calls=[edit(path, *lines)], usage=USAGE),
        say("Done.", usage=USAGE),
    ]


def at_line(number: int) -> types.Range:
    """Return the range of a cursor in a line, counted from 1."""
    place = types.Position(line=number - 1, character=0)
    return types.Range(start=place, end=place)


async def act(editor: Editor, buffer: Buffer, line: int, title: str) -> Any:
    """Choose a code action at a line; return its command's answer."""
    actions = await editor.code_actions(buffer, at_line(line))
    found = [one for one in actions if one.title.startswith(title)]
    assert len(found) == 1, [one.title for one in actions]
    command = found[0].command
    assert command is not None
    return await editor.execute(command.command, *(command.arguments or ()))


async def titles(editor: Editor, buffer: Buffer, line: int, **asked: Any) -> list[str]:
    """Return the titles of the review's code actions at a line."""
    actions = await editor.code_actions(buffer, at_line(line), **asked)
    ours = ("indwell.accept", "indwell.reject", "indwell.open")
    return [one.title for one in actions if one.command and one.command.command in ours]


def marked(editor: Editor, buffer: Buffer) -> list[tuple[int, int]]:
    """Return the first and last line, from 1, of each hint in a document."""
    problems = editor.marks.problems.get(buffer.uri, ())
    assert all(one.source == "indwell" and one.severity == 4 for one in problems)
    return [(one.range.start.line + 1, one.range.end.line + 1) for one in problems]


async def until_marked(editor: Editor, buffer: Buffer, *lines: tuple[int, int]) -> None:
    """Wait until exactly these lines are marked."""
    editor.desk.tell()
    await editor.wait_until(lambda: marked(editor, buffer) == list(lines))


def place(home: Home) -> None:
    """Write the file that the turn edits."""
    home.write("work.txt", BEFORE)


def whole(buffer: Buffer) -> types.Range:
    """Return the range of a whole document."""
    return lines_range(1, buffer.text.count("\n"))
