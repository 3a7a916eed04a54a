"""Rebuilds a session's state from its log: messages, usage, cost, and an open turn. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

import msgspec

from indwell.context.conversation import tool_result
from indwell.context.history import History, MessageSplice, spliced
from indwell.context.pairing import repair, tool_uses
from indwell.messages import Message, Text, ToolUse, Usage
from indwell.sessions.branches import lived
from indwell.sessions.conversation_restore import folded, rewritten
from indwell.sessions.display_records import Inherited, Titled
from indwell.sessions.overview import preview_of
from indwell.sessions.records import (
    Forked,
    Intent,
    MessageRecord,
    Prefixed,
    Record,
    Repaired,
    RequestRecord,
    Rewound,
    SessionStarted,
    Spent,
    SteeringRecord,
    TurnEndRecord,
    TurnStartRecord,
    was_interrupted,
)

UNKNOWN = "unknown outcome: Indwell ended while this ran; look before repeating it"
_STEPS = (Rewound, Forked, TurnStartRecord)
_R = TypeVar("_R", bound=Record)


class OpenCall(msgspec.Struct, frozen=True):
    """A tool call without a result; ``begun`` if it may have had effects."""

    use: ToolUse
    begun: bool


class Past(msgspec.Struct, frozen=True):
    """The state of a session, read from its log.

    Attributes:
        messages: The messages of the conversation, paired except for the calls in ``open_calls``.
        history: The originals of the compacted messages.
        notes: Repairs of the messages that the log does not note yet.
        mended: The repairs as splices of the log's messages; the log gets them, too.
        n_live: Number of messages in the log before the repairs.
        open_calls: Calls of the last reply without results.
        turns: The number of the last turn.
        is_broken_off: Whether that turn has no end in the log.
        draft: The user's words that never reached the model.
        usage: Tokens of all calls.
        last_usage: Tokens of the last call.
        cost: US dollars of all calls; None if a price was unknown.
        spent: US dollars of the calls whose price was known.
        model: The model of the last call.
        prefix: The newest system prompt and tools; None if the log is older than that record.
        requests: The number of the last request.
        cache_key: The key of the last request; empty if the log has none.
        is_taken_back: Whether it continues from an earlier turn (a rewind or a fork) and has not
            gone on yet.
        title: The title that the user gave; empty if none.
        own_title: The beginning of the first words.
        origin: The session whose task goes with the first words, until they are sent.
        is_outgrown: Whether the last turn ended because no request can hold the conversation.
        is_interrupted: Whether Indwell ended while the last turn ran, by the log.
    """

    messages: tuple[Message, ...] = ()
    history: History = History()
    notes: tuple[str, ...] = ()
    mended: tuple[MessageSplice, ...] = ()
    n_live: int = 0
    open_calls: tuple[OpenCall, ...] = ()
    turns: int = 0
    is_broken_off: bool = False
    draft: str = ""
    usage: Usage = Usage()
    last_usage: Usage = Usage()
    cost: float | None = 0.0
    spent: float = 0.0
    model: str = ""
    prefix: Prefixed | None = None
    requests: int = 0
    cache_key: str = ""
    is_taken_back: bool = False
    title: str = ""
    own_title: str = ""
    origin: str = ""
    is_outgrown: bool = False
    is_interrupted: bool = False


def past_of(records: Sequence[Record], *, is_damaged: bool = False) -> Past:
    """Return the state that a log describes, by the order of its records, not their times (PER-14).

    Args:
        records: All records.
        is_damaged: Whether records could not be read, so that a call without an intent may have
            run.
    """
    usage = last_usage = Usage()
    cost: float | None = 0.0
    spent = 0.0
    model, turns, requests = "", 0, 0
    for record in records:
        match record:
            case SessionStarted():
                model = record.model
            case RequestRecord():
                requests = max(requests, record.number)
            case Forked():  # another session paid for the copied records
                usage, cost, spent = Usage(), 0.0, 0.0
            case TurnStartRecord() | TurnEndRecord():
                turns = max(turns, record.turn)
            case MessageRecord():
                turns = max(turns, record.message.turn)
            case Spent():
                if not record.agent:
                    model, last_usage = record.model, record.usage
                usage += record.usage
                cost = None if cost is None or record.cost is None else cost + record.cost
                spent += record.cost or 0.0
            case _:
                pass
    branch = lived(records)
    told = folded(branch)
    messages, notes = _paired(told.messages)
    mended = rewritten(told.messages, messages) if messages is not told.messages else ()
    _, history = spliced(told.messages, told.history, mended)
    begun = _begun(branch)
    noted = {record.what for record in records if isinstance(record, Repaired)}
    return Past(
        messages=messages,
        history=history,
        notes=tuple(note for note in (*told.notices, *notes) if note not in noted),
        mended=mended,
        n_live=len(told.messages),
        open_calls=tuple(
            OpenCall(use, is_damaged or use.id in begun) for use in _unanswered(messages)
        ),
        turns=turns,
        is_broken_off=_is_broken_off(branch),
        draft=_draft(branch),
        usage=usage,
        last_usage=last_usage,
        cost=cost,
        spent=spent,
        model=model,
        prefix=_newest(branch, Prefixed),
        requests=requests,
        cache_key=_cache_key(branch),
        is_taken_back=isinstance(_newest(branch, _STEPS), Rewound | Forked),
        title=next((one.title for one in reversed(records) if isinstance(one, Titled)), ""),
        own_title=_own_title(records),
        origin="" if messages else _origin(branch),
        is_outgrown=(ended_last := _newest(branch, (TurnStartRecord, TurnEndRecord))) is not None
        and isinstance(ended_last, TurnEndRecord)
        and ended_last.outgrown,
        is_interrupted=isinstance(ended_last, TurnEndRecord)
        and was_interrupted(ended_last)
        and not ended_last.words,
    )


def _own_title(records: Sequence[Record]) -> str:
    first = (one.words for one in records if isinstance(one, TurnStartRecord))
    return preview_of(next(first, ""))


def _origin(branch: Sequence[Record]) -> str:
    inherited = _newest(branch, Inherited)
    return "" if inherited is None else inherited.session


def _newest(branch: Sequence[Record], kind: type[_R] | tuple[type[_R], ...]) -> _R | None:
    return next((record for record in reversed(branch) if isinstance(record, kind)), None)


def _cache_key(branch: Sequence[Record]) -> str:
    """The cache key of the conversation's last request; a fork keeps that of its origin."""
    sent = (one for one in reversed(branch) if isinstance(one, RequestRecord) and one.alone is None)
    return next((one.cache_key for one in sent), "")


def _unanswered(messages: Sequence[Message]) -> tuple[ToolUse, ...]:
    """The tool calls of the last reply, if no message follows it."""
    return tool_uses(messages[-1]) if messages else ()


def _begun(records: Iterable[Record]) -> frozenset[str]:
    """Ids of calls with a logged intent whose results are missing."""
    begun: set[str] = set()
    for record in records:
        if isinstance(record, Intent):
            begun.add(record.tool_use_id)
        elif isinstance(record, MessageRecord) and record.message.role == "user":
            begun.clear()
    return frozenset(begun)


def _paired(messages: tuple[Message, ...]) -> tuple[tuple[Message, ...], tuple[str, ...]]:
    """The messages, repaired so that only the calls at their end lack results; and the repairs."""
    open_uses = _unanswered(messages)
    if not open_uses:
        return repair(messages)
    # Give the last calls results for now, so that ``repair`` mends only what is before them.
    blocks = tuple(tool_result(use, UNKNOWN, is_error=True) for use in open_uses)
    mended, notes = repair((*messages, Message("user", blocks, messages[-1].turn)))
    return mended[:-1], notes


def _is_broken_off(records: Sequence[Record]) -> bool:
    for record in reversed(records):
        if isinstance(record, TurnEndRecord):
            return False
        if isinstance(record, TurnStartRecord | MessageRecord):
            return True
    return False


def _draft(records: Sequence[Record]) -> str:
    """The user's words that reached no message; for an ended turn, those it returned."""
    typed: list[str] = []
    n_heard = 0
    for record in records:
        match record:
            case TurnStartRecord(words=words):
                typed, n_heard = [words], 0
            case SteeringRecord(words=words):
                typed.append(words)
            case MessageRecord(message=message):
                n_heard += sum(
                    isinstance(block, Text) and block.meta.source == "user"
                    for block in message.blocks
                )
            case TurnEndRecord(words=words):
                typed, n_heard = [words] if words else [], 0
            case _:
                pass
    return "\n\n".join(typed[n_heard:])
