from __future__ import annotations

from datetime import UTC, datetime

import pytest

from indwell.errors import (
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
from indwell.providers.http.refusals import EndpointRefusal, duration, error_of, quote, retry_after

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def refused(
    status: int, words: str = "", code: str = "", *, has_tools: bool = True
) -> ProviderError:
    return error_of(
        EndpointRefusal(status, words, code),
        endpoint="http://e/v1",
        model="m1",
        has_tools=has_tools,
    )


@pytest.mark.parametrize(
    ("status", "words", "code", "kind"),
    [
        (401, "Incorrect API key provided", "invalid_api_key", NotAuthorised),
        (403, "Country not supported", "", NotAuthorised),
        (402, "Insufficient Balance", "", OutOfCredit),
        (429, "You exceeded your current quota", "insufficient_quota", OutOfCredit),
        (400, "Your credit balance is too low to access the API", "", OutOfCredit),
        (429, "You exceeded your current quota, limit: 20 requests a day", "", RateLimited),
        (429, "Rate limit reached: context length tokens per min", "", RateLimited),
        (
            404,
            "The model `m1` does not exist or you lack access",
            "model_not_found",
            RequestRejected,
        ),
        (400, "too long", "context_length_exceeded", ContextOverflow),
        (400, "This model's maximum context length is 16384 tokens", "", ContextOverflow),
        (400, "request exceeds the available context size", "", ContextOverflow),
        (400, "the input", "exceed_context_size_error", ContextOverflow),
        (413, "Request Entity Too Large", "", ContextOverflow),
        (500, "prompt is too long: 9 tokens > 8 maximum", "", ContextOverflow),
        (400, "stablelm2:latest does not support tools", "api_error", ToolsUnsupported),
        (404, "No endpoints found that support tool use. See docs", "", ToolsUnsupported),
        (400, '"auto" tool choice requires --enable-auto-tool-choice', "", ToolsUnsupported),
        (500, "tools param requires --jinja flag", "", ToolsUnsupported),
        (422, "`tools` is not supported with this model", "", ToolsUnsupported),
        (400, "An assistant message with 'tool_calls' must be followed by", "", RequestRejected),
        (400, "Invalid schema for function 'read_file'", "", RequestRejected),
        (
            400,
            "`tool_call_id` not found in 'tool_calls' of the model's message",
            "",
            RequestRejected,
        ),
        (408, "", "", Unreachable),
        (409, "conflict", "", ServerFault),
        (500, "oops", "", ServerFault),
        (503, "overloaded", "", ServerFault),
        (529, "overloaded_error", "", ServerFault),
        (307, "", "", RequestRejected),
    ],
)
def test_a_refusal_status_and_message_map_to_the_matching_error(
    status: int, words: str, code: str, kind: type[ProviderError]
) -> None:
    assert type(refused(status, words, code)) is kind


def test_tools_are_not_blamed_for_a_refusal_if_none_were_sent() -> None:
    error = refused(400, "m1 does not support tools", has_tools=False)
    assert type(error) is RequestRejected


@pytest.mark.parametrize(
    ("refusal", "sentence"),
    [
        (
            EndpointRefusal(401, "Incorrect API key provided: sk-abc"),
            (
                "the API key is missing or not accepted at http://e/v1; `indwell login` stores"
                " another, or set OPENAI_API_KEY"
            ),
        ),
        (
            EndpointRefusal(404, 'model "m1" not found, try pulling it first.'),
            (
                "http://e/v1 has no model 'm1'; choose one that it has:"
                ' model "m1" not found, try pulling it first'
            ),
        ),
        (
            EndpointRefusal(404, "404 page not found"),
            (
                "http://e/v1 accepts no requests at this address; check it, it often ends in /v1,"
                " or set `wire` to the API that the endpoint has: 404 page not found"
            ),
        ),
        (
            EndpointRefusal(429, "slow down", retry_after_s=900.0),
            (
                "http://e/v1 accepts no more requests now and asks to wait 15 min; try again then:"
                " slow down"
            ),
        ),
        (
            EndpointRefusal(307, location="http://other"),
            (
                "http://e/v1 redirects to 'http://other', and a prompt is not sent on to another"
                " address; if you trust it, set OPENAI_BASE_URL to the API there"
            ),
        ),
        (EndpointRefusal(418), "http://e/v1 refused the request with status 418"),
        (EndpointRefusal(500), "http://e/v1 failed with status 500; try again later"),
    ],
)
def test_a_refusal_error_names_the_cause_the_endpoint_and_a_remedy(
    refusal: EndpointRefusal, sentence: str
) -> None:
    said = error_of(refusal, endpoint="http://e/v1", model="m1", has_tools=True)
    assert str(said) == sentence


def test_a_server_error_with_a_retry_time_is_a_rate_limit() -> None:
    error = error_of(
        EndpointRefusal(503, "busy", retry_after_s=7.0),
        endpoint="http://e/v1",
        model="m",
        has_tools=False,
    )
    assert isinstance(error, RateLimited)
    assert error.retry_after_s == 7.0


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "12"}, 12.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-4"}, 0.0),
        ({"retry-after": "Sat, 21 Nov 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Sat, 21 Nov 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after-ms": "x", "retry-after": "1"}, 1.0),
    ],
)
def test_the_retry_time_is_given_in_seconds_or_as_a_date(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert retry_after(headers, NOW) == seconds


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.2, "1 s"),
        (59.5, "1 min"),
        (60, "1 min"),
        (61, "2 min"),
        (3600, "1 h"),
        (7260, "2 h 1 min"),
    ],
)
def test_durations_are_reported_rounded_up(seconds: float, said: str) -> None:
    assert duration(seconds) == said


def test_a_quote_is_one_short_line_without_control_characters() -> None:
    assert quote("no\n\x1b[31m such  thing.") == "no [31m such thing"
    assert quote("x" * 400) == "x" * 299 + "…"
