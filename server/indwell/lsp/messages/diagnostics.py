"""The typed messages of ``indwell/diagnostics``: the problems of documents once they settle.

Field names are single words, so they are the same here and on the wire.
"""

from __future__ import annotations

import attrs

from indwell.lsp.messages.lsprotocol_types import types
from indwell.lsp.messages.values import Value


@attrs.frozen(eq=False, repr=False)
class DiagnosticsParams(Value):
    """Asks for the problems of these documents as they read now.

    Attributes:
        uris: Documents, open or not.
        wait: Seconds that the checkers may still need; answer as soon as they have settled. With 0,
            answer at once.
    """

    uris: tuple[str, ...]
    wait: float


@attrs.frozen(eq=False, repr=False)
class SourceDiagnostics(Value):
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


@attrs.frozen(eq=False, repr=False)
class DocumentDiagnostics(Value):
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


@attrs.frozen(eq=False, repr=False)
class DiagnosticsResult(Value):
    """One entry for each document with known problems; others are left out."""

    documents: tuple[DocumentDiagnostics, ...]
