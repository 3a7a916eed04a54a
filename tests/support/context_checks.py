"""Checks a conversation after each operation, and each step of compaction."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

import msgspec

from indwell.context.compaction.step import Action, CompactionStep, SummarySpan
from indwell.context.conversation import Conversation, Tally, estimated_tokens, prompt_tokens
from indwell.context.history import place_of, transcript
from indwell.context.pairing import problems
from indwell.context.request.assemble import assemble
from indwell.context.tokens import BLOCK_OVERHEAD, message_tokens, tools_tokens
from indwell.errors import ConversationTooLarge
from indwell.messages import Message, Text, ToolResult
from indwell.providers.scripted import check_legal

_NUMBERED = re.compile(r" *\d{3,}\t.{20}")
KEEPS_WORDS = frozenset({"default", "none", "ladder-a", "regions-d"})
"""Presets under which the user's words are never lost; those that slide drop them, and say so."""
SHRINKS = 0.6
"""A conversation of which less than this share is fixed must fit after compaction."""

_TRANSCRIPT = re.compile(r"transcript-(\d{4})-")
_RUN = re.compile(r"transcript-(\d{4})-\w+\.txt to transcript-(\d{4})-")


def check_whole(conversation: Conversation, oracle: Sequence[Message]) -> None:
    """Check pairs of calls and results, roles, token sums and the transcript."""
    assert problems(conversation.messages) == ()
    roles = [message.role for message in conversation.messages]
    assert roles == ["assistant" if index % 2 else "user" for index in range(len(roles))]
    told = transcript(conversation.messages, conversation.history)
    if told != tuple(oracle):
        at = next(
            (i for i, (a, b) in enumerate(zip(told, oracle, strict=False)) if a != b),
            min(len(told), len(oracle)),
        )
        raise AssertionError(
            f"the transcript ({len(told)} messages) is not what was said ({len(oracle)}), from"
            f" message {at} on: {told[at : at + 1]!r:.300} instead of {oracle[at : at + 1]!r:.300}"
        )
    plain = msgspec.structs.replace(conversation, tally=Tally())
    assert estimated_tokens(conversation) == estimated_tokens(plain), "the tally is wrong"


def check_words(conversation: Conversation, said: Sequence[str], spills: Mapping[str, str]) -> None:
    """Check that the conversation, or a spill file it names, has the user's text."""
    texts = [
        block.text
        for message in conversation.messages
        for block in message.blocks
        if isinstance(block, Text | ToolResult)
    ]
    standing = set(texts)
    missing = [words for words in said if words not in standing]
    if not missing:
        return
    everything = "\n".join(texts)
    named = [text for name, text in spills.items() if name in everything]
    for words in missing:
        assert words in everything or any(words in text for text in named), (
            f"words of the user are lost: {words!r:.200}"
        )


def check_task(conversation: Conversation, task: str) -> None:
    """Check that the prompt of a running turn is in the conversation verbatim (H27)."""
    if conversation.messages[-1].role == "assistant":
        return
    shown = (block for message in conversation.messages for block in message.blocks)
    assert any(isinstance(one, Text) and one.text == task for one in shown), (
        f"the current task is not shown: {task!r:.200}"
    )


def check_groups(conversation: Conversation) -> None:
    """Check that each text of the user is in the group that the next summary reads."""
    messages, history = conversation.messages, conversation.history
    told = transcript(messages, history)
    n = len(history.places)
    heads = [at for at in range(n) if at not in history.joined]
    for start, stop in pairwise((*heads, n)):
        first, last = (place_of(messages, history, at) for at in (start, stop))
        known = {id(one) for message in told[first:last] for one in message.blocks}
        for message in messages[start:stop]:
            for one in message.blocks:
                assert (
                    one.meta.source != "user"
                    or id(one) in known
                    or any(one in message.blocks for message in told[first:last])
                ), f"words stand apart from their originals: {one!r:.200}"


def check_step(
    before: Conversation,
    action: Action,
    step: CompactionStep,
    after: Conversation,
    known: Mapping[str, str],
) -> None:
    """Check that a step enlarges nothing, changes only its ranges, and loses no spill."""
    grown = estimated_tokens(after) - estimated_tokens(before)
    assert grown < 0, f"{step.layer} makes the conversation {grown} tokens larger"
    assert step.splices, f"{step.layer} asks for a step that does nothing"
    first = step.splices[0].start
    same = zip(before.messages[:first], after.messages[:first], strict=True)
    assert all(one is other for one, other in same), f"{step.layer} rewrites before its splices"
    new = "\n".join(
        getattr(block, "text", "") + getattr(block, "arguments", "")
        for message in after.messages
        for block in message.blocks
    )
    named = [spill.text for spill in step.spills if spill.name in new]
    for spill in step.spills:
        assert (
            spill.name in new
            or any(spill.text in text for text in named)
            or _is_between(spill.name, new)
        ), f"no marker of {step.layer} names the spill {spill.name!r}"
        assert known.get(spill.name, spill.text) == spill.text, (
            f"{step.layer} writes another text to the spill {spill.name!r}"
        )
    if isinstance(action, SummarySpan):
        check_plan(before, action)


def check_results(conversation: Conversation) -> None:
    """Check that the spilled rest of a shortened result is from that result."""
    messages, history = conversation.messages, conversation.history
    told = transcript(messages, history)
    for index in range(len(history.places)):
        original = told[history.places[index]]
        texts = {
            block.tool_use_id: block.text
            for block in original.blocks
            if isinstance(block, ToolResult)
        }
        for block in messages[index].blocks:
            if not isinstance(block, ToolResult):
                continue
            whole = texts.get(block.tool_use_id)
            if whole is None or block.text == whole:
                continue
            for line in block.text.splitlines():
                assert _NUMBERED.match(line) is None or line in whole, (
                    f"a result of message {index} has a line of another one: {line!r:.150}"
                )


def check_plan(conversation: Conversation, plan: SummarySpan) -> None:
    """Check that a summary is made from original messages, and from no other summary (H26)."""
    history = conversation.history
    told = transcript(conversation.messages, history)
    originals = told[
        place_of(conversation.messages, history, plan.start) : place_of(
            conversation.messages, history, plan.stop
        )
    ]
    ids = {id(block) for message in originals for block in message.blocks}
    for message in plan.source:
        for block in message.blocks:
            assert block.meta.source not in {"compactor", "summary"}, "a summary is summarised"
            assert id(block) in ids or any(block in original.blocks for original in originals), (
                f"{plan.layer} summarises what is no original: {block!r:.200}"
            )


def check_request(sending: Conversation, preset: str) -> bool:
    """Check that the request is valid and fits; return False if no compaction can make it fit."""
    budget = sending.config.budget
    try:
        request = assemble(sending)
    except ConversationTooLarge as error:
        why = str(error)
    else:
        why = ""
    if why:
        assert " of turn " in why or "system prompt" in why, why
        fixed = fixed_tokens(sending)
        assert preset != "default" or fixed > SHRINKS * budget, (
            f"{prompt_tokens(sending)} tokens of {budget}, of which only {fixed} are fixed: {why}"
        )
        return False
    assert request == assemble(sending), "the same conversation gives another request"
    check_legal(request)
    assert prompt_tokens(sending) <= budget
    return True


def fixed_tokens(conversation: Conversation) -> int:
    """Return the tokens that compaction cannot free: frame, the user's texts, the last exchange."""
    frame = sum(block.meta.tokens + BLOCK_OVERHEAD for block in conversation.system)
    frame += tools_tokens(conversation.tools)
    messages = conversation.messages
    words = sum(
        block.meta.tokens + BLOCK_OVERHEAD
        for message in messages[:-4]
        for block in message.blocks
        if not block.meta.compactable
    )
    tail = sum(message_tokens(message) for message in messages[-4:])
    cuttable = sum(
        max(0, block.meta.tokens - 600)
        for message in messages[-4:]
        for block in message.blocks
        if isinstance(block, ToolResult)
    )
    ratio = conversation.calibration.tokens(conversation.config.model, 1_000_000) / 1_000_000
    return round((frame + words + tail - cuttable) * max(1.0, ratio))


def _is_between(name: str, text: str) -> bool:
    """Return whether ``name`` is between the first and the last transcript file in ``text``."""
    own = _TRANSCRIPT.match(name)
    runs = _RUN.finditer(text)
    return own is not None and any(int(run[1]) <= int(own[1]) <= int(run[2]) for run in runs)
