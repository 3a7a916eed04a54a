"""Words that wait for their turn, on disk as well: a server that is killed loses none of them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping

from indwell.errors import SessionError
from indwell.service.chores import Chores

_log = logging.getLogger(__name__)


class Keeping:
    """Brings what is kept in line with what waits, one write at a time, beside everything else.

    Args:
        keep: Writes the words that are to be kept, by the id of their prompt.
        chores: Own the work.
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
        """These words are in no log; returns at once."""
        self._wanted = unsent
        if not self._is_busy and not self._is_stopped and unsent != self._kept:
            self._is_busy = True
            self._chores.begin(self._work())

    def stop(self) -> None:
        """Leave what is kept as it is."""
        self._is_stopped = True

    async def clear(self) -> None:
        """Keep nothing any more, once what is being written is written."""
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
