"""Writes texts that were shortened for the model to the session's folder."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path

from indwell.errors import SessionError, ToolError
from indwell.files.append_log import list_names
from indwell.files.private import read_own, write_durable, write_private
from indwell.files.spelling import quoted
from indwell.secrets import has_mark


def highest_number(folder: Path) -> int:
    """Return the highest number of a text in a folder, or 0 if there are no texts; blocks.

    Raises:
        OSError: The folder cannot be listed.
    """
    heads = (name.partition("-")[0] for name in list_names(folder))
    return max((int(head) for head in heads if head.isascii() and head.isdecimal()), default=0)


_MARKS = 1_000  # the bytes by which marks of hidden secrets may lengthen a text


class SpillFolder:
    """Writes long texts, numbered, to the folder of a session; implements ``Spill``.

    Args:
        folder: An existing private folder.
        n_kept: The number of texts that an earlier process wrote.
        hide: Removes secrets from a text; called in a thread.
    """

    def __init__(self, folder: Path, *, n_kept: int = 0, hide: Callable[[str], str] = str) -> None:
        self._folder = folder
        self._hide = hide
        self._n_kept = n_kept

    async def keep(self, name: str, text: str) -> Path:
        """Write a text; return its path. ``name`` describes the text for people.

        Raises:
            SessionError: The text cannot be written to disk.
        """
        self._n_kept += 1
        plain = "".join(one if one.isalnum() or one in "-_." else "-" for one in name)[:60]
        suffix = "" if "." in plain else ".txt"
        path = self._folder / f"{self._n_kept:04d}-{plain}{suffix}"
        try:
            return await asyncio.to_thread(self._write, path, text)
        except OSError as error:
            raise SessionError(
                f"a long text could not be kept in {quoted(self._folder)} ({error.strerror}); make "
                "room there and try again"
            ) from error

    def _write(self, path: Path, text: str) -> Path:
        return write_private(path, self._hide(text).encode("utf-8", "replace"))

    async def keep_as(self, name: str, text: str) -> Path:
        """Write a text under exactly this name, durably and without secrets.

        The same text may exist already, even if other secrets were known when the file was written.

        Raises:
            SessionError: The text cannot be written to disk, or another text has that name.
        """
        path = self._folder / name
        try:
            await asyncio.to_thread(self._write_durable, path, text)
        except OSError as error:
            raise SessionError(
                f"a text could not be kept in {quoted(self._folder)} ({error.strerror}); make room "
                "there and try again"
            ) from error
        return path

    def _write_durable(self, path: Path, text: str) -> None:
        """Write a new file that survives a power cut; keep an existing file with the same text.

        Raises:
            OSError: The system refuses, or the file has another text.
        """
        shown = self._hide(text)
        if self._holds(path, text, shown):
            return
        try:
            write_durable(path, shown.encode("utf-8", "replace"))
        except FileExistsError:
            # In any other case, a stopped turn has already written the file.
            if not self._holds(path, text, shown):
                raise

    def _holds(self, path: Path, text: str, shown: str) -> bool:
        """Return whether a file has the text, with the secrets hidden that were known then."""
        most = max(len(one.encode("utf-8", "replace")) for one in (text, shown))
        # The file is missing, longer, or not a file.
        with contextlib.suppress(FileNotFoundError, ToolError):
            held = read_own(path, most + _MARKS).decode("utf-8", "replace")
            same = shown.encode("utf-8", "replace").decode("utf-8", "replace")
            return held == same or self._hide(held) == same or has_mark(held) > has_mark(text)
        return False
