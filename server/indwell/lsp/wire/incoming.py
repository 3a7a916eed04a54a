"""Passes the editor's bytes to the routing as they arrive."""

from __future__ import annotations

import asyncio
import os
import threading

from indwell.lsp.wire.framing import Framer
from indwell.lsp.wire.routing import Routing
from indwell.lsp.wire.stdio import READ_B

STALLED_S = 0.4  # without a byte inside a body; then its length is looked at (LSP-03)


class Incoming:
    """Reads a file descriptor while the event loop runs.

    Args:
        fd: Where from.
        framer: Knows the beginning already.
        routing: Takes the bodies, and hears when there are no more.
    """

    def __init__(self, fd: int, framer: Framer, routing: Routing) -> None:
        self._fd = fd
        self._framer = framer
        self._routing = routing
        self._loop = asyncio.get_running_loop()
        self._stalled: asyncio.TimerHandle | None = None
        self._is_watched = False

    def start(self) -> None:
        """Read from now on; by a thread where the system cannot tell when there is something."""
        self._look()
        try:
            self._loop.add_reader(self._fd, self._readable)
        except (NotImplementedError, PermissionError, ValueError):
            threading.Thread(target=self._read_for_ever, daemon=True).start()
        else:
            self._is_watched = True

    def stop(self) -> None:
        """Read no more."""
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
                return  # the loop has ended

    def _take(self, data: bytes) -> None:
        if not data:
            self.stop()
            self._routing.hang_up()
            return
        self._routing.receive(self._framer.feed(data))
        self._look()

    def _look(self) -> None:
        """See whether the framing still holds, now or when nothing more comes for a while."""
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None
        if self._framer.broken:
            self.stop()
            self._routing.give_up(f"the editor's messages cannot be read: {self._framer.broken}")
        elif self._framer.awaits_body:
            self._stalled = self._loop.call_later(STALLED_S, self._check_stalled)

    def _check_stalled(self) -> None:
        self._framer.check_stalled()
        if self._framer.broken:
            self._look()
