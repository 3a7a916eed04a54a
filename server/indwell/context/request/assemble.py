"""Assembles a request from a conversation; the same input gives the same bytes.

At most four cache marks (``cache_control``) tell the endpoint which prefixes to cache. A mark is
worth the tokens before it, times the chance that a later call reads these from the cache. An
endpoint with marks keeps a prefix for five minutes or an hour after its last use. The endpoint
finds an older prefix only if this prefix ends at a mark, or at most 20 blocks before a mark
(Anthropic's rules, 2026).

A mark writes the new tokens to the cache, at more than the price of input. Without the mark, a
later call has to write these tokens. So marks pay if
``chance of a later call * (price of write - price of read) > price of write - price of input``.
At the usual prices (1.25 and 0.1 times the input), marks pay from a chance of 22 % on. For a
lifetime of an hour (a write costs 2 times the input), marks pay from 53 % on. Wires without marks
(OpenAI's) ignore the marks.

All marks of a request have the same lifetime. Different lifetimes would not help, because a
provider bills the tokens after the newest cached prefix.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from indwell.context.compaction.step import TokenRates
from indwell.context.conversation import (
    MILESTONE_TOKENS,
    Conversation,
    Tally,
    counted,
    estimated_tokens,
    extended,
)
from indwell.context.file_work import call_of
from indwell.context.pairing import problems, tool_uses
from indwell.context.request.cache_health import life_s
from indwell.context.tokens import (
    BLOCK_OVERHEAD,
    IMAGE_TOKENS,
    estimate_tokens,
    message_tokens,
    tools_tokens,
)
from indwell.errors import ConversationTooLarge, WindowTooSmall
from indwell.messages import (
    Anchors,
    Block,
    Image,
    Message,
    Meta,
    Request,
    Text,
    Thinking,
    ToolChoice,
    ToolResult,
    ToolUse,
)

USUAL_RATES = TokenRates()


def assemble(
    conversation: Conversation,
    *,
    tool_choice: ToolChoice = "auto",
    idle_s: float | None = None,
    calls_to_come: int | None = None,
    rates: TokenRates = USUAL_RATES,
) -> Request:
    """Make the request; the caller must have repaired the conversation.

    The time depends only on messages that ``conversation.tally`` does not cover.

    Args:
        conversation: The conversation to send, with all blocks.
        tool_choice: The value for the field of ``messages.Request``.
        idle_s: The seconds since the last call; see ``place_anchors``.
        calls_to_come: The expected number of further calls; see ``place_anchors``.
        rates: The prices; see ``place_anchors``.

    Raises:
        ConversationTooLarge: The request exceeds the window; the message names the largest block.
        WindowTooSmall: The parts that every request contains exceed the window.
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
        anchors=place_anchors(
            conversation, idle_s=idle_s, calls_to_come=calls_to_come, rates=rates
        ),
        tool_choice=tool_choice,
        cache_key=conversation.config.cache_key,
        tokens=estimate,
        effort=conversation.config.effort,
        verbosity=conversation.config.verbosity,
        cache_life=conversation.config.cache_life,
    )
    config = conversation.config
    _check_size(request, conversation.calibration.tokens(config.model, estimate), config.budget)
    return request


def _check_size(request: Request, tokens: int, budget: int) -> None:
    if tokens <= budget:
        return
    blocks = [block for message in request.messages for block in message.blocks]
    fixed = tools_tokens(request.tools, request.model) + sum(
        block.meta.tokens for block in request.system
    )
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
        f"the conversation {about}; start a new session, which continues the task{advice}"
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


MOST = 4
HOUR_WRITE = 1.6  # A write for an hour costs 2 times the input, and one for 5 minutes 1.25 times.
LOOKED_BACK = 20  # An endpoint finds an older prefix that ends at most 20 blocks before a mark.

# The chances that a call can read the cache up to exactly the mark. They were measured from the
# billing of 9,386 follow-up calls in 129 recorded sessions (`benchmarks/anchors.py`). Of these
# calls, 96.4 % read all tokens of the previous call from the cache, and 1.1 % read a part of the
# conversation. Another 1.1 % read only system and tools (one in twenty of them only the tools), and
# 1.4 % read nothing. The recordings do not say where such a part ended, so the shares of a
# compaction's end and of a large result are estimates.
_TAIL, _REWRITTEN, _MILESTONE, _SYSTEM, _TOOLS = 0.964, 0.006, 0.0045, 0.011, 0.0005
_BEFORE = _TAIL  # the chance for a mark at the position of the last request's last mark


class _Mark(NamedTuple):
    value: float
    # the index of the message before a cache mark; -1 for the system prompt, -2 for the tools
    place: int


def marks_pay(rates: TokenRates, *, for_an_hour: bool, chance: float = _TAIL) -> bool:
    """Return whether writing the newest tokens to the cache now is cheaper than writing them later.

    Args:
        rates: The prices; a model without prices is treated by the usual ratios. If all three
            prices are equal, as when only the price of input is known, marks pay.
        for_an_hour: Whether the cache keeps the tokens for an hour, at a higher price.
        chance: The chance that a later call reads the tokens.
    """
    if not (rates.input or rates.cached or rates.cache_write):
        rates = USUAL_RATES
    write = rates.cache_write * (HOUR_WRITE if for_an_hour else 1)
    return write - rates.input <= chance * (write - rates.cached)


def place_anchors(
    conversation: Conversation,
    *,
    idle_s: float | None = None,
    calls_to_come: int | None = None,
    rates: TokenRates = USUAL_RATES,
) -> Anchors:
    """Mark the newest message, stable positions before it, the system prompt and the tools.

    The next call sends everything up to the newest message again, unchanged, including tool
    results. In a replay of 129 recorded sessions, a mark on the newest message costs 10 % less than
    a mark on the message before. Marks after a large result and after compacted messages keep a
    long prefix in the cache when the end changes. Only the four most valuable positions get a mark.
    The time depends only on messages that ``conversation.tally`` does not cover.

    If no call follows, writing new text to the cache would only cost money. The mark then stays at
    the position of the last request's mark.

    Args:
        conversation: The conversation to send.
        idle_s: The seconds since the last call, or None if unknown.
        calls_to_come: The number of calls that will continue the conversation, or None if unknown.
        rates: The prices of the model. If marks cannot pay, because reading from the cache costs
            hardly less than input, no position is marked.
    """
    if not marks_pay(rates, for_an_hour=conversation.config.cache_life == "1h"):
        return Anchors()
    tools, system = _fixed_tokens(conversation)
    marks = [_Mark(tools * _TOOLS, -2)] if conversation.tools else []
    if conversation.system:
        marks.append(_Mark((tools + system) * _SYSTEM, -1))
    is_alive = idle_s is None or idle_s < life_s(conversation.config.cache_life)
    goes_on = calls_to_come != 0
    if is_alive or goes_on:
        marks += _in_messages(conversation, tools + system, is_alive=is_alive, goes_on=goes_on)
    best = sorted(marks, reverse=True)[:MOST]
    places = {mark.place for mark in best}
    return Anchors(
        tools=-2 in places,  # noqa: PLR2004 - see _Mark
        system=-1 in places,
        messages=tuple(sorted(place for place in places if place >= 0)),
    )


def _fixed_tokens(conversation: Conversation) -> tuple[int, int]:
    system = sum(block.meta.tokens + BLOCK_OVERHEAD for block in conversation.system)
    return tools_tokens(conversation.tools, conversation.config.model), system


def _in_messages(
    conversation: Conversation, fixed: int, *, is_alive: bool, goes_on: bool
) -> list[_Mark]:
    """Return the marks for the next call (``goes_on``), and for the last request's position."""
    messages = conversation.messages
    tally = extended(conversation.tally, messages)
    tail = len(messages) - 1
    if tail < 0:
        return []
    known = fixed + tally.tokens + sum(map(message_tokens, messages[tally.n : tail + 1]))
    marks = {tail: _Mark(known * _TAIL, tail)} if goes_on else {}
    before = tail - 2  # the position of the last request's mark
    is_far = (
        not goes_on or sum(len(one.blocks) for one in messages[before + 1 : tail + 1]) > LOOKED_BACK
    )
    if before >= 0 and is_alive and is_far:
        covered = known - sum(map(message_tokens, messages[before + 1 : tail + 1]))
        marks[before] = _Mark(covered * _BEFORE, before)
    if not goes_on:
        return list(marks.values())
    rewritten = len(conversation.history.places) - 1
    if 0 <= rewritten < tail and rewritten not in marks:
        covered = _up_to(messages, rewritten, MILESTONE_TOKENS)
        if covered >= MILESTONE_TOKENS:
            marks[rewritten] = _Mark((fixed + covered) * _REWRITTEN, rewritten)
    if 0 <= tally.milestone < tail and tally.milestone not in marks:
        covered = _up_to(messages, tally.milestone, MILESTONE_TOKENS)
        marks[tally.milestone] = _Mark((fixed + covered) * _MILESTONE, tally.milestone)
    return list(marks.values())


def _up_to(messages: tuple[Message, ...], place: int, enough: int) -> int:
    """Count the tokens up to a message, but stop after ``enough`` tokens."""
    tokens = 0
    for index in range(place + 1):
        tokens += message_tokens(messages[index])
        if tokens >= enough:
            break
    return tokens


def tool_picture(use: ToolUse, media_type: str, data: str) -> Image:
    """Return the block of a picture in a tool's result, which is untrusted (tier 3)."""
    meta = Meta(tier=3, source="tool", tokens=IMAGE_TOKENS, turn=use.meta.turn, tool_use_id=use.id)
    return Image(media_type=media_type, data=data, meta=meta)


def attached_picture(label: str, media_type: str, data: str, *, turn: int) -> Image:
    """Return the block of an attached picture, which counts as data (tier 2)."""
    meta = Meta(tier=2, source="attached", tokens=IMAGE_TOKENS, turn=turn)
    return Image(media_type=media_type, data=data, meta=meta, label=label)


def without_pictures(conversation: Conversation) -> Conversation:
    """Replace pictures with a text, for a model that does not accept pictures."""
    if not any(map(_has_picture, conversation.messages)):
        return conversation
    messages = tuple(
        msgspec.structs.replace(message, blocks=tuple(map(_described, message.blocks)))
        for message in conversation.messages
    )
    return msgspec.structs.replace(conversation, messages=messages, tally=Tally())


def _has_picture(message: Message) -> bool:
    return any(isinstance(block, Image) for block in message.blocks)


def _described(block: Block) -> Block:
    if not isinstance(block, Image):
        return block
    words = f"(a picture, {block.media_type}, stood here; the model in use takes none)"
    tokens = estimate_tokens(words)
    return Text(text=words, meta=msgspec.structs.replace(block.meta, tokens=tokens))
