"""Simulates the summaries of a replay: what a model could write, and what it would cost. Pure.

The costs follow the rules that choose who writes a summary
(``context.compaction.summarising.summary``). A real endpoint can replace the simulation (``cli``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import msgspec

from indwell.context.compaction.presets import Preset
from indwell.context.compaction.step import CompactionFacts, CompactionStep, SummaryPlan
from indwell.context.compaction.summarising.audit import audited
from indwell.context.compaction.summarising.fallback import extract, simulated
from indwell.context.compaction.summarising.summary import (
    SummarySizes,
    apart_price,
    appended_price,
    apply_summary,
    readers,
)
from indwell.context.compaction.summarising.task_card import least_card, task_card
from indwell.context.compaction.transcripts import source_text, transcript_files
from indwell.context.conversation import Conversation, part_tokens, prompt_tokens
from indwell.context.history import transcript
from indwell.context.tokens import estimate_tokens
from indwell.messages import Text

INSTRUCTIONS = 400  # tokens of a summariser's instructions (``prompt.system``)
LEAST_CARD, MOST_CARD, CARD_SHARE = 300, 2_000, 20  # as in ``agent.compaction.summary``


class WrittenSummary(msgspec.Struct, frozen=True):
    """A finished summary.

    Attributes:
        step: The step that inserts it.
        price: Price of the calls that wrote it, in units of ``CompactionFacts.rates``, per million.
        trouble: Why no model wrote it, if one should have.
    """

    step: CompactionStep
    price: float = 0.0
    trouble: str = ""


Summarise: TypeAlias = Callable[
    [Conversation, SummaryPlan, CompactionFacts, Preset], WrittenSummary
]
"""Lets the summary of a plan be written."""


def simulating(ratio: float) -> Summarise:
    """Return a summariser that extracts a summary of the stated size.

    Args:
        ratio: Its tokens, as a share of what it replaces; 0: the engine's extraction without a
            model, which costs nothing (H28).
    """

    def summarise(
        conversation: Conversation, plan: SummaryPlan, facts: CompactionFacts, preset: Preset
    ) -> WrittenSummary:
        if ratio:
            text = simulated(plan, ratio)
            price = price_of(conversation, plan, facts, estimate_tokens(text))
        else:
            text, price = extract(plan), 0.0
        return WrittenSummary(_step(conversation, plan, facts, preset, text), price)

    return summarise


def price_of(
    conversation: Conversation, plan: SummaryPlan, facts: CompactionFacts, output: int
) -> float:
    """Return the main model's price for a summary of ``output`` tokens: appended, if possible."""
    live = conversation.messages[plan.start : plan.stop]
    sizes = SummarySizes(
        prefix=prompt_tokens(conversation),
        region=part_tokens(conversation, source_text(plan)) + INSTRUCTIONS,
        instructions=INSTRUCTIONS,
        output=output,
        main_budget=conversation.config.budget,
        is_faithful=not any(
            one.meta.source == "compactor" for message in live for one in message.blocks
        ),
    )
    if "main" in readers(sizes, facts):
        return appended_price(sizes, facts.rates, is_cached=facts.is_cached)
    return apart_price(sizes, facts.rates)


def _step(
    conversation: Conversation, plan: SummaryPlan, facts: CompactionFacts, preset: Preset, text: str
) -> CompactionStep:
    """Build the step as ``agent.compaction.summary`` does: audited, with card and files."""
    card: Text | None = None
    least: Text | None = None
    if preset.card:
        budget = min(max(conversation.config.budget // CARD_SHARE, LEAST_CARD), MOST_CARD)
        whole = transcript(conversation.messages, conversation.history)
        card, least = task_card(whole, budget_tokens=budget), least_card(whole)
        live = conversation.messages[: plan.start] + conversation.messages[plan.stop :]
        text = audited(plan, text, card, live=live)
    files = transcript_files(conversation, plan.start, plan.stop, facts.spill_folder)
    step = apply_summary(conversation, plan, text, card=card, least=least, transcript=files.named)
    return msgspec.structs.replace(step, spills=(*step.spills, *files.spills))
