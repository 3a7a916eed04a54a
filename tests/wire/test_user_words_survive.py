"""The user's text is answered or kept: half characters, huge texts, a sudden end."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from support.editing import Home, Playlist
from support.fault_endpoint import FaultEndpoint, streamed
from support.loopback_endpoint import HANG, LoopbackEndpoint, say, stream
from support.raw_client import HATCHED, RawClient, raw_client
from support.raw_wire import LEAVES_S, PATIENCE_S, SILENCE

FAILED = -32803
EVIL = "bash\x1b]0;evil\x07\u202eabc\x9b\r\n\u2028"


@asynccontextmanager
async def playing(
    home: Home, *, extensions: tuple[str, ...] = ("events",)
) -> AsyncIterator[tuple[RawClient, Playlist]]:
    """Yield a raw client whose server uses an endpoint that plays a script."""
    playlist = Playlist()
    async with (
        LoopbackEndpoint(playlist) as endpoint,
        raw_client(
            home, command=HATCHED, environment=home.environment(endpoint.base_url), hello=False
        ) as client,
    ):
        await client.initialize(extensions=extensions)
        yield client, playlist


async def asked_of(playlist: Playlist) -> None:
    """Wait until the model receives a request."""
    async with asyncio.timeout(PATIENCE_S):
        await playlist.asked.wait()


def drafts(home: Home) -> list[str]:
    return [path.read_text(encoding="utf-8") for path in home.state.rglob("drafts/**/*.md")]


def hang_up(client: RawClient) -> None:
    client.close_stdin()


def terminate(client: RawClient) -> None:
    os.kill(client.pid, signal.SIGTERM)


def shut_down(client: RawClient) -> None:
    client.ask("shutdown")
    client.notify("exit")


@pytest.mark.parametrize("end", [hang_up, terminate, shut_down])
async def test_a_prompt_that_waits_for_its_session_is_kept_when_the_server_ends(
    tmp_path, end
) -> None:
    """The user is being asked for a model, and another prompt waits."""
    home = Home(tmp_path)
    async with raw_client(home, command=HATCHED, hello=False) as client:
        await client.initialize(extensions=())
        client.replies["window/showMessageRequest"] = SILENCE
        asked = client.ask("indwell/prompt", {"text": "PRECIOUS words"})
        client.ask("indwell/prompt", {"text": "\ud800 and more"})
        await client.wait_until(lambda: client.of("window/showMessageRequest") != [])
        end(client)
        await client.ended(timeout_s=LEAVES_S)
        assert client.answers(asked)[0]["result"]["draft"] == "PRECIOUS words"
        assert client.stderr.count("Traceback") == 0, client.stderr
    assert drafts(home) == ["PRECIOUS words\n\n---\n\n\ufffd and more\n"]


async def test_while_the_user_chooses_a_model_messages_for_a_turn_are_refused_at_once(
    tmp_path,
) -> None:
    async with raw_client(Home(tmp_path), command=HATCHED, hello=False) as client:
        await client.initialize(extensions=())
        client.replies["window/showMessageRequest"] = SILENCE
        asked = client.ask("indwell/prompt", {"text": "hello"})
        await client.wait_until(lambda: client.of("window/showMessageRequest") != [])
        steered = await client.request("indwell/steer", {"text": "faster"})
        assert steered["error"] == {
            "code": FAILED,
            "message": (
                "no turn is running yet; send the words with indwell/prompt, and they wait behind "
                "the prompt that is about to begin"
            ),
            "data": {"draft": "faster"},
        }
        assert client.answers(asked) == []


async def test_prompts_received_just_before_a_disconnect_are_kept(tmp_path) -> None:
    """The prompts are in the drafts, or in the log of a session that was opened in time."""
    home = Home(tmp_path)
    async with playing(home) as (client, playlist):
        playlist.play(stream(HANG))
        client.ask("indwell/prompt", {"text": "PRECIOUS words"})
        await client.close_stdin_when_sent()
        await client.ended(timeout_s=LEAVES_S)
    kept = [path.read_text(encoding="utf-8") for path in home.state.rglob("*") if path.is_file()]
    assert [text for text in kept if "PRECIOUS words" in text] != []


async def test_half_a_character_in_a_prompt_breaks_no_turn_and_no_queue(tmp_path) -> None:
    async with playing(Home(tmp_path)) as (client, playlist):
        playlist.play(stream(HANG), say("Two."), say("Three."), say("Four."))
        one = client.ask("indwell/prompt", {"text": "\ud800 one"})
        await asked_of(playlist)
        two = client.ask("indwell/prompt", {"text": "\udc00 two"})
        three = client.ask("indwell/prompt", {"text": "three"})
        steered = await client.request("indwell/steer", {"text": "\ud800 steer"})
        assert steered["result"]["delivered"] is True
        state = (await client.request("indwell/queue", {}))["result"]
        assert [one["text"] for one in state["waiting"]] == ["\ufffd two", "three"]
        edit = {"action": "edit", "id": state["waiting"][1]["id"], "text": "\ud800 other"}
        assert "result" in await client.request("indwell/queue", edit)
        await client.request("workspace/executeCommand", {"command": "indwell.cancel"})
        stopped = (await client.answer(one))["result"]
        assert stopped["draft"] == "\ufffd one\n\n\ufffd steer"
        await client.request("indwell/queue", {"action": "resume"})
        answers = [(await client.answer(asked))["result"]["answer"] for asked in (two, three)]
        assert answers == ["Two.", "Three."]
        task = {"text": "\ud800 why", "uri": client.open_shop(), "wait": True}
        ask = {"command": "indwell.ask", "arguments": [task]}
        asked = await client.request("workspace/executeCommand", ask)
        assert asked["result"]["answer"] == "Four."
        assert await client.say_goodbye() == 0
        assert client.stderr.count("Traceback") == 0, client.stderr


@pytest.mark.parametrize("method", ["indwell/prompt", "indwell/steer"])
async def test_a_huge_prompt_is_refused_with_a_message_and_returned(tmp_path, method) -> None:
    async with playing(Home(tmp_path)) as (client, playlist):
        playlist.play(stream(HANG))
        running = client.ask("indwell/prompt", {"text": "first"})
        await asked_of(playlist)
        words = "word " * 400_000
        refused = await client.request(method, {"text": words})
        assert refused["error"] == {
            "code": FAILED,
            "message": (
                "2,000,000 characters are more than the 1,000,000 that a message may have; put "
                "the text into a file of the workspace, and name the file"
            ),
            "data": {"draft": words},
        }
        assert client.answers(running) == []


async def test_text_that_would_fill_the_connection_is_not_sent_back(tmp_path) -> None:
    """34 MB in an error would exceed the limit of waiting bytes and end the connection."""
    async with playing(Home(tmp_path)) as (client, _):
        refused = await client.request("indwell/prompt", {"text": "word " * 7_000_000})
        assert list(refused["error"]) == ["code", "message"]
        assert await client.say_goodbye() == 0


async def test_text_shown_in_a_plain_editor_has_no_hidden_or_forged_parts(tmp_path) -> None:
    """The model's answer, a tool's name, and the endpoint's own messages."""
    home = Home(tmp_path)
    evil_call = {"index": 0, "id": "c1", "function": {"name": EVIL + "n" * 300, "arguments": "{}"}}
    script = [
        streamed(delta({"content": EVIL}), delta({"tool_calls": [evil_call]}, "tool_calls")),
        streamed(delta({"content": EVIL}), delta({}, "stop")),
    ]
    async with (
        FaultEndpoint(script) as endpoint,
        raw_client(
            home, command=HATCHED, environment=home.environment(endpoint.base_url), hello=False
        ) as client,
    ):
        hello = client.hello(())
        hello["capabilities"]["window"] = {"workDoneProgress": True}
        await client.request("initialize", hello)
        client.notify("initialized", {})
        task = {"uri": client.open_shop(), "wait": True}
        explain = {"command": "indwell.explain", "arguments": [task]}
        done = await client.request("workspace/executeCommand", explain)
        await client.wait_until(lambda: client.of("window/showMessage") != [])
        values = [one["value"] for one in client.of("$/progress")]
    assert done["result"]["ending"] == "done"
    lines = [one[name] for one in values for name in ("title", "message") if name in one]
    messages = [one["message"] for one in client.of("window/showMessage")]
    assert messages == [
        "bash\\u001b]0;evil\\u0007\\u202eabc\\u009b\\u000d\n\\u2028",
    ]
    assert any(line.startswith("bash\\u001b]0;evil") for line in lines)
    assert [line for line in lines if not line.isprintable() or len(line) > 700] == []


def delta(delta: dict[str, object], finish: str | None = None) -> dict[str, object]:
    """Return one chunk of a streamed reply."""
    return {
        "id": "x",
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }
