"""The log of a session as turns to show: words, replies, tool calls, calls of sub-agents. Pure.

A call that may change something is known from its decision, any other call from its end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeAlias

import msgspec

from indwell.messages import BROKE_OFF, Block, Image, Text, Thinking, ToolResult, ToolUse, Usage
from indwell.sessions.branches import lived
from indwell.sessions.records import (
    ENDED,
    CompactionRecord,
    Ending,
    Forked,
    MessageRecord,
    Record,
    Repaired,
    Rewound,
    SessionStarted,
    Spent,
    SteeringRecord,
    TurnEndRecord,
    TurnStartRecord,
    was_interrupted,
)
from indwell.sessions.told import CallEnded, Decided, FileLines
from indwell.settings.model import Mode

Kind: TypeAlias = Literal["user", "assistant", "thinking", "tool", "attached", "image", "notice"]


class TranscriptPiece(msgspec.Struct, frozen=True):
    """One thing to show.

    Attributes:
        kind: The user's words, the model's, its reasoning, a tool card, what the harness attached
            to the user's words, a picture, or a note of the log itself.
        text: The words; of a tool card its result.
        source: Where the text came from (``messages.Source``); of a tool card the tool's name.
        id: Of the call, for a tool card.
        arguments: Of a tool card: the JSON text that the model wrote.
        is_error: The call failed or was refused.
        is_answered: False for a call whose result is not in the log (yet); it may have ended
            all the same, which ``seconds`` tells.
        target: What a call worked on; of a picture its label.
        figure: Of a call, such as ``+3 −1``.
        seconds: That a call took; None if nobody says.
        diff: Of the edits of a call.
        inner: What the sub-agent did that the call began; logs of before do not tell.
    """

    kind: Kind
    text: str
    source: str = ""
    id: str = ""
    arguments: str = ""
    is_error: bool = False
    is_answered: bool = True
    target: str = ""
    figure: str = ""
    seconds: float | None = None
    diff: str = ""
    inner: tuple[InnerCall, ...] = ()


class TurnView(msgspec.Struct, frozen=True):
    """One turn; ``ending`` is None while it runs, or if the process was killed in it.

    ``left`` says that a rewind left it behind: the conversation goes on without it. ``title``,
    ``attached``, ``mode``, ``seconds`` and ``changes`` are as told then; older logs have none.
    """

    turn: int
    at: str
    words: str
    ending: Ending | None = None
    message: str = ""
    usage: Usage = Usage()
    cost: float | None = 0.0
    pieces: tuple[TranscriptPiece, ...] = ()
    left: bool = False
    title: str = ""
    attached: tuple[str, ...] = ()
    mode: Mode | None = None
    seconds: float | None = None
    changes: tuple[FileLines, ...] = ()


def transcript(records: Sequence[Record]) -> tuple[TurnView, ...]:
    """The turns of a log, oldest first, also those that a rewind left behind."""
    alive = {id(record) for record in lived(records)}
    turns: list[TurnView] = []
    results: dict[tuple[int, str], ToolResult] = {}
    for record in records:
        if isinstance(record, TurnStartRecord):
            turns.append(_begun(record, left=id(record) not in alive))
        elif turns:
            turns[-1] = _with(turns[-1], record, results, len(turns))
    return tuple(_answered(turn, place, results) for place, turn in enumerate(turns, start=1))


def _begun(record: TurnStartRecord, *, left: bool) -> TurnView:
    return TurnView(
        record.turn,
        record.at,
        record.words,
        pieces=(TranscriptPiece("user", record.words, "user"),),
        left=left,
        title=record.title,
        attached=record.attached,
        mode=record.mode,
    )


def _with(
    turn: TurnView, record: Record, results: dict[tuple[int, str], ToolResult], place: int
) -> TurnView:
    replace = msgspec.structs.replace
    match record:
        case MessageRecord(message=message):
            results.update(
                ((place, block.tool_use_id), block)
                for block in message.blocks
                if isinstance(block, ToolResult)
            )
            pieces = tuple(piece for block in message.blocks if (piece := _piece(block)))
            return replace(turn, pieces=turn.pieces + pieces)
        case Spent(usage=usage, cost=cost):
            total = None if turn.cost is None or cost is None else turn.cost + cost
            return replace(turn, usage=turn.usage + usage, cost=total)
        case SteeringRecord(words=words):
            return replace(turn, pieces=(*turn.pieces, TranscriptPiece("user", words, "user")))
        case CompactionRecord():
            return replace(
                turn, pieces=(*turn.pieces, TranscriptPiece("notice", compacted_words(record)))
            )
        case Repaired(what=what):
            return replace(turn, pieces=(*turn.pieces, TranscriptPiece("notice", what)))
        case Rewound() | Forked():
            return replace(
                turn, pieces=(*turn.pieces, TranscriptPiece("notice", branch_words(record)))
            )
        case Decided() | CallEnded():
            return replace(turn, pieces=_called(turn.pieces, record))
        case TurnEndRecord():
            return _ended(turn, record)
        case SessionStarted() | TurnStartRecord():
            return turn
        case _:
            return turn  # an intent or a request says nothing that its call does not show


def _ended(turn: TurnView, record: TurnEndRecord) -> TurnView:
    cut = was_interrupted(record)
    return msgspec.structs.replace(
        turn,
        ending="interrupted" if cut else record.ending,
        message=ENDED if cut else record.message,
        seconds=record.seconds,
        changes=record.changes,
    )


def _called(
    pieces: tuple[TranscriptPiece, ...], record: Decided | CallEnded
) -> tuple[TranscriptPiece, ...]:
    """The pieces with what a record tells of a call; of a sub-agent's in the card of its own."""
    replace = msgspec.structs.replace
    if record.within:
        return _with_card(
            pieces,
            record.within,
            lambda card: replace(card, inner=heard(card.inner, record)),
        )
    if isinstance(record, Decided):
        return _with_card(
            pieces,
            record.tool_use_id,
            lambda card: replace(card, target=card.target or record.what),  # until it has ended
        )
    return _with_card(
        pieces,
        record.tool_use_id,
        lambda card: replace(
            card,
            is_error=bool(record.failed),  # until its result says so, which comes with others
            target=record.target,
            figure=record.figure,
            seconds=record.seconds,
            diff=record.diff,
        ),
    )


def _with_card(
    pieces: tuple[TranscriptPiece, ...],
    call: str,
    change: Callable[[TranscriptPiece], TranscriptPiece],
) -> tuple[TranscriptPiece, ...]:
    """The pieces with the newest card of a call changed; as they are if there is none."""
    for at in range(len(pieces) - 1, -1, -1):
        if pieces[at].kind == "tool" and pieces[at].id == call:
            return (*pieces[:at], change(pieces[at]), *pieces[at + 1 :])
    return pieces


def branch_words(record: Rewound | Forked) -> str:
    """Where a conversation went on, in words."""
    if isinstance(record, Rewound):
        return f"the conversation was taken back, and goes on from the end of turn {record.turn}"
    return f"forked from session {record.session}, at the end of its turn {record.turn}"


def compacted_words(record: CompactionRecord) -> str:
    """A compaction, in words."""
    words = (
        f"the conversation was compacted ({record.layer}): from {record.before:,} to "
        f"{record.after:,} tokens"
    )
    return f"{words}; {record.note}" if record.note else words


def _piece(block: Block) -> TranscriptPiece | None:
    """A block as it is shown; the user's own words are there already, results join their call."""
    match block:
        case Text(text=text, meta=meta):
            if meta.source == "user":
                return None
            if meta.source == "assistant":
                return _reply(text)
            return TranscriptPiece("attached", text, meta.source)
        case Thinking(text=text):
            return TranscriptPiece("thinking", text, "assistant")
        case ToolUse():
            return TranscriptPiece(
                "tool", "", block.name, block.id, block.arguments, is_answered=False
            )
        case ToolResult():
            return None
        case Image(media_type=media_type):
            return TranscriptPiece("image", media_type, block.meta.source, target=block.label)


def _reply(text: str) -> TranscriptPiece | None:
    """The model's words, without the mark that tells it where they broke off."""
    text = text.removesuffix(BROKE_OFF).removesuffix("\n") if text.endswith(BROKE_OFF) else text
    return TranscriptPiece("assistant", text, "assistant") if text.strip() else None


def _answered(
    turn: TurnView, place: int, results: Mapping[tuple[int, str], ToolResult]
) -> TurnView:
    """Put each result into the card of its call; where a turn repeats an id, the last one wins."""

    def joined(piece: TranscriptPiece) -> TranscriptPiece:
        result = results.get((place, piece.id)) if piece.kind == "tool" else None
        if result is None:
            return piece
        return msgspec.structs.replace(
            piece, text=result.text, is_error=result.is_error, is_answered=True
        )

    return msgspec.structs.replace(turn, pieces=tuple(map(joined, turn.pieces)))


class InnerCall(msgspec.Struct, frozen=True):
    """A call of a sub-agent; its result stayed with the sub-agent.

    Attributes:
        id: Of the call.
        tool: Its name.
        target: What it worked on.
        figure: Such as ``+3 −1``.
        seconds: That it took; None: it has no end in the log.
        failed: How the words of its failure begin; empty if it did not fail.
        diff: Of its edits.
    """

    id: str
    tool: str
    target: str
    figure: str = ""
    seconds: float | None = None
    failed: str = ""
    diff: str = ""

    @property
    def is_ended(self) -> bool:
        """Does the log tell how it ended?"""
        return self.seconds is not None


Inner: TypeAlias = tuple[InnerCall, ...]


def heard(calls: Inner, record: Decided | CallEnded) -> Inner:
    """The calls of one sub-agent, oldest first, after one more record of it."""
    match record:
        case Decided():
            told = InnerCall(record.tool_use_id, record.tool, record.what)
            # One of an end comes with a ``CallEnded``; a second one is the answer to a question.
            is_known = bool(record.ending) or _place(calls, told.id) is not None
            return calls if is_known else (*calls, told)
        case CallEnded():
            told = InnerCall(
                record.tool_use_id,
                record.tool,
                record.target,
                record.figure,
                record.seconds,
                record.failed,
                record.diff,
            )
            at = _place(calls, told.id)
            return (*calls, told) if at is None else (*calls[:at], told, *calls[at + 1 :])


def _place(calls: Inner, id_: str) -> int | None:
    """Where the newest call of that id stands, if it has not ended: some endpoints repeat ids."""
    for at in range(len(calls) - 1, -1, -1):
        if calls[at].id == id_:
            return None if calls[at].is_ended else at
    return None
