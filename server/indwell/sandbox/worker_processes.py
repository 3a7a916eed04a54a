"""Runs a pure function for many items in worker processes, on all cores."""

from __future__ import annotations

import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import TypeVar

import indwell
from indwell.errors import UserError

Item = TypeVar("Item")
Result = TypeVar("Result")
FEW = 8  # For fewer items, starting workers takes longer than the work.


def mapped(
    function: Callable[[Item], Result], items: Sequence[Item], *, n_workers: int | None = None
) -> Generator[Result]:
    """Yield the results of ``function`` for the items, in order, as they arrive.

    If the caller stops, by Ctrl-C or by closing the generator, the workers end at once.

    Args:
        function: A pure function at the top level of a module.
        items: Values that can be pickled, for sending to the workers.
        n_workers: The number of processes, or None for one process per core.

    Raises:
        UserError: A worker was killed.
    """
    n_workers = min(n_workers or _n_cores(), len(items))
    if n_workers <= 1 or len(items) < FEW:
        yield from map(function, items)
        return
    others = set(active_children())
    # The processes are spawned, because a fork of a process with threads may hang.
    pool = ProcessPoolExecutor(n_workers, mp_context=get_context("spawn"), initializer=_deaf)
    is_done = False
    try:
        # Workers have both settings from the start.
        with _interrupts_blocked(), _own_package_findable():
            # `pool.map` is unsuitable: leaving it early cancels waiting items, and a pool that then
            # loses its workers fails on those items (Python 3.11 to 3.13).
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
    """Ignore Ctrl-C in a worker, because the main process handles it for all processes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def _own_package_findable() -> Iterator[None]:
    """Let processes that start in this block import Indwell from any folder.

    ``own_path`` removes workspace folders from ``sys.path``, which workers inherit. Indwell's own
    folder is appended at the end, so its modules never replace installed modules.
    """
    folder = str(Path(indwell.__file__).parents[1])
    if folder in sys.path:
        yield
        return
    sys.path.append(folder)
    try:
        yield
    finally:
        sys.path.remove(folder)


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Delay Ctrl-C until the block ends; processes that start in the block inherit the delay."""
    if sys.platform == "win32":
        yield
    else:
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
