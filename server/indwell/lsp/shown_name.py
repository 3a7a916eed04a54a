"""A document's name as people read it."""

from __future__ import annotations

from pathlib import Path

from indwell.lsp.documents import Document, notebook_of
from indwell.policy.approvals import one_line
from indwell.workspace.paths import display


def shown_name(document: Document, roots: tuple[Path, ...]) -> str:
    """Relative to the first of ``roots`` that holds it; of a cell that of its notebook."""
    if document.path is not None:
        return display(document.path, roots)
    notebook = notebook_of(document.uri)
    if notebook is None:
        return one_line(document.uri)
    return f"{display(notebook, roots)} (a cell)"
