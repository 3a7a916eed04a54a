"""Rebuilds a session's state from the log: messages, usage, cost, endpoint facts. Pure.

No tool call runs again. If a crash left a call without a result, the call gets a result that says
what is known. The result is logged, so that the next restart reads the same bytes. The log also
contains facts about the endpoint: exact token counts, which delay compaction, and the state of the
prompt cache.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple, TypeVar

import msgspec

from indwell.context.conversation import tool_result
from indwell.context.history import History, MessageSplice, spliced
from indwell.context.pairing import repair, tool_uses
from indwell.context.request.cache_health import (
    LEAST_PREFIX,
    Health,
    added,
    life_s,
    of_call,
    of_compaction,
)
from indwell.context.tokens import Calibration, is_plausible
from indwell.errors import SessionError
from indwell.messages import Message, Request, Text, ToolResult, ToolUse, Usage
from indwell.sessions.branches import lived
from indwell.sessions.conversation_restore import folded, rebuilt, rewritten
from indwell.sessions.overview import session_name
from indwell.sessions.records import (
    CompactionRecord,
    Forked,
    Inherited,
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
    Titled,
    TurnEndRecord,
    TurnStartRecord,
    was_interrupted,
)

UNKNOWN = "unknown outcome: Indwell ended while this ran; look before repeating it"
_STEPS = (Rewound, Forked, TurnStartRecord)
_R = TypeVar("_R", bound=Record)


class OpenCall(msgspec.Struct, frozen=True):
    """A tool call without a result; ``begun`` is true if the call may have had effects."""

    use: ToolUse
    begun: bool


class Past(msgspec.Struct, frozen=True):
    """The state of a session, read from its log.

    Attributes:
        messages: The messages of the conversation, paired except for the calls in ``open_calls``.
        history: The originals of the compacted messages.
        notes: Sentences about the repairs that are not in the log yet.
        splices: The repairs as replacements of logged messages, which are written to the log, too.
        n_live: The number of messages in the log before the repairs.
        open_calls: The calls of the last reply that have no results.
        turns: The number of the last turn.
        is_broken_off: Whether the last turn has no end in the log.
        draft: The user's text that never reached the model.
        usage: The tokens of all calls.
        last_usage: The tokens of the last call.
        cost: US dollars of all calls, or None if a price was unknown.
        spent: US dollars of the calls whose price was known.
        model: The model of the last call.
        prefix: The newest system prompt and tools, or None if the log is older than this kind of
            record.
        requests: The number of the last request.
        cache_key: The key of the last request, or empty if the log has no key.
        is_taken_back: Whether the session was rewound or forked and has no new turn yet.
        title: The title that the user gave, or empty if there is no title.
        own_title: The beginning of the first prompt.
        origin: The session whose task is sent with the first prompt, until the prompt is sent.
        is_outgrown: Whether the last turn ended because no request can hold the conversation.
        is_interrupted: Whether Indwell ended while the last turn ran, according to the log.
    """

    messages: tuple[Message, ...] = ()
    history: History = History()
    notes: tuple[str, ...] = ()
    splices: tuple[MessageSplice, ...] = ()
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
    """Return the state that a log describes, from the order of its records, not their times.

    Args:
        records: All records.
        is_damaged: Whether records are unreadable, so that a call without a recorded beginning may
            have run.
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
            case Forked():  # the copied records belong to another session, which paid for the calls
                usage, cost, spent = Usage(), 0.0, 0.0
            case TurnStartRecord() | TurnEndRecord():
                turns = max(turns, record.turn)
            case MessageRecord():
                turns = max(turns, record.message.turn)
            case Spent():
                if record.is_own:
                    model, last_usage = record.model, record.usage
                usage += record.usage
                cost = None if cost is None or record.cost is None else cost + record.cost
                spent += record.cost or 0.0
            case _:
                pass
    branch = lived(records)
    told = folded(branch)
    messages, notes = _paired(told.messages)
    splices = rewritten(told.messages, messages) if messages is not told.messages else ()
    _, history = spliced(told.messages, told.history, splices)
    begun = _begun(branch)
    noted = {record.what for record in records if isinstance(record, Repaired)}
    return Past(
        messages=messages,
        history=history,
        notes=tuple(note for note in (*told.notices, *notes) if note not in noted),
        splices=splices,
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
    first = next((one for one in records if isinstance(one, TurnStartRecord)), None)
    return "" if first is None else session_name(first.words, first.title)


def _origin(branch: Sequence[Record]) -> str:
    inherited = _newest(branch, Inherited)
    return "" if inherited is None else inherited.session


def _newest(branch: Sequence[Record], kind: type[_R] | tuple[type[_R], ...]) -> _R | None:
    return next((record for record in reversed(branch) if isinstance(record, kind)), None)


def _cache_key(branch: Sequence[Record]) -> str:
    """Return the cache key of the last request; a fork keeps the key of the original session."""
    sent = (one for one in reversed(branch) if isinstance(one, RequestRecord) and one.alone is None)
    return next((one.cache_key for one in sent), "")


def _unanswered(messages: Sequence[Message]) -> tuple[ToolUse, ...]:
    """Return the tool calls of the last reply, if no message follows it."""
    return tool_uses(messages[-1]) if messages else ()


def _begun(records: Iterable[Record]) -> frozenset[str]:
    """Return ids of tool calls that may have begun and whose results are missing."""
    begun: set[str] = set()
    for record in records:
        if isinstance(record, Intent):
            begun.add(record.tool_use_id)
        elif isinstance(record, MessageRecord) and record.message.role == "user":
            begun.clear()
    return frozenset(begun)


def _paired(messages: tuple[Message, ...]) -> tuple[tuple[Message, ...], tuple[str, ...]]:
    """Repair the messages so that only the last calls lack results; return the repairs, too."""
    open_uses = _unanswered(messages)
    if not open_uses:
        return repair(messages)
    # Give the last calls temporary results, so that ``repair`` changes only earlier messages.
    blocks = tuple(tool_result(use, UNKNOWN, is_error=True) for use in open_uses)
    repaired, notes = repair((*messages, Message("user", blocks, messages[-1].turn)))
    return repaired[:-1], notes


def _is_broken_off(records: Sequence[Record]) -> bool:
    for record in reversed(records):
        if isinstance(record, TurnEndRecord):
            return False
        if isinstance(record, TurnStartRecord | MessageRecord):
            return True
    return False


def _draft(records: Sequence[Record]) -> str:
    """Return the user's text that reached no message; for an ended turn, its draft."""
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


class Recalled(NamedTuple):
    """The facts about the endpoint in a log.

    Attributes:
        health: Cache statistics after the last call.
        calibration: The ratio of counted to estimated tokens, by the last plausible count.
        answered_at: The time of the model's last reply, or None if there is no reply or the time is
            unknown.
    """

    health: Health
    calibration: Calibration
    answered_at: datetime | None


def recalled(records: Sequence[Record], now: datetime) -> Recalled:
    """Read the facts about the endpoint from a log.

    Args:
        records: All records, oldest first.
        now: The current time; an old request is not rebuilt, because no cache contains it.
    """
    health, calibration = Health(), Calibration()
    answered: datetime | None = None
    sent: RequestRecord | None = None
    last: RequestRecord | None = None
    for record in records:
        match record:
            case RequestRecord():
                sent = record
            case Forked():  # the copied records belong to another session, which paid for the calls
                health = Health(has_cache=health.has_cache, misses=health.misses)
            case CompactionRecord():
                figures = of_compaction(record.layer, record.before, record.after)
                health = added(health, record.turn, figures)
            case Spent(usage=usage):
                figures = of_call(usage, record.cost, expected=record.expected)
                health = added(health, record.turn, figures)
                if record.agent or sent is None:
                    continue
                if sent.model != record.model or sent.purpose != "work":
                    continue
                answered = _time(record.at)
                health = _watched(health, record, is_same=last is None or last.model == sent.model)
                last = sent if usage.reported else last
                room = sent.window - sent.max_output
                if usage.reported and sent.tokens and is_plausible(usage.input, sent.tokens, room):
                    calibration = Calibration(sent.model, usage.input, sent.tokens)
            case _:
                pass
    if last is not None and answered is not None and _is_kept(last, now - answered):
        health = msgspec.structs.replace(health, last=_request(records, last))
    return Recalled(health, calibration, answered)


def _is_kept(last: RequestRecord, idle: timedelta) -> bool:
    return idle.total_seconds() <= life_s(last.cache_life)


def _watched(health: Health, spent: Spent, *, is_same: bool) -> Health:
    """Update the statistics from a recorded usage, as ``health.after_reply`` did."""
    usage = spent.usage
    if not usage.reported:
        return health
    known = (health.has_cache and is_same) or usage.cached > 0 or usage.cache_write > 0
    misses = health.misses if is_same and not usage.cached else 0
    if spent.expected >= LEAST_PREFIX and known and not usage.cached:
        misses += 1
    return msgspec.structs.replace(health, has_cache=known, misses=misses)


def _request(records: Sequence[Record], sent: RequestRecord) -> Request | None:
    try:
        request = rebuilt(records, sent.number).request
    except SessionError:  # In a log of an older version, no cache hit is expected.
        return None
    return msgspec.structs.replace(request, tokens=sent.tokens)


def _time(text: str) -> datetime | None:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return time if time.tzinfo else None


NOT_BEGUN = "not done: Indwell ended before this began; call it again if it is still needed"
REMINDER = (
    "Indwell was started again since, and this session goes on. Files may have changed meanwhile: "
    "read a file again before you edit it."
)
TAKEN_BACK = (
    "The user took the conversation back to this point: what was said and done after it is not "
    "shown here, but files may hold its work. Read a file again before you edit it."
)


def outcomes(calls: Iterable[OpenCall], found: Mapping[str, str]) -> tuple[ToolResult, ...]:
    """Return results for calls that have no result.

    Args:
        calls: The open calls, in order.
        found: The present state of each call's file, in words, by call id.
    """
    results = []
    for call in calls:
        words = UNKNOWN if call.begun else NOT_BEGUN
        looked = found.get(call.use.id, "")
        text = f"[{words}]" + (f"\n{looked}" if looked else "")
        results.append(tool_result(call.use, text, is_error=True))
    return tuple(results)


def unknown_words(calls: Sequence[OpenCall]) -> str:
    """Return advice for the user after calls with an unknown outcome, or an empty text."""
    begun = [call.use.name for call in calls if call.begun]
    if not begun:
        return ""
    names = ", ".join(dict.fromkeys(begun))
    number = "1 call" if len(begun) == 1 else f"{len(begun)} calls"
    return f"Indwell ended during {number} ({names}), so the result is unknown"
