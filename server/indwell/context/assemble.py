"""Conversation → request: the last pure step before sending (H6). Same input, same bytes."""

from __future__ import annotations

from collections.abc import Sequence

from indwell.context.anchors import place_anchors
from indwell.context.calls import call_of
from indwell.context.conversation import Conversation
from indwell.context.fullness import counted, estimated_tokens
from indwell.context.pairing import problems, tool_uses
from indwell.context.tokens import tools_tokens
from indwell.errors import ConversationTooLarge, WindowTooSmall
from indwell.messages import (
    Block,
    Image,
    Message,
    Request,
    Text,
    Thinking,
    ToolChoice,
    ToolResult,
    ToolUse,
)


def assemble(
    conversation: Conversation,
    *,
    tool_choice: ToolChoice = "auto",
    idle_s: float | None = None,
    calls_to_come: int | None = None,
) -> Request:
    """Make the request; orphans are a bug here, for whoever sends has repaired them.

    Only what is new since ``conversation.tally`` is looked at.

    Args:
        conversation: With everything that is sent.
        tool_choice: As in ``messages.Request``.
        idle_s: As in ``anchors.place_anchors``, like the next one.
        calls_to_come: After this one.

    Raises:
        ConversationTooLarge: It does not fit the window; names the largest block.
        WindowTooSmall: Nothing but what every request holds is too much already.
    """
    conversation = counted(conversation)
    wrong = problems(conversation.messages, start=conversation.tally.n)
    assert not wrong, wrong
    estimate = estimated_tokens(conversation)
    request = Request(
        model=conversation.config.model,
        system=conversation.system,
        tools=conversation.tools,
        messages=conversation.messages,
        max_output=conversation.config.max_output,
        anchors=place_anchors(conversation, idle_s=idle_s, calls_to_come=calls_to_come),
        tool_choice=tool_choice,
        cache_key=conversation.config.cache_key,
        tokens=estimate,
    )
    config = conversation.config
    _check_size(request, conversation.calibration.tokens(config.model, estimate), config.budget)
    return request


def _check_size(request: Request, tokens: int, budget: int) -> None:
    if tokens <= budget:
        return
    blocks = [block for message in request.messages for block in message.blocks]
    fixed = tools_tokens(request.tools) + sum(block.meta.tokens for block in request.system)
    if fixed > budget or not blocks:
        raise WindowTooSmall(
            f"the system prompt and the tools alone take about {fixed:,} tokens, and the model's "
            f"window leaves {budget:,}; choose a model with a larger window, or set "
            "`window` if it is known"
        )
    largest = max(blocks, key=lambda block: block.meta.tokens)
    part = f"{_called(largest, request.messages)} of turn {largest.meta.turn}"
    n_part, advice = largest.meta.tokens, ""
    if fixed > n_part:
        part, n_part = "the system prompt with the tools", fixed
        advice = ", or choose a model with a larger window"
    about = (
        f"has about {tokens:,} tokens, and the model's window leaves {budget:,}; the largest part "
        f"is {part} with about {n_part:,} tokens"
    )
    if all(message.role == "user" for message in request.messages):
        raise WindowTooSmall(
            f"the first request {about}; choose a model with a larger window, set `window` if it "
            "is known, or send less along"
        )
    raise ConversationTooLarge(
        f"the conversation {about}; start a new session, which takes the task along{advice}"
    )


def _called(block: Block, messages: Sequence[Message]) -> str:
    match block:
        case Text(meta=meta):
            return {"user": "the prompt", "assistant": "the reply"}.get(
                meta.source, f"the {meta.source.replace('_', ' ')}"
            )
        case ToolResult(tool_use_id=identifier):
            uses = (use for message in messages for use in tool_uses(message))
            of_turn = (one for one in uses if one.meta.turn == block.meta.turn)
            use = next((one for one in of_turn if one.id == identifier), None)
            return f"the result of {use.name} {call_of(use).main}".rstrip() if use else "a result"
        case ToolUse(name=name):
            return f"a call of {name}"
        case Image():
            return "a picture"
        case Thinking():
            return "the model's reasoning"
