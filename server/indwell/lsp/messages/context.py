"""Typed messages about requests to the model: the next request, and a prompt's attachments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from indwell.lsp.messages.lsprotocol_types import types
from indwell.lsp.messages.values import Value
from indwell.messages import Tier
from indwell.navigation.lsp_answers import Method


class Attachment(Value, frozen=True):
    """Something attached to a prompt; ``kind`` decides which fields count.

    Attributes:
        kind: ``image``: ``mime`` and ``data``. ``text``, pasted or from a terminal: ``text``.
            ``problems``: those that the editor reports for ``uri``, or for all documents.
            ``changes``: what git would commit, as ``@changes`` in the words.
        label: Its name for people, shown beside it everywhere.
        mime: ``image/png``, ``image/jpeg``, ``image/gif`` or ``image/webp``.
        data: Base64.
        text: The text, unchanged.
        uri: The URI of a document.
    """

    HIDDEN = frozenset({"data", "text"})

    kind: Literal["image", "text", "problems", "changes"]
    label: str = ""
    mime: str = ""
    data: str = ""
    text: str = ""
    uri: str | None = None


class AttachedRow(Value, frozen=True):
    """A piece of context that goes with the next prompt, and can be detached by its ``id``."""

    id: str
    kind: Literal["selection", "opened"]
    label: str
    tokens: int


class DetachParams(Value, frozen=True):
    """A piece of attached context, for the next prompt only."""

    id: str


class DetachResult(Value, frozen=True):
    """The remaining attachments."""

    attached: tuple[AttachedRow, ...]


class ContextParams(Value, frozen=True):
    """No fields: the answer describes the current session's next request."""


class BlockRow(Value, frozen=True):
    """One block of the next request; ``anchor`` if a cache mark follows it.

    ``message`` is the index of its message (-1: tools and system); the block represents the
    messages ``first`` to ``last`` of the transcript; ``altered`` if compaction changed it; ``why``
    gives the reason.
    """

    message: int
    role: Literal["tools", "system", "user", "assistant"]
    kind: str
    source: str
    tier: Tier
    tokens: int
    turn: int
    pinned: bool
    compactable: bool
    anchor: bool
    state: Literal["sent", "new", "waiting"]
    altered: bool
    first: int
    last: int
    why: str
    preview: str


class HeadroomRow(Value, frozen=True):
    """A rung of compaction: it may run at ``at`` tokens, after ``left`` more tokens."""

    layer: str
    at: int
    left: int
    pays: bool


class HealthRow(Value, frozen=True):
    """Figures of calls, cache and compactions, named as in ``request.cache_health``.

    ``turn`` is about the newest turn, ``session`` about all; ``misses`` counts consecutive calls
    without a cached token although a prefix should have hit.
    """

    turn: Mapping[str, Any]
    session: Mapping[str, Any]
    misses: int


class ContextResult(Value, frozen=True):
    """The contents of the next request.

    ``window`` and ``budget`` are in tokens (null before the first turn), ``used`` is estimated,
    ``share`` is its part of the budget from 0 on; tokens by source and by tier; ``preset`` with its
    rungs; ``health`` of the session so far, null before the first turn.
    """

    session: str | None
    model: str
    window: int | None
    budget: int | None
    used: int
    share: float | None
    preset: str
    headroom: tuple[HeadroomRow, ...]
    sources: Mapping[str, int]
    tiers: Mapping[str, int]
    blocks: tuple[BlockRow, ...]
    attached: tuple[AttachedRow, ...]
    health: HealthRow | None


class DiagnosticsParams(Value, frozen=True):
    """Asks for the problems in the present texts of these documents.

    Attributes:
        uris: Documents, open or not.
        wait: Seconds that the checkers may still need; answer as soon as all have finished. With 0,
            answer at once.
    """

    uris: tuple[str, ...]
    wait: float


class SourceDiagnostics(Value, frozen=True):
    """The newest report of one checker on a document, such as a language server or a linter.

    Attributes:
        name: Its name for people.
        diagnostics: Null is an empty list.
        version: The version of the text that it checked; left out if unknown, or if it has not
            reported on this document yet.
    """

    name: str
    diagnostics: tuple[types.Diagnostic, ...] = ()
    version: int | None = None


class DocumentDiagnostics(Value, frozen=True):
    """All problems of one document, from all servers but ours.

    Attributes:
        uri: The URI of the request.
        diagnostics: Those of no checker in ``sources``.
        version: The version of the text that every checker looked at, if known; without it, or with
            an older one, they verify nothing.
        sources: Each checker of the document, with its report. Only a client that separates them
            can tell which of several has checked a text.
    """

    uri: str
    diagnostics: tuple[types.Diagnostic, ...]
    version: int | None = None
    sources: tuple[SourceDiagnostics, ...] = ()


class DiagnosticsResult(Value, frozen=True):
    """One entry for each document with known problems; others are left out."""

    documents: tuple[DocumentDiagnostics, ...]


class NavigateParams(Value, frozen=True):
    """Asks the editor's other language servers about code.

    Attributes:
        method: The request of the language server protocol.
        uri: The document, open or not; null for ``workspace/symbol``.
        line: The line of the symbol, from 0.
        character: Its column in UTF-16 units.
        byte: Its column in bytes of UTF-8.
        query: For ``workspace/symbol``.
        name: The new name, for ``textDocument/rename``.
    """

    method: Method
    uri: str | None = None
    line: int = 0
    character: int = 0
    byte: int = 0
    query: str = ""
    name: str = ""


class NavigateReply(Value, frozen=True):
    """The reply of one language server.

    Attributes:
        result: The result in the protocol's form for this request; null without a result.
        name: The name of the language server.
        encoding: The unit of the columns in the result: ``utf-8``, ``utf-16`` or ``utf-32``.
        error: Why it refuses, such as that this name cannot be changed.
    """

    result: Any = None
    name: str = ""
    encoding: Literal["utf-8", "utf-16", "utf-32"] = "utf-16"
    error: str = ""


class NavigateResult(Value, frozen=True):
    """The replies; empty if no language server knows such a document."""

    replies: tuple[NavigateReply, ...] = ()
