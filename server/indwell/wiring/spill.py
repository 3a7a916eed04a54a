"""Keeps texts that were cut for the model in the session's folder."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path

from indwell.errors import SessionError, ToolError
from indwell.files import read_own, write_durable, write_private
from indwell.files.append_log import list_names


def highest_number(folder: Path) -> int:
    """The number of the last text in a folder; 0 if there is none. Blocks.

    Raises:
        OSError: The folder cannot be listed.
    """
    heads = (name.partition("-")[0] for name in list_names(folder))
    return max((int(head) for head in heads if head.isascii() and head.isdecimal()), default=0)


class SpillFolder:
    """Keeps texts that are cut for the model, numbered, in a session's own folder.

    Args:
        folder: Private, exists.
        n_kept: So many are there already, of an earlier process.
        hide: Takes the secrets out of a text; called in a thread.

    Raises:
        SessionError: From ``keep``, when the disk does not take a text.
    """

    def __init__(self, folder: Path, *, n_kept: int = 0, hide: Callable[[str], str] = str) -> None:
        self._folder = folder
        self._hide = hide
        self._n_kept = n_kept

    async def keep(self, name: str, text: str) -> Path:
        """Write a text; gives where it stands. ``name`` says what it is, for people."""
        self._n_kept += 1
        plain = "".join(one if one.isalnum() or one in "-_." else "-" for one in name)[:60]
        suffix = "" if "." in plain else ".txt"
        path = self._folder / f"{self._n_kept:04d}-{plain}{suffix}"
        try:
            return await asyncio.to_thread(self._write, path, text)
        except OSError as error:
            raise SessionError(
                f"a long text could not be kept in {str(self._folder)!r} ({error.strerror}); make "
                "room there and try again"
            ) from error

    def _write(self, path: Path, text: str) -> Path:
        return write_private(path, self._hide(text).encode("utf-8", "replace"))

    async def keep_as(self, name: str, text: str) -> Path:
        """Write a text under this very name, on disk when it returns; the same one once is enough.

        Raises:
            SessionError: The disk does not take it, or another text has that name.
        """
        path = self._folder / name
        data = text.encode("utf-8", "replace")
        try:
            await asyncio.to_thread(_write_durable, path, data)
        except OSError as error:
            raise SessionError(
                f"a text could not be kept in {str(self._folder)!r} ({error.strerror}); make room "
                "there and try again"
            ) from error
        return path


def _write_durable(path: Path, data: bytes) -> None:
    """Write a new file that is there after a power cut; one with the same bytes is good as it is.

    Raises:
        OSError: The system refuses, or the name has another text.
    """
    if _holds(path, data):
        return
    try:
        write_durable(path, data)
    except FileExistsError:
        if not _holds(path, data):  # else somebody wrote it meanwhile: a turn that was stopped
            raise


def _holds(path: Path, data: bytes) -> bool:
    with contextlib.suppress(FileNotFoundError, ToolError):  # not there; longer than ours, no file
        return read_own(path, len(data) + 1) == data
    return False
