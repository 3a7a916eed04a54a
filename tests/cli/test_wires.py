"""The API for a model is chosen by the endpoint's answer, or by a setting."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.editing import Home
from support.loopback_endpoint import Answer, LoopbackEndpoint, Seen, refuse
from support.terminal import Ended, indwell
from support.wire_streams import STREAMS, Said

ONLY_RESPONSES = "This model is only supported in v1/responses and not in v1/chat/completions."
CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"


def done(seen: Seen) -> Answer:
    wire = "responses" if seen.path == RESPONSES else "chat"
    events = STREAMS[wire]((Said(("Done.",)),), "")
    return Answer(tuple(events), headers={"Content-Type": "text/event-stream"})


def wants_responses(seen: Seen) -> Answer:
    return refuse(404, ONLY_RESPONSES) if seen.path == CHAT else done(seen)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


async def run(home: Home, endpoint: LoopbackEndpoint, *lines: str) -> tuple[Ended, list[str]]:
    """Run a session in its own process; return the paths of its requests."""
    n_before = len(endpoint.seen)
    head = ('model = "gpt-5-codex"', f'base_url = "{endpoint.base_url}"', 'api_key = "sk-secret-1"')
    home.configure("\n".join((*head, *lines)))
    ended = await indwell(
        *("run", "--json", "hello"), environment=home.environment(), folder=home.workspace
    )
    return ended, [seen.path for seen in endpoint.seen[n_before:] if seen.method == "POST"]


def kept(home: Home) -> str:
    (found,) = home.state.rglob("wires.json")
    return found.read_text(encoding="utf-8")


async def test_the_api_that_an_endpoint_asks_for_is_learned_once_and_kept(home: Home) -> None:
    async with LoopbackEndpoint(wants_responses) as endpoint:
        first, paths = await run(home, endpoint)
        assert (first.code, paths) == (0, [CHAT, RESPONSES])
        again, paths = await run(home, endpoint)
        assert (again.code, paths) == (0, [RESPONSES])
    (models,) = json.loads(kept(home))["wires"].values()
    assert models == {"gpt-5-codex": "responses"}
    assert "127.0.0.1" not in kept(home)


async def test_a_learned_api_is_forgotten_if_the_endpoint_no_longer_has_it(home: Home) -> None:
    gone: list[str] = []

    def answer(seen: Seen) -> Answer:
        if gone:
            return refuse(404) if seen.path in gone else done(seen)
        return wants_responses(seen)

    async with LoopbackEndpoint(answer) as endpoint:
        await run(home, endpoint)
        gone.append(RESPONSES)
        ended, paths = await run(home, endpoint)
        assert (ended.code != 0, paths) == (True, [RESPONSES])
        ended, paths = await run(home, endpoint)
        assert (ended.code, paths) == (0, [CHAT])


async def test_a_configured_api_is_kept_if_the_endpoint_asks_for_another(home: Home) -> None:
    async with LoopbackEndpoint(wants_responses) as endpoint:
        ended, paths = await run(home, endpoint, 'wire = "chat"')
        assert (ended.code != 0, paths) == (True, [CHAT])
        ended, paths = await run(home, endpoint, 'wire = "responses"')
        assert (ended.code, paths) == (0, [RESPONSES])
    assert not [*home.state.rglob("wires.json")]


async def test_an_api_choice_without_an_answer_is_not_stored(home: Home) -> None:
    def neither(seen: Seen) -> Answer:
        return refuse(404, ONLY_RESPONSES if seen.path == CHAT else "no such path")

    async with LoopbackEndpoint(neither) as endpoint:
        ended, paths = await run(home, endpoint)
        assert (ended.code != 0, paths) == (True, [CHAT, RESPONSES])
    assert not [*home.state.rglob("wires.json")]
