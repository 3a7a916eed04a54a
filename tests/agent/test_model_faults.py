"""The agent's reaction to a model's faults: real client, real endpoint, real log (LLM-*).

After each fault, a strict endpoint must accept the next request.
"""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from indwell.agent.core.events import (
    Notice,
    PermissionAsked,
    TextAdded,
    ToolStarted,
    TurnFinished,
    UsageReported,
    usage_words,
)
from indwell.context.pairing import problems
from indwell.messages import Usage
from indwell.policy.call_facts import Policy
from indwell.providers.client import EndpointClient
from indwell.providers.retry import Retrying
from indwell.tools.base import ToolContext
from support.loopback_endpoint import (
    CUT,
    HANG,
    Answer,
    LoopbackEndpoint,
    Seen,
    chunk,
    raw,
    refuse,
    say,
    stream,
)
from support.session import World, a_tool, a_world, with_parts
from support.strict_chat import complaints, strictly

FILES = {"a.py": "x = 1\n"}
READ = ("read_file", '{"path":"a.py"}')
USAGE = {"prompt_tokens": 900, "completion_tokens": 7}
QUICK_S = 60.0  # seconds in which a cancelled turn must end


async def no_sleep(seconds: float) -> None:
    del seconds
    await asyncio.sleep(0)


@asynccontextmanager
async def facing(
    folder: Path,
    script: Sequence[Answer] | Callable[[Seen], Answer],
    *,
    sleep: Any = no_sleep,
    stall_s: float = 5.0,
    **more: Any,
) -> AsyncIterator[tuple[World, LoopbackEndpoint]]:
    """Run a session with a strict endpoint that plays ``script``."""
    async with (
        LoopbackEndpoint(strictly(script)) as endpoint,
        a_world(folder, [], files=FILES, **more) as world,
    ):
        chat = EndpointClient(base_url=endpoint.base_url, timeout_s=stall_s)
        provider = Retrying(chat, sleep=sleep)
        with_parts(world.session, provider=provider)
        try:
            yield world, endpoint
        finally:
            await chat.aclose()


def piece(arguments: Any, **fields: Any) -> dict[str, Any]:
    return chunk(
        {"tool_calls": [{"index": 0, "id": "a", "function": {"arguments": arguments, **fields}}]}
    )


def broken_call(name: str | None, arguments: Any) -> Answer:
    """Return a reply with a malformed tool call."""
    fields = {} if name is None else {"name": name}
    return stream(piece(arguments, **fields), chunk({}, finish="tool_calls"))


async def told(tmp_path: Path, answer: Answer) -> str:
    """Return the result that the model gets for its call."""
    async with facing(tmp_path, [answer, say("I see.")]) as (world, endpoint):
        finished = await world.turn()
        assert (finished.ending, finished.answer) == ("done", "I see.")
        assert world.workspace.files == {Path("/workspace/a.py"): "x = 1\n"}
        await world.records()
        (result,) = world.results
        assert result.is_error
        assert endpoint.seen[1].body["messages"][-1]["content"] == result.text
        return result.text


async def test_llm_24_without_a_count_the_tokens_are_estimated_and_marked(tmp_path: Path) -> None:
    async with facing(tmp_path, [say("hi"), say("ho", usage=USAGE)]) as (world, _):
        first, second = await world.turn(), await world.turn()
        assert not first.usage.reported
        assert first.usage.input > 0 < first.usage.output
        assert usage_words(first.usage).endswith(", estimated")
        assert second.usage == Usage(900, output=7)
        assert usage_words(second.usage) == "900 tokens in (0 cached), 7 out"
        assert [event.usage for event in world.told(UsageReported)] == [first.usage, second.usage]
        assert world.session.conversation.calibration.reported == 900


@pytest.mark.parametrize("extra", [{}, {"choices": []}, {"choices": [{"delta": None}]}])
async def test_llm_24_odd_chunks_and_two_counts_are_merged(
    tmp_path: Path, extra: dict[str, Any]
) -> None:
    count = {"choices": [], "usage": {**USAGE, "prompt_tokens_details": {"cached_tokens": 800}}}
    answer = stream(
        {**chunk({}), **extra}, {**chunk({"content": "hi"}), "usage": USAGE},
        chunk({}, finish="stop"), {**chunk({}), **count},
    )  # fmt: skip
    async with facing(tmp_path, [answer]) as (world, _):
        finished = await world.turn()
        assert (finished.answer, finished.usage) == ("hi", Usage(900, cached=800, output=7))
        assert usage_words(finished.usage) == "900 tokens in (800 cached), 7 out"


@pytest.mark.parametrize("name", ["read_fil", "READ_FILE", "", None])
async def test_llm_29_a_call_of_an_unknown_tool_is_answered_with_the_list_of_tools(
    tmp_path: Path, name: str | None
) -> None:
    words = await told(tmp_path, broken_call(name, READ[1]))
    assert words.startswith("there is no tool ")
    assert "The tools are: read_file, edit_file, write_file" in words


@pytest.mark.parametrize(
    "arguments",
    ['{"path": "a', "{'path': 'a.py'}", '{"path": NaN}', "nonsense", '{"path":"a.py"}{"path":"b"}'],
)
async def test_llm_30_arguments_that_are_not_json_are_returned_with_the_error(
    tmp_path: Path, arguments: str
) -> None:
    words = await told(tmp_path, broken_call("read_file", arguments))
    assert words.startswith("the arguments of read_file are not JSON")
    assert repr(arguments) in words


async def test_llm_30_huge_arguments_are_refused_and_do_not_fill_the_next_request(
    tmp_path: Path,
) -> None:
    huge = '{"path": "' + "x" * 5_000_000
    async with facing(tmp_path, [broken_call("read_file", huge), say("ok")]) as (world, endpoint):
        finished = await world.turn()
        assert all(len(request.raw) < 100_000 for request in endpoint.seen)
        assert problems(world.messages) == ()
        assert finished.ending in {"done", "failed"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ('{"path": 1}', "Expected `str`, got `int`"),
        ('{"path": "a.py", "colour": 1}', "unknown field `colour`"),
        ("{}", "missing required field `path`"),
        ("[1]", "Expected `object`, got `array`"),
    ],
)
async def test_llm_31_invalid_arguments_are_answered_with_the_tools_parameters(
    tmp_path: Path, arguments: str, words: str
) -> None:
    heard = await told(tmp_path, broken_call("read_file", arguments))
    assert words in heard
    assert heard.startswith("bad arguments for read_file: ")
    assert heard.endswith("it takes {path: string, offset?: integer, limit?: integer}")


async def test_llm_32_a_call_that_was_cut_by_the_limit_is_dropped_and_the_file_untouched(
    tmp_path: Path,
) -> None:
    half = say(calls=[("write_file", '{"path":"a.py","content":"half of i')], finish="length")
    async with facing(tmp_path, [half, say("smaller")]) as (world, _):
        finished = await world.turn()
        assert (finished.ending, finished.message) == (
            "failed",
            "the reply reached the output limit; ask to go on, or raise `max_output`",
        )
        assert world.workspace.files == {Path("/workspace/a.py"): "x = 1\n"}
        assert (await world.turn("go on")).answer == "smaller"
        await world.records()


@pytest.mark.parametrize(
    ("answer", "ending", "n_requests"),
    [
        (say("that is all", finish="tool_calls"), "done", 1),
        (say("", finish="tool_calls"), "done", 2),
        (say(calls=[READ], finish="stop"), "done", 2),
        (say("no", finish="content_filter"), "failed", 1),
    ],
)
async def test_llm_33_a_wrong_finish_reason_does_not_cause_an_empty_loop(
    tmp_path: Path, answer: Answer, ending: str, n_requests: int
) -> None:
    async with facing(tmp_path, [answer, say("done"), say("next")]) as (world, endpoint):
        assert (await world.turn()).ending == ending
        assert len(endpoint.seen) == n_requests
        assert (await world.turn("go on")).ending == "done"
        await world.records()


async def test_llm_37_an_equal_call_gets_a_hint_at_three_and_ends_the_turn_at_five(
    tmp_path: Path,
) -> None:
    async with facing(tmp_path, lambda _seen: say(calls=[READ])) as (world, endpoint):
        assert (await world.turn()).ending == "repeated"
        assert len(endpoint.seen) == 5
        hints = [b"times in a row" in request.raw for request in endpoint.seen]
        assert hints == [False, False, False, True, True]


async def test_llm_44_a_tool_that_ran_does_not_run_again_when_the_request_is_retried(
    tmp_path: Path,
) -> None:
    ran: list[str] = []

    async def count(name: str, context: ToolContext) -> str:
        ran.append(name)
        return "counted"

    script = [
        say(calls=[("count", '{"name":"one"}')]), refuse(500), raw(503, "<html>busy"), refuse(429),
        say("done"),
    ]  # fmt: skip
    tools = [a_tool("count", count, effect="edit")]
    async with facing(tmp_path, script, tools=tools) as (world, endpoint):
        assert (await world.turn()).answer == "done"
        assert ran == ["one"]
        assert len({request.raw for request in endpoint.seen[1:]}) == 1
        assert len(endpoint.seen) == 5


FAULTS = {
    "429 for an hour": refuse(429, headers={"Retry-After": "3600"}),
    "no credit": refuse(429, "no", code="insufficient_quota"),
    "401": refuse(401, "bad key"),
    "html": raw(200, "<html>log in", headers={"Content-Type": "text/html"}),
    "json error": raw(
        200, '{"error":{"message":"x"}}', headers={"Content-Type": "application/json"}
    ),
    "error event": stream({"error": {"message": "boom"}}),
    "error after text": stream(chunk({"content": "Half"}), {"error": {"message": "boom"}}),
    "not json": stream(b"data: {nonsense\n\n"),
    "cut after text": stream(chunk({"content": "Half"}), CUT),
    "cut in a call": stream(piece('{"pa', name="write_file"), CUT),
    "no end": stream(chunk({"content": "Half"}), done=False),
    "no end in a call": stream(piece('{"path":"a.py"}', name="read_file"), done=False),
    "two calls with one id": stream(
        piece('{"path":"a.py"}', name="read_file"),
        chunk(
            {"tool_calls": [{"index": 1, "id": "a", "function": {"name": "x", "arguments": "{}"}}]}
        ),
        chunk({}, finish="tool_calls"),
    ),
    "nothing": stream(),
    "only blanks": say(" \n"),
}


@pytest.mark.parametrize("position", ["first", "after a tool"])
@pytest.mark.parametrize("fault", FAULTS)
async def test_llm_43_after_any_fault_the_next_request_is_valid(
    tmp_path: Path, fault: str, position: str
) -> None:
    waiting = [say(calls=[READ])] if position == "after a tool" else []
    good = False

    def script(seen: Seen) -> Answer:
        assert complaints(seen.body) == ()
        if waiting:
            return waiting.pop()
        return say("fine") if good else FAULTS[fault]

    async with facing(tmp_path, script, round_limit=3) as (world, _):
        first = await world.turn("one")
        good = True
        second = await world.turn("two")
        assert (second.ending, second.answer) == ("done", "fine")
        assert problems(world.messages) == ()
        assert first.ending in {"done", "failed", "limit"}
        await world.records()


REMEDIES = {
    "401": "key",
    "no credit": "key",
    "400": "model",
    "error event": "",
}


@pytest.mark.parametrize("fault", REMEDIES)
async def test_a_failure_names_what_the_user_can_change(tmp_path: Path, fault: str) -> None:
    def script(_seen: Seen) -> Answer:
        return {**FAULTS, "400": refuse(400, "no such model")}[fault]

    async with facing(tmp_path, script) as (world, _):
        finished = await world.turn("one")
        assert (finished.ending, finished.remedy) == ("failed", REMEDIES[fault])


def is_text(event: object) -> bool:
    return isinstance(event, TextAdded)


HALF = chunk({"content": "Half "})
CANCELS: dict[str, tuple[Answer, Callable[[Any], bool] | None]] = {
    "before headers": (Answer((HANG,)), None),
    "mid text": (stream(HALF, HANG), is_text),
    "mid arguments": (stream(HALF, piece('{"pa', name="read_file"), HANG), is_text),
    "during a tool": (say(calls=[("wait", "{}")]), lambda event: isinstance(event, ToolStarted)),
    "during a question": (
        say(calls=[("write_file", '{"path":"b.py","content":""}')]),
        lambda event: isinstance(event, PermissionAsked),
    ),
    "during a retry's sleep": (refuse(500), lambda event: isinstance(event, Notice)),
}


class NobodyAnswers:
    """An approver that never answers."""

    async def ask(self, question: object) -> Any:
        del question
        await asyncio.Event().wait()


@pytest.mark.parametrize("point", CANCELS)
async def test_llm_40_a_turn_can_be_cancelled_at_every_waiting_point(
    tmp_path: Path, point: str
) -> None:
    answer, wanted = CANCELS[point]

    async def for_ever(*_: object) -> str:
        await asyncio.Event().wait()
        raise AssertionError("nobody sets it")

    async with facing(
        tmp_path,
        [answer, say("fine")],
        sleep=for_ever,
        tools=[a_tool("wait", for_ever)],
        policy=Policy("ask"),
    ) as (world, endpoint):
        world.session.parts = dataclasses.replace(world.session.parts, approver=NobodyAnswers())
        before = asyncio.all_tasks()
        task = world.begin("words")
        if wanted is None:
            await asyncio.wait_for(endpoint.arrived.wait(), 60)
        else:
            await world.until(wanted)
        began = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert time.monotonic() - began < QUICK_S
        (finished,) = world.told(TurnFinished)
        assert isinstance(finished, TurnFinished)
        assert finished.ending == "cancelled"
        if point in {"before headers", "mid text", "mid arguments"}:
            await asyncio.wait_for(endpoint.gone.wait(), 60)  # the client closes the connection
        # On Windows, accepting connections is a task.
        beside = ("loopback_endpoint", "IocpProactor.accept")
        ours = {
            one
            for one in asyncio.all_tasks() - before
            if not any(name in repr(one) for name in beside)
        }
        assert ours <= {task}
        assert (await world.turn("go on")).answer == "fine"
        await world.records()


def test_the_strict_test_endpoint_refuses_messages_in_a_wrong_order() -> None:
    user = {"role": "user", "content": "go"}
    call = {"id": "a", "type": "function", "function": {"name": "x", "arguments": "{}"}}
    asks = {"role": "assistant", "content": None, "tool_calls": [call]}
    result = {"role": "tool", "tool_call_id": "a", "content": "ok"}
    wrong = [
        [user, asks], [user, asks, user], [user, asks, result, result], [user, user],
        [asks, result], [user, {"role": "assistant", "content": ""}, user], [user, result], [],
    ]  # fmt: skip
    assert all(complaints({"messages": messages}) for messages in wrong)
    right = [[user], [user, asks, result], [user, asks, result, user]]
    assert [complaints({"messages": messages}) for messages in right] == [(), (), ()]
