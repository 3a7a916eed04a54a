"""An event loop that never waits: when no task is ready, the clock jumps to the next timer.

The loop itself runs the work for threads, at once. A time-out of ten seconds takes no time, and
each run has the same order of events. Code on the loop must not wait for a socket or a process.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _NoWaiting(selectors.SelectSelector):
    """Reports no ready file, and advances the clock by the requested time-out."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> Any:
        if timeout is None:
            raise RuntimeError("everybody waits, and no timer is set")
        self.now += max(timeout, 0)
        return []


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock jumps to the next timer."""

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
    """Run a coroutine like ``asyncio.run``, on a virtual time loop."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(main)
