"""Bounds what a compaction could gain, and whether it pays, without reading texts (H18). Pure.

The question comes up before every call of a conversation past its first threshold, and mostly the
answer is no. These bounds answer it from the sums in the tally, in a time that hardly grows with
the conversation.

A cached prompt costs a tenth. A cut saves that tenth in every later call, and everything behind the
first cut is sent once more at the full price.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from math import sqrt
from operator import attrgetter

import msgspec

from indwell.context.compaction.presets import Digest, Preset, Rung
from indwell.context.compaction.step import CompactionFacts, TokenRates, View
from indwell.context.conversation import Conversation, estimated_tokens, prompt_tokens
from indwell.context.history import is_boundary, last_exchange
from indwell.context.tally import STRIDE, Sums, Tally, added, extended
from indwell.context.tokens import message_tokens
from indwell.messages import Message

GROWN = 0.02
"""Share of the budget by which a prompt grows before a refused compaction is considered again. To
consider a million tokens takes a second. On every fifth recorded session, cost and kept text stay
within 0.2 % of those with a check before each call.
"""


class NothingPays(msgspec.Struct, frozen=True):
    """The engine found nothing that pays, and no other action was due.

    Attributes:
        tokens: Tokens of the prompt, with what would join it.
        budget: Tokens that a prompt might have.
        is_cached: Whether there was a cache to lose.
    """

    tokens: int
    budget: int
    is_cached: bool


def refusal(
    conversation: Conversation, preset: Preset, facts: CompactionFacts
) -> NothingPays | None:
    """Return what to remember when the engine found nothing; None if it must be asked again."""
    tokens, asked = _asked(conversation, preset, facts)
    if facts.force or preset.every_call or any(rung.when != "pays" for rung in asked):
        return None
    return NothingPays(tokens, conversation.config.budget, facts.is_cached)


def nothing_pays(
    conversation: Conversation,
    preset: Preset,
    facts: CompactionFacts,
    before: NothingPays | None = None,
) -> bool:
    """Is it known, without looking at texts, that the engine would find nothing to do now?

    For rungs that must pay, the bounds say so, or a recent refusal: the engine is asked again when
    the prompt has grown by ``GROWN`` of its budget.
    """
    now = refusal(conversation, preset, facts)
    if now is None:
        return False
    if before is not None and 0 <= now.tokens - before.tokens < GROWN * now.budget:
        same = msgspec.structs.replace(before, tokens=now.tokens)
        if same == now:
            return True
    return nothing_can_pay(conversation, preset, facts)


def nothing_can_pay(conversation: Conversation, preset: Preset, facts: CompactionFacts) -> bool:
    """Is it certain that ``ladder.next_action`` would find nothing to do now?"""
    if facts.force or preset.every_call:
        return False
    tokens, asked = _asked(conversation, preset, facts)
    outline = Outline(conversation) if asked else None
    return outline is None or all(
        rung.when == "pays"
        and isinstance(rung.layer, Digest)
        and not can_pay(rung.layer, _view(conversation, rung, facts, tokens), outline)
        for rung in asked
    )


def can_pay(layer: Digest, view: View, outline: Outline) -> bool:
    """Would it pay if everything removable before the tail were removed, as far as the goal?"""
    estimated = estimated_tokens(view.conversation) + view.facts.incoming
    goal = goal_of(layer, view)
    loose = outline.before(tail_of(view, outline, int(view.budget * layer.tail_share))).loose
    freed = min(loose, max(0.0, estimated - goal))
    return freed >= LEAST_SHARE * view.budget and pays(
        freed=freed,
        rewritten=outline.whole.tokens + view.facts.incoming - freed,
        growth=growth(view.conversation),
        facts=view.facts,
    )


def goal_of(layer: Digest, view: View) -> float:
    """Return the estimated tokens that the prompt should have afterwards."""
    estimated = estimated_tokens(view.conversation) + view.facts.incoming
    scale = estimated / view.tokens if view.tokens else 1.0
    return min(view.goal, layer.root * sqrt(view.budget)) * scale


def tail_of(view: View, outline: Outline, tokens: int) -> int:
    """Return the first message of the unchanged tail, which has at least the last exchange."""
    last = last_exchange(view.messages)
    start = outline.tail(tokens)
    while start < last and not is_boundary(view.messages, start):
        start += 1
    return min(start, last)


def _asked(
    conversation: Conversation, preset: Preset, facts: CompactionFacts
) -> tuple[int, tuple[Rung, ...]]:
    """Return the tokens of the next prompt, and the rungs that may run at that size."""
    tokens = prompt_tokens(conversation) + facts.incoming
    budget = conversation.config.budget
    return tokens, tuple(one for one in preset.rungs if tokens > (one.at_tokens or one.at * budget))


def _view(conversation: Conversation, rung: Rung, facts: CompactionFacts, tokens: int) -> View:
    """Return the view on which a rung that must pay would decide."""
    goal = int(rung.aim * conversation.config.budget)
    return View(conversation=conversation, facts=facts, tokens=tokens, goal=goal, must=False)


RECENT, LEAST_CALLS = 160, 4  # messages, and model calls, over which the growth is averaged
LEAST_SHARE = 0.1  # share of the budget that a step must free if it need not be made


def pays(*, freed: float, rewritten: float, growth: float, facts: CompactionFacts) -> bool:
    """Should so much be freed now, or is it cheaper to wait until more can be freed at once?

    The conversation grows and is compacted again and again, so the question is how far it should
    grow in between. This is the economic lot (Harris 1913): a rewrite costs ``rewritten * (write -
    cached)`` however much it frees, and each token that waits to be freed costs ``cached`` in each
    call. Over ``freed / growth`` calls the sum is least where ``freed ** 2 == 2 * rewritten *
    growth * (write - cached) / cached``.

    Args:
        freed: Tokens by which every later call is shorter.
        rewritten: Tokens behind the first cut, after the step.
        growth: Tokens that a call adds to the conversation.
        facts: Prices, and whether there is a cache to lose. If nothing costs anything, as with a
            model on this machine, the usual ratios represent the time.
    """
    if not facts.is_cached:
        return freed > 0
    rates = facts.rates if facts.rates.input or facts.rates.cached else TokenRates()
    rewrite = max(0.0, rewritten) * max(0.0, rates.cache_write - rates.cached)
    return freed > 0 and freed**2 * rates.cached >= 2 * rewrite * growth


def growth(conversation: Conversation) -> float:
    """Return the tokens that a model call adds, averaged over the newest ``RECENT`` messages."""
    history = conversation.history
    newest = conversation.messages[len(history.places) :][-RECENT:]
    before = history.originals[-(RECENT - len(newest)) :] if len(newest) < RECENT else ()
    tokens = sum(map(message_tokens, (*before, *newest)))
    return tokens / max(LEAST_CALLS, (len(before) + len(newest)) / 2)


_TOKENS = attrgetter("tokens")


class Outline:
    """Sums over the messages of a conversation, for any part of it, in O(log n).

    Args:
        conversation: Its messages that the tally lacks are visited once.
    """

    def __init__(self, conversation: Conversation) -> None:
        self._messages: Sequence[Message] = conversation.messages
        self._tally: Tally = extended(conversation.tally, conversation.messages)
        self.whole = self.before(len(conversation.messages))

    def before(self, index: int) -> Sums:
        """Return the sums of the messages before ``index``."""
        if index >= self._tally.n:
            return self._walked(self._tally.sums, self._tally.n, index)
        place = index // STRIDE
        return self._walked(self._tally.places[place], place * STRIDE, index)

    def tail(self, tokens: int) -> int:
        """Return the first message of the longest tail with at most so many tokens."""
        wanted = self.whole.tokens - tokens
        places = self._tally.places
        place = max(0, bisect_left(places, wanted, key=_TOKENS) - 1)
        at, sums = (place * STRIDE, places[place]) if places else (0, Sums())
        while at < len(self._messages) and sums.tokens < wanted:
            sums = added(sums, self._messages[at])
            at += 1
        return at

    def _walked(self, sums: Sums, start: int, stop: int) -> Sums:
        for message in self._messages[start:stop]:
            sums = added(sums, message)
        return sums
