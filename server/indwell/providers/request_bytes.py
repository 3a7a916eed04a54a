"""A request as bytes, encoded once: what the last request had too is not encoded again.

Only the parts of the last request are kept, and they are sent as they are: a body is never joined.
The bytes are those that encoding everything gives, whatever was encoded before. Safe to use from
several threads: what is kept changes in one step.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Sequence
from typing import TypeAlias

import msgspec

from indwell.messages import Image, Message, Request, Text, ToolSpec
from indwell.providers.chat_messages import (
    clean,
    marks_of,
    message_entries,
    options,
    system_entries,
    tool_entries,
)
from indwell.providers.dialect import Dialect

SENT_B = 65_536  # bytes that are handed to the network at once, if the parts are smaller
_POINT_B = 65_536  # bytes of a body between two states of its digest that are kept

_Hash: TypeAlias = "hashlib.blake2b"
_Point: TypeAlias = tuple[int, _Hash]
"""How many parts were hashed, and the state after them, which is never changed again."""


def digest_of(body: bytes) -> str:
    """Of the bytes of a request, for the log; 1 ms for a megabyte."""
    return _hash(body).hexdigest()


class Body(msgspec.Struct, frozen=True):
    """The body of a request, in parts that are shared with the requests before and after it.

    Attributes:
        parts: Its bytes, in order.
        n_bytes: Of all of them.
        digest: As ``digest_of`` makes it of the joined bytes.
    """

    parts: tuple[bytes, ...]
    n_bytes: int
    digest: str

    def joined(self) -> bytes:
        """All of it, once more."""
        return b"".join(self.parts)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """What is sent, piece by piece; may be gone through again for another attempt."""
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


class _Kept(msgspec.Struct, frozen=True):
    """The parts of one request: its beginning with the system's, the messages', the tools'."""

    dialect: Dialect = Dialect()
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
        self._kept = _Kept()
        self._encode = msgspec.json.Encoder().encode

    @property
    def n_bytes(self) -> int:
        """Of the last body."""
        return self._kept.n_bytes

    def n_new(self, request: Request, dialect: Dialect) -> int:
        """About how many characters ``body`` would have to encode, not counting the marks."""
        kept = self._kept.messages if dialect == self._kept.dialect else ()
        n_same = _n_same(kept, request.messages)
        return sum(_n_chars(message) for message in request.messages[n_same:])

    def encode(self, request: Request, dialect: Dialect) -> bytes:
        """The body of the request: ``chat_body`` as JSON."""
        return self.body(request, dialect).joined()

    def body(self, request: Request, dialect: Dialect) -> Body:
        """The same in parts; work is in proportion to what the last request did not have."""
        last = self._kept if self._kept.dialect == dialect else _Kept(dialect)
        marks = marks_of(request, dialect)
        system = last.system_bytes
        if (request.system, marks.system) != (last.system, last.system_marked):
            system = self._encode(system_entries(request.system, marked=marks.system))[1:-1]
        tools = last.tools_bytes
        if (request.tools, marks.tools) != (last.tools, last.tools_marked):
            tools = self._encode(tool_entries(request.tools, marked=marks.tools))
        marked = frozenset(marks.messages)
        n_same = _n_same(last.messages, request.messages)
        other = sorted(one for one in marked ^ last.marked if one < n_same)
        parts = list(last.parts[:n_same])
        for index in (*other, *range(n_same, len(request.messages))):
            part = self._part(request, dialect, index, is_marked=index in marked)
            parts[index : index + 1] = (part,)
        between = b"," if system and parts else b""
        head = b"".join((b'{"model":', self._encode(clean(request.model)), b',"messages":['))
        head = b"".join((head, system, between))
        n_stable = min(other, default=n_same) if head == last.head else -1
        points, digest = _hashed(head, parts, [one for one in last.points if one[0] <= n_stable])
        end = self._end(request, dialect, tools)
        digest.update(end)
        whole = (head, *parts, end)
        n_bytes = sum(map(len, whole))
        self._kept = _Kept(
            dialect=dialect,
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
        return Body(whole, n_bytes, digest.hexdigest())

    def _part(self, request: Request, dialect: Dialect, index: int, *, is_marked: bool) -> bytes:
        """The entries of a message, behind a comma if it is not the first."""
        entries = message_entries(request.messages[index], dialect, marked=is_marked)
        encoded = self._encode(entries)
        return b"".join((b"," if index else b"", memoryview(encoded)[1:-1]))

    def _end(self, request: Request, dialect: Dialect, tools: bytes) -> bytes:
        """What comes behind the messages."""
        before = (b'],"tools":', tools) if request.tools else (b"]",)
        return b"".join((*before, b",", self._encode(options(request, dialect))[1:]))


def _hash(data: bytes) -> _Hash:
    return hashlib.blake2b(data, digest_size=16)


def _hashed(
    head: bytes, parts: Sequence[bytes], points: list[_Point]
) -> tuple[tuple[_Point, ...], _Hash]:
    """The state of the digest after the parts, from the last of the points on."""
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
    """How many messages at the start are the kept ones: the same objects, or equal ones."""
    low, high = 0, min(len(kept), len(messages))
    if kept[:high] == messages[:high]:  # mostly; it takes 10 ns a message
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
