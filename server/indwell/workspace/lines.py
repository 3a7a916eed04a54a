"""Lines of a document as an editor counts them. Pure."""

from __future__ import annotations

from indwell.workspace.text import split_lines


def document_lines(text: str) -> list[str]:
    """Lines with their endings; a text that ends with a line break has one more, empty line."""
    lines = split_lines(text)
    if not lines or lines[-1].endswith(("\n", "\r")):
        lines.append("")
    return lines
