"""Converts a session's log to turns for display: messages, replies and tool calls. Pure.

A call that may change something appears with its decision, any other call with its end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeAlias

import msgspec

from indwell.messages import BROKE_OFF, Block, Image, Text, Thinking, ToolResult, ToolUse, Usage
from indwell.sessions.branches import lived
from indwell.sessions.display_records import CallEnded, Decided, FileLines
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
from indwell.settings.model import Mode

Kind: TypeAlias = Literal["user", "assistant", "thinking", "tool", "attached", "image", "notice"]


class TranscriptPiece(msgspec.Struct, frozen=True):
    """One item of a turn for display.

    Attributes:
        kind: The user's message, the model's reply, its reasoning, a tool card, an attachment by
            the harness, a picture, or a notice from the log.
        text: The text; for a tool card, the result.
        source: Origin of the text (``messages.Source``); for a tool card, the tool's name.
        id: Id of the call, for a tool card.
        arguments: The JSON text written by the model, for a tool card.
        is_error: The call failed or was refused.
        is_answered: False for a call without a result in the log; the call has ended nevertheless
            if ``seconds`` is set.
        target: The call's file, command or other target; the label of a picture.
        figure: A short count for a call, such as ``+3 −1``.
        seconds: Duration of a call; None if unknown.
        diff: Diff of the call's edits.
        inner: Calls of the sub-agent that this call started; empty in older logs.
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
    """One turn for display; ``ending`` is None while it runs, or if the process was killed.

    ``left``: a rewind abandoned the turn. ``title``, ``attached``, ``mode``, ``seconds`` and
    ``changes`` are as recorded; older logs lack them.
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
    """Return the turns of a log, oldest first, including those that a rewind abandoned."""
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
            return turn  # intents and requests add nothing to the tool card


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
    """Update a call's card from a record; a sub-agent's call goes into the card of its agent."""
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
            lambda card: replace(card, target=card.target or record.what),  # until the call ends
        )
    return _with_card(
        pieces,
        record.tool_use_id,
        lambda card: replace(
            card,
            is_error=bool(record.failed),  # until the result arrives, in a message with others
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
    """Change the newest card of a call; without such a card, change nothing."""
    for at in range(len(pieces) - 1, -1, -1):
        if pieces[at].kind == "tool" and pieces[at].id == call:
            return (*pieces[:at], change(pieces[at]), *pieces[at + 1 :])
    return pieces


def branch_words(record: Rewound | Forked) -> str:
    """Word the notice of a rewind or a fork."""
    if isinstance(record, Rewound):
        return f"the conversation was taken back, and goes on from the end of turn {record.turn}"
    return f"forked from session {record.session}, at the end of its turn {record.turn}"


def compacted_words(record: CompactionRecord) -> str:
    """Word the notice of a compaction."""
    words = (
        f"the conversation was compacted ({record.layer}): from {record.before:,} to "
        f"{record.after:,} tokens"
    )
    return f"{words}; {record.note}" if record.note else words


def _piece(block: Block) -> TranscriptPiece | None:
    """Convert a block; None for the user's message (already shown) and for results."""
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
    """Convert a reply, without the marker that tells the model where it was cut off."""
    text = text.removesuffix(BROKE_OFF).removesuffix("\n") if text.endswith(BROKE_OFF) else text
    return TranscriptPiece("assistant", text, "assistant") if text.strip() else None


def _answered(
    turn: TurnView, place: int, results: Mapping[tuple[int, str], ToolResult]
) -> TurnView:
    """Put each result into the card of its call; if a turn repeats an id, the last result wins."""

    def joined(piece: TranscriptPiece) -> TranscriptPiece:
        result = results.get((place, piece.id)) if piece.kind == "tool" else None
        if result is None:
            return piece
        return msgspec.structs.replace(
            piece, text=result.text, is_error=result.is_error, is_answered=True
        )

    return msgspec.structs.replace(turn, pieces=tuple(map(joined, turn.pieces)))


class InnerCall(msgspec.Struct, frozen=True):
    """A tool call of a sub-agent; the log has no result of it.

    Attributes:
        id: Id of the call.
        tool: Name of the tool.
        target: The file, command or other target.
        figure: A short count, such as ``+3 −1``.
        seconds: Duration; None: the log has no end of the call.
        failed: Beginning of the error message; empty if the call succeeded.
        diff: Diff of its edits.
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
        """Whether the log has the end of the call."""
        return self.seconds is not None


Inner: TypeAlias = tuple[InnerCall, ...]


def heard(calls: Inner, record: Decided | CallEnded) -> Inner:
    """Update the calls of one sub-agent, oldest first, from its next record."""
    match record:
        case Decided():
            told = InnerCall(record.tool_use_id, record.tool, record.what)
            # A decision with an ending is followed by ``CallEnded``; a second one is an answer.
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
    """Return the index of the newest call with this id, if open: some endpoints repeat ids."""
    for at in range(len(calls) - 1, -1, -1):
        if calls[at].id == id_:
            return None if calls[at].is_ended else at
    return None
