from __future__ import annotations

import msgspec
import pytest

from indwell.context.conversation import (
    Config,
    Conversation,
    counted,
    estimated_tokens,
    system_block,
    user_words,
)
from indwell.context.request.assemble import assemble
from indwell.context.tokens import estimate_tokens, request_tokens
from indwell.errors import ConversationTooLarge, WindowTooSmall
from indwell.messages import Anchors, Message, Request
from indwell.providers.wires.dialect import Dialect
from support.chat_bodies import chat_body
from support.requests import READ, assistant, result, use, user


def conversation(*messages: Message, window: int = 10_000) -> Conversation:
    return Conversation(
        config=Config("small", window=window, max_output=500, cache_key="s-1"),
        system=(system_block("Be exact."),),
        tools=(READ,),
        messages=messages,
    )


WHOLE = conversation(user("go"), assistant("I read.", use()), user(result("text"), "and?"))


def test_a_request_contains_the_conversation_with_its_cache_marks() -> None:
    assert assemble(WHOLE) == Request(
        model="small",
        system=WHOLE.system,
        tools=(READ,),
        messages=WHOLE.messages,
        max_output=500,
        anchors=Anchors(tools=True, system=True, messages=(2,)),
        cache_key="s-1",
        tokens=estimated_tokens(WHOLE),
    )


def test_a_request_takes_its_tokens_from_the_running_sum() -> None:
    asked = assemble(counted(WHOLE))
    assert asked.tokens == request_tokens(asked) == estimated_tokens(WHOLE)


def test_the_same_conversation_gives_the_same_bytes() -> None:
    copy = msgspec.msgpack.decode(msgspec.msgpack.encode(WHOLE), type=Conversation)
    dialect = Dialect(cache_marks=True, cache_key=True)
    first, second = (
        msgspec.json.encode(chat_body(assemble(one), dialect)) for one in (WHOLE, copy)
    )
    assert first == second


def test_forbidding_tool_calls_does_not_change_the_request_prefix() -> None:
    free, bound = assemble(WHOLE), assemble(WHOLE, tool_choice="none")
    assert bound == msgspec.structs.replace(free, tool_choice="none")


def test_an_orphaned_result_is_a_bug_and_is_never_sent() -> None:
    with pytest.raises(AssertionError, match="have no results"):
        assemble(conversation(user("go"), assistant(use())))


LONG = "word " * 8_000


@pytest.mark.parametrize(
    ("messages", "largest"),
    [
        ((user(user_words(LONG, turn=1)),), "the prompt of turn 1"),
        ((user("go"), assistant(LONG), user("on")), "the reply of turn 1"),
        ((user("go"), assistant(use()), user(result(LONG))), "the result of read_file of turn 1"),
        (
            (user("go"), assistant(use("write_file", LONG)), user(result("ok"))),
            "a call of write_file of turn 1",
        ),
    ],
)
def test_a_conversation_that_does_not_fit_is_reported_with_its_largest_part(
    messages: tuple[Message, ...], largest: str
) -> None:
    with pytest.raises(ConversationTooLarge) as caught:
        assemble(conversation(*messages, window=8_000))
    n_tokens = estimate_tokens(LONG)
    told = f"the largest part is {largest} with about {n_tokens:,} tokens; "
    assert told in str(caught.value)
    is_first = len(messages) == 1  # a new session would not be shorter
    assert isinstance(caught.value, WindowTooSmall) == is_first
    assert ("start a new session" in str(caught.value)) != is_first
    assert "leaves 7,500" in str(caught.value)


def test_the_error_suggests_a_larger_window_if_system_and_tools_are_the_largest_part() -> None:
    messages = [user("go"), *(assistant("word " * 90), user("on " * 90)) * 4]
    system = (system_block("rule " * 600),)
    config = Config("small", 1_700, 500)
    with pytest.raises(ConversationTooLarge) as caught:
        assemble(Conversation(config, system, messages=tuple(messages)))
    told = "the largest part is the system prompt with the tools with about 6"
    assert told in str(caught.value)
    assert str(caught.value).endswith("the task, or choose a model with a larger window")


def test_a_window_too_small_for_the_prompt_alone_is_reported() -> None:
    with pytest.raises(ConversationTooLarge, match="system prompt and the tools alone"):
        assemble(conversation(window=510))
