from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import msgspec
import pytest

from indwell.errors import (
    BadReply,
    ContextOverflow,
    NotAuthorised,
    OutOfCredit,
    ProviderError,
    RateLimited,
    RequestRejected,
    ServerFault,
    ToolsUnsupported,
    Unreachable,
)
from indwell.messages import Reply, Request, Usage
from indwell.providers.base import CallStarted, Discarded, RetryWait, StreamEvent, TextDelta
from indwell.providers.retry import Retrying
from indwell.providers.scripted import ScriptedProvider, Step, hang
from support.requests import request

ASKED = request()
DONE = Reply("done", usage=Usage(input=1))
BROKEN = Reply("half", finish="incomplete", usage=Usage(input=1), problem="it broke off")
GONE = Unreachable("nobody there")


class Clock:
    """Time that passes only during sleeps, or when a step says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


async def run(
    *steps: Step, clock: Clock | None = None, random: Callable[[], float] = lambda: 1.0
) -> tuple[Reply | ProviderError, list[StreamEvent], int]:
    """Return the outcome, the events, and the number of attempts."""
    clock = clock or Clock()
    told: list[StreamEvent] = []
    script = ScriptedProvider(steps)
    retrying = Retrying(script, sleep=clock.sleep, random=random, clock=lambda: clock.now)
    try:
        outcome: Reply | ProviderError = await retrying.complete(ASKED, told.append)
    except ProviderError as error:
        outcome = error
    return outcome, told, len(script.requests)


async def test_a_successful_first_attempt_passes_on_its_reply_and_events() -> None:
    assert await run(DONE) == (DONE, [TextDelta("done")], 1)


@pytest.mark.parametrize("error", [GONE, ServerFault("500"), RateLimited("slow down")])
async def test_a_temporary_failure_is_retried_after_a_wait(error: ProviderError) -> None:
    told = [RetryWait(1.0, str(error)), TextDelta("done")]
    assert await run(error, DONE) == (DONE, told, 2)


@pytest.mark.parametrize(
    "error",
    [
        NotAuthorised("no"),
        OutOfCredit("no"),
        ToolsUnsupported("no"),
        ContextOverflow("no"),
        RequestRejected("no"),
        BadReply("no"),
        ProviderError("no"),
    ],
)
async def test_a_permanent_failure_is_raised_at_once(error: ProviderError) -> None:
    assert await run(error, DONE) == (error, [], 1)


async def test_waits_double_and_the_fifth_failure_is_final() -> None:
    errors = [Unreachable(str(number)) for number in range(5)]
    told = [RetryWait(1.0, "0"), RetryWait(2.0, "1"), RetryWait(4.0, "2"), RetryWait(8.0, "3")]
    assert await run(*errors) == (errors[4], told, 5)


async def test_the_jitter_takes_at_most_half_of_a_wait() -> None:
    _, told, _ = await run(GONE, GONE, DONE, random=lambda: 0.0)
    assert told[:2] == [RetryWait(0.5, "nobody there"), RetryWait(1.0, "nobody there")]


async def test_a_retry_time_from_the_server_is_respected() -> None:
    asked = RateLimited("slow down", retry_after_s=60.0)
    told = [RetryWait(60.0, "slow down"), TextDelta("done")]
    assert await run(asked, DONE) == (DONE, told, 2)


async def test_a_retry_time_of_zero_still_backs_off() -> None:
    _, told, _ = await run(RateLimited("slow down", retry_after_s=0.0), DONE)
    assert told[0] == RetryWait(1.0, "slow down")


async def test_a_long_retry_time_is_shown_and_ends_the_attempts() -> None:
    asked = RateLimited("it asks to wait 2 min", retry_after_s=61.0)
    assert await run(asked, DONE) == (asked, [], 1)


async def test_attempts_begin_within_60_s_of_the_first_failure() -> None:
    asked = [RateLimited(str(number), retry_after_s=25.0) for number in range(4)]
    told = [RetryWait(25.0, "0"), RetryWait(25.0, "1")]
    assert await run(*asked) == (asked[2], told, 3)


async def test_a_long_attempt_that_breaks_is_retried() -> None:
    clock = Clock()

    def stalls(_: Request) -> ProviderError:
        clock.now += 120.0
        return GONE

    outcome, _, attempts = await run(stalls, DONE, clock=clock)
    assert (outcome, attempts) == (DONE, 2)


async def test_a_broken_stream_is_discarded_and_retried() -> None:
    told = [TextDelta("half"), Discarded(), RetryWait(1.0, "it broke off"), TextDelta("done")]
    assert await run(BROKEN, DONE) == (DONE, told, 2)


@pytest.mark.parametrize("outcome", [BROKEN, GONE], ids=["broken", "gone"])
async def test_no_attempt_follows_once_a_call_has_begun(outcome: Reply | ProviderError) -> None:
    class BreaksInACall:
        async def complete(self, _: Request, on_event: Callable[[StreamEvent], None]) -> Reply:
            on_event(CallStarted("read_file"))
            if isinstance(outcome, ProviderError):
                raise outcome
            return outcome

    told: list[StreamEvent] = []
    retrying = Retrying(BreaksInACall(), sleep=Clock().sleep)
    try:
        got: Reply | ProviderError = await retrying.complete(ASKED, told.append)
    except ProviderError as error:
        got = error
    assert (got, told) == (outcome, [CallStarted("read_file")])


async def test_the_reply_of_the_last_broken_attempt_is_returned() -> None:
    outcome, told, attempts = await run(*[BROKEN] * 5)
    assert (outcome, attempts) == (BROKEN, 5)
    assert told.count(Discarded()) == 4
    assert told[-1] == TextDelta("half")


async def test_discarded_text_returns_if_no_later_attempt_is_better() -> None:
    outcome, told, _ = await run(BROKEN, GONE, GONE, GONE, GONE)
    assert outcome == msgspec.structs.replace(BROKEN, problem="nobody there")
    assert told.count(Discarded()) == 1
    assert told[-2:] == [RetryWait(8.0, "nobody there"), TextDelta("half")]


async def test_a_final_refusal_takes_precedence_over_a_broken_stream() -> None:
    refusal = NotAuthorised("the key was revoked")
    assert (await run(BROKEN, refusal))[0] is refusal


@pytest.mark.parametrize("steps", [[hang("half")], [GONE, DONE]], ids=["answer", "next attempt"])
async def test_cancelling_ends_the_wait_between_attempts(steps: Sequence[Step]) -> None:
    waits = asyncio.Event()
    script = ScriptedProvider(steps)

    async def sleep(_: float) -> None:
        await asyncio.Event().wait()

    retrying = Retrying(script, sleep=sleep)
    task = asyncio.ensure_future(retrying.complete(ASKED, lambda _: waits.set()))
    await waits.wait()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(script.requests) == 1


async def test_an_exception_in_the_listener_is_raised() -> None:
    def listener(_: StreamEvent) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await Retrying(ScriptedProvider([DONE])).complete(ASKED, listener)
