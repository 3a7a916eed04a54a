"""Compaction of a replayed conversation, as ``agent.fit`` drives it, without a model. Pure.

Summaries are simulated; what they would have cost is counted by the rules that choose who writes
them (``context.compaction.summariser``).
"""

from __future__ import annotations

from collections import Counter

import msgspec

from indwell.context.audit import audited
from indwell.context.compaction.cuts import spill_name, spill_path
from indwell.context.compaction.engine import layer_name, next_action, take, trigger
from indwell.context.compaction.facts import Facts
from indwell.context.compaction.fallback import extract, simulated
from indwell.context.compaction.preset import Preset
from indwell.context.compaction.restraint import Restraint, after_run, failed
from indwell.context.compaction.source import source_text
from indwell.context.compaction.step import Spill, Step, SummaryPlan
from indwell.context.compaction.summariser import Sizes, apart_price, appended_price, readers
from indwell.context.compaction.summary import apply_summary
from indwell.context.conversation import Conversation, prompt_tokens
from indwell.context.history import transcript
from indwell.context.task_card import task_card
from indwell.context.tokens import estimate_tokens
from indwell.messages import Text

MOST_ACTIONS = 12  # before one request, as in ``agent.fit``; more is a loop
LEAST_STEP = 0.01  # of the prompt; a layer whose step gains less has nothing more to give now
INSTRUCTIONS = 400  # tokens of what a summariser is told (``prompt.summary``)
LEAST_CARD, MOST_CARD, CARD_SHARE = 300, 2_000, 20  # as in ``agent.summarise_call``


class Done(msgspec.Struct, frozen=True):
    """What was done before one request.

    Attributes:
        layers: That made a step, in order.
        spills: Files that they wrote.
        summary_price: Of the summariser's calls, in prices of one input token.
        is_loop: It did not come to an end.
    """

    layers: tuple[str, ...] = ()
    spills: tuple[Spill, ...] = ()
    summary_price: float = 0.0
    is_loop: bool = False


class Driver:
    """What the driver of a session remembers between its requests."""

    def __init__(self, preset: Preset, facts: Facts, ratio: float) -> None:
        self._preset, self._facts, self._ratio = preset, facts, ratio
        self._restraint = Restraint()

    def fit(self, conversation: Conversation, incoming: int) -> tuple[Conversation, Done]:
        """Let compaction run to its end."""
        preset, budget = self._preset, conversation.config.budget
        begun = prompt_tokens(conversation) + incoming
        lowest = min((trigger(rung, budget) for rung in preset.rungs), default=float("inf"))
        if not (preset.every_call or begun > lowest):
            return conversation, Done()
        idle = set(failed(self._restraint, begun) if begun <= budget else ())
        gains: Counter[str] = Counter()
        layers, spills, price, is_loop = list[str](), list[Spill](), 0.0, True
        for _ in range(MOST_ACTIONS):
            facts = msgspec.structs.replace(self._facts, incoming=incoming, failed=frozenset(idle))
            action = next_action(conversation, preset, facts)
            if action is None:
                is_loop = False
                break
            step = action
            if isinstance(action, SummaryPlan):
                step, paid = self._summary(conversation, action, facts)
                price += paid
            assert isinstance(step, Step)
            before = prompt_tokens(conversation)
            shorter = take(conversation, step)
            gain = before - prompt_tokens(shorter)
            if gain > 0:
                conversation = shorter
                layers.append(step.layer)
                spills += step.spills
                gains[step.layer] += gain
            if gain < LEAST_STEP * (before + incoming):
                idle.add(action.layer)
        self._remember(gains, begun)
        return conversation, Done(tuple(layers), tuple(spills), price, is_loop)

    def _remember(self, gains: Counter[str], begun: int) -> None:
        always = layer_name(self._preset.rungs[0].layer) if self._preset.every_call else ""
        for layer in gains.keys() - {always}:
            self._restraint = after_run(self._restraint, layer, begun, begun - gains[layer])

    def _summary(
        self, conversation: Conversation, plan: SummaryPlan, facts: Facts
    ) -> tuple[Step, float]:
        """The step with a simulated summary, and the price of having it written."""
        price = _price(conversation, plan, facts, self._ratio)
        text = extract(plan) if price is None else simulated(plan, self._ratio)
        card: Text | None = None
        if self._preset.card:
            budget = min(max(conversation.config.budget // CARD_SHARE, LEAST_CARD), MOST_CARD)
            whole = transcript(conversation.messages, conversation.history)
            card = task_card(whole, budget_tokens=budget)
            live = conversation.messages[: plan.start] + conversation.messages[plan.stop :]
            text = audited(plan, text, card, live=live)
        source = source_text(msgspec.structs.replace(plan, most_characters=0, most_of_message=0))
        name = spill_name("transcript", source)
        path = spill_path(facts.spill_folder, name)
        step = apply_summary(conversation, plan, text, card=card, transcript=path)
        spills = (*step.spills, Spill(name, source))
        return msgspec.structs.replace(step, spills=spills), price or 0.0


def _price(
    conversation: Conversation, plan: SummaryPlan, facts: Facts, ratio: float
) -> float | None:
    """What the cheapest summariser asks; None if nobody is asked, or nobody can take it."""
    if not ratio:
        return None
    live = conversation.messages[plan.start : plan.stop]
    sizes = Sizes(
        prefix=prompt_tokens(conversation),
        region=estimate_tokens(source_text(plan)) + INSTRUCTIONS,
        instructions=INSTRUCTIONS,
        output=estimate_tokens(simulated(plan, ratio)),
        main_budget=conversation.config.budget,
        is_faithful=not any(
            one.meta.source == "compactor" for message in live for one in message.blocks
        ),
    )
    reader = next(iter(readers(sizes, facts)), "apart")
    if reader == "main":
        return appended_price(sizes, facts.rates, is_cached=facts.is_cached)
    return apart_price(sizes, facts.small or facts.rates)
