"""Accepts one editor over TCP, on this machine only and with a token.

Every user and every web page on the machine can reach a loopback port, so the first message must
contain a secret. A page's HTTP request is not a valid frame and ends the connection.
"""

from __future__ import annotations

import hmac
import ipaddress
import os
import queue
import socket
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from indwell.errors import UserError
from indwell.lsp.wire.stdio import READ_B, OpenLine, StdioTransport, open_line

OPENING_S = 10.0  # the time limit, in seconds, for a connection to send `initialize` with the token
MOST_OPENING = 16  # the limit of simultaneous connections without a token
ACCEPT_S = 0.05  # the time, in seconds, between two checks whether an editor has connected
OPENING_B = 1024 * 1024  # the limit of bytes for one message before the token is known
MIN_TOKEN = 16  # the least number of characters for a token; a shorter token can be guessed


class WrongAddress(UserError):
    """The address or the token cannot be used."""


def address_of(text: str) -> tuple[str, int]:
    """Parse ``HOST:PORT`` as an address of this machine; for port 0 the system chooses.

    Raises:
        WrongAddress: The text is not an address, or other machines could reach the address.
    """
    host, colon, port = text.rpartition(":")
    is_bare = ":" in host and not (host.startswith("[") and host.endswith("]"))
    host = host.strip("[]")
    is_port = port.isascii() and port.isdecimal() and int(port) <= 65_535  # noqa: PLR2004 - 16 bits
    if not colon or is_bare or not is_port:
        raise WrongAddress(f"{text!r} is not HOST:PORT; write 127.0.0.1:0 for any free port")
    try:
        is_local = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host).is_loopback
    except ValueError:
        is_local = False
    if not is_local:
        raise WrongAddress(
            f"{host!r} is not a loopback address; write 127.0.0.1:{port}, and reach it from "
            "elsewhere through a tunnel such as ssh -L"
        )
    return "127.0.0.1" if host == "localhost" else host, int(port)


def check_token(token: str) -> str:
    """Return the token, after a check that it is long enough to be a secret.

    Raises:
        WrongAddress: The token is too short.
    """
    if len(token) < MIN_TOKEN:
        raise WrongAddress(
            f"INDWELL_TOKEN has {len(token)} characters; take at least {MIN_TOKEN}, or leave it "
            "out and one is made"
        )
    return token


@contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """Yield a socket that listens at a loopback address.

    Raises:
        WrongAddress: The system refuses the port.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
        except OSError as error:
            raise WrongAddress(f"{host}:{port} cannot be used: {error.strerror}") from error
        listener.listen(8)
        yield listener


def accept_editor(listener: socket.socket, token: str) -> OpenLine:
    """Wait for the editor with the token, and close all other connections.

    Several connections may be open, and the oldest are closed when there are many, so a silent
    connection does not block others.

    Args:
        listener: The socket from ``listening``; still open afterwards.
        token: The expected ``initializationOptions.token``.
    """
    opened: queue.SimpleQueue[OpenLine] = queue.SimpleQueue()
    waiting: deque[socket.socket] = deque()

    taken = threading.Lock()  # the first connection with the token takes the lock

    def admits(given: str) -> bool:
        is_right = hmac.compare_digest(given.encode("utf-8", "replace"), token.encode())
        return is_right and taken.acquire(blocking=False)

    def open_one(connection: socket.socket) -> None:
        result = _opened(connection, admits)
        if isinstance(result, OpenLine):
            opened.put(result)

    listener.settimeout(ACCEPT_S)
    while opened.empty():
        with suppress(TimeoutError):
            connection, _peer = listener.accept()
            connection.settimeout(None)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            waiting.append(connection)
            threading.Thread(target=open_one, args=(connection,), daemon=True).start()
        if len(waiting) > MOST_OPENING:  # the oldest connection had enough time
            with suppress(OSError):
                waiting.popleft().shutdown(socket.SHUT_RDWR)
    return opened.get()


if sys.platform == "win32":

    def _opened(connection: socket.socket, admits: Callable[[str], bool]) -> OpenLine | int:
        """Open a connection through two pipes, because a Windows socket is not a descriptor."""
        reading, from_editor = os.pipe()
        to_editor, writing = os.pipe()
        _start(_receive, connection, from_editor)
        _start(_send, to_editor, connection)
        silence = threading.Timer(OPENING_S, _hang_up, (connection,))
        silence.daemon = True
        silence.start()
        line = StdioTransport(reading, writing)
        result = open_line(line, admits=admits, max_body=OPENING_B)
        silence.cancel()
        if not isinstance(result, OpenLine):
            os.close(writing)  # the bytes that were already written are still sent
            os.close(reading)
        return result

    def _start(work: Callable[..., None], *arguments: object) -> None:
        threading.Thread(target=work, args=arguments, daemon=True, name="indwell-tcp").start()

    def _hang_up(connection: socket.socket) -> None:
        with suppress(OSError):  # the connection was closed
            connection.shutdown(socket.SHUT_RDWR)

    def _receive(connection: socket.socket, into: int) -> None:
        with suppress(OSError):  # one of the two ends was closed
            while data := connection.recv(READ_B):
                _write_all(into, data)
        os.close(into)

    def _send(from_: int, connection: socket.socket) -> None:
        with suppress(OSError), connection:
            while data := os.read(from_, READ_B):
                connection.sendall(data)
            connection.shutdown(socket.SHUT_RDWR)
        os.close(from_)

    def _write_all(fd: int, data: bytes) -> None:
        while data:
            data = data[os.write(fd, data) :]

else:

    def _opened(connection: socket.socket, admits: Callable[[str], bool]) -> OpenLine | int:
        """Open a connection on the socket's descriptor."""
        line = StdioTransport(connection.fileno(), os.dup(connection.fileno()))
        result = open_line(line, admits=admits, timeout_s=OPENING_S, max_body=OPENING_B)
        if isinstance(result, OpenLine):
            connection.detach()
            return result
        os.close(line.write_fd)
        connection.close()
        return result
