"""Handles events from the system: the editor's process has ended, or the server must end.

A server in a container cannot see the editor's process, and ends when stdin ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import FrameType

_log = logging.getLogger(__name__)

End = Callable[[str, int], None]
"""Ends the server, given the reason and the exit code."""

if sys.platform == "win32":
    _STOP_S = 4.0  # Windows ends a program five seconds after its console was closed

    def watch_signals(end: End) -> None:
        """Call ``end`` on Ctrl-C or Ctrl-Break, and when the console or the session is closed."""
        loop = asyncio.get_running_loop()

        def hear(number: int, _frame: FrameType | None = None) -> None:
            name = signal.Signals(number).name
            with contextlib.suppress(RuntimeError):  # the event loop has ended
                loop.call_soon_threadsafe(end, f"ended by {name}", 128 + number)

        for number in (signal.SIGINT, signal.SIGBREAK, signal.SIGTERM):
            try:
                signal.signal(number, hear)
            except ValueError:
                return  # only the main thread can handle signals
        watch_console(lambda: hear(signal.SIGTERM))

    def watch_console(tell: Callable[[], None]) -> None:
        """Call ``tell`` in a thread when the user closes the console or logs out."""
        import win32api  # noqa: PLC0415 - costs time, and the editor waits for the first answer
        import win32con  # noqa: PLC0415

        def close(event: int) -> bool:
            if event in {win32con.CTRL_C_EVENT, win32con.CTRL_BREAK_EVENT}:
                return False  # the interpreter handles the event, too
            tell()
            threading.Event().wait(_STOP_S)  # Windows ends the process when this function returns
            return True

        win32api.SetConsoleCtrlHandler(close, True)  # noqa: FBT003 - as the function is

    @asynccontextmanager
    async def parent_watch(process_id: int | None) -> AsyncIterator[asyncio.Event]:
        """Watch a process in this context; the event is set when the process has ended."""
        import pywintypes  # noqa: PLC0415 - as above
        import win32api  # noqa: PLC0415
        import win32con  # noqa: PLC0415
        import win32event  # noqa: PLC0415

        gone = asyncio.Event()
        if process_id is None or process_id <= 0:
            yield gone
            return
        try:
            process = win32api.OpenProcess(win32con.SYNCHRONIZE, False, process_id)  # noqa: FBT003
        except (pywintypes.error, OverflowError) as error:
            _log.warning("the editor's process %s is not watched: %s", process_id, error)
            yield gone
            return
        loop = asyncio.get_running_loop()
        over = win32event.CreateEvent(None, True, False, None)  # noqa: FBT003

        def wait() -> None:
            found = win32event.WaitForMultipleObjects(
                [process, over],
                False,  # noqa: FBT003 - one of them is enough
                win32event.INFINITE,
            )
            if found == win32event.WAIT_OBJECT_0:
                with contextlib.suppress(RuntimeError):  # the event loop has ended
                    loop.call_soon_threadsafe(gone.set)

        thread = threading.Thread(target=wait, daemon=True, name="indwell-editor")
        thread.start()
        try:
            yield gone
        finally:
            win32event.SetEvent(over)
            thread.join()

else:
    _SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    POLL_S = 2.0  # the time, in seconds, between two checks if the system does not report the end

    def watch_signals(end: End) -> None:
        """Call ``end`` when a signal asks the process to end."""
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            try:
                loop.add_signal_handler(number, end, f"ended by {number.name}", 128 + number)
            except (RuntimeError, ValueError):
                return  # only the main thread can handle signals

    @asynccontextmanager
    async def parent_watch(process_id: int | None) -> AsyncIterator[asyncio.Event]:
        """Watch a process in this context; the event is set when the process has ended."""
        gone = asyncio.Event()
        if process_id is None or process_id <= 1:
            yield gone
            return
        if not hasattr(os, "pidfd_open"):
            poll = asyncio.create_task(_poll(process_id, gone))
            try:
                yield gone
            finally:
                poll.cancel()
            return
        try:
            fd = os.pidfd_open(process_id)
        except (OSError, OverflowError) as error:
            _log.warning("the editor's process %s is not watched: %s", process_id, error)
            yield gone
            return
        loop = asyncio.get_running_loop()

        def ended() -> None:
            loop.remove_reader(fd)
            gone.set()

        loop.add_reader(fd, ended)
        try:
            yield gone
        finally:
            loop.remove_reader(fd)
            os.close(fd)

    async def _poll(process_id: int, gone: asyncio.Event) -> None:
        while True:
            try:
                os.kill(process_id, 0)
            except ProcessLookupError:
                gone.set()
                return
            except OverflowError:
                return  # no process has the number
            except PermissionError:
                pass  # the process belongs to another user and is alive
            await asyncio.sleep(POLL_S)
