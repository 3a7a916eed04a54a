"""Worker processes for long calculations: the same pure function for many items, on all cores."""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import active_children, get_context
from typing import TypeVar

from indwell.errors import UserError

Item = TypeVar("Item")
Result = TypeVar("Result")
FEW = 8  # items; for less, starting workers takes longer than the work


def mapped(
    function: Callable[[Item], Result], items: Sequence[Item], *, n_workers: int | None = None
) -> Generator[Result]:
    """``function`` of each item, in their order, as they get done.

    When the caller stops, by Ctrl-C or by closing this, the workers are ended at once.

    Args:
        function: Pure, at the top of a module.
        items: Sent to the workers, so they must be values that pickle.
        n_workers: Processes; None for one a core.

    Raises:
        UserError: A worker was killed.
    """
    n_workers = min(n_workers or _n_cores(), len(items))
    if n_workers <= 1 or len(items) < FEW:
        yield from map(function, items)
        return
    others = set(active_children())
    # Spawned, not forked: a fork of a process with threads may hang.
    pool = ProcessPoolExecutor(n_workers, mp_context=get_context("spawn"), initializer=_deaf)
    is_done = False
    try:
        with _interrupts_blocked():  # inherited by the workers, from their first moment on
            # Not `pool.map`: who leaves that early cancels what waits, and a pool that loses its
            # workers then stumbles over what is cancelled (Python 3.11 to 3.13).
            futures = deque(pool.submit(function, item) for item in items)
        while futures:
            yield futures.popleft().result()
        is_done = True
    except BrokenProcessPool as error:
        words = "a worker process ended in the middle of its work; is there too little memory?"
        raise UserError(words) from error
    finally:
        if not is_done:
            for worker in set(active_children()) - others:
                worker.terminate()
        pool.shutdown(cancel_futures=True)


def _n_cores() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def _deaf() -> None:
    """Ctrl-C reaches all processes of a terminal; only the one that was started answers it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Ctrl-C meanwhile counts when this is over, and never in a process begun here."""
    mask = getattr(signal, "pthread_sigmask", None)
    if mask is None:
        yield
        return
    before = mask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        mask(signal.SIG_SETMASK, before)
