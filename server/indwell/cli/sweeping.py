"""Sweeps old sessions away while a server runs, one sweep at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime

from indwell.settings.places import state_folder


class Sweeper:
    """Deletes old sessions in a thread; nobody waits for it but the next sweep.

    Args:
        environment: The process's variables.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._sweeping: asyncio.Future[object] | None = None

    async def sweep(self, keep_days: int | None) -> None:
        """Begin to; None keeps all of them."""
        if keep_days is None:
            return
        from indwell.sessions.retention import sweep

        if self._sweeping is not None:
            await asyncio.wait({self._sweeping})
        state, now = state_folder(self._environment), datetime.now(UTC)
        self._sweeping = asyncio.get_running_loop().run_in_executor(
            None, lambda: sweep(state, keep_days=keep_days, now=now)
        )
