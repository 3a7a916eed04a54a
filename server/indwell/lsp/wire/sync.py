"""Document notifications as values of our own: decoded straight from the bytes.

An editor sends one for every key; going through lsprotocol's classes would take milliseconds.
Attributes have the names that lsprotocol gives them.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class Position(msgspec.Struct, frozen=True):
    """0-based line, and code units of the negotiated encoding in it."""

    line: int
    character: int


class Range(msgspec.Struct, frozen=True):
    """From ``start`` up to ``end``."""

    start: Position
    end: Position


class Change(msgspec.Struct, frozen=True):
    """New text of a range; of the whole document if ``range`` is None."""

    text: str
    range: Range | None = None


class Item(msgspec.Struct, frozen=True, rename="camel"):
    """A document as it is opened."""

    uri: str
    language_id: str
    version: int
    text: str


class Identifier(msgspec.Struct, frozen=True):
    """Which document; ``version`` is the one after the change."""

    uri: str
    version: int | None = None


class DidOpen(msgspec.Struct, frozen=True, rename="camel"):
    """``textDocument/didOpen``."""

    text_document: Item


class DidChange(msgspec.Struct, frozen=True, rename="camel"):
    """``textDocument/didChange``; changes apply one after the other."""

    text_document: Identifier
    content_changes: tuple[Change, ...]


class DidSave(msgspec.Struct, frozen=True, rename="camel"):
    """``textDocument/didSave``."""

    text_document: Identifier


class DidClose(msgspec.Struct, frozen=True, rename="camel"):
    """``textDocument/didClose``."""

    text_document: Identifier


PARAMS: Mapping[str, type[msgspec.Struct]] = {
    "textDocument/didOpen": DidOpen,
    "textDocument/didChange": DidChange,
    "textDocument/didSave": DidSave,
    "textDocument/didClose": DidClose,
}
