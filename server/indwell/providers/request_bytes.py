"""A request as bytes, encoded once: what the last request had too is not encoded again.

Only the parts of the last request are kept. The bytes are those that encoding everything gives,
whatever was encoded before. Safe to use from several threads: the parts change in one step.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

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

_Part = tuple[Message, bytes | None, bytes | None]
"""A message, and its entries joined by commas: without and with a cache mark, once needed."""


def digest_of(body: bytes) -> str:
    """Of the bytes of a request, for the log; 1 ms for a megabyte."""
    return hashlib.blake2b(body, digest_size=16).hexdigest()


class _Kept(msgspec.Struct, frozen=True):
    """The parts of one request."""

    dialect: Dialect = Dialect()
    system: Sequence[Text] = ()
    system_marked: bool = False
    system_bytes: bytes = b""
    tools: Sequence[ToolSpec] = ()
    tools_marked: bool = False
    tools_bytes: bytes = b""
    parts: tuple[_Part, ...] = ()


class RequestEncoder:
    """Encodes the requests of one endpoint, one after the other."""

    def __init__(self) -> None:
        self._kept = _Kept()
        self._encode = msgspec.json.Encoder().encode

    def n_new(self, request: Request, dialect: Dialect) -> int:
        """About how many characters ``encode`` would have to encode, not counting the marks."""
        kept = self._kept.parts if dialect == self._kept.dialect else ()
        n_same = _n_same(kept, request.messages)
        return sum(_n_chars(message) for message in request.messages[n_same:])

    def encode(self, request: Request, dialect: Dialect) -> bytes:
        """The body of the request: ``chat_body`` as JSON."""
        last = self._kept if self._kept.dialect == dialect else _Kept(dialect)
        marks = marks_of(request, dialect)
        system = last.system_bytes
        if (request.system, marks.system) != (last.system, last.system_marked):
            system = self._joined(system_entries(request.system, marked=marks.system))
        tools = last.tools_bytes
        if (request.tools, marks.tools) != (last.tools, last.tools_marked):
            tools = self._encode(tool_entries(request.tools, marked=marks.tools))
        n_same = _n_same(last.parts, request.messages)
        marked = frozenset(marks.messages)
        parts: list[_Part] = list(last.parts[:n_same])
        pieces: list[bytes] = [system] if system else []
        parts += [(message, None, None) for message in request.messages[n_same:]]
        for index, part in enumerate(parts):
            is_marked = index in marked
            piece = part[2] if is_marked else part[1]
            if piece is None:
                piece = self._joined(message_entries(part[0], dialect, marked=is_marked))
                parts[index] = (part[0], part[1], piece) if is_marked else (part[0], piece, part[2])
            pieces.append(piece)
        self._kept = _Kept(
            dialect=dialect,
            system=request.system,
            system_marked=marks.system,
            system_bytes=system,
            tools=request.tools,
            tools_marked=marks.tools,
            tools_bytes=tools,
            parts=tuple(parts),
        )
        separated = [b","] * max(0, 2 * len(pieces) - 1)
        separated[::2] = pieces
        return b"".join(
            (
                b'{"model":',
                self._encode(clean(request.model)),
                b',"messages":[',
                *separated,
                b'],"tools":' if request.tools else b"]",
                tools if request.tools else b"",
                b",",
                self._encode(options(request, dialect))[1:],
            )
        )

    def _joined(self, entries: Sequence[object]) -> bytes:
        return self._encode(entries)[1:-1]


def _n_same(parts: Sequence[_Part], messages: Sequence[Message]) -> int:
    """How many messages at the start are the kept ones: the same objects, or equal ones."""
    n_same = 0
    for part, message in zip(parts, messages, strict=False):
        if part[0] is not message and part[0] != message:
            break
        n_same += 1
    return n_same


def _n_chars(message: Message) -> int:
    n_chars = 0
    for block in message.blocks:
        text = block.data if isinstance(block, Image) else getattr(block, "text", "")
        n_chars += len(text) + len(getattr(block, "arguments", ""))
    return n_chars
