"""The two requests for a summary: appended to the conversation, or with the part alone. Pure."""

from __future__ import annotations

import json

import msgspec

from indwell.context.compaction.step import SummaryPlan
from indwell.context.compaction.summarising.summary import SummarySizes, output_limit
from indwell.context.compaction.transcripts import source_text
from indwell.context.conversation import (
    Conversation,
    estimated_tokens,
    part_tokens,
    prompt_tokens,
    system_block,
    user_words,
    with_input,
)
from indwell.context.injections import inject
from indwell.context.request.assemble import place_anchors
from indwell.context.tokens import BLOCK_OVERHEAD, estimate_tokens
from indwell.messages import Message, Request, Text, ToolResult, ToolUse
from indwell.prompt.system import summary_words

_QUOTED = 80  # characters of the quotes that mark the ends of the part


def sizes_of(
    conversation: Conversation, plan: SummaryPlan, *, small_window: int, whole: bool
) -> SummarySizes:
    """The tokens that a summary of ``plan`` would read and write.

    Args:
        conversation: The main model's conversation.
        plan: The part to summarise.
        small_window: The window of the small model in tokens; 0 without one.
        whole: Whether ``plan`` is the whole part. A piece of it needs a request of its own.
    """
    output = output_limit(plan.target)
    instructions = part_tokens(conversation, appended_words(plan)) + BLOCK_OVERHEAD
    live = conversation.messages[plan.start : plan.stop]
    summaries = (one.meta.source == "compactor" for message in live for one in message.blocks)
    return SummarySizes(
        prefix=prompt_tokens(conversation),
        region=part_tokens(conversation, source_text(plan)) + instructions,
        instructions=instructions,
        output=output,
        main_budget=max(0, conversation.config.window - output),
        small_budget=max(0, small_window - output),
        is_faithful=whole and not any(summaries),
    )


def appended(
    conversation: Conversation, plan: SummaryPlan, *, idle_s: float | None = None
) -> Request:
    """A request to the main model: its last request byte for byte, then the instructions."""
    turn = conversation.messages[-1].turn
    asking = msgspec.structs.replace(
        conversation, pending=(inject("reminder", appended_words(plan), turn=turn),)
    )
    asking = with_input(asking, words=None, turn=turn)
    return Request(
        model=conversation.config.model,
        system=conversation.system,
        tools=conversation.tools,
        messages=asking.messages,
        max_output=output_limit(plan.target),
        # Endpoints with cache marks look up a prefix only at a mark. The summary changes what
        # follows, so this tail is never read from the cache.
        anchors=place_anchors(asking, idle_s=idle_s, calls_to_come=0),
        tool_choice="none",
        cache_key=conversation.config.cache_key,
        tokens=estimated_tokens(asking),
    )


def alone(model: str, plan: SummaryPlan) -> Request:
    """A request to any model: the instructions, and the part as data."""
    words, turn = _words(plan), plan.source[-1].turn
    said = user_words(source_text(plan), turn=turn)
    block = msgspec.structs.replace(said, meta=msgspec.structs.replace(said.meta, tier=3))
    return Request(
        model=model,
        system=(system_block(words),),
        tools=(),
        messages=(Message("user", (block,), turn),),
        max_output=output_limit(plan.target),
        tokens=estimate_tokens(words) + block.meta.tokens + 2 * BLOCK_OVERHEAD,
    )


def appended_words(plan: SummaryPlan) -> str:
    """The instructions, with quotes that mark the part, because a conversation shows no turns."""
    first, last = _quoted(plan.source[0]), _quoted(plan.source[-1])
    return (
        f"{_words(plan)}\n\nThat part begins with {first} and ends with {last}; what comes after "
        "it stays as it is and belongs to no summary."
    )


def _words(plan: SummaryPlan) -> str:
    return summary_words(target=plan.target, range_words=plan.range)


def _quoted(message: Message) -> str:
    """The first words of a message, quoted because they are data."""
    for block in message.blocks:
        match block:
            case ToolUse(name=name, arguments=arguments):
                return f"the call {json.dumps(f'{name} {arguments}'[:_QUOTED])}"
            case ToolResult(text=text):
                return f"the result {json.dumps(text[:_QUOTED])}"
            case Text(text=text):
                return f"the words {json.dumps(text[:_QUOTED])}"
            case _:
                continue
    return "a picture"
