"""Formats search results as lines: no name and no text can imitate another line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from indwell.lazy_pattern import lazy_pattern
from indwell.tools.truncate import untorn
from indwell.workspace.paths import display

LINE_CHARS = 300  # H51
UNSAVED = " (not saved yet)"

_LIKE_A_RESULT = lazy_pattern(r"\[|\d+[:-]")
_BREAKS = lazy_pattern(r"[\x00-\x08\x0a-\x1f\x7f\x85\u2028\u2029]")  # tabs stay


def path_line(path: Path, roots: Sequence[Path]) -> str:
    """Return a path as one line that looks like no match (``3: …``) and no note (``[…]``)."""
    shown = display(path, roots)
    return f"./{shown}" if _LIKE_A_RESULT.match(shown) else shown


def text_line(data: bytes) -> str:
    r"""Return a line of a file, cut, with other programs' line ends as ``\x…``."""
    # No character has more than 4 bytes, so text beyond the cut is not decoded.
    text = data[: 4 * LINE_CHARS + 8].decode("utf-8", "replace").rstrip("\r")
    if len(text) > LINE_CHARS:
        text = f"{untorn(text[:LINE_CHARS])}…"
    return _BREAKS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def with_notes(lines: Sequence[str], notes: Sequence[str]) -> str:
    """Return results with notes in brackets below."""
    return "\n".join([*lines, *(f"[{note}]" for note in notes)])


def counted(number: int, one: str, many: str) -> str:
    """Return a count in words: ``1 match``, ``2,000 matches``."""
    return f"1 {one}" if number == 1 else f"{number:,} {many}"
