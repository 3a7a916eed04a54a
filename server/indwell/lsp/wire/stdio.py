"""Serves stdin and stdout until ``initialize``, with blocking calls.

The module imports nothing heavy, because ``initialize`` is answered before the rest of the server
loads.
"""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

from indwell.errors import UserError
from indwell.lsp.wire.base_protocol import MAX_BODY_B, Framer
from indwell.lsp.wire.handshake import ClientIdentity, Opening

READ_B = 256 * 1024  # the limit of bytes for one read


class NoLine(UserError):
    """The process has no stdin or stdout with which to serve an editor."""


class StdioTransport(NamedTuple):
    """The file descriptors of the editor's messages and of the server's messages."""

    read_fd: int
    write_fd: int


class OpenLine(NamedTuple):
    """A connection after ``initialize``, with the bytes that were read after ``initialize``."""

    line: StdioTransport
    opened: ClientIdentity
    framer: Framer
    rest: list[bytes]


def claim_stdio() -> StdioTransport:
    """Reserve stdin and stdout for the protocol.

    Later output of libraries and child processes goes to stderr; their stdin is empty.

    Raises:
        NoLine: stdin or stdout is closed.
    """
    try:
        line = StdioTransport(os.dup(0), os.dup(1))
    except OSError as error:
        raise NoLine(
            f"there is no stdin or stdout to serve an editor on ({error.strerror})"
        ) from error
    for fd in line:
        os.set_inheritable(fd, False)  # noqa: FBT003 - as the function is
        _keep_bytes(fd)
    nothing, nobody = os.pipe()
    os.close(nobody)  # reading then returns the end of the file
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return line


def open_line(
    line: StdioTransport,
    *,
    admits: Callable[[str], bool] = lambda _token: True,
    timeout_s: float | None = None,
    max_body: int = MAX_BODY_B,
    on_initialize: Callable[[bytes, bytes], object] = lambda _body, _reply: None,
) -> OpenLine | int:
    """Wait for ``initialize`` and answer it; return the exit code if the connection ends first.

    Args:
        line: The connection, which blocking calls read and write.
        admits: Returns whether a token is the connection's token.
        timeout_s: The editor's time limit in seconds, or None for no limit.
        max_body: The limit of bytes for a message before the connection is open.
        on_initialize: Called with the bodies of each ``initialize`` and its answer.
    """
    framer = Framer(max_body)
    opening = Opening(framer, admits, on_initialize)
    until = None if timeout_s is None else time.monotonic() + timeout_s
    while opening.opened is None and opening.leave is None:
        if until is not None:
            ready, _, _ = select.select([line.read_fd], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                return 1
        try:
            data = os.read(line.read_fd, READ_B)
            if not data:
                return 1
            _write_all(line.write_fd, opening.receive(data))
        except OSError as error:
            sys.stderr.write(f"indwell: the editor's end is closed ({error.strerror})\n")
            return 1
    if framer.broken:
        sys.stderr.write(f"indwell: invalid LSP input: {framer.broken}\n")
    if opening.opened is None:
        assert opening.leave is not None
        return opening.leave
    framer.max_body = MAX_BODY_B
    return OpenLine(line, opening.opened, framer, opening.rest)


if sys.platform == "win32":
    import msvcrt

    def _keep_bytes(fd: int) -> None:
        """Let the descriptor pass bytes unchanged, without converting line ends."""
        msvcrt.setmode(fd, os.O_BINARY)

else:

    def _keep_bytes(fd: int) -> None:
        """Do nothing, because only Windows converts line ends."""
        del fd


def _write_all(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]
