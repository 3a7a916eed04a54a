"""The typed messages of ``indwell/diagnostics``: which problems documents have, when they settled.

Field names are single words, so they are the same here and on the wire.
"""

from __future__ import annotations

import attrs
from lsprotocol import types

from indwell.lsp.values import Value


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
class DocumentDiagnostics(Value):
    """All problems of one document, of all servers but ours.

    Attributes:
        uri: As it was asked for.
        diagnostics: None is a list without entries.
        version: Of the text that they are of, if that is known; an older one counts as no answer.
    """

    uri: str
    diagnostics: tuple[types.Diagnostic, ...]
    version: int | None = None


@attrs.frozen(eq=False, repr=False)
class DiagnosticsResult(Value):
    """One entry for each document about which somebody knows; the others are left out."""

    documents: tuple[DocumentDiagnostics, ...]
