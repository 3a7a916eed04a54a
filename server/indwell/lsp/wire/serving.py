"""Serves one connection: reads and writes messages, and returns the exit code.

Messages to a slow editor are queued up to a limit. The server ends when the process that started
the server ends.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from indwell import edges
from indwell.lsp.wire.base_protocol import Framer, framed
from indwell.lsp.wire.editor_process import parent_watch, watch_signals
from indwell.lsp.wire.language_server import Server
from indwell.lsp.wire.routing import Routing
from indwell.lsp.wire.stdio import READ_B, OpenLine

if sys.platform == "win32":
    import queue
else:
    import stat

_log = logging.getLogger(__name__)

STOP_S = 1.5  # the time limit, in seconds, to cancel running work and write pending data
FLUSH_S = 0.3  # the time limit, in seconds, to send the last answers
EXIT_S = 1.0  # the time in seconds after which the process ends, even if threads are still running

# the limit of callbacks that fail without memory, because a failing reader is called again at once
MOST_STARVED = 20
NO_MEMORY = b"indwell: there is no memory left; the server ends\n"

STALLED_S = 0.4  # The length of a body is checked after 0.4 seconds without a byte.
DROP_AT_B = 1024 * 1024  # If more bytes than this wait to be sent, parts of answers are dropped.
# If more bytes than this wait to be sent, an editor that reads nothing counts as gone.
LIMIT_B = 32 * 1024 * 1024
GONE_S = 5.0  # An editor that reads nothing for 5 seconds counts as gone.
# If more bytes than this wait to be sent, the connection ends, because memory is finite.
HARD_LIMIT_B = 8 * LIMIT_B
_BATCH = 64  # the limit of buffers for one system call


def serve_line(open_line: OpenLine, server: Server, stop: Callable[[], Awaitable[None]]) -> int:
    """Serve until the editor disconnects; return the exit code.

    Args:
        open_line: The connection, after ``initialize``.
        server: The server with all its handlers.
        stop: Closes sessions and ends processes; called once at the end.
    """
    code = asyncio.run(_serve(open_line, server, stop))
    # A thread in a system call or an import must not keep the process alive.
    timer = threading.Timer(EXIT_S, os._exit, (code,))
    timer.daemon = True
    timer.start()
    return code


async def _serve(open_line: OpenLine, server: Server, stop: Callable[[], Awaitable[None]]) -> int:
    line = open_line.line
    asyncio.get_running_loop().set_exception_handler(_Starving())
    outgoing = Outgoing(line.write_fd, lambda reason: routing.give_up(reason))  # noqa: PLW0108 - made below
    routing = Routing(server, outgoing.send)
    server.send = outgoing.send
    incoming = Incoming(line.read_fd, open_line.framer, routing)
    watch_signals(routing.give_up)
    async with parent_watch(open_line.opened.process_id) as gone:
        orphaned = asyncio.create_task(_leave_when(gone, routing))
        routing.receive(open_line.rest)
        incoming.start()
        code = await routing.left
        orphaned.cancel()
    incoming.stop()
    await _within(STOP_S, "stopping", stop())
    await _within(STOP_S, "requests in flight", routing.drained())
    await _within(FLUSH_S, "the last answers", outgoing.flushed())
    outgoing.close()
    return code


class _Starving:
    """Handles failed callbacks: logs a lack of memory, and ends the process if it persists.

    The session's log already contains all important data, and an orderly end would need memory.
    """

    def __init__(self) -> None:
        self._n_starved = 0

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if isinstance(context.get("exception"), MemoryError):
            self._n_starved += 1
            if self._n_starved > MOST_STARVED:
                os.write(2, NO_MEMORY)
                os._exit(1)
            return
        loop.default_exception_handler(context)


async def _leave_when(gone: asyncio.Event, routing: Routing) -> None:
    await gone.wait()
    routing.give_up("the editor's process has ended")


async def _within(seconds: float, what: str, work: Awaitable[None]) -> None:
    try:
        await asyncio.wait_for(work, seconds)
    except TimeoutError:
        _log.warning("%s took over %s s at the end", what, seconds)


class Incoming:
    """Reads a file descriptor while the event loop runs.

    Args:
        fd: The descriptor to read.
        framer: The framer, which has already received the first bytes.
        routing: Receives the bodies, and the end of the input.
    """

    def __init__(self, fd: int, framer: Framer, routing: Routing) -> None:
        self._fd = fd
        self._framer = framer
        self._routing = routing
        self._loop = asyncio.get_running_loop()
        self._stalled: asyncio.TimerHandle | None = None
        self._is_watched = False

    def start(self) -> None:
        """Start to read, in a thread if the system cannot report available input."""
        self._look()
        try:
            self._loop.add_reader(self._fd, self._readable)
        except (NotImplementedError, PermissionError, ValueError):
            threading.Thread(target=self._read_for_ever, daemon=True).start()
        else:
            self._is_watched = True

    def stop(self) -> None:
        """Stop reading."""
        if self._stalled is not None:
            self._stalled.cancel()
        if self._is_watched:
            self._is_watched = False
            self._loop.remove_reader(self._fd)

    def _readable(self) -> None:
        try:
            data = os.read(self._fd, READ_B)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self._take(data)

    def _read_for_ever(self) -> None:
        data = b"-"
        while data:
            try:
                data = os.read(self._fd, READ_B)
            except OSError:
                data = b""
            try:
                self._loop.call_soon_threadsafe(self._take, data)
            except RuntimeError:
                return  # the event loop has ended

    def _take(self, data: bytes) -> None:
        if not data:
            self.stop()
            self._routing.hang_up()
            return
        self._routing.receive(self._framer.feed(data))
        self._look()

    def _look(self) -> None:
        """Check whether the frames are still valid, after new bytes or after a pause."""
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None
        if self._framer.broken:
            self.stop()
            self._routing.give_up(f"invalid LSP input: {self._framer.broken}")
        elif self._framer.awaits_body:
            self._stalled = self._loop.call_later(STALLED_S, self._check_stalled)

    def _check_stalled(self) -> None:
        self._framer.check_stalled()
        if self._framer.broken:
            self._look()


class Outgoing:
    """Queues frames and writes them to a file descriptor.

    Args:
        fd: The descriptor to write.
        on_lost: Called once, with the reason, when sending becomes impossible.
    """

    def __init__(self, fd: int, on_lost: Callable[[str], None]) -> None:
        self._line = LineWriter(fd)
        self._on_lost = on_lost
        self._waiting: deque[bytes] = deque()
        self._waiting_b = 0
        self._taken_at = asyncio.get_running_loop().time()
        self._watched = False
        self._lost = False
        self.dropped = 0

    def send(self, body: bytes, *, droppable: bool = False) -> None:
        """Send or queue a body; drop a ``droppable`` body while much is queued."""
        if self._lost:
            return
        edges.current().on_message_sent(body)
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
        """Wait until all bytes are sent, or sending becomes impossible."""
        while self._waiting and not self._lost:  # noqa: ASYNC110 - once, at the end
            await asyncio.sleep(0.005)  # this short wait happens only at the end of the process

    def close(self) -> None:
        """Stop sending."""
        self._lost = True
        self._waiting.clear()
        self._unwatch()

    def _write(self) -> None:
        while self._waiting:
            batch = [self._waiting[n] for n in range(min(_BATCH, len(self._waiting)))]
            try:
                n_written = self._line.write(batch)
            except BlockingIOError:
                break
            except OSError as error:
                self._lose(f"the editor's end is closed ({error.strerror})")
                return
            self._sent(n_written)
        if self._waiting and not self._watched:
            self._watched = True
            self._line.watch(self._write)
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
            self._line.unwatch()

    def _lose(self, reason: str) -> None:
        if not self._lost:
            self.close()
            self._on_lost(reason)


if sys.platform == "win32":
    _PIECE_B = 64 * 1024  # the limit of bytes per write, so that a slow editor's reads are noticed

    class LineWriter:
        """Writes to a descriptor in a thread, because writes to Windows pipes always block.

        Args:
            fd: The descriptor to write.
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
            """Stop watching."""
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
                    return  # the event loop has ended

        def _tell(self, result: int | OSError) -> None:
            self._is_busy, self._result = False, result
            if self._ready is not None:
                self._ready()


else:

    class LineWriter:
        """Writes to a descriptor without blocking, if it is a pipe or socket of this process only.

        Other programs share a terminal or a file and expect blocking writes, which are fast there.

        Args:
            fd: The descriptor to write.
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
            """Stop watching."""
            self._loop.remove_writer(self._fd)
