"""Anthropic's API at Anthropic and at other clouds: cache marks, addresses, prices."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from indwell.messages import Anchors, Request, Usage
from indwell.providers.client import EndpointClient
from indwell.providers.endpoint import Extras
from indwell.providers.quirks import dialect_for
from indwell.providers.wires.dialect import Dialect
from indwell.providers.wires.encoder import RequestEncoder
from indwell.sessions.records import RequestRecord, Spent, Wire
from support.editing import Home
from support.loopback_endpoint import Answer, LoopbackEndpoint, Seen, refuse, stream
from support.requests import READ, assistant, request, user
from support.terminal import indwell

HOUR = {"type": "ephemeral", "ttl": "1h"}
USAGE = {"input_tokens": 10, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 1_000}
BY_LIFE = {"ephemeral_5m_input_tokens": 400, "ephemeral_1h_input_tokens": 600}
LONG = Dialect(wire="messages", cache_marks=True, cache_hours=True)


def answer(words: str = "Done.", **usage: Any) -> Answer:
    """Return a whole reply of the messages API."""
    message = {"type": "message", "role": "assistant", "usage": {**USAGE, **usage}}
    text = {"type": "text_delta", "text": words}
    return stream(
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": text},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn"},
            "usage": {"output_tokens": 5},
        },
        {"type": "message_stop"},
        done=False,
    )


def asked(life: str = "1h") -> Request:
    anchors = Anchors(tools=True, system=True, messages=(0, 2))
    messages = (user("one"), assistant("two"), user("three"))
    plain = request(*messages, system=("be kind",), tools=(READ,), anchors=anchors)
    return msgspec.structs.replace(plain, cache_life=life)  # type: ignore[arg-type]


def marks(body: dict[str, Any]) -> list[object]:
    """Return all cache marks of a body, in the order of tools, system and messages."""
    parts = [*body["tools"], *body["system"]]
    parts += [part for message in body["messages"] for part in message["content"]]
    return [part["cache_control"] for part in parts if "cache_control" in part]


async def sent(script: Any, dialect: Dialect, one: Request) -> tuple[list[Seen], Usage]:
    async with LoopbackEndpoint(script) as endpoint:
        client = EndpointClient(base_url=endpoint.base_url, api_key="k", dialect=dialect)
        reply = await client.complete(one, lambda _event: None)
        await client.aclose()
    return endpoint.seen, reply.usage


async def test_all_four_cache_marks_of_a_request_use_the_requested_hour() -> None:
    (seen,), _ = await sent([answer()], LONG, asked())
    assert marks(seen.body) == [HOUR] * 4
    (seen,), _ = await sent([answer()], LONG, asked(""))
    assert marks(seen.body) == [{"type": "ephemeral"}] * 4
    without = msgspec.structs.replace(LONG, cache_hours=False)
    (seen,), _ = await sent([answer()], without, asked())
    assert marks(seen.body) == [{"type": "ephemeral"}] * 4


@pytest.mark.parametrize(
    ("told", "life", "hour"),
    [({"cache_creation": BY_LIFE}, "1h", 600), ({}, "1h", 1_000), ({}, "", 0)],
)
async def test_tokens_cached_for_an_hour_are_counted_separately(told, life, hour) -> None:
    _, usage = await sent([answer(**told)], LONG, asked(life))
    assert (usage.input, usage.cached, usage.cache_write) == (1_110, 100, 1_000)
    assert usage.cache_hour == hour


async def test_an_endpoint_that_rejects_the_cache_lifetime_gets_plain_cache_marks_afterwards() -> (
    None
):
    words = "messages.0.content.0.cache_control.ephemeral.ttl: Extra inputs are not permitted"
    seen, usage = await sent([refuse(400, words), answer()], LONG, asked())
    assert [marks(one.body) for one in seen] == [[HOUR] * 4, [{"type": "ephemeral"}] * 4]
    assert usage.cache_write == 1_000


def test_a_change_of_the_cache_lifetime_encodes_every_cache_mark_again() -> None:
    encoder = RequestEncoder()
    for life in ("", "1h", ""):
        one = asked(life)
        dialect = LONG.for_request(one)
        assert encoder.encode(one, dialect) == RequestEncoder().encode(one, dialect)


CLOUDS = {
    "Bedrock": "https://bedrock-mantle.us-east-1.api.aws/anthropic/v1",
    "Foundry": "https://name.services.ai.azure.com/anthropic/v1",
    "a gateway": "https://gateway.example/anthropic/v1/",
}


@pytest.mark.parametrize("cloud", CLOUDS)
def test_an_endpoint_with_anthropic_in_its_path_gets_the_messages_api_with_cache_marks(
    cloud,
) -> None:
    dialect = dialect_for(CLOUDS[cloud], "claude-sonnet-4-5")
    assert (dialect.wire, dialect.cache_marks, dialect.model_in_path) == ("messages", True, False)
    assert dialect_for("https://gateway.example/v1", "anthropic/claude-sonnet-4-5").wire == "chat"


@pytest.fixture
def home(tmp_path) -> Home:
    return Home(tmp_path)


async def run(home: Home, config: str, **variables: str) -> None:
    home.configure(config)
    environment = home.environment(**variables)
    ended = await indwell("run", "hello", environment=environment, folder=home.workspace)
    assert ended.code == 0, ended


@pytest.mark.parametrize("public_call", [False, True])
async def test_vertex_gets_the_model_in_the_path_and_the_version_in_the_body(public_call) -> None:
    async with LoopbackEndpoint([answer()]) as endpoint:
        url = endpoint.base_url + "/projects/p/locations/l/publishers/anthropic/models"
        client = EndpointClient(
            base_url=url, api_key="token", by_public_call=public_call, extras=Extras()
        )
        one = msgspec.structs.replace(asked(""), model="claude-sonnet-4-5@20250929")
        reply = await client.complete(one, lambda _event: None)
        await client.aclose()
    (seen,) = endpoint.seen
    assert seen.path == (
        "/v1/projects/p/locations/l/publishers/anthropic/models/"
        "claude-sonnet-4-5@20250929:streamRawPredict"
    )
    assert seen.body["anthropic_version"] == "vertex-2023-10-16"
    assert "model" not in seen.body
    assert seen.body["stream"] is True
    assert len(marks(seen.body)) == 4
    assert seen.headers["authorization"] == "Bearer token"
    assert "x-api-key" not in seen.headers
    assert reply.text == "Done."


async def test_a_named_endpoint_with_anthropic_in_its_path_works_with_its_key_and_an_hour_of_cache(
    home,
) -> None:
    async with LoopbackEndpoint([answer(cache_creation=BY_LIFE)]) as cloud:
        url = cloud.base_url.removesuffix("/v1") + "/anthropic/v1"
        await run(
            home,
            f"""
            model = "our-claude@cloud"
            cache_life = "1h"
            [endpoints.cloud]
            base_url = "{url}"
            api_key_variable = "CLOUD_KEY"
            counts_as = "claude-sonnet-4-5"
            """,
            CLOUD_KEY="key-of-cloud",
        )
    (seen,) = cloud.seen
    assert (seen.path, seen.headers["x-api-key"]) == ("/anthropic/v1/messages", "key-of-cloud")
    assert seen.body["model"] == "our-claude"
    found = marks(seen.body)
    assert found == [HOUR] * len(found) != []
    (log,) = home.logs()
    (record,) = [one for one in log if isinstance(one, RequestRecord)]
    (wire,) = [one for one in log if isinstance(one, Wire)]
    (spent,) = [one for one in log if isinstance(one, Spent)]
    assert record.cache_life == "1h"
    assert json.loads(wire.dialect)["life"] == "1h"
    # Prices of a million tokens: input $3, output $15, cached $0.30, cache writes $3.75 and $6.
    dollars = (10 * 3 + 100 * 0.3 + 400 * 3.75 + 600 * 6 + 5 * 15) / 1e6
    assert spent.cost == pytest.approx(dollars)


async def test_without_the_setting_cache_marks_last_five_minutes(home) -> None:
    async with LoopbackEndpoint([answer()]) as cloud:
        url = cloud.base_url.removesuffix("/v1") + "/anthropic/v1"
        await run(home, f'model = "m"\nbase_url = "{url}"\n')
    found = marks(cloud.seen[0].body)
    assert found == [{"type": "ephemeral"}] * len(found) != []


async def test_a_request_with_an_hour_of_cache_is_rebuilt_byte_for_byte(home) -> None:
    async with LoopbackEndpoint([answer()]) as cloud:
        url = cloud.base_url.removesuffix("/v1") + "/anthropic/v1"
        await run(home, f'model = "m"\nbase_url = "{url}"\ncache_life = "1h"\n')
    (log,) = home.logs()
    session = log[0].session
    again = await indwell(
        "sessions",
        "replay-request",
        session,
        "1",
        environment=home.environment(),
        folder=home.workspace,
    )
    assert (again.code, again.stdout.encode().strip()) == (0, cloud.seen[0].raw), again
