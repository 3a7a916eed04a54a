"""What a session's log holds, one record a line, and how it folds back into a conversation.

This module knows no disk and no clock: times come in as text (ISO 8601, UTC).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec

from indwell.context.history import MessageSplice
from indwell.messages import Anchors, Message, ToolChoice, ToolSpec, Usage
from indwell.sessions.told import Decided, FileLines, Told
from indwell.settings.model import Mode

Ending: TypeAlias = Literal[
    "done", "cancelled", "failed", "limit", "repeated", "budget", "interrupted"
]
"""How a turn ended; ``interrupted``: Indwell ended meanwhile, as when a window is reloaded."""

ENDED = "Indwell ended while this turn ran; `/continue` goes on from there"
ENDED_BEFORE = "Indwell ended while this turn ran"  # in logs of before, as a failure
Purpose: TypeAlias = Literal["work", "summary"]
IMPORTED = "imported from "  # how the note begins in the log of what another tool recorded


class SessionStarted(msgspec.Struct, frozen=True, tag="sessionStarted"):
    """First line: whose log this is."""

    session: str
    workspace: str
    model: str
    at: str
    format: int = 1


class Prefixed(msgspec.Struct, frozen=True, tag="prefixed"):
    """What stands before every request, so that a resumed session sends the same bytes (H13).

    Attributes:
        system: The text of each system block.
        tools: A digest of the tools' schemas.
        at: When it came into force; the newest one counts.
        specs: The tools in full; logs of before this record had them hold none.
    """

    system: tuple[str, ...]
    tools: str
    at: str
    specs: tuple[ToolSpec, ...] = ()


class TurnStartRecord(msgspec.Struct, frozen=True, tag="turnStarted", omit_defaults=True):
    """The user's words as typed, before anything is done with them.

    Attributes:
        turn: Of the session.
        words: The user's own, or those of a code action.
        at: When.
        title: A few words for lists; empty in logs of before, as are the two below.
        attached: What goes with them, a few words each.
        mode: In force when it began.
    """

    turn: int
    words: str
    at: str
    title: str = ""
    attached: tuple[str, ...] = ()
    mode: Mode | None = None


class SteeringRecord(msgspec.Struct, frozen=True, tag="steered"):
    """What the user said while a turn ran, as typed; on disk before it is sent.

    If it reached the model, a ``MessageRecord`` holds it, too; else ``TurnEndRecord.words`` does.
    """

    turn: int
    words: str
    at: str


class MessageRecord(msgspec.Struct, frozen=True, tag="said"):
    """Blocks that joined the conversation; two of one role in a row are one message."""

    message: Message
    at: str


class Intent(msgspec.Struct, frozen=True, tag="intent"):
    """On disk before a write, an edit or a command begins (H59)."""

    turn: int
    tool_use_id: str
    tool: str
    arguments: str
    at: str


class RequestRecord(msgspec.Struct, frozen=True, tag="sent"):
    """A request as it goes out: with what stands before it in the log it can be made again.

    Attributes:
        turn: Of the session.
        number: Of the request in the session, 1-based.
        model: The endpoint's name of the model.
        max_output: Tokens the reply may have.
        tool_choice: As in ``messages.Request``.
        cache_key: As in ``messages.Request``.
        window: Tokens that the model takes and gives in one call.
        tail: Blocks behind those in the log: the user's words and what goes with them. They join
            the conversation (``MessageRecord``) when the request was answered.
        anchors: Where cache marks went.
        pictures: Did the model take pictures? If not, words stood where they are.
        at: When.
        alone: The system prompt of a request that stands in no conversation, such as one for a
            summary by the small model: ``tail`` is all of it, and there are no tools. None: it
            goes on with the conversation in the log.
        tokens: What it was estimated at; 0: logs of before did not say.
        purpose: The work itself, or a summary of it.
    """

    turn: int
    number: int
    model: str
    max_output: int
    tool_choice: ToolChoice
    cache_key: str
    window: int
    tail: tuple[Message, ...]
    anchors: Anchors
    pictures: bool
    at: str
    alone: tuple[str, ...] | None = None
    tokens: int = 0
    purpose: Purpose = "work"


class Wire(msgspec.Struct, frozen=True, tag="wire"):
    """An attempt at request ``number``: the endpoint's ways and the body that they gave.

    Attributes:
        number: Of the ``RequestRecord`` before it.
        dialect: JSON of ``providers.dialect.Dialect``.
        digest: Of the body's bytes; empty if others made them.
        at: When.
    """

    number: int
    dialect: str
    digest: str
    at: str


class Spent(msgspec.Struct, frozen=True, tag="spent"):
    """Tokens and cost (US dollars, None if unknown) of one model call.

    ``expected`` are the prompt tokens that a cache should have served, in the endpoint's count;
    ``agent`` is the name of the sub-agent that made the call, empty for the main one.
    """

    turn: int
    model: str
    usage: Usage
    cost: float | None
    at: str
    expected: int = 0
    agent: str = ""


class CompactionRecord(msgspec.Struct, frozen=True, tag="compacted"):
    """The conversation was rewritten to be shorter; one record is one compaction, whole or not.

    Attributes:
        turn: In which it was done; 0 between turns.
        layer: Name of the layer that did it.
        splices: What became of which messages; indices before any of them is made.
        before: Tokens of the whole prompt before.
        after: The same after it.
        spills: Files in the session's spill folder that hold what was cut, all of it.
        at: When.
        live: Messages that there were before it; 0 if nobody counted.
        note: What the user was told.
    """

    turn: int
    layer: str
    splices: tuple[MessageSplice, ...]
    before: int
    after: int
    spills: tuple[str, ...]
    at: str
    live: int = 0
    note: str = ""


class Repaired(msgspec.Struct, frozen=True, tag="repaired", omit_defaults=True):
    """Something was mended: an orphaned call, a torn line.

    Attributes:
        what: In words.
        at: When.
        splices: What became of which messages, if it was in messages.
        live: Messages that there were before it; 0 if nobody counted.
    """

    what: str
    at: str
    splices: tuple[MessageSplice, ...] = ()
    live: int = 0


class TurnEndRecord(msgspec.Struct, frozen=True, tag="turnFinished"):
    """How a turn ended; ``words`` are given back if they never reached the model.

    ``seconds`` (None: nobody says) and ``changes`` are as told when it ended; so is ``outgrown``:
    the conversation fitted no request any more.
    """

    turn: int
    ending: Ending
    at: str
    message: str = ""
    words: str = ""
    seconds: float | None = None
    changes: tuple[FileLines, ...] = ()
    outgrown: bool = False


def was_interrupted(record: TurnEndRecord) -> bool:
    """Did Indwell end while the turn ran? Logs of before tell it as a failure."""
    is_old = record.ending == "failed" and record.message == ENDED_BEFORE
    return is_old or record.ending == "interrupted"


class Rewound(msgspec.Struct, frozen=True, tag="rewound"):
    """The conversation goes on from the end of an earlier turn; what came after it is left behind.

    Only the conversation: files stay as they are.

    Attributes:
        turn: After whose end; 0: before the first one.
        model: The one asked in it; empty if nobody says.
        at: When.
    """

    turn: int
    model: str
    at: str


class Forked(msgspec.Struct, frozen=True, tag="forked"):
    """The records before this one are copies of another session's; they were paid for there.

    It stands in the log twice: right behind the first line, and, whole, behind the copies.

    Attributes:
        session: The other one.
        turn: Up to whose end.
        model: The one asked in it; empty if nobody says.
        at: When.
        spills: The sessions whose spill folders the copied texts name.
        whole: Are all copies there?
    """

    session: str
    turn: int
    model: str
    at: str
    spills: tuple[str, ...]
    whole: bool


Record: TypeAlias = (
    SessionStarted
    | Prefixed
    | TurnStartRecord
    | SteeringRecord
    | MessageRecord
    | Intent
    | Decided
    | RequestRecord
    | Wire
    | Spent
    | CompactionRecord
    | Repaired
    | TurnEndRecord
    | Rewound
    | Forked
    | Told
)


def repairs(
    notes: Sequence[str], splices: tuple[MessageSplice, ...], live: int, *, at: str
) -> tuple[Repaired, ...]:
    """The records of one repair: each note, the first with what became of ``live`` messages."""
    first = notes[0] if notes else "mended as before"
    head = Repaired(first, at, splices, live if splices else 0)
    return (head, *(Repaired(note, at) for note in notes[1:])) if notes or splices else ()
