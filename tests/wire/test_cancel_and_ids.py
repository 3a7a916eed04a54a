"""Requests in flight: cancelled, sent twice, answered out of order, left unanswered."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from support.editing import Home, Playlist
from support.loopback_endpoint import HANG, LoopbackEndpoint, chunk, say, stream
from support.raw_client import HATCHED, RawClient, raw_client
from support.raw_wire import error_of

pytestmark = pytest.mark.asyncio(loop_scope="module")

CANCELLED, INVALID, NOT_FOUND = -32800, -32600, -32601


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def desk(tmp_path_factory) -> AsyncIterator[tuple[RawClient, Playlist, LoopbackEndpoint]]:
    home, playlist = Home(tmp_path_factory.mktemp("desk")), Playlist()
    async with (
        LoopbackEndpoint(playlist) as endpoint,
        raw_client(
            home, command=HATCHED, environment=home.environment(endpoint.base_url)
        ) as client,
    ):
        yield client, playlist, endpoint
        assert await client.say_goodbye() == 0
    home.logs()


async def hanging(desk, id_: object) -> None:
    """Send a prompt whose model has begun to answer and then sends nothing."""
    client, playlist, endpoint = desk
    playlist.play(stream(chunk({"content": "I"}), HANG), say("And on."))
    endpoint.gone.clear()
    n_events = len(client.of("indwell/event"))
    client.ask("indwell/prompt", {"text": "hang"}, id_=id_)
    await client.wait_until(
        lambda: "text" in [one["event"]["type"] for one in client.of("indwell/event")[n_events:]]
    )


async def goes_on(desk) -> None:
    client, _, _ = desk
    assert (await client.prompt("go on"))["result"]["answer"] == "And on."


@pytest.mark.parametrize("id_", [10_001, "ten thousand and two", 2**53, ""])
async def test_lsp_17_a_cancelled_running_request_is_answered_once_and_its_work_stops(
    desk, id_
) -> None:
    client, _, endpoint = desk
    before = len(client.answers(id_))
    await hanging(desk, id_)
    for _ in range(3):
        client.notify("$/cancelRequest", {"id": id_})
    await client.wait_until(lambda: len(client.answers(id_)) > before)
    answer = client.answers(id_)[-1]
    assert error_of(answer) == (id_, CANCELLED)
    assert answer["error"]["data"] == {"draft": ""}  # The turn ended in order, and used the text.
    async with asyncio.timeout(60):
        await endpoint.gone.wait()  # the connection to the model is closed
    await goes_on(desk)
    assert len(client.answers(id_)) == before + 1


async def test_lsp_17_cancelling_a_request_that_does_not_run_is_ignored(desk) -> None:
    client, _, _ = desk
    finished = client.ask("no/such")
    await client.answer(finished)
    before = len(client.messages)
    for id_ in (finished, "never asked", 1, 1.5, None, [1], {"a": 1}, True):
        client.notify("$/cancelRequest", {"id": id_})
    client.notify("$/cancelRequest")
    client.notify("$/cancelRequest", [])
    await client.heard()
    assert len(client.messages) == before + 1


async def test_lsp_18_a_second_request_with_an_id_in_flight_is_refused(desk) -> None:
    client, _, _ = desk
    await hanging(desk, "twice")
    client.ask("no/such", id_="twice")
    client.ask("indwell/prompt", {"text": "again"}, id_="twice")
    await client.heard()
    assert [error_of(one) for one in client.answers("twice")] == [("twice", INVALID)] * 2
    client.notify("$/cancelRequest", {"id": "twice"})
    await client.wait_until(lambda: len(client.answers("twice")) == 3)
    assert error_of(client.answers("twice")[-1]) == ("twice", CANCELLED)
    await goes_on(desk)


async def test_other_requests_are_answered_while_a_turn_runs(desk) -> None:
    client, _, _ = desk
    await hanging(desk, "long")
    for _ in range(20):
        assert error_of(await client.request("no/such"))[1] == NOT_FOUND
    assert client.answers("long") == []
    client.notify("$/cancelRequest", {"id": "long"})
    await client.answer("long")
    await goes_on(desk)


async def test_a_request_that_is_cancelled_in_the_same_write_is_answered_once(desk) -> None:
    client, playlist, _ = desk
    playlist.play(say("never wanted"), say("And on."))
    for number in range(20):
        id_ = f"breath-{number}"
        client.ask("indwell/prompt", {"text": "go"}, id_=id_)
        client.notify("$/cancelRequest", {"id": id_})
    for number in range(20):
        await client.answer(f"breath-{number}")
    await client.heard()
    for number in range(20):
        ((_, code),) = map(error_of, client.answers(f"breath-{number}"))
        assert code in {CANCELLED, None, -32803}
    playlist.play(say("And on."))
    await goes_on(desk)


async def test_a_shutdown_during_a_turn_answers_shutdown_and_prompt(tmp_path) -> None:
    home = Home(tmp_path)
    async with (
        LoopbackEndpoint([stream(chunk({"content": "I"}), HANG)]) as endpoint,
        raw_client(
            home, command=HATCHED, environment=home.environment(endpoint.base_url)
        ) as client,
    ):
        asked = client.ask("indwell/prompt", {"text": "hang"})
        await client.wait_until(lambda: endpoint.seen != [])
        assert await client.say_goodbye() == 0
        (answer,) = client.answers(asked)
        assert error_of(answer)[1] == CANCELLED or answer["result"]["ending"] == "interrupted"
    assert [ending for ending, _ in home.endings()] == ["interrupted"]


SETTINGS = {
    "never answered": "silence",
    "null": lambda _params: None,
    "another shape": lambda _params: [5, {"mode": ["x"]}, "y"],
    "no list": lambda _params: {"mode": "plan"},
}


async def test_lsp_24_an_editor_that_sends_no_settings_gets_the_defaults(tmp_path) -> None:
    """All cases run at once, because the unanswered request takes five seconds."""

    async def one(name: str, reply: object) -> tuple[str, int]:
        (tmp_path / name).mkdir()
        async with raw_client(Home(tmp_path / name), hello=False) as client:
            client.replies["workspace/configuration"] = reply
            client.replies["client/registerCapability"] = reply
            hello = client.hello()
            hello["capabilities"]["workspace"] |= {"configuration": True}
            await client.request("initialize", hello)
            client.notify("initialized", {})
            client.notify("workspace/didChangeConfiguration", {"settings": None})
            ending = (await client.prompt())["result"]["ending"]
            return ending, await client.say_goodbye()

    ended = await asyncio.gather(*(one(*case) for case in SETTINGS.items()))
    assert dict(zip(SETTINGS, ended, strict=True)) == dict.fromkeys(SETTINGS, ("done", 0))
