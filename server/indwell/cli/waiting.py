"""Runs asynchronous work from a command; Ctrl-C at any moment leaves nothing half begun."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")


def wait_for(work: Coroutine[Any, Any, T]) -> T:
    """Run ``work`` to its end on an event loop of its own; from the main thread.

    Raises:
        KeyboardInterrupt: Ctrl-C, also while the loop is being made: half a loop would complain of
            itself, and so would a coroutine that nobody awaited.
    """
    runner = asyncio.Runner()
    try:
        with _interrupts_held_back():
            runner.get_loop()
        return runner.run(work)
    finally:
        with _interrupts_held_back():
            runner.close()
            work.close()


@contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """Ctrl-C meanwhile counts when this is over."""
    pressed: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _frame: pressed.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        raise KeyboardInterrupt
