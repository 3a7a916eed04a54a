"""The loop that keeps a conversation inside its window, as ``agent.fit`` runs it, watched."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from indwell.agent.fit import FORCED_AIM, LEAST_STEP, MOST_ACTIONS, _narrowed, _without
from indwell.context.compaction.engine import next_action, take
from indwell.context.compaction.facts import Facts
from indwell.context.compaction.fallback import extract
from indwell.context.compaction.preset import Preset
from indwell.context.compaction.step import Action, Step, SummaryPlan
from indwell.context.compaction.summary import apply_summary, is_usable
from indwell.context.compaction.view import full_tokens
from indwell.context.conversation import Conversation, prompt_tokens

Summarise = Callable[[SummaryPlan], str]
Watch = Callable[[Conversation, Action, Step, Conversation], None]
"""What is told of each step that is taken: before, what was wanted, what it became, after."""


class LoopError(AssertionError):
    """The engine asks for ever more."""


def fitted(
    conversation: Conversation,
    preset: Preset,
    facts: Facts,
    *,
    summarise: Summarise = extract,
    watch: Watch | None = None,
) -> Conversation:
    """Take step after step until the engine wants none.

    Args:
        conversation: Before the words of the next call join it.
        preset: The ladder.
        facts: Of the world.
        summarise: Writes summaries; what is no use is replaced by extraction (H28).
        watch: Told of each step.

    Raises:
        LoopError: There is no end.
    """
    begun = full_tokens(conversation, facts)
    limit = begun if facts.force else 0
    idle: set[str] = set(facts.failed)
    layers: list[str] = []
    for _ in range(MOST_ACTIONS):
        facts = msgspec.structs.replace(facts, failed=frozenset(idle))
        action = next_action(_narrowed(conversation, limit), _without(preset, idle), facts)
        if action is None:
            return conversation
        layers.append(action.layer)
        step = _step(conversation, action, summarise)
        after = take(conversation, step)
        before_n, after_n = prompt_tokens(conversation), prompt_tokens(after)
        if before_n - after_n < LEAST_STEP * (before_n + facts.incoming):
            idle.add(step.layer)
        if step.splices:
            if watch is not None:
                watch(conversation, action, step, after)
            conversation = after
        if facts.force and full_tokens(conversation, facts) <= FORCED_AIM * begun:
            facts, limit = msgspec.structs.replace(facts, force=False), 0
    raise LoopError(
        f"over {MOST_ACTIONS} actions before one call ({', '.join(layers)}), from {begun} tokens"
        f" to {full_tokens(conversation, facts)} of {conversation.config.budget}"
    )


def _step(conversation: Conversation, action: Action, summarise: Summarise) -> Step:
    if isinstance(action, Step):
        return action
    text = summarise(action)
    if is_usable(action, text):
        text = extract(action)
    return apply_summary(conversation, action, text)
