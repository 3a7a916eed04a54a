"""Which followed files may read differently: the buffers of the editor and the disk together."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from indwell.lsp.documents import Documents
from indwell.workspace.watch import Watch


class EditorWatch:
    """Changes of open documents, and those of files on disk; implements ``Watch``.

    An editor that can watch files does so, folder by folder as files in them are followed, so that
    a big build elsewhere is no traffic. For all others the disk is watched from here.

    Args:
        documents: What the editor has open.
        disk: Hears of the files on disk.
        ask: Asks the editor to tell of the files of one folder; False if it does not.
    """

    def __init__(
        self, documents: Documents, disk: Watch, ask: Callable[[Path], Awaitable[bool]]
    ) -> None:
        self._disk = disk
        self._ask = ask
        self._followed: set[Path] = set()
        self._changed: set[Path] = set()
        self._folders: dict[Path, asyncio.Task[bool]] = {}
        documents.on_change(self._note)

    def follow(self, path: Path) -> None:
        """Hear of this file from now on; on the event loop."""
        if path in self._followed:
            return
        self._followed.add(path)
        asking = self._folders.get(path.parent)
        if asking is None:
            self._folders[path.parent] = asyncio.ensure_future(self._watch(path.parent))
        elif asking.done() and not asking.cancelled() and not asking.result():
            self._disk.follow(path)

    def changed(self) -> frozenset[Path]:
        """Followed files that may have changed since the last call."""
        changed, self._changed = frozenset(self._changed), set()
        return changed | self._disk.changed()

    def close(self) -> None:
        """Follow nothing any more."""
        self._followed.clear()
        for asking in self._folders.values():
            asking.cancel()
        self._folders.clear()
        self._disk.close()

    def _note(self, path: Path) -> None:
        if path in self._followed:
            self._changed.add(path)

    async def _watch(self, folder: Path) -> bool:
        if await self._ask(folder):
            return True
        for path in [one for one in self._followed if one.parent == folder]:
            self._disk.follow(path)
        return False
