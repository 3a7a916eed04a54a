"""The values of a review: hunks, planned rejections and verdicts."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

Kind: TypeAlias = Literal["change", "create", "delete", "opaque"]


class Actor(msgspec.Struct, frozen=True, order=True):
    """The author of a change: one turn of one session."""

    session: str
    turn: int


class Hunk(msgspec.Struct, frozen=True):
    """Adjacent lines changed by the agent, with no other visible lines between them.

    Attributes:
        id: Short hex digest of the content. The id stays the same when the hunk moves.
        path: The absolute path of the file.
        actors: The turns that made the changes, oldest first.
        line: The line (from 1) in the current text where ``new`` begins. If ``new`` is empty,
            ``old`` was before this line, which may be one past the last line.
        old: The replaced lines, with line endings.
        new: The current lines, with line endings.
        is_touched: Whether the user has since edited lines of this hunk.
        kind: ``create``: the agent wrote the whole file; ``delete``: the agent removed the file;
            ``opaque``: the file is not text, or too large for hunks.
        note: A text for the user, such as ``binary, 4 KB -> 5 KB``.
    """

    id: str
    path: Path
    actors: tuple[Actor, ...]
    line: int
    old: tuple[str, ...]
    new: tuple[str, ...]
    is_touched: bool = False
    kind: Kind = "change"
    note: str = ""


class Opaque(msgspec.Struct, frozen=True):
    """A change without lines: to a binary file, or to a text too large for hunks.

    Attributes:
        note: A text for the user about the change, such as the sizes.
        before: Digest of the bytes before the change, or None if there was no file or the bytes are
            unknown.
        after: Digest of the bytes after the change, or None if there is no file or the bytes are
            unknown.
        mode: Permission bits of a removed file.
    """

    note: str
    before: str | None = None
    after: str | None = None
    mode: int = 0


class Order(msgspec.Struct, frozen=True):
    """The scope of a verdict: hunks by id, or all changes of a session after a turn.

    Attributes:
        ids: Hunk ids.
        only: The actors whose changes are judged, or empty for all actors.
        session: The session to rewind; if empty, ``ids`` are judged.
        after_turn: The last turn to keep.
        force: Whether to include lines that the user has edited, and changes that build on the
            hunks.
    """

    ids: tuple[str, ...] = ()
    only: tuple[Actor, ...] = ()
    session: str = ""
    after_turn: int = 0
    force: bool = False


class Rejection(msgspec.Struct, frozen=True):
    """A planned rejection of hunks in one file, not yet carried out.

    Attributes:
        path: The absolute path of the file.
        text: The text after the rejection, or None if the file is removed.
        hunks: The hunks to reject.
        kept: The hunks to keep, each with the reason shown to the user.
        before: The text when the rejection was planned.
        order: The user's request that this plan carries out.
        opaque: Bytes to restore; if set, ``text`` has no meaning.
        of: The state of the file in the ledger when the rejection was planned.
    """

    path: Path
    text: str | None
    hunks: tuple[Hunk, ...]
    kept: tuple[tuple[Hunk, str], ...]
    before: str | None = None
    order: Order = Order()
    opaque: Opaque | None = None
    of: object = None


class Verdict(msgspec.Struct, frozen=True):
    """The user's accept or reject of hunks in one file.

    Attributes:
        path: The absolute path of the file.
        rejected: The rejected hunks. Of a hunk shared by several turns, the list has only the
            rejected part.
        accepted: The accepted hunks.
        id: The unique and permanent id of the verdict.
        was: Digest (``records.digest``) of the text before the verdict, or None if unknown.
        became: Digest of the text after the verdict, or None if unknown.
        at: Time of the verdict, ISO 8601 in UTC.
    """

    path: Path
    rejected: tuple[Hunk, ...] = ()
    accepted: tuple[Hunk, ...] = ()
    id: str = ""
    was: str | None = None
    became: str | None = None
    at: str = ""
