"""Cases LLM-01 to LLM-08 and LLM-18: the endpoint refuses, or does not begin a reply."""

from __future__ import annotations

import asyncio
import json

import pytest

from indwell.errors import (
    NotAuthorised,
    OutOfCredit,
    ProviderError,
    RateLimited,
    RequestRejected,
    ServerFault,
    TooSlow,
)
from indwell.messages import Reply
from indwell.providers.base import Discarded, RetryWait, StreamEvent, TextDelta
from indwell.providers.client import EndpointClient
from indwell.providers.retry import Retrying
from support.asking import ASKED, KEY, ask, connected, fail, failure, of_the_answer
from support.fault_endpoint import (
    HANG,
    HEAD,
    RST,
    Script,
    answer,
    broken,
    chunked,
    data,
    refusal,
    streamed,
)
from support.loopback_endpoint import chunk
from support.requests import READ, request, user

SAID = streamed(chunk({"content": "hello"}), chunk({}, finish="stop"))


class Patience:
    """A retrying provider that records its sleeps instead of sleeping."""

    def __init__(self, provider: EndpointClient) -> None:
        self.slept: list[float] = []
        self.told: list[StreamEvent] = []
        self.provider = Retrying(provider, sleep=self._sleep, random=lambda: 0.5)

    async def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


async def persist(*script: Script, timeout_s: float = 5.0) -> tuple[Reply, Patience, int]:
    async with connected(*script, timeout_s=timeout_s) as (chat, endpoint):
        patience = Patience(chat)
        reply = await patience.provider.complete(ASKED, of_the_answer(patience.told.append))
        return reply, patience, len(endpoint.bodies)


async def give_up(*script: Script) -> tuple[ProviderError, Patience, int]:
    async with connected(*script) as (chat, endpoint):
        patience = Patience(chat)
        error = await failure(patience.provider)
        return error, patience, len(endpoint.bodies)


async def test_llm_01_a_requested_wait_in_seconds_is_respected_and_reported() -> None:
    limited = refusal(429, "slow down", headers="Retry-After: 1\r\n")
    reply, patience, n_requests = await persist(limited, SAID)
    assert (reply.text, n_requests) == ("hello", 2)
    assert patience.slept[0] >= 1
    assert isinstance(patience.told[0], RetryWait)
    assert patience.told[0].seconds == patience.slept[0]


async def test_llm_02_a_requested_wait_until_a_date_is_respected() -> None:
    date = "Retry-After: Sat, 21 Nov 2026 12:00:20 GMT\r\n"
    _, patience, _ = await persist(refusal(429, "slow down", headers=date), SAID)
    assert 20 <= patience.slept[0] < 22


async def test_llm_03_a_delay_of_an_hour_is_reported_instead_of_waited_for() -> None:
    hour = refusal(429, "slow down", headers="Retry-After: 3600\r\n")
    error, patience, n_requests = await give_up(hour, SAID)
    assert (type(error), patience.slept, n_requests) == (RateLimited, [], 1)
    assert "asks to wait 1 h" in str(error)


async def test_llm_04_without_quota_there_is_no_second_attempt() -> None:
    error, patience, n_requests = await give_up(
        refusal(429, "You exceeded your current quota", code="insufficient_quota"), SAID
    )
    assert (type(error), patience.slept, n_requests) == (OutOfCredit, [], 1)


@pytest.mark.parametrize("status", [500, 502, 503, 504, 529, 408, 409])
async def test_llm_05_a_temporary_failure_is_retried(status: int) -> None:
    page = answer(status, "<html>busy</html>", kind="text/html")
    reply, patience, n_requests = await persist(page, page, SAID)
    assert (reply.text, n_requests, len(patience.slept)) == ("hello", 3, 2)
    assert patience.slept[0] < patience.slept[1]


async def test_llm_05_a_request_fails_after_five_attempts() -> None:
    error, patience, n_requests = await give_up(*[refusal(500, "oops")] * 9)
    assert (type(error), n_requests, len(patience.slept)) == (ServerFault, 5, 4)


@pytest.mark.parametrize(
    ("script", "kind", "part"),
    [
        (refusal(401, f"Incorrect API key provided: {KEY}"), NotAuthorised, "indwell login"),
        (refusal(403, "Country not supported"), NotAuthorised, "Country not supported"),
        (refusal(404, "nothing", code="model_not_found"), RequestRejected, "no model 'small'"),
    ],
)
async def test_llm_06_a_lasting_failure_is_reported_at_once(
    script: Script, kind: type[ProviderError], part: str
) -> None:
    error, patience, n_requests = await give_up(script, SAID)
    assert (type(error), patience.slept, n_requests) == (kind, [], 1)
    assert part in str(error)
    assert KEY not in str(error)


@pytest.mark.parametrize(
    ("words", "before", "after"),
    [
        ("Unknown field: stream_options", {"stream_options"}, set()),
        (
            (
                "Unsupported parameter: 'max_tokens' is not supported with this model. "
                "Use 'max_completion_tokens' instead."
            ),
            {"max_tokens"},
            {"max_completion_tokens"},
        ),
    ],
)
async def test_llm_08_a_refused_parameter_is_never_sent_again(
    words: str, before: set[str], after: set[str]
) -> None:
    async with connected(refusal(400, words), SAID, SAID) as (provider, endpoint):
        for _ in range(2):
            assert (await provider.complete(ASKED, lambda _: None)).text == "hello"
    fields = [set(json.loads(body)) for body in endpoint.bodies]
    assert fields[0] - fields[1] == before
    assert fields[1] - fields[0] == after
    assert fields[2] == fields[1]


async def test_llm_08_several_parameters_can_be_refused_one_after_the_other() -> None:
    lessons = (
        refusal(400, "stream_options: extra fields not permitted"),
        refusal(400, "unknown parameter", param="tool_choice"),
        refusal(400, "content should be a valid string, got None"),
    )
    asked = request(user("hello"), tools=(READ,), tool_choice="none")
    async with connected(*lessons, SAID) as (provider, endpoint):
        await provider.complete(asked, lambda _: None)
    assert set(json.loads(endpoint.bodies[-1])) == {
        "model", "messages", "tools", "max_tokens", "stream",
    }  # fmt: skip


async def test_llm_08_other_refusals_are_not_retried() -> None:
    async with connected(*[refusal(400, "max_tokens is too large: 100")] * 2) as (chat, endpoint):
        assert type(await failure(chat)) is RequestRejected
        assert len(endpoint.bodies) == 1


async def test_llm_08_an_endpoint_that_rejects_both_output_limit_names_fails_the_request() -> None:
    no_old = refusal(400, "unsupported parameter max_tokens")
    no_new = refusal(400, "unsupported parameter max_completion_tokens")
    async with connected(*[no_old, no_new] * 3) as (chat, endpoint):
        assert type(await failure(chat)) is RequestRejected
        assert len(endpoint.bodies) == 2


@pytest.mark.parametrize(
    "before", [(), (HEAD,), (HEAD, chunked(data(chunk({"role": "assistant"}))))]
)
async def test_llm_18_a_reply_that_never_begins_times_out_without_a_parallel_request(
    before,
) -> None:
    error = await fail(broken(*before, HANG), timeout_s=9, first_s=0.15)
    why = "try again, take a faster model, or raise `first_token_timeout_s` in your settings"
    assert type(error) is TooSlow
    assert str(error) == f"ADDRESS began no reply within 0.15 s; {why}"
    async with connected(broken(*before, HANG), SAID, first_s=0.15) as (provider, endpoint):
        with pytest.raises(TooSlow):
            await Retrying(provider).complete(ASKED, lambda _: None)
        assert len(endpoint.bodies) == 1


async def test_the_first_token_may_take_longer_than_the_stall_time_out() -> None:
    read = chunked(
        data({"choices": [], "prompt_progress": {"total": 9, "processed": 3, "cache": 0}})
    )
    late = broken(HEAD, 0.3, read, 0.3, *SAID.steps[1:])
    reply, _ = await ask(late, timeout_s=0.2, first_s=None)
    assert reply.text == "hello"


async def test_llm_11_a_reply_that_breaks_before_any_call_is_restarted() -> None:
    half = broken(*streamed(chunk({"content": "hel"})).steps[:2], 0.02, RST)
    reply, patience, _ = await persist(half, SAID)
    kinds = [event for event in patience.told if not isinstance(event, RetryWait)]
    assert kinds == [TextDelta("hel"), Discarded(), TextDelta("hello")]
    assert reply.text == "hello"


async def test_llm_40_cancelling_during_a_retry_wait_is_immediate() -> None:
    waiting = asyncio.Event()

    def hear(event: StreamEvent) -> None:
        if isinstance(event, RetryWait):
            waiting.set()

    async with connected(refusal(429, "slow", headers="Retry-After: 30\r\n")) as (chat, _):
        task = asyncio.ensure_future(Retrying(chat).complete(ASKED, hear))
        await waiting.wait()
        task.cancel()
        done, _ = await asyncio.wait({task}, timeout=60)
        assert done == {task}
        assert task.cancelled()
