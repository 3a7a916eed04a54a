"""If the editor is gone or does not read, the server ends, and uses little memory until then."""

from __future__ import annotations

import asyncio
import secrets
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from support.editing import READ, Home, bash, running
from support.loopback_endpoint import HANG, Answer, LoopbackEndpoint, chunk, say, sse, stream
from support.process_facts import forget_peak
from support.raw_client import HATCHED, RawClient, raw_client
from support.raw_wire import LEAVES_S

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

MEGABYTE = 1 << 20
N_PIECES = 60_000


@asynccontextmanager
async def serving(home: Home, script: object) -> AsyncIterator[tuple[RawClient, LoopbackEndpoint]]:
    """Yield a raw client whose server uses a loopback endpoint."""
    async with (
        LoopbackEndpoint(script) as endpoint,
        raw_client(
            home, command=HATCHED, environment=home.environment(endpoint.base_url)
        ) as client,
    ):
        yield client, endpoint


def another_process(*command: str) -> subprocess.Popen[bytes]:
    """Start a process that is not a child of the server and holds no pipe of the test."""
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, close_fds=True)


async def test_lsp_13_no_process_of_a_turn_is_left_when_the_editor_hangs_up(tmp_path) -> None:
    home, marker = Home(tmp_path), f"1000.{secrets.randbelow(10**9):09}"
    async with serving(home, [bash(f"echo started; sleep {marker}")]) as (client, _):
        client.ask("indwell/prompt", {"text": "sleep"})
        await client.wait_until(lambda: "toolOutput" in kinds(client))
        assert running(marker) != []
        client.close_stdin()
        assert await client.ended(timeout_s=LEAVES_S) == 1
        assert running(marker) == []
    assert home.endings() == [("interrupted", "")]


async def test_lsp_14_the_server_ends_with_its_editor_even_if_a_process_holds_the_pipe(
    tmp_path,
) -> None:
    home = Home(tmp_path)
    editor = another_process("sleep", "600")
    async with raw_client(home, hello=False) as client:
        await client.initialize(processId=editor.pid)
        await client.prompt()
        assert client.is_running
        editor.kill()
        editor.wait()
        await client.ended(timeout_s=LEAVES_S)
    assert [ending for ending, _ in home.endings()] == ["done"]


async def test_an_editor_process_that_cannot_be_seen_counts_as_alive(tmp_path) -> None:
    """The editor is outside of the container in which the server runs."""
    elsewhere = another_process("true")
    elsewhere.wait()
    async with raw_client(Home(tmp_path), hello=False) as client:
        await client.initialize(processId=elsewhere.pid)
        assert (await client.prompt())["result"]["ending"] == "done"
        assert await client.say_goodbye() == 0


async def test_lsp_15_the_server_ends_when_its_output_is_closed(tmp_path) -> None:
    async with raw_client(Home(tmp_path)) as client:
        client.close_stdout()
        for _ in range(3):
            with suppress(BrokenPipeError):
                client.ask("no/such")
        await client.ended(timeout_s=LEAVES_S)
        assert client.stderr.count("Traceback") == 0


def big_stream() -> Answer:
    """Return 60,000 chunks, 10 MB as events; the last call shows that all were received."""
    # Text that repeats sooner would be cut off.
    piece = b"".join(sse(chunk({"content": f"{number:09} "})) for number in range(200))
    call = {"index": 0, "id": "id_0", "type": "function"}
    call["function"] = {"name": READ[0], "arguments": READ[1]}
    last = (chunk({"tool_calls": [call]}), chunk({}, finish="tool_calls"))
    return stream(*([piece] * (N_PIECES // 200)), *last)


async def all_was_taken(endpoint: LoopbackEndpoint, n_requests: int) -> None:
    """Wait until the endpoint has received this many requests."""
    async with asyncio.timeout(60):
        while len(endpoint.seen) < n_requests:
            endpoint.arrived.clear()
            await endpoint.arrived.wait()


async def test_lsp_15_a_client_that_does_not_read_costs_little_memory_and_no_processor_time(
    tmp_path,
) -> None:
    home = Home(tmp_path)
    home.configure("window = 10_000_000\n")
    script = [say("All that is heavy is imported now."), big_stream(), say("Done.")]
    async with serving(home, script) as (client, endpoint):
        await client.prompt()
        client.open_shop()
        await client.heard()
        forget_peak(client.pid)
        before = client.facts
        client.stop_reading()
        asked = client.ask("indwell/prompt", {"text": "stream"})
        await all_was_taken(endpoint, 3)
        blocked = client.facts.cpu_s
        await asyncio.sleep(1.0)  # not a wait, but the period in which a busy loop would show
        assert client.facts.cpu_s - blocked < 0.3
        assert client.facts.peak_b - before.rss_b < 64 * MEGABYTE
        # The client reads again: the wire is intact, and the turn and the request have ended.
        n_before = len(client.messages)
        client.resume_reading()
        assert (await client.answer(asked))["result"]["ending"] == "done"
        news = [one["params"] for one in client.messages[n_before:] if "params" in one]
        kinds_ = [one["event"]["type"] for one in news if "event" in one]
        assert (kinds_[-1], kinds_.count("text") < N_PIECES) == ("turnFinished", True)
        numbers = [one["seq"] for one in client.of("indwell/event")]
        assert numbers == sorted(set(numbers))
        assert await client.say_goodbye() == 0


async def test_lsp_16_a_reply_of_ten_megabytes_to_a_client_that_does_not_read_is_limited(
    tmp_path,
) -> None:
    home = Home(tmp_path)
    home.configure("window = 10_000_000\n")
    piece = "".join(f"{number:5}" for number in range(2_000))
    endless = stream(*[chunk({"content": piece})] * 1_000, chunk({}, finish="stop"))
    async with serving(home, [say("All is imported now."), endless]) as (client, endpoint):
        await client.prompt()
        forget_peak(client.pid)
        before = client.facts
        client.stop_reading()
        asked = client.ask("indwell/prompt", {"text": "stream"})
        async with asyncio.timeout(60):
            while home.n_ended() < 2:  # noqa: ASYNC110 - the log is all that can be seen
                await asyncio.sleep(0.02)
        assert client.facts.peak_b - before.rss_b < 40 * MEGABYTE
        client.resume_reading()
        result = (await client.answer(asked))["result"]
        address = endpoint.base_url
        why = f"the reply from {address} is over 2,000,000 characters and was cut off there"
        assert (result["ending"], result["message"]) == (
            "failed",
            f"the reply broke off: {why}; ask to go on",
        )
        assert result["answer"] == piece * 200
        assert await client.say_goodbye() == 0


async def test_lsp_16_a_slow_editor_does_not_block_a_command_with_ten_megabytes_of_output(
    tmp_path,
) -> None:
    home = Home(tmp_path)
    script = [bash("head -c 10000000 /dev/zero | tr '\\0' 'x' | fold -w 99"), say("Done.")]
    async with serving(home, script) as (client, endpoint):
        client.open_shop()
        await client.heard()
        client.ask("indwell/prompt", {"text": "print"})
        await client.wait_until(lambda: "toolStarted" in kinds(client))
        client.stop_reading()
        before = client.facts  # all modules that a turn needs are loaded now
        taken = asyncio.create_task(all_was_taken(endpoint, 2))
        n_bytes = 0
        while not taken.done() or n_bytes < 2:
            n_bytes += client.read_some(1)
            await asyncio.sleep(1.0)  # the test case names this pace
        await taken
        assert client.facts.peak_b - before.rss_b < 64 * MEGABYTE
        # The client never reads again, but can still disconnect.
        client.close_stdin()
        await client.ended(timeout_s=LEAVES_S)
    assert len(home.endings()) == 1


async def test_the_server_ends_at_a_disconnect_while_a_model_is_silent(tmp_path) -> None:
    home = Home(tmp_path)
    async with serving(home, [stream(chunk({"content": "I"}), HANG)]) as (client, endpoint):
        client.ask("indwell/prompt", {"text": "hang"})
        await client.wait_until(lambda: "text" in kinds(client))
        client.close_stdin()
        await client.ended(timeout_s=LEAVES_S)
        async with asyncio.timeout(60):
            await endpoint.gone.wait()
    ((ending, _),) = home.endings()
    assert ending == "interrupted"


def kinds(client: RawClient) -> set[str]:
    return {one["event"]["type"] for one in client.of("indwell/event")}
