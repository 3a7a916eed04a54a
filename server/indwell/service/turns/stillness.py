"""Holds questions back until the user stops typing, so that no key answers by accident."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

WAITING = "a question waits until you stop typing"
NOTICE_S = 10.0  # a question that is held back this long is announced once, by a message


class Stillness:
    """Knows when the user last typed in the editor.

    A question that waits is neither answered nor dropped: it is shown when the user has paused,
    however long that takes.

    Args:
        monotonic: Returns seconds of a monotonic clock.
        pause_s: Returns the pause that the settings require, in seconds.
        notice: Shows a message that takes no key presses.
        held: Called with True when a question begins to wait, and with False when none waits.
        sleep: Waits for a number of seconds.
    """

    def __init__(
        self,
        monotonic: Callable[[], float],
        pause_s: Callable[[], float],
        notice: Callable[[str], None],
        held: Callable[[bool], None],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._monotonic = monotonic
        self._pause_s = pause_s
        self._notice = notice
        self._held = held
        self._sleep = sleep
        self._typed_at: float | None = None
        self._n_waiting = 0

    def typed(self) -> None:
        """Note that the user changed a document or moved the selection."""
        self._typed_at = self._monotonic()

    async def wait(self) -> None:
        """Wait until the user has paused."""
        if self._rest_s() <= 0:
            return
        began, is_told = self._monotonic(), False
        self._count(1)
        try:
            while (rest_s := self._rest_s()) > 0:
                if not is_told and self._monotonic() - began >= NOTICE_S:
                    is_told = True
                    self._notice(f"Indwell: {WAITING}.")
                await self._sleep(min(rest_s, NOTICE_S))
        finally:
            self._count(-1)

    def _rest_s(self) -> float:
        if self._typed_at is None:
            return 0.0
        return self._typed_at + self._pause_s() - self._monotonic()

    def _count(self, change: int) -> None:
        was_held = self._n_waiting > 0
        self._n_waiting += change
        if was_held is not (self._n_waiting > 0):
            self._held(not was_held)
