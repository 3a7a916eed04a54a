"""An event loop whose time passes only while the server waits for nothing but time.

A session was recorded at its own pace. In a replay, timers and inputs come in the recorded order of
time, however slow or quick this machine is: while a thread or a task works, no time passes, and an
idle wait is skipped.
"""

from __future__ import annotations

import asyncio
import selectors
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

_SLICE_S = 0.004  # the real time, in seconds, that the loop waits for news before time passes
_FIRST_S = 0.005  # The first step of time; each idle slice doubles the step.
_MOST_S = 10.0  # the limit for one step of time, in seconds
_PATIENCE = 5  # the number of idle slices before time passes


class CountingExecutor(ThreadPoolExecutor):
    """Threads of which it is known whether one works."""

    def __init__(self) -> None:
        super().__init__(thread_name_prefix="replay")
        self._lock = threading.Lock()
        self.n_working = 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:  # noqa: ANN401
        """Start work in a thread."""
        with self._lock:
            self.n_working += 1
        future = super().submit(fn, *args, **kwargs)
        future.add_done_callback(self._ended)
        return future

    def _ended(self, _future: Future[Any]) -> None:
        with self._lock:
            self.n_working -= 1


class _Selector(selectors.DefaultSelector):
    """Waits in short slices, and lets time pass after some idle slices."""

    def __init__(self, executor: CountingExecutor) -> None:
        super().__init__()
        self._executor = executor
        self._n_idle = 0
        self._step_s = _FIRST_S
        self.now = 0.0
        self.limit = float("inf")

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return what is ready, or nothing after a slice."""
        is_idle = timeout is None or timeout > 0
        before_s = time.process_time()
        found = super().select(_SLICE_S if is_idle else 0)
        is_busy = time.process_time() - before_s > _SLICE_S / 4  # another thread works
        if found or not is_idle or is_busy or self._executor.n_working:
            self._n_idle, self._step_s = 0, _FIRST_S
            return found
        self._n_idle += 1
        if self._n_idle >= _PATIENCE and timeout is not None:
            self.now = max(self.now, min(self.now + min(timeout, self._step_s), self.limit))
            self._step_s = min(2 * self._step_s, _MOST_S)
        return found


class ReplayLoop(asyncio.SelectorEventLoop):
    """The loop of a replay; ``time`` begins at 0."""

    def __init__(self) -> None:
        self._executor = CountingExecutor()
        self._replayed = _Selector(self._executor)
        super().__init__(self._replayed)
        self.set_default_executor(self._executor)

    @property
    def is_working(self) -> bool:
        """Whether a thread of the loop works."""
        return bool(self._executor.n_working)

    def stop_at(self, limit: float) -> None:
        """Let no more time pass than until ``limit``."""
        self._replayed.limit = limit

    def time(self) -> float:
        """Return the seconds that have passed."""
        return self._replayed.now


def running_replay_loop() -> ReplayLoop:
    """Return the loop of the caller, which has to be a replay's loop."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, ReplayLoop)
    return loop
