"""Reads from a log what is known of the endpoint: token counts, cache, last reply. Pure.

So a restarted server knows what the last one knew: exact counts, by which no compaction runs too
early, and what the prompt cache should still serve.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from indwell.context.request.cache_health import LEAST_PREFIX, LIFE_S, Health, added
from indwell.context.request.figures import of_call, of_compaction
from indwell.context.tokens import Calibration, is_plausible
from indwell.errors import SessionError
from indwell.messages import Request
from indwell.sessions.conversation_restore import rebuilt
from indwell.sessions.records import CompactionRecord, Forked, Record, RequestRecord, Spent


class Recalled(NamedTuple):
    """What is known of the endpoint.

    Attributes:
        health: Cache statistics after the last call.
        calibration: The ratio of counted to estimated tokens, by the last plausible count.
        answered_at: Time of the model's last reply; None if there was none or it is unknown.
    """

    health: Health
    calibration: Calibration
    answered_at: datetime | None


def recalled(records: Sequence[Record], now: datetime) -> Recalled:
    """Read it from a log.

    Args:
        records: All records, oldest first.
        now: The current time; an old request is not rebuilt, because no cache holds it.
    """
    health, calibration = Health(), Calibration()
    answered: datetime | None = None
    sent: RequestRecord | None = None
    last: RequestRecord | None = None
    for record in records:
        match record:
            case RequestRecord():
                sent = record
            case Forked():  # another session paid for the copied records
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
    if last is not None and answered is not None and (now - answered).total_seconds() <= LIFE_S:
        health = msgspec.structs.replace(health, last=_request(records, last))
    return Recalled(health, calibration, answered)


def _watched(health: Health, spent: Spent, *, is_same: bool) -> Health:
    """Update the statistics as ``health.after_reply`` did, from the recorded result."""
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
    except SessionError:  # an older log; then nothing is expected of the cache
        return None
    return msgspec.structs.replace(request, tokens=sent.tokens)


def _time(text: str) -> datetime | None:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return time if time.tzinfo else None
