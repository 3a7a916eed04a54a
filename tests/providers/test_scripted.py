from __future__ import annotations

import asyncio

import pytest

from indwell.context.tokens import estimate_tokens, request_tokens
from indwell.errors import ServerFault
from indwell.messages import Message, Reply, Request, Text, Thinking, ToolCall, Usage
from indwell.providers.base import CallStarted, StreamEvent, TextDelta, ThinkingDelta
from indwell.providers.scripted import ScriptedProvider, check_legal, hang
from support.requests import READ, assistant, meta, request, result, use, user

ASKED = request()


async def test_the_scripted_model_plays_its_steps_and_keeps_the_requests() -> None:
    first, second = request(user("one")), request(user("two"))
    known = Usage(input=1, output=1)
    script = ScriptedProvider(
        [Reply("a", usage=known), lambda asked: Reply(asked.model, usage=known)]
    )
    replies = [await script.complete(each, lambda _: None) for each in (first, second)]
    assert replies == [Reply("a", usage=known), Reply("small", usage=known)]
    assert script.requests == [first, second]


async def test_one_function_can_answer_every_call() -> None:
    script = ScriptedProvider(lambda asked: Reply(f"{len(asked.messages)} messages"))
    assert (await script.complete(ASKED, lambda _: None)).text == "1 messages"


async def test_the_scripted_model_streams_word_by_word_and_other_tasks_run() -> None:
    reply = Reply(" two words\n", (ToolCall("a", "read_file", "{}"),), "let me  think")
    told: list[StreamEvent | str] = []

    async def other_task() -> None:
        while len(told) < 7:
            told.append("other")
            await asyncio.sleep(0)

    other = asyncio.ensure_future(other_task())
    await ScriptedProvider([reply]).complete(ASKED, told.append)
    await other
    assert [event for event in told if event != "other"] == [
        ThinkingDelta("let "),
        ThinkingDelta("me  "),
        ThinkingDelta("think"),
        TextDelta(" two "),
        TextDelta("words\n"),
        CallStarted("read_file"),
    ]
    assert told[1] == "other"


async def test_the_scripted_model_can_wait_between_two_deltas() -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    script = ScriptedProvider([Reply("three small words")], pace_s=0.05, sleep=sleep)
    await script.complete(ASKED, lambda _: None)
    assert slept == [0.05, 0.05, 0.05]


async def test_usage_that_the_script_omits_is_estimated() -> None:
    reply = await ScriptedProvider([Reply("done")]).complete(ASKED, lambda _: None)
    used = Usage(input=request_tokens(ASKED), output=estimate_tokens("done"), reported=False)
    assert reply == Reply("done", usage=used)


async def test_an_error_step_is_raised() -> None:
    with pytest.raises(ServerFault, match="busy"):
        await ScriptedProvider([ServerFault("busy")]).complete(ASKED, lambda _: None)


async def test_a_scripted_provider_without_further_steps_fails_and_shows_the_request() -> None:
    with pytest.raises(AssertionError, match=r"has 0 steps, and call 1 asks.*hello"):
        await ScriptedProvider([]).complete(ASKED, lambda _: None)


async def test_a_hang_streams_its_text_and_only_a_cancellation_ends_it() -> None:
    streamed = asyncio.Event()
    script = ScriptedProvider([hang("half")])
    task = asyncio.ensure_future(script.complete(ASKED, lambda _: streamed.set()))
    await streamed.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


EXCHANGE = (user("go"), assistant("I read.", use()), user(result("text"), "and?"))


@pytest.mark.parametrize(
    "messages",
    [
        (user("go"),),
        EXCHANGE,
        (
            user("go"),
            assistant(use(id_="1"), use(id_="2")),
            user(result("b", id_="2"), result("a", id_="1")),
        ),
    ],
)
def test_a_legal_request_passes_the_check(messages: tuple[Message, ...]) -> None:
    check_legal(request(*messages, system=("s",), tools=(READ,)))


@pytest.mark.parametrize(
    ("asked", "complaint"),
    [
        (Request("m", (), (), (), 1), "no messages"),
        (request(user("go"), assistant("done")), "the last message is not the user's"),
        (request(assistant("hi"), user("go"), user("x")), "message 0 is the assistant's"),
        (request(user("go"), user("on")), "message 1 is the user's, not the assistant's"),
        (
            request(user("go"), assistant(use()), user("on")),
            r"answers the calls \[\], made were \['c1'",
        ),
        (request(user(result("a"))), r"message 0 answers the calls \['c1'\], made were \[\]"),
        (
            request(user("go"), assistant(use()), user(result("a"), result("a"))),
            r"answers the calls \['c1', 'c1'\]",
        ),
        (
            request(user("go"), assistant(use(), use()), user(result("a"), result("b"))),
            r"message 1 has a call id twice: \['c1', 'c1'\]",
        ),
        (
            request(user("go"), assistant(use()), user("on", result("a"))),
            "a tool result after other blocks",
        ),
        (request(user(" \n")), "message 0: an empty Text"),
        (request(user("go"), assistant(use()), user(result(""))), "message 2: an empty ToolResult"),
        (request(user()), "message 0 holds nothing that is sent"),
        (
            request(user("go"), assistant(Thinking("hm", meta())), user("on")),
            "message 1 holds nothing that is sent",
        ),
        (request(user("go"), assistant(use(id_="")), user("on")), "a tool use without an id"),
        (request(user("go"), assistant(use("")), user("on")), "a tool use without a name"),
        (request(user(use())), "the user cannot send ToolUse"),
        (request(user("go"), assistant(result("a")), user("on")), "the assistant cannot send"),
        (request(system=(" ",)), "an empty system block"),
        (request(tools=(READ, READ)), "a tool appears twice"),
    ],
)
def test_an_illegal_request_fails_the_check_with_its_position(
    asked: Request, complaint: str
) -> None:
    with pytest.raises(AssertionError, match=complaint):
        check_legal(asked)


async def test_an_illegal_request_is_neither_kept_nor_answered() -> None:
    script = ScriptedProvider([Reply("done")])
    with pytest.raises(AssertionError, match="empty Text"):
        await script.complete(request(Message("user", (Text("", meta()),), 1)), lambda _: None)
    assert script.requests == []
