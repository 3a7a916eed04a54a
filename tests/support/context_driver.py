"""Compacts a conversation as ``agent.compaction.fit`` does, and reports each step to the test."""

from __future__ import annotations

from collections.abc import Callable

from indwell.context.compaction.digesting.repeats import repeats
from indwell.context.compaction.digesting.transcript_index import TranscriptIndex
from indwell.context.compaction.ladder import MOST_RUNS, Climb, climbed, next_step, take
from indwell.context.compaction.presets import Preset
from indwell.context.compaction.step import (
    Action,
    CompactionFacts,
    CompactionStep,
    SummarySpan,
    full_tokens,
)
from indwell.context.compaction.summarising.fallback import extract
from indwell.context.compaction.summarising.summary import apply_summary, why_unusable
from indwell.context.conversation import Conversation, prompt_tokens

Summarise = Callable[[SummarySpan], str]
Watch = Callable[[Conversation, Action, CompactionStep, Conversation], None]
"""What is told of each step that is taken: before, what was wanted, what it became, after."""


def fitted(
    conversation: Conversation,
    preset: Preset,
    facts: CompactionFacts,
    *,
    summarise: Summarise = extract,
    watch: Watch | None = None,
    index: TranscriptIndex | None = None,
) -> Conversation:
    """Compact the conversation until the engine proposes no further step.

    Args:
        conversation: The conversation, without the text of the next call.
        preset: Name of the ladder of steps.
        facts: The facts that the engine cannot compute itself.
        summarise: Writes summaries; extraction replaces a useless summary (H28).
        watch: Called after each step.
        index: The index of the session.
    """
    if preset.repeats and (pointing := repeats(conversation.messages)):
        shorter = take(conversation, pointing)
        if watch is not None:
            watch(conversation, pointing, pointing, shorter)
        conversation = shorter
    climb = Climb(full_tokens(conversation, facts), force=facts.force, out=facts.failed)
    layers: list[str] = []
    while (action := next_step(climb, conversation, preset, facts, index)) is not None:
        layers.append(action.layer)
        step = _step(conversation, action, summarise)
        after = take(conversation, step)
        before_n, after_n = prompt_tokens(conversation), prompt_tokens(after)
        if step.splices and after_n < before_n:
            if watch is not None:
                watch(conversation, action, step, after)
            conversation = after
            if index is not None:
                index.parts.keep(step.spills)
        gain = max(0, before_n - after_n)
        climb = climbed(climb, action.layer, before=before_n + facts.incoming, gain=gain)
        assert len(layers) <= MOST_RUNS * (len(preset.rungs) + 1), (
            f"too many actions before one call: {', '.join(layers)}"
        )
    return conversation


def _step(conversation: Conversation, action: Action, summarise: Summarise) -> CompactionStep:
    if isinstance(action, CompactionStep):
        return action
    text = summarise(action)
    if why_unusable(action, text):
        text = extract(action)
    return apply_summary(conversation, action, text)
