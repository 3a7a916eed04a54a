"""The record types of the review log, one JSON record per line.

The log is append-only and shared by several processes. Replaying the same records in the same order
gives the same ledger. ``was`` is the digest of the file's text according to the preceding records;
``others`` has later edits by anyone else. A record that does not match is skipped. Pure: callers
pass times as text (ISO 8601, UTC).
"""

from __future__ import annotations

import hashlib
from typing import Annotated, TypeAlias

import msgspec

from indwell.compatibility import VERSIONS
from indwell.workspace.comparing.diff import TextEdit, apply_edits, line_edits
from indwell.workspace.text import in_pieces

FORMAT = VERSIONS["review"]


class Ref(msgspec.Struct, frozen=True, tag="ref"):
    """A reference to a long text, stored in a file named by its digest."""

    digest: str


class RecordedEdit(msgspec.Struct, frozen=True, array_like=True):
    """An edit that replaces the code points from ``start`` up to ``stop`` with ``text``."""

    start: int
    stop: int
    text: str | Ref


class Shift(msgspec.Struct, frozen=True):
    """The difference between two texts of a file.

    Attributes:
        is_there: Whether the file exists afterwards.
        edits: The edits, ascending, or empty if the file does not exist afterwards.
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
    """The first record, which identifies the log."""

    id: str
    at: str
    format: Annotated[int, msgspec.Meta(ge=1)] = FORMAT


class Began(msgspec.Struct, frozen=True, tag="began"):
    """An edit by the agent has begun.

    Attributes:
        id: A random id that identifies the edit in all processes.
        path: The absolute path of the file.
        was: Digest of the text according to the preceding records.
        others: The difference between the text of ``was`` and the text that the agent edited, or
            None.
        change: The agent's edit, in whole lines.
        session: The agent's session.
        turn: The session's turn.
        tool_use: Id of the tool call.
        at: Time of the edit.
        bytes: The change of a file that is not text, or is too large for hunks; ``change`` is then
            empty.
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
    """The edit of record ``began`` is finished; ``others`` has edits made by others meanwhile."""

    id: str
    path: str
    was: str
    others: Shift | None
    began: str
    is_accepted: bool


class Withdrawn(msgspec.Struct, frozen=True, tag="withdrawn"):
    """The edit ``began`` was not applied; ``may_come`` means that an editor may still apply it."""

    id: str
    path: str
    began: str
    may_come: bool


class Made(msgspec.Struct, frozen=True, tag="made"):
    """A command run by the agent changed a file; for the fields see ``Began``."""

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


class Unjudged(msgspec.Struct, frozen=True, tag="unjudged"):
    """The user undid the newest verdict on a file, so the file's changes await a verdict again.

    Attributes:
        verdict: Id of the ``VerdictRecord``.
    """

    id: str
    path: str
    was: str
    others: Shift | None
    at: str
    verdict: str


class Noticed(msgspec.Struct, frozen=True, tag="noticed"):
    """Edits by others that undid a change, or applied a change late; recorded immediately."""

    id: str
    path: str
    was: str
    others: Shift


class Moved(msgspec.Struct, frozen=True, tag="moved"):
    """The user renamed or moved a file, so the state of ``path`` now belongs to ``to``."""

    id: str
    path: str
    to: str


class ToldRecord(msgspec.Struct, frozen=True, tag="told"):
    """A session's model has received the verdicts with these ids."""

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
    | Unjudged
    | Noticed
    | Moved
    | ToldRecord
)


def shift(before: str | None, after: str | None) -> Shift | None:
    """Return the smallest difference from ``before`` to ``after``, or None if they are equal."""
    if before == after:
        return None
    if after is None:
        return Shift(is_there=False)
    return Shift(edits=tuple(RecordedEdit(*one) for one in line_edits(before or "", after)))


def shifted(before: str | None, by: Shift | None) -> str | None:
    """Apply a difference to ``before``.

    Raises:
        ValueError: The edits do not fit this text.
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
    """Return the digest of a text, or an empty text for None (no file)."""
    if text is None:
        return ""
    hashed = hashlib.blake2b(digest_size=8)
    for piece in in_pieces(text):
        hashed.update(piece.encode("utf-8", "surrogatepass"))
    return hashed.hexdigest()
