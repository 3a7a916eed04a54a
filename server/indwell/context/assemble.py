"""Conversation → request: the last pure step before sending (H6). Same input, same bytes."""

from __future__ import annotations

from indwell.context.anchors import place_anchors
from indwell.context.conversation import Conversation, estimated_tokens, prompt_tokens
from indwell.context.pairing import problems
from indwell.context.tally import extended
from indwell.errors import ConversationTooLarge
from indwell.messages import (
    Block,
    Image,
    Request,
    Text,
    Thinking,
    ToolChoice,
    ToolResult,
    ToolUse,
)


def assemble(conversation: Conversation, *, tool_choice: ToolChoice = "auto") -> Request:
    """Make the request; orphans are a bug here, for whoever sends has repaired them.

    Only what is new since ``conversation.tally`` is looked at.

    Raises:
        ConversationTooLarge: It does not fit the window; names the largest block.
    """
    known = extended(conversation.tally, conversation.messages)
    wrong = problems(conversation.messages, start=known.n)
    assert not wrong, wrong
    request = Request(
        model=conversation.config.model,
        system=conversation.system,
        tools=conversation.tools,
        messages=conversation.messages,
        max_output=conversation.config.max_output,
        anchors=place_anchors(conversation),
        tool_choice=tool_choice,
        cache_key=conversation.config.cache_key,
        tokens=estimated_tokens(conversation),
    )
    _check_size(request, prompt_tokens(conversation), conversation.config.budget)
    return request


def _check_size(request: Request, tokens: int, budget: int) -> None:
    if tokens <= budget:
        return
    blocks = [block for message in request.messages for block in message.blocks]
    if not blocks:
        raise ConversationTooLarge(
            f"the system prompt and the tools alone take {tokens:,} tokens, and the model's "
            f"window leaves {budget:,}; choose a model with a larger window, or set "
            "`window` if it is known"
        )
    largest = max(blocks, key=lambda block: block.meta.tokens)
    raise ConversationTooLarge(
        f"the conversation has about {tokens:,} tokens, and the model's window leaves {budget:,}; "
        f"the largest part is {_called(largest)} of turn {largest.meta.turn} with about "
        f"{largest.meta.tokens:,} tokens; start a new session, which takes the task along"
    )


def _called(block: Block) -> str:
    match block:
        case Text(meta=meta):
            return {"user": "the prompt", "assistant": "the reply"}.get(
                meta.source, f"the {meta.source.replace('_', ' ')}"
            )
        case ToolResult():
            return "a tool's result"
        case ToolUse(name=name):
            return f"a call of {name}"
        case Image():
            return "a picture"
        case Thinking():
            return "the model's reasoning"
