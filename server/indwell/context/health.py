"""How well the prompt cache works, call by call, and a warning when it does not (H36, H37). Pure.

A message once sent is frozen (H35), so the whole of the last request should come from the cache in
the next one. This module knows no clock: how long nothing was asked is an argument.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from indwell.context.difference import Difference, first_difference, total_tokens
from indwell.context.figures import Figures, of_call, of_compaction
from indwell.messages import Request, Usage

LIFE_S = 300.0  # seconds that a cache keeps a prefix nobody asks for: the shortest in use (H34)
LEAST_PREFIX = 1_024  # tokens; nobody caches a shorter prefix
THRASH_AT = 3  # calls in a row (H36)


class Health(msgspec.Struct, frozen=True):
    """What is known of the cache and of the sums after some model calls.

    Attributes:
        last: The last request that was answered.
        has_cache: Has the endpoint of that request ever reported a cache?
        misses: Calls in a row without a cached token, although a prefix should have hit.
        turn_number: The turn that ``turn`` is about.
        turn: Sums of that turn.
        session: Sums of all turns.
    """

    last: Request | None = None
    has_cache: bool = False
    misses: int = 0
    turn_number: int = 0
    turn: Figures = Figures()
    session: Figures = Figures()


def of_turn(health: Health, turn: int) -> Figures:
    """The sums of turn ``turn``; nothing if it was another that called last."""
    return health.turn if health.turn_number == turn else Figures()


def after_call(
    health: Health, turn: int, usage: Usage, cost: float | None, *, expected: int = 0
) -> Health:
    """Take in what a call of any model took.

    Args:
        health: Of before.
        turn: Number of the turn, 1-based.
        usage: Of the call.
        cost: In US dollars, None if it is unknown.
        expected: As in ``figures.Figures``.
    """
    return added(health, turn, of_call(usage, cost, expected=expected))


class Seen(NamedTuple):
    """What an answered request says of the cache.

    Attributes:
        health: With it.
        expected: Prompt tokens that the cache should have served, in the endpoint's count.
        warning: If the cache has failed for the third time in a row, else the empty text. It is
            said once, until the cache has served something again.
    """

    health: Health
    expected: int = 0
    warning: str = ""


def after_reply(
    health: Health,
    request: Request,
    usage: Usage,
    *,
    idle_s: float = 0.0,
    has_cache: bool = False,
) -> Seen:
    """Take in what the cache gave for an answered request of the conversation.

    Args:
        health: Of before.
        request: As it was sent.
        usage: As the endpoint counted it; an estimate says nothing of the cache.
        idle_s: Seconds since the request before was answered.
        has_cache: Does what is known of the endpoint say that it has a cache?
    """
    if not usage.reported:
        return Seen(health)
    before = health.last
    is_same = before is not None and before.model == request.model
    known = (health.has_cache and is_same) or usage.cached > 0 or usage.cache_write > 0
    difference = None
    prefix = common = 0
    if before is not None and is_same and idle_s <= LIFE_S:
        difference = first_difference(before, request)
        prefix = total_tokens(before)
        common = prefix if difference is None else difference.common
    misses = health.misses if is_same and not usage.cached else 0
    if prefix >= LEAST_PREFIX and (known or has_cache) and not usage.cached:
        misses += 1  # a call that could not hit says nothing
    is_thrash = misses == THRASH_AT > health.misses
    changed = msgspec.structs.replace(health, last=request, has_cache=known, misses=misses)
    warning = thrash_words(difference, common) if is_thrash else ""
    return Seen(changed, _in_its_count(common, request, usage), warning)


def after_compaction(health: Health, turn: int, layer: str, before: int, after: int) -> Health:
    """Take a step of compaction in; ``before`` and ``after`` in tokens of the prompt."""
    return added(health, turn, of_compaction(layer, before, after))


def thrash_words(difference: Difference | None, common: int) -> str:
    """Say what kept the cache from serving, and what was there before and after.

    Args:
        difference: Where the newest request parts from the one before, if it does.
        common: Tokens that both begin with.
    """
    head = f"{THRASH_AT} requests in a row got nothing from the prompt cache"
    if difference is None:
        return (
            f"{head}: the endpoint did not use it, for the request begins with all "
            f"{common:,} tokens of the one before"
        )
    if common >= LEAST_PREFIX:
        return (
            f"{head}: the endpoint did not use it, for the first {common:,} tokens are those of "
            f"the request before (the first change is behind them, in {_named(difference)})"
        )
    texts = (difference.before, difference.after)
    before, after = (repr(text) if text else "nothing" for text in texts)
    return f"{head}: {_named(difference)} changed; it was {before}, and is {after}"


def _named(difference: Difference) -> str:
    turn = f" of turn {difference.turn}" if difference.turn else ""
    return f"{difference.place} (source: {difference.source}{turn})"


def _in_its_count(common: int, request: Request, usage: Usage) -> int:
    """Tokens of ours in the endpoint's own count, which is known for the whole request."""
    ours = total_tokens(request)
    return min(round(common * usage.input / ours), usage.input) if ours else 0


def added(health: Health, turn: int, figures: Figures) -> Health:
    """Add to the sums of the session, and of turn ``turn``, the newest one."""
    of_turn = health.turn if turn == health.turn_number else Figures()
    return msgspec.structs.replace(
        health, turn_number=turn, turn=of_turn + figures, session=health.session + figures
    )
