"""The user's lines of earlier interactive sessions, in a file that only the user can read."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import msgspec

from indwell.cli.terminal.json_line import json_line
from indwell.errors import ToolError
from indwell.files.append_log import make_private_folder
from indwell.files.private import append_own, read_own, remove_own, write_private

MOST = 1_000  # the limit of stored lines
_MOST_B = 4 << 20
_CHARACTERS = 10_000  # the limit of characters; a longer line is not stored


class LineHistory:
    """The lines that the user submitted in the interactive sessions of all folders.

    Without a usable state folder, lines are kept until the session ends.

    Args:
        folder: The state folder.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / "terminal-history.jsonl"

    def lines(self) -> list[str]:
        """Return the lines, oldest first, and shorten a file that has grown too long."""
        try:
            data = read_own(self._path, _MOST_B)
        except FileNotFoundError:
            return []
        except (OSError, ToolError):
            self._begin_again(())
            return []
        found = [line for one in data.splitlines() if (line := _line_of(one))]
        if len(found) > 2 * MOST:
            self._begin_again(found[-MOST:])
        return found[-MOST:]

    def keep(self, line: str) -> None:
        """Store a line; keys and tokens of known forms are removed from it.

        A failure loses only the line's place in the history.
        """
        if len(line) > _CHARACTERS:
            return
        from indwell.secrets import Hider  # imported here, because its patterns take 30 ms

        data = f"{json_line(Hider().hide(line))}\n".encode()
        with suppress(OSError):
            make_private_folder(self._path.parent)
            try:
                append_own(self._path, data)
            except FileNotFoundError:
                write_private(self._path, data)

    def _begin_again(self, lines: tuple[str, ...] | list[str]) -> None:
        with suppress(OSError):
            remove_own(self._path)
            write_private(self._path, "".join(f"{json_line(one)}\n" for one in lines).encode())


def _line_of(data: bytes) -> str:
    try:
        return msgspec.json.decode(data, type=str)
    except msgspec.DecodeError:
        return ""
