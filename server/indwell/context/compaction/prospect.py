"""What a compaction could bring at most, said without looking at a single text (H18). Pure.

Whether a compaction pays is asked before every call of a conversation that is past its first
threshold, and mostly the answer is no. These bounds give it from the sums that the tally keeps, in
a time that hardly grows with the conversation.
"""

from __future__ import annotations

from math import sqrt

import msgspec

from indwell.context.compaction.economy import LEAST_SHARE, growth, pays
from indwell.context.compaction.exchanges import is_boundary, last_exchange
from indwell.context.compaction.facts import Facts
from indwell.context.compaction.outline import Outline
from indwell.context.compaction.preset import Digest, Preset, Rung
from indwell.context.compaction.view import View
from indwell.context.conversation import Conversation
from indwell.context.fullness import estimated_tokens, prompt_tokens

GROWN = 0.02
"""Share of the budget by which a prompt grows before what was refused is asked again. A look at a
million tokens takes a second; on every fifth recorded session cost and what is kept stay within
0.2 % of those of asking before each call."""


class Refusal(msgspec.Struct, frozen=True):
    """The engine found nothing that pays, and was asked of nothing else.

    Attributes:
        tokens: Of the prompt, what would join it included.
        budget: That a prompt might have.
        is_cached: Was there a cache to lose?
    """

    tokens: int
    budget: int
    is_cached: bool


def refusal(conversation: Conversation, preset: Preset, facts: Facts) -> Refusal | None:
    """What to remember when the engine had nothing to do; None if it is to be asked again."""
    tokens, asked = _asked(conversation, preset, facts)
    if facts.force or preset.every_call or any(rung.when != "pays" for rung in asked):
        return None
    return Refusal(tokens, conversation.config.budget, facts.is_cached)


def nothing_pays(
    conversation: Conversation, preset: Preset, facts: Facts, before: Refusal | None = None
) -> bool:
    """Is it known, without looking at texts, that the engine would find nothing to do now?

    Rungs that must pay can be told so by what could go at most, or by what was found a short while
    ago: the engine is asked again when the prompt has grown by ``GROWN`` of its budget.
    """
    now = refusal(conversation, preset, facts)
    if now is None:
        return False
    if before is not None and 0 <= now.tokens - before.tokens < GROWN * now.budget:
        same = msgspec.structs.replace(before, tokens=now.tokens)
        if same == now:
            return True
    return nothing_can_pay(conversation, preset, facts)


def nothing_can_pay(conversation: Conversation, preset: Preset, facts: Facts) -> bool:
    """Is it certain that ``engine.next_action`` would find nothing to do now?"""
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
    """Would it pay if all that may go before the tail went, as far as the goal?"""
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
    """Estimated tokens that the prompt should have afterwards."""
    estimated = estimated_tokens(view.conversation) + view.facts.incoming
    scale = estimated / view.tokens if view.tokens else 1.0
    return min(view.goal, layer.root * sqrt(view.budget)) * scale


def tail_of(view: View, outline: Outline, tokens: int) -> int:
    """First message of the tail that stays as it is: so many tokens, but the last exchange."""
    last = last_exchange(view.messages)
    start = outline.tail(tokens)
    while start < last and not is_boundary(view.messages, start):
        start += 1
    return min(start, last)


def _asked(
    conversation: Conversation, preset: Preset, facts: Facts
) -> tuple[int, tuple[Rung, ...]]:
    """Tokens of the next prompt, and the rungs that may run at that size."""
    tokens = prompt_tokens(conversation) + facts.incoming
    budget = conversation.config.budget
    return tokens, tuple(one for one in preset.rungs if tokens > (one.at_tokens or one.at * budget))


def _view(conversation: Conversation, rung: Rung, facts: Facts, tokens: int) -> View:
    """What a rung that must pay would decide on."""
    goal = int(rung.aim * conversation.config.budget)
    return View(conversation=conversation, facts=facts, tokens=tokens, goal=goal, must=False)
