"""The contents of the next request, with reasons."""

from __future__ import annotations

import time

import msgspec

from indwell.context.compaction.ladder import take
from indwell.context.compaction.presets import DEFAULT, adjusted
from indwell.context.compaction.step import CompactionStep
from indwell.context.conversation import (
    Config,
    Conversation,
    estimated_tokens,
    queue,
    system_block,
    with_input,
)
from indwell.context.history import MessageSplice
from indwell.context.injections import inject
from indwell.context.request.explain import Explained, Headroom, explain, ladder_words
from indwell.messages import Message
from support.requests import READ, assistant, result, use, user


def conversation(*messages: Message) -> Conversation:
    config = Config("small", 10_500, 500)
    return Conversation(config, (system_block("Be exact."),), (READ,), messages)


ROUND = (assistant(use()), user(result("text")))
WHOLE = conversation(user("go"), *ROUND, *ROUND, assistant("Done."), user("and?"))


def shown(told: Explained) -> list[tuple[object, ...]]:
    return [(one.message, one.kind, one.source, one.state, one.altered) for one in told.blocks]


def test_explain_lists_each_block_with_its_message_and_its_sent_state() -> None:
    assert shown(explain(WHOLE, DEFAULT)) == [
        (-1, "tools", "schemas", "sent", False),
        (-1, "text", "system", "sent", False),
        (0, "text", "user", "sent", False),
        (1, "tool_use", "assistant", "sent", False),
        (2, "tool_result", "tool", "sent", False),
        (3, "tool_use", "assistant", "sent", False),
        (4, "tool_result", "tool", "sent", False),
        (5, "text", "assistant", "new", False),
        (6, "text", "user", "new", False),
    ]


def test_the_tokens_by_source_and_by_tier_add_up_to_the_request() -> None:
    told = explain(WHOLE, DEFAULT)
    assert sum(told.by_source.values()) == sum(told.by_tier.values()) == told.tokens
    assert told.tokens == estimated_tokens(WHOLE)


def test_explain_shows_the_headroom_before_each_compaction_step() -> None:
    told = explain(WHOLE, DEFAULT)
    assert len(told.headroom) == len(DEFAULT.rungs)
    for rung, room in zip(DEFAULT.rungs, told.headroom, strict=True):
        at = rung.at_tokens or int(rung.at * 10_000)
        name = type(rung.layer).__name__.lower()
        assert room == Headroom(name, at, at - told.tokens, rung.when == "pays")
    own = adjusted("slide", thresholds=(0.5,), keep_turns=2, keep_tokens=300)
    assert ladder_words(own, explain(WHOLE, own).headroom) == (
        "compaction: slide, keeps the newest 2 turns and 300 tokens; slide from 5,000 tokens on",
    )


def test_explain_names_the_messages_of_a_summary_and_the_original_of_a_shortened_result() -> None:
    summary = user("go", inject("summary", "Two rounds.", turn=1))
    folded = take(WHOLE, CompactionStep("regions", (MessageSplice(0, 3, (summary,)),)))
    cut = msgspec.structs.replace(ROUND[1], blocks=(result("t"),))
    told = explain(take(folded, CompactionStep("snip", (MessageSplice(2, 3, (cut,)),))), DEFAULT)
    assert [(one.message, one.altered, one.first, one.last) for one in told.blocks[2:]] == [
        (0, False, 0, 2),  # the block with the user's text is unchanged
        (0, True, 0, 2),
        (1, False, 3, 3),
        (2, True, 4, 4),
        (3, False, 5, 5),
        (4, False, 6, 6),
    ]
    reasons = [one.why for one in told.blocks if one.altered]
    assert reasons == [
        "replaces messages 0 to 2 of the transcript after a compaction",
        "shortened by compaction; message 4 of the transcript has the whole text",
    ]


def test_a_waiting_block_is_reported_as_waiting() -> None:
    mark = inject("ide_selection", "lines 1-2", turn=0)
    queued = queue(WHOLE, [mark])
    told = explain(with_input(queued, words=None, turn=0), DEFAULT, n_waiting=1)
    assert shown(told)[-2:] == [
        (6, "text", "user", "new", False),
        (6, "text", "ide_selection", "waiting", False),
    ]
    marked = [one.anchor for one in explain(WHOLE, DEFAULT).blocks]
    assert marked[-1]
    assert [one.anchor for one in told.blocks] == [*marked[:-1], False, True]


def test_explaining_a_compacted_conversation_of_ten_thousand_messages_is_fast() -> None:
    whole = conversation(user("go"), *ROUND * 5_000)
    shorter = take(whole, CompactionStep("regions", (MessageSplice(0, 6_001, (user("summary"),)),)))
    began = time.process_time()
    told = explain(shorter, DEFAULT)
    assert time.process_time() - began < 2
    assert told.blocks[-1].last == 10_000
