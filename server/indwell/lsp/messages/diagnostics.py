"""The typed messages of ``indwell/diagnostics``: which problems documents have, when they settled.

Field names are single words, so they are the same here and on the wire.
"""

from __future__ import annotations

import attrs

from indwell.lsp.messages.lsprotocol_types import types
from indwell.lsp.messages.values import Value


@attrs.frozen(eq=False, repr=False)
class DiagnosticsParams(Value):
    """Which problems have these documents, as they read now?

    Attributes:
        uris: Documents, open or not.
        wait: Seconds that the servers may still need; answer as soon as they have settled. At 0
            answer what is known.
    """

    uris: tuple[str, ...]
    wait: float


@attrs.frozen(eq=False, repr=False)
class SourceDiagnostics(Value):
    """The newest report of one checker on a document: of a language server, a linter.

    Attributes:
        name: As people know it.
        diagnostics: None is a list without entries.
        version: Of the text that it looked at; left out if that is not known, or if it has not
            reported on this document yet.
    """

    name: str
    diagnostics: tuple[types.Diagnostic, ...] = ()
    version: int | None = None


@attrs.frozen(eq=False, repr=False)
class DocumentDiagnostics(Value):
    """All problems of one document, of all servers but ours.

    Attributes:
        uri: As it was asked for.
        diagnostics: Those of no checker in ``sources``.
        version: Of the text that every server looked at, if that is known; without it, and with
            an older one, they verify nothing.
        sources: Each checker that works in the document, with what it says. Only who tells them
            apart can tell which of several has looked at a text.
    """

    uri: str
    diagnostics: tuple[types.Diagnostic, ...]
    version: int | None = None
    sources: tuple[SourceDiagnostics, ...] = ()


@attrs.frozen(eq=False, repr=False)
class DiagnosticsResult(Value):
    """One entry for each document about which somebody knows; the others are left out."""

    documents: tuple[DocumentDiagnostics, ...]
