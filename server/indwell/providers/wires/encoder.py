"""Builds the body of a request (H11), and encodes each part once, for any wire. Pure.

The encoder keeps the parts of the last request, and sends parts without joining them. The bytes
always equal those of an encoding of the whole body. The encoder is thread-safe, because the kept
parts are replaced in one step.

A ``Layout`` defines the form of the parts for each wire. The same request gives the same bytes. The
bytes of a message depend on the dialect, the model and the message's cache mark, but never on the
message's position.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, TypeAlias
from urllib.parse import quote

import msgspec

from indwell.messages import Anchors, Image, Message, Request, Text, ToolSpec
from indwell.providers.wires import chat, editor, messages, responses
from indwell.providers.wires.dialect import Dialect, WireName
from indwell.providers.wires.layout import Layout, clean

SENT_B = 65_536  # Smaller parts are joined up to 64 KiB before they are sent.
_POINT_B = 65_536  # The digest's state is kept after each 64 KiB of a body.

_Hash: TypeAlias = "hashlib.blake2b"
_Point: TypeAlias = tuple[int, _Hash]
"""The number of hashed parts, and the hash's state after these parts."""


def digest_of(body: bytes) -> str:
    """Return the digest of a request's bytes, for the log; takes 1 ms per megabyte."""
    return _hash(body).hexdigest()


class RequestBody(msgspec.Struct, frozen=True):
    """The body of a request, in parts that consecutive requests share.

    Attributes:
        parts: The parts of the body, in order.
        n_bytes: The number of bytes of all parts.
        digest: The digest of the joined bytes, by ``digest_of``.
    """

    parts: tuple[bytes, ...]
    n_bytes: int
    digest: str

    def joined(self) -> bytes:
        """Return all bytes in one piece."""
        return b"".join(self.parts)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the body in pieces; another attempt may iterate again."""
        group: list[bytes] = []
        n_bytes = 0
        for part in self.parts:
            group.append(part)
            n_bytes += len(part)
            if n_bytes >= SENT_B:
                yield group[0] if len(group) == 1 else b"".join(group)
                group, n_bytes = [], 0
        if group:
            yield b"".join(group)


VERTEX_VERSION = "vertex-2023-10-16"  # Google expects this version of Anthropic's API.
LAYOUTS: Mapping[WireName, Layout] = {
    "chat": chat,
    "responses": responses,
    "messages": messages,
    "editor": editor,
}


class _KeptParts(msgspec.Struct, frozen=True):
    """The encoded parts of one request: the beginning with the system message, messages, tools."""

    dialect: Dialect = Dialect()
    model: str = ""
    system: Sequence[Text] = ()
    system_marked: bool = False
    system_bytes: bytes = b""
    tools: Sequence[ToolSpec] = ()
    tools_marked: bool = False
    tools_bytes: bytes = b""
    head: bytes = b""
    messages: tuple[Message, ...] = ()
    marked: frozenset[int] = frozenset()
    parts: tuple[bytes, ...] = ()
    points: tuple[_Point, ...] = ()
    n_bytes: int = 0


class RequestEncoder:
    """Encodes the requests of one endpoint, one after the other."""

    def __init__(self) -> None:
        self._kept = _KeptParts()
        self._encode = msgspec.json.Encoder().encode

    @property
    def n_bytes(self) -> int:
        """The length of the last body."""
        return self._kept.n_bytes

    def n_new(self, request: Request, dialect: Dialect) -> int:
        """Estimate how many characters ``body`` would have to encode, without cache marks."""
        is_same = (dialect, request.model) == (self._kept.dialect, self._kept.model)
        kept = self._kept.messages if is_same else ()
        n_same = _n_same(kept, request.messages)
        return sum(_n_chars(message) for message in request.messages[n_same:])

    def encode(self, request: Request, dialect: Dialect) -> bytes:
        """Return the whole body of the request."""
        return self.body(request, dialect).joined()

    def body(self, request: Request, dialect: Dialect) -> RequestBody:
        """Return the body in parts; only parts that are new since the last request are encoded."""
        layout = LAYOUTS[dialect.wire]
        last = self._kept
        if (last.dialect, last.model) != (dialect, request.model):
            last = _KeptParts(dialect, request.model)
        marks = request.anchors if dialect.cache_marks else Anchors()
        system = last.system_bytes
        if (request.system, marks.system) != (last.system, last.system_marked):
            system = self._encode(
                layout.system_entries(request.system, marked=marks.system, life=dialect.life)
            )
        tools = last.tools_bytes
        if (request.tools, marks.tools) != (last.tools, last.tools_marked):
            tools = self._encode(
                layout.tool_entries(request.tools, marked=marks.tools, life=dialect.life)
            )
        marked = frozenset(marks.messages)
        n_same = _n_same(last.messages, request.messages)
        other = sorted(one for one in marked ^ last.marked if one < n_same)
        parts = list(last.parts[:n_same])
        for index in (*other, *range(n_same, len(request.messages))):
            entries = layout.message_entries(
                request.messages[index], dialect, marked=index in marked, model=request.model
            )
            comma = b"," if index else b""
            parts[index : index + 1] = (b"".join((comma, memoryview(self._encode(entries))[1:-1])),)
        first = self._encode(_first_field(request, dialect))[1:-1]
        head = layout.opening(first, system if request.system else b"", has_messages=bool(parts))
        n_stable = min(other, default=n_same) if head == last.head else -1
        points, digest = _hashed(head, parts, [one for one in last.points if one[0] <= n_stable])
        before = (b'],"tools":', tools) if request.tools else (b"]",)
        end = b"".join((*before, b",", self._encode(_options(layout, request, dialect))[1:]))
        digest.update(end)
        whole = (head, *parts, end)
        n_bytes = sum(map(len, whole))
        self._kept = _KeptParts(
            dialect=dialect,
            model=request.model,
            system=request.system,
            system_marked=marks.system,
            system_bytes=system,
            tools=request.tools,
            tools_marked=marks.tools,
            tools_bytes=tools,
            head=head,
            messages=request.messages,
            marked=marked,
            parts=tuple(parts),
            points=points,
            n_bytes=n_bytes,
        )
        return RequestBody(whole, n_bytes, digest.hexdigest())


def _first_field(request: Request, dialect: Dialect) -> dict[str, str]:
    # The body names the version, because Google reads no header with the version.
    if dialect.model_in_path:
        return {"anthropic_version": VERTEX_VERSION}
    return {"model": clean(dialect.name or request.model)}


def path_of(request: Request, dialect: Dialect) -> str:
    """Return the path of a request, below the endpoint's address."""
    if dialect.model_in_path:
        return f"/{quote(clean(dialect.name or request.model), safe='@')}:streamRawPredict"
    return LAYOUTS[dialect.wire].PATH


def _options(layout: Layout, request: Request, dialect: Dialect) -> dict[str, Any]:
    """Return the fields after the messages and tools, including the user's own fields."""
    options = layout.options(request, dialect)
    return options | msgspec.json.decode(dialect.fields) if dialect.fields else options


def _hash(data: bytes) -> _Hash:
    return hashlib.blake2b(data, digest_size=16)


def _hashed(
    head: bytes, parts: Sequence[bytes], points: list[_Point]
) -> tuple[tuple[_Point, ...], _Hash]:
    """Return the digest's state after the parts, from the last kept state on."""
    begun, digest = (points[-1][0], points[-1][1].copy()) if points else (0, _hash(head))
    n_bytes = 0
    for number, part in enumerate(parts[begun:], begun + 1):
        digest.update(part)
        n_bytes += len(part)
        if n_bytes >= _POINT_B:
            points.append((number, digest.copy()))
            n_bytes = 0
    return tuple(points), digest


def _n_same(kept: Sequence[Message], messages: Sequence[Message]) -> int:
    """Count the messages at the beginning that equal the kept messages."""
    low, high = 0, min(len(kept), len(messages))
    if kept[:high] == messages[:high]:  # The test is usually true and takes 10 ns per message.
        return high
    while low < high - 1:
        middle = (low + high) // 2
        if kept[low:middle] == messages[low:middle]:
            low = middle
        else:
            high = middle
    return low


def _n_chars(message: Message) -> int:
    n_chars = 0
    for block in message.blocks:
        text = block.data if isinstance(block, Image) else getattr(block, "text", "")
        n_chars += len(text) + len(getattr(block, "arguments", ""))
    return n_chars
