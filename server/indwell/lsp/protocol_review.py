"""Typed messages of review: what is pending, and verdicts on it.

The tables of methods and commands in ``protocol`` name them. Field names are single words, so they
are the same here and on the wire.
"""

from __future__ import annotations

from typing import Literal

import attrs
from lsprotocol import types

from indwell.lsp.values import Arguments, Value


@attrs.frozen(eq=False, repr=False)
class ChangesParams(Value):
    """Which pending changes: of a file, of a turn, of a session; each narrows it, none means all.

    A ``turn`` without a ``session`` is one of the current session.
    """

    uri: str | None = None
    turn: int | None = None
    session: str | None = None


@attrs.frozen(eq=False, repr=False)
class ChangeRow(Value):
    """One pending change; ``turn`` and ``session`` of the newest turn that has a part in it.

    Attributes:
        id: Of its contents: the same as long as what it shows is the same, wherever it moves.
        uri: As the editor names the document.
        path: As people read it.
        range: Of its new lines; where there are none, the start of the line to reach it by.
        old: The lines that went, with their ends.
        new: The lines that came.
        turn: Counts from 1.
        session: Its id.
        touched: The user has changed lines of it since; rejecting it asks first.
        kind: ``create`` and ``delete`` are of whole files, ``opaque`` is no text or too large.
        note: For people; says what an opaque change is.
    """

    id: str
    uri: str
    path: str
    range: types.Range
    old: str
    new: str
    turn: int
    session: str
    touched: bool
    kind: Literal["change", "create", "delete", "opaque"]
    note: str


@attrs.frozen(eq=False, repr=False)
class ChangesResult(Value):
    """Pending changes by file and line; ``files``, ``added`` and ``removed`` are counts of them.

    ``pending`` is how many there are in the whole workspace.
    """

    changes: tuple[ChangeRow, ...]
    files: int
    added: int
    removed: int
    pending: int


@attrs.frozen(eq=False, repr=False)
class VerdictArguments(Arguments):
    """The argument of ``indwell.accept`` and ``indwell.reject``: which pending changes.

    Each field narrows it; at least one is needed. Ids that are not pending any more do nothing.

    Attributes:
        hunks: Ids of changes.
        uri: Those of this document.
        turn: Those of this turn; of the current session if ``session`` is left out.
        session: Those of this session.
        all: All of them.
        wait: Answer only when it is done.
    """

    hunks: tuple[str, ...] = ()
    uri: str | None = None
    turn: int | None = None
    session: str | None = None
    all: bool = False
    wait: bool = False


@attrs.frozen(eq=False, repr=False)
class KeptRow(Value):
    """A change that a verdict did not settle, and why; ``id`` is empty for a whole file."""

    id: str
    uri: str
    path: str
    why: str


@attrs.frozen(eq=False, repr=False)
class VerdictResult(Value):
    """What a verdict did.

    Attributes:
        verdict: Which one.
        hunks: Ids of the changes that it settled.
        kept: What is as it was before, and why.
        gone: Ids that were named and are not pending any more; nothing was done for them.
        message: All of it in one sentence.
        running: It is still at work, or the user is being asked; a message tells of the end.
    """

    verdict: Literal["accept", "reject"]
    hunks: tuple[str, ...]
    kept: tuple[KeptRow, ...]
    gone: tuple[str, ...]
    message: str
    running: bool = False
