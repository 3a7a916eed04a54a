"""Runs the work of a command; an interruption or a closed output stops the work properly."""

from __future__ import annotations

import asyncio
import io
import signal
import sys
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from indwell.agent.core import events
from indwell.cli import Terminated

T = TypeVar("T")


def wait_for(work: Coroutine[Any, Any, T]) -> T:
    """Run ``work`` to its end on a new event loop; call this in the main thread only.

    Raises:
        KeyboardInterrupt: The user pressed Ctrl-C. While the loop is created, Ctrl-C is delayed,
            because a partial loop would print warnings.
        Terminated: The process received SIGTERM, as from ``timeout`` or a CI job, and the work was
            stopped properly.
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


if sys.platform == "win32":
    from types import FrameType

    from indwell.lsp.wire.editor_process import watch_console

    async def _until_told(work: Coroutine[Any, Any, T], told: list[int]) -> T:
        """Run ``work``; Ctrl-Break or the end of the console stops the work properly."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None

        def end(number: int = signal.SIGTERM, _frame: FrameType | None = None) -> None:
            told.append(number)
            with suppress(RuntimeError):  # the event loop has ended
                loop.call_soon_threadsafe(task.cancel)

        watch_console(end)
        before = signal.signal(signal.SIGBREAK, end)
        try:
            return await work
        finally:
            signal.signal(signal.SIGBREAK, before)

else:

    async def _until_told(work: Coroutine[Any, Any, T], told: list[int]) -> T:
        """Run ``work``; SIGTERM stops the work properly, and a second SIGTERM ends the process."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        number = signal.SIGTERM
        # A signal that was ignored before stays ignored.
        if signal.getsignal(number) is not signal.SIG_DFL:
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


def hush(error: OSError) -> None:
    """Discard all further output, so that the interpreter's last flush cannot fail.

    A closed pipe is not reported; any other ``error`` is reported in one sentence.
    """
    sys.stdout = io.StringIO()
    if not isinstance(error, BrokenPipeError):
        sys.stderr.write(f"the output cannot be written ({error.strerror or error})\n")


def is_full() -> bool:
    """Return whether stdout fails; an OSError does not name the failed file, so test a write."""
    try:
        sys.stdout.write("\n")
        sys.stdout.flush()
    except OSError:
        return True
    return False


def stopping(view: events.Listener) -> events.Listener:
    """Return a listener for ``view`` that cancels the current task when stdout is closed."""
    task = asyncio.current_task()
    assert task is not None

    is_over = False

    def tell(event: events.Event) -> None:
        nonlocal is_over
        if is_over:
            return
        try:
            view(event)
        except OSError as error:  # only ``view`` writes to stdout
            is_over = True
            hush(error)
            task.cancel()
        except SystemExit:  # rich raises SystemExit when stdout is closed
            is_over = True
            sys.stdout = io.StringIO()
            task.cancel()

    return tell
