"""Runs the asynchronous work of a command; an interruption stops it in order."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from indwell.cli import Terminated

T = TypeVar("T")


def wait_for(work: Coroutine[Any, Any, T]) -> T:
    """Run ``work`` to its end on an event loop of its own; from the main thread.

    Raises:
        KeyboardInterrupt: Ctrl-C, also while the loop is created: a partial loop and a coroutine
            that is never awaited would print warnings.
        Terminated: SIGTERM, as from ``timeout`` and CI jobs; the work was stopped as by Ctrl-C.
    """
    runner = asyncio.Runner()
    told: list[int] = []
    try:
        with _interrupts_held_back():
            runner.get_loop()
        return runner.run(_until_told(work, told))
    except asyncio.CancelledError:
        if told:
            raise Terminated from None
        raise
    finally:
        with _interrupts_held_back():
            runner.close()
            work.close()


async def _until_told(work: Coroutine[Any, Any, T], told: list[int]) -> T:
    """Run ``work``; SIGTERM stops it in order, a second SIGTERM ends the process at once."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    number = signal.SIGTERM
    # Windows has no such handlers, and an ignored signal stays ignored.
    if sys.platform == "win32" or signal.getsignal(number) is not signal.SIG_DFL:
        return await work

    def end() -> None:
        told.append(number)
        loop.remove_signal_handler(number)
        task.cancel()

    loop.add_signal_handler(number, end)
    try:
        return await work
    finally:
        loop.remove_signal_handler(number)


@contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """Delay Ctrl-C until this context ends."""
    pressed: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _frame: pressed.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        raise KeyboardInterrupt
