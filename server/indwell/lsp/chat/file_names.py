"""The names of the workspace's files, for completion: listed beside the work, and kept a while."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from indwell.errors import ToolError
from indwell.lsp.chat.name_index import NameIndex
from indwell.service.mentions.files_below import files_below

KEPT_S = 20.0  # then they are listed again, at the next question
MOST = 50_000  # names

Begin = Callable[[Coroutine[Any, Any, None]], None]


class FileNames:
    """Names relative to the first folder; what ignore files name is left out.

    Args:
        begin: Owns the work of listing.
        monotonic: Seconds of a clock that never goes back.
    """

    def __init__(self, begin: Begin, monotonic: Callable[[], float]) -> None:
        self._begin, self._monotonic = begin, monotonic
        self._names = NameIndex()
        self._at = float("-inf")
        self._is_listing = False
        self.listed = asyncio.Event()

    def known(self, roots: tuple[Path, ...]) -> NameIndex:
        """Those known by now; never waits. A new list is begun if this one is old."""
        if roots and not self._is_listing and self._monotonic() - self._at > KEPT_S:
            self._is_listing = True
            self._begin(self._list(roots))
        return self._names

    def has(self, name: str) -> bool:
        """Is it one of those known by now?"""
        return self._names.has(name)

    async def _list(self, roots: tuple[Path, ...]) -> None:
        try:
            found = await files_below("./", roots[0], roots, enough=MOST)
            self._names = await asyncio.to_thread(lambda: NameIndex(sorted(found[:MOST])))
        except ToolError:
            self._names = NameIndex()  # no ripgrep: nothing is offered
        finally:
            self._is_listing = False
            self._at = self._monotonic()
            self.listed.set()
