"""Frames of the base protocol: bytes in, bodies out, errors for invalid headers. Pure.

``Content-Length: N``, an empty line, then N bytes. Header names ignore case and may have blanks
around them; other headers are ignored; line ends may be LF alone. After a wrong header nobody knows
where the next message begins, so the connection ends: the editor starts us again.
"""

from __future__ import annotations

import msgspec

from indwell.lazy_pattern import lazy_pattern

MAX_HEADER_B = 8_192  # LSP-06; a real header has 30-90 bytes
MAX_BODY_B = 256 * 1024 * 1024  # a document of 100 MB, escaped, still fits (ENC-13)

NO_HEADER = "the bytes before a message are not a header"
_NAME = lazy_pattern(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # a token of RFC 9110, 5.6.2
_LENGTH = lazy_pattern(rb"[0-9]{1,12}")
_QUOTED_B = 60  # bytes of a wrong header that are shown


class _Broken(Exception):
    """The bytes are no longer valid frames; the message says why."""


class Framer:
    """Splits a stream of bytes into message bodies; the stream may arrive in any pieces.

    Attributes:
        max_body: The byte limit of one body.
        broken: What is wrong with the bytes; empty for valid frames. Nothing is read then.
    """

    def __init__(self, max_body: int = MAX_BODY_B) -> None:
        self.broken = ""
        self.max_body = max_body
        self._buffer = bytearray()
        self._looked = 0  # bytes of the header without a line end
        self._header_b = 0
        self._wanted: int | None = None  # from the header that is being read
        self._body_b: int | None = None  # header complete: number of bytes to come

    def feed(self, data: bytes) -> list[bytes]:
        """Add received bytes; return the bodies that are now complete, in order."""
        if self.broken:
            return []
        self._buffer += data
        bodies: list[bytes] = []
        try:
            while (body := self._next()) is not None:
                bodies.append(body)
        except _Broken as wrong:
            self.broken = str(wrong)
            self._buffer.clear()
        return bodies

    @property
    def awaits_body(self) -> bool:
        """Tell whether a header has arrived whose body is not complete."""
        return self._body_b is not None

    def check_stalled(self) -> None:
        """Check for a wrong length after a silence: the body so far is already complete JSON.

        No JSON object is the beginning of a longer one, so the missing bytes never come.
        """
        if not self.awaits_body or not self._buffer.rstrip().endswith(b"}"):
            return
        try:
            msgspec.json.decode(self._buffer, type=msgspec.Raw)
        except (msgspec.DecodeError, RecursionError):
            return
        self.broken = f"Content-Length is {self._body_b}, but the message has fewer bytes"
        self._buffer.clear()

    def _next(self) -> bytes | None:
        while self._body_b is None:
            line = self._line()
            if line is None:
                return None
            self._take(line)
        if len(self._buffer) < self._body_b:
            return None
        body = bytes(memoryview(self._buffer)[: self._body_b])
        del self._buffer[: self._body_b]
        self._body_b = None
        return body

    def _line(self) -> bytes | None:
        """Return the next line of the header, without its end; None if it is incomplete."""
        end = self._buffer.find(b"\n", self._looked)
        length = len(self._buffer) if end < 0 else end
        if self._header_b + length > MAX_HEADER_B:
            raise _Broken(f"a header is longer than {MAX_HEADER_B} bytes")
        if end < 0:
            self._looked = len(self._buffer)
            self._check_begun()
            return None
        line = bytes(self._buffer[:end]).removesuffix(b"\r")
        del self._buffer[: end + 1]
        self._header_b += end + 1
        self._looked = 0
        return line

    def _check_begun(self) -> None:
        """Refuse bytes that cannot become a header before the rest arrives (LSP-03)."""
        begun = bytes(self._buffer)
        name = begun.removesuffix(b"\r").partition(b":")[0].strip(b" \t")
        if (name and not _NAME.fullmatch(name)) or b"\r" in begun[:-1]:
            raise _Broken(NO_HEADER)

    def _take(self, line: bytes) -> None:
        if not line:
            if self._wanted is None:
                raise _Broken("a header has no Content-Length")
            self._body_b, self._wanted, self._header_b = self._wanted, None, 0
            return
        name, colon, value = line.partition(b":")
        name = name.strip(b" \t")
        if not colon or not _NAME.fullmatch(name) or b"\r" in line:
            raise _Broken(NO_HEADER)
        if name.lower() == b"content-length":
            self._wanted = self._length(value.strip(b" \t"))

    def _length(self, value: bytes) -> int:
        if not _LENGTH.fullmatch(value):
            raise _Broken(f"Content-Length is {_shown(value)}, which is no number of bytes")
        if self._wanted is not None:
            raise _Broken("a header has two Content-Lengths")
        length = int(value)
        if length > self.max_body:
            raise _Broken(f"a message of {length:,} bytes is over {self.max_body:,}")
        return length


def framed(body: bytes) -> bytes:
    """A body with its header."""
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def _shown(raw: bytes) -> str:
    return repr(raw[:_QUOTED_B].decode("latin-1"))
