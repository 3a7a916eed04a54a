"""Writes to the editor and never blocks the event loop; on Windows, in a thread."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Sequence

if sys.platform == "win32":
    import queue
    import threading
else:
    import stat

if sys.platform == "win32":
    _PIECE_B = 64 * 1024  # bytes per write, so that a slow editor is seen to read

    class LineWriter:
        """Writes to a descriptor in a thread: Windows has no pipe whose writes return at once.

        Args:
            fd: Where to.
        """

        def __init__(self, fd: int) -> None:
            self._fd = fd
            self._loop = asyncio.get_running_loop()
            self._pieces: queue.SimpleQueue[bytes] = queue.SimpleQueue()
            self._has_thread = False
            self._is_busy = False
            self._result: int | OSError | None = None
            self._ready: Callable[[], None] | None = None

        def write(self, batch: Sequence[bytes]) -> int:
            """Return how many bytes of the batch were written since the last call.

            After a BlockingIOError the next call must begin with the same bytes.

            Raises:
                BlockingIOError: The bytes are still being written; ``watch`` reports when to try
                    again.
                OSError: The other end is closed.
            """
            result, self._result = self._result, None
            if isinstance(result, OSError):
                raise result
            if result is not None:
                return result
            if not self._is_busy:
                self._is_busy = True
                self._pieces.put(b"".join(batch)[:_PIECE_B])
            if not self._has_thread:
                self._has_thread = True
                threading.Thread(target=self._work, daemon=True, name="indwell-wire").start()
            raise BlockingIOError

        def watch(self, ready: Callable[[], None]) -> None:
            """Call ``ready`` whenever ``write`` has a result."""
            self._ready = ready

        def unwatch(self) -> None:
            """Call nobody any more."""
            self._ready = None

        def _work(self) -> None:
            while True:
                piece = self._pieces.get()
                result: int | OSError
                try:
                    result = os.write(self._fd, piece)
                except OSError as error:
                    result = error
                try:
                    self._loop.call_soon_threadsafe(self._tell, result)
                except RuntimeError:
                    return  # the loop has ended

        def _tell(self, result: int | OSError) -> None:
            self._is_busy, self._result = False, result
            if self._ready is not None:
                self._ready()


else:

    class LineWriter:
        """Writes to a descriptor without blocking, if it is a pipe or socket that only we use.

        Other programs share a terminal or a file and expect blocking writes, which end soon there.

        Args:
            fd: Where to.
        """

        def __init__(self, fd: int) -> None:
            self._fd = fd
            self._loop = asyncio.get_running_loop()
            mode, ours, errors = os.fstat(fd).st_mode, os.fstat(fd), os.fstat(2)
            is_pipe = stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
            if is_pipe and (ours.st_dev, ours.st_ino) != (errors.st_dev, errors.st_ino):
                os.set_blocking(fd, False)

        def write(self, batch: Sequence[bytes]) -> int:
            """Return how many bytes of the batch were written.

            Raises:
                BlockingIOError: No byte can be written now; ``watch`` reports when to try again.
                OSError: The other end is closed.
            """
            return os.writev(self._fd, batch)

        def watch(self, ready: Callable[[], None]) -> None:
            """Call ``ready`` whenever bytes can be written."""
            self._loop.add_writer(self._fd, ready)

        def unwatch(self) -> None:
            """Call nobody any more."""
            self._loop.remove_writer(self._fd)
