"""What the review log holds, one record a line.

The log only grows, several processes append to it, and the same records in the same order fold to
the same ledger. A record says what it was made from (``was``, a digest of what the records before
it come to), and carries what others did to the file since as edits of that. One that does not fit
is passed over. This module knows no disk and no clock: times come in as text (ISO 8601, UTC).
"""

from __future__ import annotations

import hashlib
from typing import TypeAlias

import msgspec

from indwell.workspace.comparing.diff import TextEdit, apply_edits, line_edits
from indwell.workspace.text import in_pieces

FORMAT = 1


class Ref(msgspec.Struct, frozen=True, tag="ref"):
    """A long text, kept in a file of its own with this name."""

    digest: str


class RecordedEdit(msgspec.Struct, frozen=True, array_like=True):
    """``text`` in place of the code points from ``start`` up to ``stop``."""

    start: int
    stop: int
    text: str | Ref


class Shift(msgspec.Struct, frozen=True):
    """From one text of a file to another.

    Attributes:
        is_there: Is there a file afterwards?
        edits: Ascending; none where there is no file.
    """

    is_there: bool = True
    edits: tuple[RecordedEdit, ...] = ()


class Bytes(msgspec.Struct, frozen=True):
    """A change without lines; see ``hunk.Opaque``."""

    note: str
    before: str | None = None
    after: str | None = None
    mode: int = 0


class LedgerStart(msgspec.Struct, frozen=True, tag="started"):
    """First line: which log this is."""

    id: str
    at: str
    format: int = FORMAT


class Began(msgspec.Struct, frozen=True, tag="began"):
    """The agent is about to change a file.

    Attributes:
        id: Drawn at random; names the edit in all processes.
        path: Absolute.
        was: Digest of what the file read by the records before.
        others: From there to what the agent's edit was made from; None: the same.
        change: The agent's edit, by whole lines.
        session: Of the agent.
        turn: Its turn.
        tool_use: Of which call of a tool.
        at: When.
        bytes: The change has no lines, and ``change`` no edits.
    """

    id: str
    path: str
    was: str
    others: Shift | None
    change: Shift
    session: str
    turn: int
    tool_use: str
    at: str
    bytes: Bytes | None = None


class FinishedRecord(msgspec.Struct, frozen=True, tag="finished"):
    """What began is done; ``others`` leads to what the file reads now."""

    id: str
    path: str
    was: str
    others: Shift | None
    began: str
    is_accepted: bool


class Withdrawn(msgspec.Struct, frozen=True, tag="withdrawn"):
    """What began was not taken; ``may_come``: an editor may still apply it."""

    id: str
    path: str
    began: str
    may_come: bool


class Made(msgspec.Struct, frozen=True, tag="made"):
    """A command of the agent changed a file; see ``Began``."""

    id: str
    path: str
    was: str
    others: Shift | None
    change: Shift
    session: str
    turn: int
    tool_use: str
    at: str
    is_accepted: bool
    bytes: Bytes | None = None


class VerdictRecord(msgspec.Struct, frozen=True, tag="judged"):
    """The user accepted or rejected hunks, or rewound a session (``after_turn``)."""

    id: str
    path: str
    was: str
    others: Shift | None
    at: str
    is_accepted: bool = False
    hunks: tuple[str, ...] = ()
    only: tuple[tuple[str, int], ...] = ()
    session: str = ""
    after_turn: int = 0
    force: bool = False


class Noticed(msgspec.Struct, frozen=True, tag="noticed"):
    """What others made of a file, when it matters before anything else does."""

    id: str
    path: str
    was: str
    others: Shift


class Moved(msgspec.Struct, frozen=True, tag="moved"):
    """The user gave a file another name or place: all that is known of ``path`` is of ``to``."""

    id: str
    path: str
    to: str


class ToldRecord(msgspec.Struct, frozen=True, tag="told"):
    """The model of a session knows the verdicts with these ids."""

    id: str
    session: str
    verdicts: tuple[str, ...]


Record: TypeAlias = (
    LedgerStart
    | Began
    | FinishedRecord
    | Withdrawn
    | Made
    | VerdictRecord
    | Noticed
    | Moved
    | ToldRecord
)


def shift(before: str | None, after: str | None) -> Shift | None:
    """From ``before`` to ``after``, by as little as can be; None if they are the same."""
    if before == after:
        return None
    if after is None:
        return Shift(is_there=False)
    return Shift(edits=tuple(RecordedEdit(*one) for one in line_edits(before or "", after)))


def shifted(before: str | None, by: Shift | None) -> str | None:
    """What ``before`` reads afterwards.

    Raises:
        ValueError: The edits are not of this text.
    """
    if by is None:
        return before
    if not by.is_there:
        return None
    edits = []
    at, text = 0, before or ""
    for one in by.edits:
        if not at <= one.start <= one.stop <= len(text) or isinstance(one.text, Ref):
            raise ValueError("edits of another text")
        edits.append(TextEdit(one.start, one.stop, one.text))
        at = one.stop
    return apply_edits(text, edits)


def digest(text: str | None) -> str:
    """Of a text; of none, empty."""
    if text is None:
        return ""
    hashed = hashlib.blake2b(digest_size=8)
    for piece in in_pieces(text):
        hashed.update(piece.encode("utf-8", "surrogatepass"))
    return hashed.hexdigest()
