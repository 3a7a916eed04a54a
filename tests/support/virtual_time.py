"""An event loop without waiting: when nothing is left to do, the clock jumps to the next timer.

Work for threads is done at once, on the loop. So a time-out of ten seconds costs nothing, and the
same program takes the same course each time. Nothing may wait for a socket or a process on it.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _NoWaiting(selectors.SelectSelector):
    """Finds nothing ready, and lets the time pass that it was told to wait."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> Any:
        if timeout is None:
            raise RuntimeError("everybody waits, and no timer is set")
        self.now += max(timeout, 0)
        return []


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """See the module."""

    def __init__(self) -> None:
        self._no_waiting = _NoWaiting()
        super().__init__(self._no_waiting)

    def time(self) -> float:
        return self._no_waiting.now

    def run_in_executor(self, executor: Any, func: Callable[..., T], *args: Any) -> Any:
        del executor
        future = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:  # noqa: BLE001 - as a thread would hand it over
            future.set_exception(error)
        return future


def run(main: Coroutine[Any, Any, T]) -> T:
    """``asyncio.run`` on such a loop."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(main)
