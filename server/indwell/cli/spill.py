"""Texts that were cut for the model, kept whole in a session's own folder."""

from __future__ import annotations

import asyncio
from pathlib import Path

from indwell.errors import SessionError
from indwell.files import write_private


class Spill:
    """Keeps texts that are cut for the model, numbered, in a session's own folder.

    Args:
        folder: Private, exists.

    Raises:
        SessionError: From ``keep``, when the disk does not take a text.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._n_kept = 0

    async def keep(self, name: str, text: str) -> Path:
        """Write a text; gives where it stands. ``name`` says what it is, for people."""
        self._n_kept += 1
        plain = "".join(one if one.isalnum() or one in "-_." else "-" for one in name)[:60]
        suffix = "" if "." in plain else ".txt"
        path = self._folder / f"{self._n_kept:04d}-{plain}{suffix}"
        data = text.encode("utf-8", "replace")
        try:
            return await asyncio.to_thread(write_private, path, data)
        except OSError as error:
            raise SessionError(
                f"a long text could not be kept in {str(self._folder)!r} ({error.strerror}); make "
                "room there and try again"
            ) from error
