"""Keeps unsent prompts on disk while they wait, and as drafts at the end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from indwell.errors import SessionError
from indwell.service.chores import Chores
from indwell.service.front_door import FrontDoor
from indwell.service.sessions.stored_sessions import StoredSessions

_log = logging.getLogger(__name__)


class Keeping:
    """Writes the words of waiting prompts to disk in the background, one write at a time.

    Args:
        keep: Writes words, by the id of their prompt.
        chores: Owns the background work.
    """

    def __init__(
        self, keep: Callable[[Mapping[str, str]], Awaitable[None]], chores: Chores
    ) -> None:
        self._keep = keep
        self._chores = chores
        self._wanted: Mapping[str, str] = {}
        self._kept: Mapping[str, str] = {}
        self._is_busy = False
        self._is_stopped = False
        self._writing = asyncio.Lock()

    def want(self, unsent: Mapping[str, str]) -> None:
        """Have these words on disk soon; returns at once."""
        self._wanted = unsent
        if not self._is_busy and not self._is_stopped and unsent != self._kept:
            self._is_busy = True
            self._chores.begin(self._work())

    def stop(self) -> None:
        """Write no more."""
        self._is_stopped = True

    async def clear(self) -> None:
        """Wait for the present write, then delete what is kept."""
        self._is_stopped = True
        try:
            async with self._writing:
                await self._keep({})
        except SessionError as error:
            _log.warning("prompts that waited are still kept: %s", error)

    async def _work(self) -> None:
        try:
            while self._wanted != self._kept and not self._is_stopped:
                wanted = self._wanted
                async with self._writing:
                    await self._keep(wanted)
                self._kept = wanted
        except SessionError as error:
            _log.warning("prompts that wait are not kept: %s", error)
        finally:
            self._is_busy = False


class Unsent:
    """The words of a workspace that no session's log holds.

    Args:
        stored: Stores the words.
        door: Tells the user where they are.
        chores: Owns the background work.
        root: Returns the first folder of the workspace; None: nothing is kept.
    """

    def __init__(
        self,
        stored: StoredSessions,
        door: FrontDoor,
        chores: Chores,
        root: Callable[[], Path | None],
    ) -> None:
        self._stored = stored
        self._door = door
        self._root = root
        self._keeping = Keeping(self._keep, chores)
        self.want = self._keeping.want

    async def tell(self, root: Path) -> None:
        """Tell the user once where earlier servers left unsent words."""
        for path in await self._stored.untold_drafts(root):
            self._door.warn(f"prompts that waited when the editor was closed are in {path}")

    def stop(self) -> None:
        """Write no more; what is on disk stays until ``leave`` makes drafts of it."""
        self._keeping.stop()

    async def leave(self, unsent: tuple[str, ...]) -> None:
        """Write the words to a draft at the server's end, and delete the other copy."""
        root = self._root()
        if unsent and root is not None:
            try:
                path = await self._stored.keep_drafts(root, unsent)
                number = "1 prompt" if len(unsent) == 1 else f"{len(unsent)} prompts"
                self._door.warn(f"{number} that waited: kept in {path}")
            except SessionError:
                _log.exception("unsent prompts are lost")
        await self._keeping.clear()

    async def _keep(self, unsent: Mapping[str, str]) -> None:
        root = self._root()
        if root is not None:
            await self._stored.keep_waiting(root, unsent)
