"""The parts of a model's window: they add up, and each text counts in one part."""

from __future__ import annotations

import msgspec
import pytest

from indwell.context.conversation import Config, Conversation, prompt_tokens, system_block
from indwell.context.injections import inject
from indwell.context.request.window_parts import PART_NAMES, part_words, window_parts
from indwell.context.tokens import Calibration, message_tokens, tools_tokens
from indwell.messages import Message
from support.requests import READ, assistant, result, use, user

CARD = inject("task_card", "Current request: go", turn=1)
RULES = inject("instructions", "Use tabs.", turn=1)
PAIR = (assistant(use()), user(result("text " * 40)))
NEWEST = (assistant(use()), user(result("newer " * 60)))
WHOLE = Conversation(
    Config("small", 32_000, 8_000),
    (system_block("Be exact."),),
    (READ,),
    (user(CARD, RULES, "go on"), *PAIR, *NEWEST),
)


def tokens(conversation: Conversation) -> dict[str, int]:
    return {one.name: one.tokens for one in window_parts(conversation)}


def of(*messages: Message) -> int:
    return sum(map(message_tokens, messages))


def test_each_text_counts_in_one_part_and_all_parts_fill_the_window() -> None:
    parts = tokens(WHOLE)
    assert tuple(parts) == PART_NAMES
    assert parts["tools"] == tools_tokens((READ,), "small")
    assert parts["card"] == of(user(CARD))
    assert parts["instructions"] == of(user(RULES))
    assert parts["words"] == of(user("go on"))
    assert (parts["older"], parts["newest"]) == (of(*PAIR), of(*NEWEST))
    assert (parts["reply"], sum(parts.values())) == (8_000, 32_000)


def test_a_new_prompt_is_the_newest_exchange() -> None:
    parts = tokens(msgspec.structs.replace(WHOLE, messages=(*WHOLE.messages[:1],)))
    assert (parts["words"], parts["older"], parts["newest"]) == (0, 0, of(user("go on")))


@pytest.mark.parametrize("reported", [900, 30_000])
def test_the_parts_add_up_to_the_count_of_the_endpoint_even_when_nothing_is_free(reported) -> None:
    known = Calibration("small", reported, prompt_tokens(WHOLE))
    counted = msgspec.structs.replace(WHOLE, calibration=known)
    parts = tokens(counted)
    free, reply = parts.pop("free"), parts.pop("reply")
    assert sum(parts.values()) == prompt_tokens(counted) == reported
    assert free == max(0, 32_000 - reply - reported)


def test_the_words_name_the_limit_of_the_card_and_leave_out_empty_parts() -> None:
    lines = [words for _, words in part_words(window_parts(WHOLE))]
    assert any(line.endswith("task card; at most 1,200") for line in lines)
    assert "25.0%  room for the reply" in lines
    plain = msgspec.structs.replace(WHOLE, tools=(), messages=(user("go on"),))
    names = [words.split("  ")[1] for _, words in part_words(window_parts(plain))]
    assert names == [
        "system prompt and reminders",
        "newest exchange",
        "room for the reply",
        "free",
    ]
