"""Typed messages about documents: the chat, virtual documents, review, fork and rewind."""

from __future__ import annotations

from typing import Literal

from indwell.lsp.messages.lsprotocol_types import types
from indwell.lsp.messages.values import CommandArguments, Value


class ChatArguments(CommandArguments, frozen=True):
    """The argument of ``indwell.chat``; all fields are optional.

    Attributes:
        uri: The document to open; created if missing.
        session: The session of the document; the current one if both are left out.
        new: Whether to begin a new chat.
        wait: Whether to answer only when it is open.
    """

    uri: str | None = None
    session: str | None = None
    new: bool = False
    wait: bool = False


class ChatResult(Value, frozen=True):
    """The document: its URI, and whether the editor has opened it."""

    uri: str
    path: str
    session: str | None
    shown: bool


class SendArguments(CommandArguments, frozen=True):
    """The argument of ``indwell.send``; all fields are optional.

    Attributes:
        uri: The chat document; by default the one that was opened last.
        how: ``steer`` gives the words to the running turn, ``next`` lets them wait behind it;
            ``auto`` steers if a turn of this chat runs.
        wait: Whether to answer only when the words are on their way.
    """

    uri: str | None = None
    how: Literal["auto", "steer", "next"] = "auto"
    wait: bool = False


class OpenArguments(CommandArguments, frozen=True):
    """The argument of ``indwell.open``.

    Attributes:
        what: The kind of document. ``diff``: pending changes; ``base``: a file without them, or
            before a turn; ``request``: what the model would get next; ``transcript``: a session.
        uri: The file of a diff or base; a diff without it covers all files.
        turn: A turn of ``session``: a ``diff`` shows its changes, a ``base`` the file before it.
        session: The session of the changes or of the transcript (by default the current one).
    """

    what: Literal["diff", "base", "request", "transcript"]
    uri: str | None = None
    turn: int | None = None
    session: str | None = None


class OpenResult(Value, frozen=True):
    """The URI (a file's, if the client asks for no texts), and whether it is shown."""

    uri: str
    shown: bool


class ForkArguments(CommandArguments, frozen=True):
    """The argument of ``indwell.fork``; all fields are optional.

    Attributes:
        session: The session to copy; by default the current one.
        turn: The fork continues from the end of this turn; by default the last one that has ended;
            0 is before the first one.
        model: One of the user's models, in place of that turn's own.
        wait: Whether to answer only when it is done.
        keep: Whether a running turn goes on beside the fork; otherwise it is stopped.
    """

    session: str | None = None
    turn: int | None = None
    model: str | None = None
    wait: bool = False
    keep: bool = False


class RewindArguments(CommandArguments, frozen=True):
    """The argument of ``indwell.rewind``.

    Attributes:
        turn: The conversation continues from the end of this turn; 0 is before the first one.
        session: By default the current one.
        model: As in ``ForkArguments``.
        files: Whether to restore the files, too; if left out, plain editors ask, others do not.
        wait: Whether to answer only when it is done.
    """

    turn: int
    session: str | None = None
    model: str | None = None
    files: bool | None = None
    wait: bool = False


class ApplyParams(Value, frozen=True):
    """Code of an answer that the user applies to an open document: it becomes a pending change.

    Attributes:
        uri: The document.
        version: Its version when ``text`` was made of it.
        text: Its whole text with the code.
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
    """The number of changes that await review now, of all files."""

    pending: int


class ChangesParams(Value, frozen=True):
    """Selects pending changes of a file, a turn, a session; each field narrows it, none means all.

    A ``turn`` without a ``session`` is one of the current session.
    """

    uri: str | None = None
    turn: int | None = None
    session: str | None = None


class ChangeRow(Value, frozen=True):
    """One pending change; ``turn`` and ``session`` name the newest turn that made a part of it.

    Attributes:
        id: The id of its contents: the same as long as it shows the same, wherever it moves.
        uri: The document's URI in the editor.
        path: Its path for people.
        range: The range of its new lines; without any, the start of the line to reach it by.
        old: The removed lines with their line breaks.
        new: The added lines.
        turn: The number of the turn, from 1.
        session: The session's id.
        touched: Whether the user has changed its lines since; a reject then asks first.
        kind: ``create`` and ``delete`` concern whole files; ``opaque`` is not text or too large.
        note: For people; describes an opaque change.
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
    """Pending changes by file and line; ``files``, ``added`` and ``removed`` are their counts.

    ``pending`` is their number in the whole workspace. ``undo`` names the verdict that
    ``indwell.undoVerdict`` takes back next, such as ``accepted 1 change in a.py``; empty: none.
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
        turn: Changes of this turn; of the current session if ``session`` is left out.
        session: Changes of this session.
        all: Whether to take all changes.
        wait: Whether to answer only when it is done.
    """

    hunks: tuple[str, ...] = ()
    uri: str | None = None
    turn: int | None = None
    session: str | None = None
    all: bool = False
    wait: bool = False


class UndoVerdictArguments(CommandArguments, frozen=True):
    """The argument of ``indwell.undoVerdict``; ``wait``: answer only when it is done."""

    wait: bool = False


class KeptRow(Value, frozen=True):
    """A change that a verdict did not settle, with the reason; ``id`` is empty for a whole file."""

    id: str
    uri: str
    path: str
    why: str


class VerdictResult(Value, frozen=True):
    """The result of a verdict.

    Attributes:
        verdict: The verdict.
        hunks: Ids of the changes that it settled.
        kept: Unchanged changes, with the reasons.
        gone: Named ids that are no longer pending; nothing was done for them.
        message: The result in one sentence.
        running: Whether it is still at work, or the user is asked; a message reports the end.
    """

    verdict: Literal["accept", "reject"]
    hunks: tuple[str, ...]
    kept: tuple[KeptRow, ...]
    gone: tuple[str, ...]
    message: str
    running: bool = False


class UndoVerdictResult(Value, frozen=True):
    """The result of taking back the newest verdict.

    Attributes:
        verdict: The verdict that was taken back; null: none was left.
        hunks: Ids of the changes that await a verdict again.
        kept: Files whose verdict could not be taken back, with the reasons.
        left: The number of earlier verdicts that can be taken back.
        message: The result in one sentence.
        running: Whether it is still at work; a message reports the end.
    """

    verdict: Literal["accept", "reject"] | None
    hunks: tuple[str, ...]
    kept: tuple[KeptRow, ...]
    left: int
    message: str
    running: bool = False
