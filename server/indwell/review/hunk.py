"""What the user reviews: a hunk, what taking it back would make of a file, a verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

Kind: TypeAlias = Literal["change", "create", "delete", "opaque"]


class Actor(msgspec.Struct, frozen=True, order=True):
    """Who changed something: a turn of a session."""

    session: str
    turn: int


class Hunk(msgspec.Struct, frozen=True):
    """Neighbouring lines that the agent changed, with no line of anybody else between them.

    Attributes:
        id: Short hex; the same as long as the hunk's own lines are, wherever they move.
        path: Absolute.
        actors: Whose changes it has, oldest first.
        line: Line (from 1) of the current text where ``new`` begins; if that is empty, the line
            before which ``old`` stood, which may be one past the last.
        old: The lines before, with their ends.
        new: The lines now.
        is_touched: The user rewrote lines of it since.
        kind: ``create``: the file is new and all of it the agent's; ``delete``: the agent removed
            it; ``opaque``: no text, or too large for hunks.
        note: For people, such as ``binary, 4 KB -> 5 KB``.
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
    """A change that has no lines: of bytes, or of a text that is too large.

    Attributes:
        note: For people: what it was and what it is.
        before: Names the bytes of before, which whoever made this keeps; None: no file, or unknown.
        after: The same of what was left there.
        mode: Permissions of a file that was removed.
    """

    note: str
    before: str | None = None
    after: str | None = None
    mode: int = 0


class Order(msgspec.Struct, frozen=True):
    """What is to be judged: hunks by their ids, or all that a session did after a turn.

    Attributes:
        ids: Of hunks.
        only: Only what these did of the hunks; empty: all of them.
        session: Whose later turns are taken out; empty: the ``ids`` count.
        after_turn: The last turn that stays.
        force: Also what the user rewrote, and what others built on it.
    """

    ids: tuple[str, ...] = ()
    only: tuple[Actor, ...] = ()
    session: str = ""
    after_turn: int = 0
    force: bool = False


class Rejection(msgspec.Struct, frozen=True):
    """What taking hunks of one file back comes to; nothing is done yet.

    Attributes:
        path: Absolute.
        text: What the file must read then; None: it must not be there.
        hunks: Those that are taken back.
        kept: Those that are not, and why, for people.
        before: What the file read when this was planned.
        order: What was asked for.
        opaque: Bytes to put back; then ``text`` says nothing.
        of: What was known of the file then; the ledger's own.
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
    """What the user said to hunks of one file.

    Attributes:
        path: Absolute.
        rejected: What was taken back; of a hunk of several turns only the part that was.
        accepted: Hunks that were accepted.
        id: Its own for ever.
        was: Digest (``records.digest``) of what the file read before it; None: unknown.
        became: The same of what it was brought to.
    """

    path: Path
    rejected: tuple[Hunk, ...] = ()
    accepted: tuple[Hunk, ...] = ()
    id: str = ""
    was: str | None = None
    became: str | None = None
