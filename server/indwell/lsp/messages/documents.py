"""Typed messages about documents: the chat, virtual documents, review, fork and rewind."""

from __future__ import annotations

from typing import Literal

import attrs

from indwell.lsp.messages.lsprotocol_types import types
from indwell.lsp.messages.values import CommandArguments, Value


@attrs.frozen(eq=False, repr=False)
class ChatArguments(CommandArguments):
    """The argument of ``indwell.chat``; all of it optional.

    Attributes:
        uri: The document to open; it is made if it is not there.
        session: The session whose document is meant; the current one if both are left out.
        new: Begin a new chat, whatever is current.
        wait: Answer only when it is there.
    """

    uri: str | None = None
    session: str | None = None
    new: bool = False
    wait: bool = False


@attrs.frozen(eq=False, repr=False)
class ChatResult(Value):
    """The document: where it is, and whether the editor has opened it."""

    uri: str
    path: str
    session: str | None
    shown: bool


@attrs.frozen(eq=False, repr=False)
class SendArguments(CommandArguments):
    """The argument of ``indwell.send``; all of it optional.

    Attributes:
        uri: The chat document; the one that was opened last if it is left out.
        how: ``steer`` gives the words to the running turn, ``next`` lets them wait behind it;
            ``auto`` steers if a turn of this chat runs.
        wait: Answer only when the words are on their way.
    """

    uri: str | None = None
    how: Literal["auto", "steer", "next"] = "auto"
    wait: bool = False


@attrs.frozen(eq=False, repr=False)
class OpenArguments(CommandArguments):
    """The argument of ``indwell.open``.

    Attributes:
        what: Which document. ``diff``: what is pending; ``base``: a file without it, or before a
            turn; ``request``: what the model would get next; ``transcript``: a session.
        uri: Of the file that a diff or base is of; a diff without it is of all files.
        turn: Only what this turn changed, or the file before it; of the current session if none
            is named.
        session: Whose changes, or whose transcript (the current one's if it is left out).
    """

    what: Literal["diff", "base", "request", "transcript"]
    uri: str | None = None
    turn: int | None = None
    session: str | None = None


@attrs.frozen(eq=False, repr=False)
class OpenResult(Value):
    """The URI (of a file where the client asks for no texts), and whether it is shown."""

    uri: str
    shown: bool


@attrs.frozen(eq=False, repr=False)
class ForkArguments(CommandArguments):
    """The argument of ``indwell.fork``; all of it optional.

    Attributes:
        session: The one that stays as it is; the current one if it is left out.
        turn: The new one goes on from the end of this turn; the last one that has ended if it is
            left out, and 0 is before the first one.
        model: Goes on with this one of the user's models instead of that turn's own.
        wait: Answer only when it is done.
    """

    session: str | None = None
    turn: int | None = None
    model: str | None = None
    wait: bool = False


@attrs.frozen(eq=False, repr=False)
class RewindArguments(CommandArguments):
    """The argument of ``indwell.rewind``.

    Attributes:
        turn: The conversation goes on from the end of this turn; 0 is before the first one.
        session: The current one if it is left out.
        model: As in ``ForkArguments``.
        files: Take the files back too; if it is left out, plain editors ask, others do not.
        wait: Answer only when it is done.
    """

    turn: int
    session: str | None = None
    model: str | None = None
    files: bool | None = None
    wait: bool = False


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
class VerdictArguments(CommandArguments):
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
