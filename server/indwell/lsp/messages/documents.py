"""Defines messages about documents: the chat, virtual documents, review, fork and rewind."""

from __future__ import annotations

from typing import Literal

from indwell.lsp.messages.lsprotocol_types import types
from indwell.lsp.messages.values import CommandArguments, Value


class ChatArguments(CommandArguments, frozen=True):
    """The argument of ``indwell.chat``; all fields are optional.

    Attributes:
        uri: The document to open, which is created if it is missing.
        session: The session of the document; the current session if ``uri`` is also left out.
        new: Whether to begin a new chat.
        wait: Whether to answer only when the chat is open.
    """

    uri: str | None = None
    session: str | None = None
    new: bool = False
    wait: bool = False


class ChatResult(Value, frozen=True):
    """The chat document: its URI, and whether the editor has opened the document."""

    uri: str
    path: str
    session: str | None
    shown: bool


class SendArguments(CommandArguments, frozen=True):
    """The argument of ``indwell.send``; all fields are optional.

    Attributes:
        uri: The chat document; by default the last opened chat.
        how: ``steer`` sends the draft to the running turn, and ``next`` queues the draft. ``auto``
            steers if a turn of this chat is running.
        wait: Whether to answer only when the draft was sent.
    """

    uri: str | None = None
    how: Literal["auto", "steer", "next"] = "auto"
    wait: bool = False


class OpenArguments(CommandArguments, frozen=True):
    """The argument of ``indwell.open``.

    Attributes:
        what: The kind of document. ``diff`` shows pending changes, ``base`` a file without its
            pending changes or before a turn, ``request`` the next request, and ``transcript`` a
            session.
        uri: The file of a diff or base; a diff without ``uri`` covers all files.
        turn: A turn of ``session``: a ``diff`` shows the turn's changes, a ``base`` the file before
            it.
        session: The session of the changes or of the transcript (by default the current one).
    """

    what: Literal["diff", "base", "request", "transcript"]
    uri: str | None = None
    turn: int | None = None
    session: str | None = None


class OpenResult(Value, frozen=True):
    """The URI of the opened document, and whether the editor shows the document."""

    uri: str
    shown: bool


class ForkArguments(CommandArguments, frozen=True):
    """The argument of ``indwell.fork``; all fields are optional.

    Attributes:
        session: The session to copy; by default the current session.
        turn: The fork continues from the end of this turn. The default is the last turn that has
            ended, and 0 means before the first turn.
        model: One of the user's models, to replace the turn's model.
        wait: Whether to answer only when the fork exists.
        keep: Whether a running turn continues beside the fork; otherwise the turn is stopped.
        beside: Whether the current session stays the current one; if so, no turn is stopped.
    """

    session: str | None = None
    turn: int | None = None
    model: str | None = None
    wait: bool = False
    keep: bool = False
    beside: bool = False


class RewindArguments(CommandArguments, frozen=True):
    """The argument of ``indwell.rewind``.

    Attributes:
        turn: The conversation continues from the end of this turn; 0 means before the first turn.
        session: The session to rewind; by default the current session.
        model: One of the user's models, to replace the turn's model.
        files: Whether to restore the files, too. If left out, plain editors ask the user, and other
            editors restore no files.
        wait: Whether to answer only when the session is rewound.
        beside: Whether the current session stays the current one.
    """

    turn: int
    session: str | None = None
    model: str | None = None
    files: bool | None = None
    wait: bool = False
    beside: bool = False


class ApplyParams(Value, frozen=True):
    """Code from an answer that the user applies to an open document as a pending change.

    Attributes:
        uri: The URI of the document.
        version: The version of the document from which ``text`` was made.
        text: The whole text of the document with the code.
        session: The session of the answer.
        turn: The turn of the answer.
    """

    HIDDEN = frozenset({"text"})

    uri: str
    version: int
    text: str
    session: str
    turn: int


class ApplyResult(Value, frozen=True):
    """The number of changes in all files that await review now."""

    pending: int


class ChangesParams(Value, frozen=True):
    """Selects pending changes by file, turn and session; without a field, selects all changes.

    A ``turn`` without a ``session`` is a turn of the current session.
    """

    uri: str | None = None
    turn: int | None = None
    session: str | None = None


class ChangeRow(Value, frozen=True):
    """One pending change; ``turn`` and ``session`` name the newest turn that contributed.

    Attributes:
        id: The id, which stays the same while the change has the same contents, wherever it moves.
        uri: The document's URI in the editor.
        path: The displayed path of the file.
        range: The range of the new lines; if there are none, the start of the nearest line.
        old: The removed lines with their line breaks.
        new: The added lines.
        turn: The number of the turn, from 1.
        session: The session's id.
        touched: Whether the user has changed the lines since; if so, Indwell asks before a reject.
        kind: ``create`` and ``delete`` concern whole files; ``opaque`` is not text or too large.
        note: The description of an opaque change, for people.
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


class ChangesResult(Value, frozen=True):
    """The pending changes by file and line; ``files``, ``added`` and ``removed`` are counts.

    ``pending`` is the number of changes in the whole workspace. ``undo`` describes the accept or
    reject that ``indwell.undoVerdict`` undoes next, such as ``accepted 1 change in a.py``, or empty
    if there is none.
    """

    changes: tuple[ChangeRow, ...]
    files: int
    added: int
    removed: int
    pending: int
    undo: str = ""


class VerdictArguments(CommandArguments, frozen=True):
    """The argument of ``indwell.accept`` and ``indwell.reject``: selects pending changes.

    Each field narrows the selection; at least one is needed. Ids that are no longer pending are
    ignored.

    Attributes:
        hunks: Ids of changes.
        uri: Changes of this document.
        turn: Changes of this turn, in the current session if ``session`` is left out.
        session: Changes of this session.
        all: Whether to select all changes.
        wait: Whether to answer only when the changes are accepted or rejected.
    """

    hunks: tuple[str, ...] = ()
    uri: str | None = None
    turn: int | None = None
    session: str | None = None
    all: bool = False
    wait: bool = False


class UndoVerdictArguments(CommandArguments, frozen=True):
    """The argument of ``indwell.undoVerdict``; with ``wait``, the answer comes at the end."""

    wait: bool = False


class KeptRow(Value, frozen=True):
    """A change that was not accepted or rejected, with the reason; ``id`` may be empty (a file)."""

    id: str
    uri: str
    path: str
    why: str

    SENTENCES = ("why",)


class VerdictResult(Value, frozen=True):
    """The result of accepting or rejecting changes.

    Attributes:
        verdict: ``accept`` or ``reject``.
        hunks: Ids of the changes that were accepted or rejected.
        kept: Changes that stay pending, with the reasons.
        gone: Ids from the arguments that are no longer pending.
        message: The result in one sentence.
        running: Whether the command is still at work; if so, a message later reports the end.
    """

    verdict: Literal["accept", "reject"]
    hunks: tuple[str, ...]
    kept: tuple[KeptRow, ...]
    gone: tuple[str, ...]
    message: str
    running: bool = False

    SENTENCES = ("kept", "message")


class UndoVerdictResult(Value, frozen=True):
    """The result of undoing the newest accept or reject.

    Attributes:
        verdict: What was undone, ``accept`` or ``reject``, or null if there was nothing to undo.
        hunks: Ids of the changes that await review again.
        kept: Files in which nothing could be undone, with the reasons.
        left: The number of earlier accepts and rejects that can be undone.
        message: The result in one sentence.
        running: Whether the command is still at work; if so, a message later reports the end.
    """

    verdict: Literal["accept", "reject"] | None
    hunks: tuple[str, ...]
    kept: tuple[KeptRow, ...]
    left: int
    message: str
    running: bool = False

    SENTENCES = ("kept", "message")
