"""Sends any bytes to a server, and reads its frames strictly."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final, Literal, Protocol

LEAVES_S = 20.0  # Indwell promises 2 s on a quiet machine, and no other time-out is so short.
# After this many seconds, a wait counts as hanging; only a failing test waits so long.
PATIENCE_S = 60.0
SILENCE: Final = "silence"

_HEADER = re.compile(rb"Content-Length: ([0-9]+)(?:\r\nContent-Type: [^\r\n]+)?")

Message = dict[str, Any]
Reply = Callable[[Any], Any] | Literal["silence"]
"""From a request's params to its result, or ``SILENCE``: the request is never answered."""


def frame(body: object) -> bytes:
    """Return a message, or the bytes of a body, as a frame."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(data), data)


def split(buffer: bytearray) -> list[bytes]:
    """Remove the complete frames from the front of ``buffer``, and return their bodies.

    Any other bytes fail an assertion, as strict editors would refuse them. A second header is
    allowed because the bare server in the benchmarks sends two.
    """
    bodies = []
    start = 0
    while (end := buffer.find(b"\r\n\r\n", start)) >= 0:
        header = _HEADER.fullmatch(buffer[start:end])
        assert header is not None, bytes(buffer[start:end])
        stop = end + 4 + int(header[1])
        if len(buffer) < stop:
            break
        bodies.append(bytes(buffer[end + 4 : stop]))
        start = stop
    del buffer[:start]
    return bodies


class Ends(Protocol):
    """The test's ends of a connection, which carry any bytes."""

    @property
    def is_open(self) -> bool:
        """Return whether the connection can still send."""

    @property
    def is_sent(self) -> bool:
        """Return whether this process has sent all written bytes."""

    def listen(self, received: Callable[[bytes], bool], sent: Callable[[], None]) -> None:
        """Start to read; ``received`` gets no bytes at the end, and returns whether to continue."""

    def write(self, data: bytes) -> None:
        """Send bytes as soon as the server reads them."""

    def pause(self) -> None:
        """Read no more for now."""

    def resume(self) -> None:
        """Read again."""

    def read_some(self, n_bytes: int) -> None:
        """Read at most ``n_bytes`` now, while nothing else reads."""

    def close_write(self) -> None:
        """Close the direction to the server."""

    def close_read(self) -> None:
        """Close the direction from the server."""


class Descriptors:
    """The test's ends as non-blocking file descriptors; implements ``Ends``.

    Args:
        read_fd: The descriptor from which the client reads.
        write_fd: The descriptor to which the client writes; may be the same.
    """

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self._read_fd: int | None = read_fd
        self._write_fd: int | None = write_fd
        self._loop = asyncio.get_running_loop()
        self._unsent = bytearray()

    @property
    def is_open(self) -> bool:
        return self._write_fd is not None

    @property
    def is_sent(self) -> bool:
        return not self._unsent

    def listen(self, received: Callable[[bytes], bool], sent: Callable[[], None]) -> None:
        self._received, self._sent = received, sent
        self.resume()

    def write(self, data: bytes) -> None:
        assert self._write_fd is not None
        is_idle = not self._unsent
        self._unsent += data
        if is_idle:
            self._loop.add_writer(self._write_fd, self._writable)
            self._writable()

    def pause(self) -> None:
        if self._read_fd is not None:
            self._loop.remove_reader(self._read_fd)

    def resume(self) -> None:
        if self._read_fd is not None:
            self._loop.add_reader(self._read_fd, self.read_some)

    def close_write(self) -> None:
        if self._write_fd is not None:
            self._loop.remove_writer(self._write_fd)
            os.close(self._write_fd)
            self._write_fd = None

    def close_read(self) -> None:
        if self._read_fd is not None:
            self._loop.remove_reader(self._read_fd)
            os.close(self._read_fd)
            self._read_fd = None

    def read_some(self, n_bytes: int = 1 << 18) -> None:
        if self._read_fd is None:
            return
        try:
            data = os.read(self._read_fd, n_bytes)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not (self._received(data) and data):
            self.pause()

    def _writable(self) -> None:
        assert self._write_fd is not None
        try:
            while self._unsent:
                del self._unsent[: os.write(self._write_fd, memoryview(self._unsent)[: 1 << 16])]
        except BlockingIOError:
            return
        except OSError:
            self._unsent.clear()  # The server has ended; `ended` informs the test.
        self._loop.remove_writer(self._write_fd)
        self._sent()


class Wire:
    """A client's end of a connection.

    Args:
        ends: The pipes for reading from and writing to the server.

    Attributes:
        messages: All received messages in order.
        replies: The answers to requests of the server, by method; other requests get ``null``.
        n_bytes: The number of received bytes.
        at_end: Whether the server has closed its end.
    """

    def __init__(self, ends: Ends) -> None:
        self.messages: list[Message] = []
        self.replies: dict[str, Reply] = {}
        self.n_bytes = 0
        self.at_end = False
        self._fault: Exception | None = None
        self._answers: dict[str, list[Message]] = {}
        self._ends = ends
        self._happened = asyncio.Event()
        self._unread = bytearray()
        self._n_requests = 0
        ends.listen(self._received, self.tell)

    def write(self, data: bytes) -> None:
        """Send any bytes as soon as the server reads them."""
        if not self._ends.is_open:
            raise BrokenPipeError
        self._ends.write(data)

    def send(self, message: object) -> None:
        """Send one message, framed."""
        self.write(frame(message))

    def notify(self, method: str, params: object = None) -> None:
        """Send a notification."""
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def ask(self, method: str, params: object = None, *, id_: object = None) -> object:
        """Send a request without waiting; return its id."""
        self._n_requests += 1
        identifier = f"raw-{self._n_requests}" if id_ is None else id_
        self.send({"jsonrpc": "2.0", "id": identifier, "method": method, "params": params})
        return identifier

    async def request(
        self,
        method: str,
        params: object = None,
        *,
        id_: object = None,
        timeout_s: float = PATIENCE_S,
    ) -> Message:
        """Send a request and wait for its answer."""
        return await self.answer(self.ask(method, params, id_=id_), timeout_s=timeout_s)

    async def answer(self, id_: object, *, timeout_s: float = PATIENCE_S) -> Message:
        """Wait for the first answer with an id."""
        await self.wait_until(lambda: self.answers(id_) != [], timeout_s=timeout_s)
        return self.answers(id_)[0]

    def answers(self, id_: object) -> list[Message]:
        """Return every answer with exactly this id: ``1``, ``1.0`` and ``"1"`` are three ids."""
        return self._answers.get(json.dumps(id_), [])

    def of(self, method: str) -> list[Any]:
        """Return the params of all notifications and requests with a method."""
        return [one.get("params") for one in self.messages if one.get("method") == method]

    async def heard(self) -> None:
        """Wait until the server has read everything that was sent so far."""
        await self.request("$/heard")

    async def wait_until(self, holds: Callable[[], bool], *, timeout_s: float = PATIENCE_S) -> None:
        """Wait until a condition is true; each event triggers a check.

        Raises:
            AssertionError: The server sent an invalid message, or has ended.
            TimeoutError: The condition did not become true in time.
        """
        async with asyncio.timeout(timeout_s):
            while not holds():
                if self._fault is not None:
                    raise self._fault
                assert not self.at_end, "the server closed its end, and it has not happened"
                self._happened.clear()
                await self._happened.wait()

    def stop_reading(self) -> None:
        """Stop reading, until the pipe is full."""
        self._ends.pause()

    def resume_reading(self) -> None:
        """Read again."""
        self._ends.resume()

    def read_some(self, n_bytes: int) -> int:
        """Read at most ``n_bytes`` now, while nothing else reads."""
        before = self.n_bytes
        self._ends.read_some(n_bytes)
        return self.n_bytes - before

    def close_stdin(self) -> None:
        """Close the direction to the server."""
        self._ends.close_write()

    def forget(self) -> None:
        """Drop all received messages, which keeps a long test's memory small."""
        self.messages.clear()
        self._answers.clear()

    async def close_stdin_when_sent(self) -> None:
        """Close the direction to the server after all written bytes are sent."""
        await self.wait_until(lambda: self._ends.is_sent)
        self.close_stdin()

    def close_stdout(self) -> None:
        """Close the direction from the server."""
        self._ends.close_read()

    def tell(self) -> None:
        """Wake all waiting tasks, which then check their conditions."""
        self._happened.set()

    def _received(self, data: bytes) -> bool:
        """Process received bytes (none at the end); return whether to read more."""
        self.at_end = self.at_end or not data
        self.n_bytes += len(data)
        self._unread += data
        try:
            for body in split(self._unread):
                self._take(json.loads(body))
        except (AssertionError, ValueError) as fault:
            self._fault = fault
        self.tell()
        return self._fault is None

    def _take(self, message: Message) -> None:
        self.messages.append(message)
        if "method" not in message:
            self._answers.setdefault(json.dumps(message.get("id")), []).append(message)
        elif "id" in message:
            reply = self.replies.get(message["method"], _nothing)
            if callable(reply):
                result = reply(message.get("params"))
                with suppress(BrokenPipeError):
                    self.send({"jsonrpc": "2.0", "id": message["id"], "result": result})


def error_of(answer: Mapping[str, Any]) -> tuple[object, int | None]:
    """Check an answer's form; return its id, and its error code if the answer is an error."""
    assert answer["jsonrpc"] == "2.0"
    assert ("result" in answer) != ("error" in answer), answer
    if "result" in answer:
        return answer.get("id"), None
    assert isinstance(answer["error"]["message"], str)
    assert "Traceback" not in json.dumps(answer)
    return answer.get("id"), answer["error"]["code"]


def _nothing(_params: object) -> None:
    """Answer ``null`` to requests that a test does not mention."""
