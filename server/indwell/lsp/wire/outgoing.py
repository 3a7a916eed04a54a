"""Sends messages to the editor, queued up to a limit if the editor is slow (LSP-16).

Non-blocking, on the event loop. What an editor can ask for again (deltas of a text, a line of
progress) is left out once much is waiting; the gap in the sequence numbers tells it.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Callable

from indwell.lsp.wire.framing import framed

DROP_AT_B = 1024 * 1024  # waiting bytes from which on deltas are left out
LIMIT_B = 32 * 1024 * 1024  # waiting bytes at which somebody who takes none has gone
GONE_S = 5.0  # without taking a byte, while so much is waiting
HARD_LIMIT_B = 8 * LIMIT_B  # however fast the editor reads: memory ends somewhere
_BATCH = 64  # buffers in one system call


class Outgoing:
    """Frames on their way to a file descriptor.

    Args:
        fd: Where to; non-blocking if it is a pipe or a socket.
        on_lost: Called once, with the reason, when nothing can be sent any more.
    """

    def __init__(self, fd: int, on_lost: Callable[[str], None]) -> None:
        self._fd = fd
        self._on_lost = on_lost
        self._waiting: deque[bytes] = deque()
        self._waiting_b = 0
        self._taken_at = asyncio.get_running_loop().time()
        self._watched = False
        self._lost = False
        self.dropped = 0

    def send(self, body: bytes, *, droppable: bool = False) -> None:
        """Send a body, or queue it; ``droppable`` ones are left out while much is waiting."""
        if self._lost:
            return
        if droppable and self._waiting_b > DROP_AT_B:
            self.dropped += 1
            return
        before = self._waiting_b
        if not before:
            self._taken_at = asyncio.get_running_loop().time()
        frame = framed(body)
        self._waiting.append(frame)
        self._waiting_b += len(frame)
        if not self._watched:
            self._write()
        silence_s = asyncio.get_running_loop().time() - self._taken_at
        if self._waiting_b > HARD_LIMIT_B or (before > LIMIT_B and silence_s > GONE_S):
            self._lose(f"the editor has not read {self._waiting_b:,} bytes")

    async def flushed(self) -> None:
        """Wait until everything is out, or nothing can go out any more."""
        while self._waiting and not self._lost:  # noqa: ASYNC110 - once, at the end
            await asyncio.sleep(0.005)  # only on the way out

    def close(self) -> None:
        """Send nothing more."""
        self._lost = True
        self._waiting.clear()
        self._unwatch()

    def _write(self) -> None:
        while self._waiting:
            batch = [self._waiting[n] for n in range(min(_BATCH, len(self._waiting)))]
            try:
                n_written = os.writev(self._fd, batch)
            except BlockingIOError:
                break
            except OSError as error:
                self._lose(f"the editor's end is closed ({error.strerror})")
                return
            self._sent(n_written)
        if self._waiting and not self._watched:
            self._watched = True
            asyncio.get_running_loop().add_writer(self._fd, self._write)
        elif not self._waiting:
            self._unwatch()

    def _sent(self, n_bytes: int) -> None:
        self._waiting_b -= n_bytes
        self._taken_at = asyncio.get_running_loop().time()
        while n_bytes:
            first = self._waiting.popleft()
            if len(first) > n_bytes:
                self._waiting.appendleft(first[n_bytes:])
                return
            n_bytes -= len(first)

    def _unwatch(self) -> None:
        if self._watched:
            self._watched = False
            asyncio.get_running_loop().remove_writer(self._fd)

    def _lose(self, reason: str) -> None:
        if not self._lost:
            self.close()
            self._on_lost(reason)
