"""Worker processes for long calculations: the same pure function for many items, on all cores."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
FEW = 8  # items; for less, starting workers takes longer than the work


def mapped(function: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
    """``function`` of each item, in their order, as they get done.

    Args:
        function: Pure, at the top of a module.
        items: Sent to the workers, so they must be values that pickle.
    """
    n_cores = os.cpu_count() or 1
    if n_cores == 1 or len(items) < FEW:
        yield from map(function, items)
        return
    # Spawned, not forked: a fork of a process with threads may hang.
    with ProcessPoolExecutor(n_cores, mp_context=get_context("spawn")) as pool:
        yield from pool.map(function, items)
