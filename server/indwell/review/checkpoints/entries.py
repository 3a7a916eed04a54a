"""What becomes of one changed file in the ledger: a text before and after, or bytes. Blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from indwell.errors import ToolError
from indwell.review.checkpoints.lookout import FileChange
from indwell.review.copies import Copies
from indwell.review.hunk import Opaque
from indwell.workspace.charset import charset_at
from indwell.workspace.encoding.decoding import decode
from indwell.workspace.encoding.rewriting import created
from indwell.workspace.text import Decoded, binary_kind

MOST_TEXT_B = 1 << 20
_PLAIN_MODES = frozenset({0o644, 0o664})  # what a new file has anyway, mostly


class Entry(msgspec.Struct, frozen=True):
    """A change for the ledger.

    Attributes:
        path: Of the file.
        before: Its text before; None if there was none, or it is ``opaque``.
        after: Its text now.
        opaque: What it is if it is no text; then there are no texts.
        is_lost: It cannot be brought back.
    """

    path: Path
    before: str | None
    after: str | None
    opaque: Opaque | None = None
    is_lost: bool = False


def entry_of(
    root: Path,
    change: FileChange,
    roots: Sequence[Path],
    copies: Copies,
    hide: Callable[[str], str],
) -> Entry:
    """What ``change`` is for the ledger; bytes that a text cannot bring back are kept.

    Args:
        root: What its path begins at.
        change: What a command did.
        roots: Of the workspace.
        copies: Where bytes are kept.
        hide: A text without secrets; what holds some is not kept as bytes.
    """
    path = root / change.at
    before = _text(path, change.before, roots)
    after = _text(path, change.after, roots, before)
    if _are_lines(change, before, after):
        was, reads = (None if one is None else one.text for one in (before, after))
        entry = Entry(path, was, reads)
        if change.before is not None and change.after is None:
            assert before is not None
            _note_removed(entry, change, before, copies, hide)
        return entry
    return _opaque(path, change, copies, hide)


def _are_lines(change: FileChange, before: Decoded | None, after: Decoded | None) -> bool:
    """Can the old text be put in the place of the new one, and give the same bytes?"""
    if (before is None) != (change.before is None) or (after is None) != (change.after is None):
        return False
    if before is None or after is None:
        return True
    is_same_kind = (before.encoding, before.mark, before.errors) == (
        after.encoding,
        after.mark,
        after.errors,
    )
    return is_same_kind and before.text != after.text


def _text(
    path: Path, data: bytes | None, roots: Sequence[Path], like: Decoded | None = None
) -> Decoded | None:
    if data is None or len(data) > MOST_TEXT_B:
        return None
    guess = like.encoding if like is not None and like.is_guess else None
    decoded = decode(data, lambda: charset_at(path, roots), guess)
    return decoded if decoded is not None and decoded.lossless else None


def _note_removed(
    entry: Entry,
    change: FileChange,
    text: Decoded,
    copies: Copies,
    hide: Callable[[str], str],
) -> None:
    """Keep what a new file with this text would not have: its encoding, its mode."""
    assert change.before is not None
    try:
        is_plain = created(text.text) == change.before
    except ValueError:
        is_plain = False
    if (is_plain and change.mode & 0o777 in _PLAIN_MODES) or hide(text.text) is not text.text:
        return
    try:
        copies.note_removed(entry.path, change.before, change.mode)
    except (OSError, ToolError):
        return  # then it comes back as a new file


def _opaque(path: Path, change: FileChange, copies: Copies, hide: Callable[[str], str]) -> Entry:
    both = (change.before, change.after)
    was = "" if change.before is None else change.before.decode("latin-1")
    if hide(was) is not was:
        return Entry(path, None, None, is_lost=True)
    try:
        before, after = (None if data is None else copies.put(data) for data in both)
    except OSError:
        return Entry(path, None, None, is_lost=True)
    kind = binary_kind(next(filter(None, reversed(both)), b"")) or "text in another encoding"
    note = f"{kind}, {_size(change.before)} -> {_size(change.after)}"
    return Entry(path, None, None, Opaque(note, before, after, change.mode))


def _size(data: bytes | None) -> str:
    if data is None:
        return "nothing"
    return f"{len(data):,} bytes" if len(data) < 10_000 else f"{len(data) / 1_000:,.0f} KB"  # noqa: PLR2004
