"""Serves one connection from the first message to the exit code."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading
from collections.abc import Awaitable, Callable
from typing import Any

from indwell.lsp.wire.incoming import Incoming
from indwell.lsp.wire.language_server import Server
from indwell.lsp.wire.outgoing import Outgoing
from indwell.lsp.wire.parent import watched
from indwell.lsp.wire.routing import Routing
from indwell.lsp.wire.stdio import OpenLine, make_nonblocking

_log = logging.getLogger(__name__)

STOP_S = 1.5  # to cancel what runs and to write down what is not written yet
FLUSH_S = 0.3  # to get the last answers out
EXIT_S = 1.0  # then the process ends, whatever threads still do

MOST_STARVED = 20  # callbacks without memory; a reader that gets none is called again at once
NO_MEMORY = b"indwell: there is no memory left; the server ends\n"

_SIGNALS = ("SIGTERM", "SIGINT", "SIGHUP")


def serve_line(open_line: OpenLine, server: Server, stop: Callable[[], Awaitable[None]]) -> int:
    """Serve until the editor leaves; gives the exit code.

    Args:
        open_line: After ``initialize``.
        server: With all its handlers.
        stop: Leaves sessions valid and ends processes; called once, at the end.
    """
    code = asyncio.run(_serve(open_line, server, stop))
    # A thread in a system call, or in an import, must not keep a process that has said goodbye.
    timer = threading.Timer(EXIT_S, os._exit, (code,))
    timer.daemon = True
    timer.start()
    return code


async def _serve(open_line: OpenLine, server: Server, stop: Callable[[], Awaitable[None]]) -> int:
    line = open_line.line
    make_nonblocking(line.write_fd)
    asyncio.get_running_loop().set_exception_handler(_Starving())
    outgoing = Outgoing(line.write_fd, lambda reason: routing.give_up(reason))  # noqa: PLW0108 - made below
    routing = Routing(server, outgoing.send)
    server.send = outgoing.send
    incoming = Incoming(line.read_fd, open_line.framer, routing)
    _watch_signals(routing)
    async with watched(open_line.opened.process_id) as gone:
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
    """Hears of callbacks that failed: one for want of memory is logged, a storm of them is the end.

    What would have to be written down is in the log already; to leave in order takes memory.
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


def _watch_signals(routing: Routing) -> None:
    loop = asyncio.get_running_loop()
    for name in _SIGNALS:
        number = getattr(signal, name, None)
        if number is None:
            continue
        try:
            loop.add_signal_handler(number, routing.give_up, f"ended by {name}", 128 + number)
        except (NotImplementedError, RuntimeError, ValueError):
            return  # not on this system, or not in the main thread


async def _within(seconds: float, what: str, work: Awaitable[None]) -> None:
    try:
        await asyncio.wait_for(work, seconds)
    except TimeoutError:
        _log.warning("%s took over %s s at the end", what, seconds)
