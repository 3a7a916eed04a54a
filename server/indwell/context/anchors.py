"""Where the prompt cache may end: at most four marks on what will not change (H34).

A mark is worth the tokens in front of it times the chance that a later call finds them unchanged
and alive. An endpoint that takes marks keeps a prefix for five minutes from its last use, and finds
an older one only if it ends at a mark or at most 20 blocks before one (Anthropic's rules, 2026).
"""

from __future__ import annotations

from typing import NamedTuple

from indwell.context.conversation import Conversation
from indwell.context.tally import MILESTONE_TOKENS, extended
from indwell.context.tokens import BLOCK_OVERHEAD, message_tokens, tools_tokens
from indwell.messages import Anchors, Message

MOST = 4
LIFE_S = 300.0
LOOKED_BACK = 20  # blocks before a mark in which an older end of a prefix is found

# The chance that a mark is needed: that what is behind it changed, so that no later mark is hit.
# Judgement, not measured: what has stood for long goes on to stand; a tail is gone on with.
_TAIL, _BEFORE, _REWRITTEN, _MILESTONE, _SYSTEM, _TOOLS = 0.9, 0.8, 0.4, 0.3, 0.2, 0.05


class _Mark(NamedTuple):
    value: float
    place: int  # index of a message; -1 system, -2 tools


def place_anchors(
    conversation: Conversation, *, idle_s: float | None = None, calls_to_come: int | None = None
) -> Anchors:
    """Mark the message before the newest, what is large and stable before it, system and tools.

    The message before the newest user message is an assistant's, so everything up to it is sent
    again unchanged by the next call. The milestone (a large result) and the end of what compaction
    rewrote keep a long prefix alive when the tail moves. If more than four are worth a mark, those
    of the least value go. Work is proportional to what ``conversation.tally`` does not hold yet.

    Args:
        conversation: What is sent.
        idle_s: Seconds since the last call; None if that is not known.
        calls_to_come: After this one; None if that is not known. When none comes and the cache has
            died, marks in the messages would only be paid for.
    """
    tools, system = _fixed_tokens(conversation)
    marks = [_Mark(tools * _TOOLS, -2)] if conversation.tools else []
    if conversation.system:
        marks.append(_Mark((tools + system) * _SYSTEM, -1))
    is_dead = idle_s is not None and idle_s >= LIFE_S
    if not (is_dead and calls_to_come == 0):
        marks += _in_messages(conversation, tools + system)
    best = sorted(marks, reverse=True)[:MOST]
    places = {mark.place for mark in best}
    return Anchors(
        tools=-2 in places,  # noqa: PLR2004 - see _Mark
        system=-1 in places,
        messages=tuple(sorted(place for place in places if place >= 0)),
    )


def _fixed_tokens(conversation: Conversation) -> tuple[int, int]:
    system = sum(block.meta.tokens + BLOCK_OVERHEAD for block in conversation.system)
    return tools_tokens(conversation.tools), system


def _in_messages(conversation: Conversation, fixed: int) -> list[_Mark]:
    messages = conversation.messages
    tally = extended(conversation.tally, messages)
    tail = len(messages) - 2
    if tail < 0:
        return []
    known = fixed + tally.tokens + sum(map(message_tokens, messages[tally.n : tail + 1]))
    marks = {tail: _Mark(known * _TAIL, tail)}
    before = tail - 2  # where the last request had its mark
    if before >= 0 and _n_blocks(messages[before + 1 : tail + 1]) > LOOKED_BACK:
        covered = known - sum(map(message_tokens, messages[before + 1 : tail + 1]))
        marks[before] = _Mark(covered * _BEFORE, before)
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
    """Tokens up to a message, counted until they are ``enough``: more changes no order."""
    tokens = 0
    for index in range(place + 1):
        tokens += message_tokens(messages[index])
        if tokens >= enough:
            break
    return tokens


def _n_blocks(messages: tuple[Message, ...]) -> int:
    return sum(len(message.blocks) for message in messages)
