"""Implements LSP's base protocol: frames, messages, and when each message is allowed. Pure.

A frame is ``Content-Length: N``, an empty line, then N bytes. Header names ignore case and may have
blanks around them; other headers are ignored; line ends may be LF alone. After a wrong header the
beginning of the next message is unknown, so the connection ends, and the editor restarts the
server.

Params stay undecoded until their type is known, because most messages are document changes, which
are decoded directly into their own type.
"""

from __future__ import annotations

import json
from typing import Any, Literal, NoReturn, TypeAlias

import msgspec

from indwell.lazy_pattern import lazy_pattern
from indwell.prepared_types import prepared

MAX_HEADER_B = 8_192  # the limit of bytes for a header; a real header has 30 to 90 bytes
# the limit of bytes for a body, so that an escaped document of 100 MB still fits
MAX_BODY_B = 256 * 1024 * 1024

NO_HEADER = "the bytes before a message are not a header"
_NAME = lazy_pattern(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # a token of RFC 9110, section 5.6.2
_LENGTH = lazy_pattern(rb"[0-9]{1,12}")
_QUOTED_B = 60  # the limit of bytes of a wrong header that are shown


class _Broken(Exception):
    """The bytes are not valid frames; the message says why."""


class Framer:
    """Splits a stream of bytes into message bodies; the bytes may arrive in any parts.

    Attributes:
        max_body: The byte limit of one body.
        broken: The problem with the bytes, after which reading stops, or empty for valid frames.
    """

    def __init__(self, max_body: int = MAX_BODY_B) -> None:
        self.broken = ""
        self.max_body = max_body
        self._buffer = bytearray()
        self._looked = 0  # the number of searched header bytes that contain no line end
        self._header_b = 0
        self._wanted: int | None = None  # the length in the header that is being read
        self._body_b: int | None = None  # the number of missing body bytes after a complete header

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
        """True if a header has arrived whose body is not complete."""
        return self._body_b is not None

    def check_stalled(self) -> None:
        """After a pause, check whether the header's length is too large.

        If the body so far is complete JSON, the missing bytes will never arrive.
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
        """Return the header's next line without its end, or None if the line is incomplete."""
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
        """Refuse bytes that cannot begin a header, before more bytes arrive."""
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
            raise _Broken(f"Content-Length is {_shown(value)}, which is not a number of bytes")
        if self._wanted is not None:
            raise _Broken("a header has two Content-Lengths")
        length = int(value)
        if length > self.max_body:
            raise _Broken(f"a message of {length:,} bytes is over {self.max_body:,}")
        return length


def framed(body: bytes) -> bytes:
    """Return a body with its header."""
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def _shown(raw: bytes) -> str:
    return repr(raw[:_QUOTED_B].decode("latin-1"))


PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
NOT_INITIALIZED = -32002
REQUEST_CANCELLED = -32800
REQUEST_FAILED = -32803  # the error code for a valid request that failed

Id: TypeAlias = int | str
_RAW_NULL = msgspec.Raw(b"null")


class RpcRequest(msgspec.Struct, frozen=True):
    """A message whose sender waits for a response."""

    id: Id
    method: str
    params: msgspec.Raw


class Notification(msgspec.Struct, frozen=True):
    """A message without a response."""

    method: str
    params: msgspec.Raw


class Response(msgspec.Struct, frozen=True):
    """The answer to a request of the server; ``error`` is None on success."""

    id: Id | None
    result: msgspec.Raw
    error: msgspec.Raw | None = None


class Invalid(msgspec.Struct, frozen=True):
    """An invalid message; ``id`` is the message's id if it is usable."""

    id: Id | None
    code: int
    message: str


class RequestError(Exception):
    """A failed request of the editor or of the server.

    Attributes:
        code: The error code of JSON-RPC or LSP.
        data: More data as JSON, or None if missing.
    """

    def __init__(self, message: str, code: int, data: object = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.data = data


Incoming: TypeAlias = RpcRequest | Notification | Response | Invalid


class _Envelope(msgspec.Struct):
    jsonrpc: str
    id: Id | msgspec.UnsetType | None = msgspec.UNSET
    method: str | msgspec.UnsetType = msgspec.UNSET
    params: msgspec.Raw = _RAW_NULL
    result: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    error: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


_decode = msgspec.json.Decoder(prepared(_Envelope)).decode


def opened(body: bytes) -> Incoming:
    """Parse the envelope of a message body; never raises an error."""
    try:
        envelope = _decode(body)
    except msgspec.ValidationError:
        return _wrong_shape(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return _leniently(body)
    return _message(envelope)


def parsed(raw: msgspec.Raw | bytes) -> Any:  # noqa: ANN401 - JSON comes in here
    """Decode JSON of unknown shape; accepts lone surrogates, which JSON permits.

    Raises:
        ValueError: The text is not valid JSON, or is nested too deeply.
    """
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        try:
            return json.loads(bytes(raw), parse_constant=_no_constant)
        except RecursionError:
            raise ValueError("it is nested too deeply") from error


def answer(id_: Id, result: object) -> bytes:
    """Return the body of an answer; ``result`` is plain JSON data.

    Raises:
        TypeError: The value has a part that JSON cannot express.
    """
    return encoded({"jsonrpc": "2.0", "id": id_, "result": result})


def refusal(id_: Id | None, code: int, message: str, data: object = None) -> bytes:
    """Encode the body of an error response with one sentence, never with a traceback."""
    error: dict[str, object] = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    return encoded({"jsonrpc": "2.0", "id": id_, "error": error})


def encoded(message: object) -> bytes:
    """Encode any message as JSON; a lone surrogate stays escaped.

    Raises:
        TypeError: The value has a part that JSON cannot express.
    """
    try:
        return msgspec.json.encode(message)
    except UnicodeEncodeError:
        return json.dumps(message, default=msgspec.to_builtins).encode()


def _message(envelope: _Envelope) -> Incoming:
    id_ = envelope.id
    known = id_ if isinstance(id_, int | str) else None
    if envelope.jsonrpc != "2.0":
        return Invalid(known, INVALID_REQUEST, "jsonrpc must be '2.0'")
    if envelope.method is msgspec.UNSET:
        if envelope.error is not msgspec.UNSET and id_ is not msgspec.UNSET:
            error = envelope.error if bytes(envelope.error) != b"null" else None
            return Response(known, _RAW_NULL, error)
        if envelope.result is not msgspec.UNSET and id_ is not msgspec.UNSET:
            return Response(known, envelope.result)
        return Invalid(known, INVALID_REQUEST, "a message needs a method, a result or an error")
    # Some clients send null, which begins with "n".
    if bytes(envelope.params)[:1] not in (b"{", b"[", b"n"):
        return Invalid(known, INVALID_REQUEST, "params must be an object or an array")
    if id_ is msgspec.UNSET:
        return Notification(envelope.method, envelope.params)
    if known is None:
        return Invalid(None, INVALID_REQUEST, "the id of a request must be a number or a text")
    return RpcRequest(known, envelope.method, envelope.params)


def _leniently(body: bytes) -> Incoming:
    """Decode JSON that the strict decoder refuses, such as a lone surrogate.

    For invalid JSON, the result is a parse error.
    """
    try:
        value = parsed(body)
        again = json.dumps(value).encode()
    except (ValueError, RecursionError):
        return Invalid(None, PARSE_ERROR, "the message is not valid JSON")
    if not isinstance(value, dict) or "jsonrpc" not in value:
        return _wrong(value)
    fields = {name: value[name] for name in ("id", "method") if name in value}
    raws = {
        name: msgspec.Raw(json.dumps(value[name]).encode())
        for name in ("params", "result", "error")
        if name in value
    }
    try:
        shape = msgspec.convert({"jsonrpc": value["jsonrpc"], **fields}, prepared(_Envelope))
    except msgspec.ValidationError:
        return _wrong_shape(again)
    for name, raw in raws.items():
        setattr(shape, name, raw)
    return _message(shape)


def _wrong_shape(body: bytes) -> Invalid:
    """Return an ``Invalid`` that explains why JSON of the wrong shape is not a message."""
    try:
        return _wrong(parsed(body))
    except ValueError:
        return Invalid(None, PARSE_ERROR, "the message is not valid JSON")


def _wrong(value: object) -> Invalid:
    if isinstance(value, list):
        return Invalid(None, INVALID_REQUEST, "batches are not part of the protocol")
    if not isinstance(value, dict):
        return Invalid(None, INVALID_REQUEST, "a message must be an object")
    id_ = value.get("id")
    known = id_ if isinstance(id_, int | str) and not isinstance(id_, bool) else None
    if value.get("jsonrpc") != "2.0":
        return Invalid(known, INVALID_REQUEST, "jsonrpc must be '2.0'")
    if known is None:
        return Invalid(None, INVALID_REQUEST, "the id of a request must be a number or a text")
    return Invalid(known, INVALID_REQUEST, "method must be a text")


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not valid JSON")


Phase: TypeAlias = Literal["unopened", "open", "shut"]


class Take(msgspec.Struct, frozen=True):
    """The message will be handled; the connection is in this ``phase`` from now on."""

    phase: Phase


class Refuse(msgspec.Struct, frozen=True):
    """The message will be answered with an error."""

    error: Invalid


class Drop(msgspec.Struct, frozen=True):
    """The message will be ignored."""


class Leave(msgspec.Struct, frozen=True):
    """The process will end with this exit code, which is 0 only after ``shutdown``."""

    code: int


Verdict: TypeAlias = Take | Refuse | Drop | Leave


def verdict(phase: Phase, message: Incoming) -> Verdict:
    """Decide whether ``message`` is allowed in this phase."""
    match message:
        case Invalid():
            return Refuse(message)
        case Response():
            return Take(phase) if phase == "open" else Drop()
        case Notification(method="exit"):
            return Leave(0 if phase == "shut" else 1)
        case Notification():
            return Take(phase) if phase == "open" else Drop()
        case RpcRequest(method="initialize"):
            if phase == "unopened":
                return Take("open")
            return Refuse(Invalid(message.id, INVALID_REQUEST, "initialize was sent already"))
        case RpcRequest():
            if phase == "unopened":
                return Refuse(Invalid(message.id, NOT_INITIALIZED, "initialize comes first"))
            if phase == "shut":
                return Refuse(Invalid(message.id, INVALID_REQUEST, "the server was shut down"))
            return Take("shut" if message.method == "shutdown" else phase)
