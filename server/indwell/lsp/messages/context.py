"""Defines messages about the next request to the model, and about a prompt's attachments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from indwell.context.request.window_parts import PartName
from indwell.lsp.messages.lsprotocol_types import types
from indwell.lsp.messages.values import Value
from indwell.messages import Tier
from indwell.navigation.lsp_answers import Method


class Attachment(Value, frozen=True):
    """An attachment of a prompt; ``kind`` decides which fields are used.

    Attributes:
        kind: ``image`` uses ``mime`` and ``data``. ``text`` (pasted or from a terminal) uses
            ``text``. ``problems`` attaches the problems that the editor reports for ``uri``, or for
            all documents. ``changes`` attaches what git would commit, like ``@changes`` in the
            prompt.
        label: The displayed name of the attachment.
        mime: The media type: ``image/png``, ``image/jpeg``, ``image/gif`` or ``image/webp``.
        data: The picture in Base64.
        text: The unchanged text.
        uri: The URI of the document whose problems are attached.
    """

    HIDDEN = frozenset({"data", "text"})

    kind: Literal["image", "text", "problems", "changes"]
    label: str = ""
    mime: str = ""
    data: str = ""
    text: str = ""
    uri: str | None = None


class AttachedRow(Value, frozen=True):
    """A part of the next prompt's context, which the client can leave out by its ``id``."""

    id: str
    kind: Literal["selection", "opened"]
    label: str
    tokens: int


class DetachParams(Value, frozen=True):
    """Names the part of the next prompt's context to leave out, for that prompt only."""

    id: str


class DetachResult(Value, frozen=True):
    """The remaining attachments."""

    attached: tuple[AttachedRow, ...]


class ContextParams(Value, frozen=True):
    """The session whose next request is described; by default the current one.

    For a session that is not open, ``session`` is null in the answer, and only attachments are
    listed.
    """

    session: str | None = None


class BlockRow(Value, frozen=True):
    """One block of the next request; ``anchor`` is true if a cached prefix may end after it.

    ``message`` is the index of the block's message (-1 for tools and system prompt). The block
    represents the messages ``first`` to ``last`` of the transcript. ``altered`` is true if
    compaction changed the block, and ``why`` gives the reason.
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
    """A compaction layer, which may run at ``at`` tokens, after ``left`` more tokens."""

    layer: str
    at: int
    left: int
    pays: bool


class WindowPartRow(Value, frozen=True):
    """A part of the model's window, with its share of the window from 0 to 1.

    ``system`` includes reminders, ``instructions`` also skills and memory. ``words`` are earlier
    words of the user and the plan, which compaction never cuts. ``older`` and ``newest`` are
    exchanges; ``reply`` is the room for the reply. ``limit`` is the most tokens of the task card
    (``card``), null for other parts.
    """

    name: PartName
    tokens: int
    share: float
    limit: int | None


class HealthRow(Value, frozen=True):
    """Statistics of calls, cache and compactions, named as in ``request.cache_health``.

    ``turn`` describes the newest turn, and ``session`` all turns. ``misses`` counts consecutive
    calls that read no cached token although a prefix should have been cached.
    """

    turn: Mapping[str, Any]
    session: Mapping[str, Any]
    misses: int


class ContextResult(Value, frozen=True):
    """The contents of the next request.

    ``window`` and ``budget`` are in tokens, null before the first turn. ``used`` is an estimate,
    and ``share`` is its share of the budget, from 0 on. The tokens are also given by source and by
    tier. ``preset`` is the compaction preset with its layers. ``health`` describes the session so
    far, null before the first turn. ``parts`` divides the window, on the scale of ``used``, and is
    empty before the first turn.
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
    parts: tuple[WindowPartRow, ...] = ()


class DiagnosticsParams(Value, frozen=True):
    """Asks for the problems in the present texts of these documents.

    Attributes:
        uris: Documents, open or not.
        wait: The number of seconds to wait for the checkers. The client should answer as soon as
            all have finished, and at once if the number is 0.
    """

    uris: tuple[str, ...]
    wait: float


class SourceDiagnostics(Value, frozen=True):
    """The newest report of one checker on a document, such as a language server or a linter.

    Attributes:
        name: The displayed name of the checker.
        diagnostics: The reported problems; null means an empty list.
        version: The version of the checked text. The field is left out if the version is unknown,
            or if the checker has not reported on this document yet.
    """

    name: str
    diagnostics: tuple[types.Diagnostic, ...] = ()
    version: int | None = None


class DocumentDiagnostics(Value, frozen=True):
    """All problems of one document, from all servers except Indwell.

    Attributes:
        uri: The URI of the request.
        diagnostics: The problems that belong to no checker in ``sources``.
        version: The version of the text that every checker examined, if known. Without the present
            version, the problems verify nothing.
        sources: Each checker of the document, with its report. Only a client that separates
            checkers can say which of them has checked a text.
    """

    uri: str
    diagnostics: tuple[types.Diagnostic, ...]
    version: int | None = None
    sources: tuple[SourceDiagnostics, ...] = ()


class DiagnosticsResult(Value, frozen=True):
    """The problems by document; documents without known problems are left out."""

    documents: tuple[DocumentDiagnostics, ...]


class NavigateParams(Value, frozen=True):
    """Asks the editor's other language servers about code.

    Attributes:
        method: The request of the language server protocol.
        uri: The document, open or not, or null for ``workspace/symbol``.
        line: The line of the symbol, from 0.
        character: The column of the symbol in UTF-16 units.
        byte: The column of the symbol in bytes of UTF-8.
        query: The searched name, for ``workspace/symbol``.
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
        result: The result in LSP's form for this request, or null if there is no result.
        name: The name of the language server.
        encoding: The unit of the columns in the result: ``utf-8``, ``utf-16`` or ``utf-32``.
        error: The reason why the server refuses, such as a name that cannot be changed.
    """

    result: Any = None
    name: str = ""
    encoding: Literal["utf-8", "utf-16", "utf-32"] = "utf-16"
    error: str = ""


class NavigateResult(Value, frozen=True):
    """The replies of the language servers, or empty if no server supports the document."""

    replies: tuple[NavigateReply, ...] = ()
