"""Answers that are repeated, late, unrequested, too long or missing: POL-08 to POL-10."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from support.editing import Home, bash
from support.loopback_endpoint import Answer, LoopbackEndpoint, Seen, say
from support.raw_client import HATCHED, RICH, RawClient, raw_client
from support.raw_wire import Message

COMMAND = "rm -f gone; echo ran > made.txt"
UNANSWERED = "nobody answered whether this may run"
REFUSED = "the user did not allow this"


def runs_it(seen: Seen) -> Answer:
    """Run the command once per prompt, and then end the turn."""
    return say("Well.") if seen.body["messages"][-1]["role"] == "tool" else bash(COMMAND)


def told(endpoint: LoopbackEndpoint) -> str:
    """Return the result of the command for the model."""
    return str(endpoint.seen[-1].body["messages"][-1]["content"])


async def question(
    client: RawClient, method: str = "indwell/permission", *, number: int = 1
) -> Message:
    """Return the n-th question as the request that the server sent."""

    def asked() -> list[Message]:
        return [one for one in client.messages if one.get("method") == method]

    await client.wait_until(lambda: len(asked()) >= number)
    return asked()[number - 1]


def answer(client: RawClient, to: Message, result: object) -> None:
    client.send({"jsonrpc": "2.0", "id": to["id"], "result": result})


async def withdrawn(client: RawClient, asked: Message) -> None:
    """Wait until the server has cancelled the question, so that its card disappears."""
    gone = {"id": asked["id"]}
    await client.wait_until(
        lambda: any(
            one.get("method") == "$/cancelRequest" and one["params"] == gone
            for one in client.messages
        )
    )


FIRST: Mapping[str, tuple[object, bool]] = {
    "with more in it": ({"answer": "once", "rule": "bash: *", "always": True}, True),
    "no": ({"answer": "no"}, False),
    "another spelling": ({"answer": "ONCE"}, False),
    "nothing in it": ({}, False),
    "null": (None, False),
    "a list": ([{"answer": "once"}], False),
}


async def test_pol_09_only_the_first_valid_answer_to_a_permission_counts(
    tmp_path,
) -> None:
    home = Home(tmp_path)
    made = home.workspace / "made.txt"
    async with (
        LoopbackEndpoint(runs_it) as endpoint,
        raw_client(
            home, command=HATCHED, environment=home.environment(endpoint.base_url)
        ) as client,
    ):
        client.replies["indwell/permission"] = "silence"
        for number, (name, (first, runs)) in enumerate(FIRST.items(), 1):
            prompt = client.ask("indwell/prompt", {"text": "run it"})
            asked = await question(client, number=number)
            for unknown in ("indwell-permission-99", 12_345, None, asked["params"]["id"]):
                client.send({"jsonrpc": "2.0", "id": unknown, "result": {"answer": "always"}})
            await client.heard()
            assert not made.exists()
            answer(client, asked, first)
            answer(client, asked, {"answer": "always"})
            assert (await client.answer(prompt))["result"]["ending"] == "done"
            assert made.exists() is runs, name
            assert runs or told(endpoint).startswith(REFUSED)
            made.unlink(missing_ok=True)
        assert not list((home.state / "permissions").glob("*.json"))  # no rule is stored
        assert await client.say_goodbye() == 0


async def test_pol_08_a_late_permission_answer_runs_no_command(tmp_path) -> None:
    home = Home(tmp_path)
    home.configure("answer_timeout_s = 0.2\n")
    async with (
        LoopbackEndpoint(runs_it) as endpoint,
        raw_client(
            home, command=HATCHED, environment=home.environment(endpoint.base_url)
        ) as client,
    ):
        client.replies["indwell/permission"] = "silence"
        assert (await client.prompt("run it"))["result"]["ending"] == "done"
        assert told(endpoint).startswith(UNANSWERED)
        asked = await question(client)
        await withdrawn(client, asked)
        answer(client, asked, {"answer": "always"})
        assert await client.say_goodbye() == 0
    assert not (home.workspace / "made.txt").exists()
    assert not list((home.state / "permissions").glob("*.json"))


async def test_pol_09_a_permission_answer_after_a_stopped_turn_runs_no_command(tmp_path) -> None:
    home = Home(tmp_path)
    async with (
        LoopbackEndpoint(runs_it) as endpoint,
        raw_client(
            home, command=HATCHED, environment=home.environment(endpoint.base_url)
        ) as client,
    ):
        client.replies["indwell/permission"] = "silence"
        prompt = client.ask("indwell/prompt", {"text": "run it"})
        asked = await question(client)
        client.notify("$/cancelRequest", {"id": prompt})
        await client.answer(prompt)
        await withdrawn(client, asked)
        events = [
            one["params"]["event"]
            for one in client.messages
            if one.get("method") == "indwell/event"
        ]
        assert [one["answer"] for one in events if one["type"] == "permissionAnswered"] == [
            "unanswered"
        ]
        answer(client, asked, {"answer": "once"})
        assert await client.say_goodbye() == 0
    assert not (home.workspace / "made.txt").exists()


@pytest.mark.parametrize("extensions", [RICH, ()], ids=["rich", "plain"])
async def test_pol_10_an_editor_that_cannot_ask_gives_no_permission(tmp_path, extensions) -> None:
    home = Home(tmp_path)
    refusal: Mapping[str, Any] = {"code": -32601, "message": "no such method"}
    method = "indwell/permission" if extensions else "window/showMessageRequest"
    async with (
        LoopbackEndpoint(runs_it) as endpoint,
        raw_client(
            home, command=HATCHED, environment=home.environment(endpoint.base_url), hello=False
        ) as client,
    ):
        await client.initialize(extensions=extensions)
        client.replies[method] = "silence"
        prompt = client.ask("indwell/prompt", {"text": "run it"})
        asked = await question(client, method)
        client.send({"jsonrpc": "2.0", "id": asked["id"], "error": refusal})
        assert (await client.answer(prompt))["result"]["ending"] == "done"
        assert told(endpoint).startswith(REFUSED)
        assert await client.say_goodbye() == 0
    assert not (home.workspace / "made.txt").exists()
