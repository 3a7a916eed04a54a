"""Tests SYS-02: signals end the server in order or have no effect; a stopped server continues."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from faults.signals import storm
from support.editing import SERVE, Home, bash, running
from support.loopback_endpoint import LoopbackEndpoint, chunk, say, stream
from support.raw_client import SCRIPTED, raw_client

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="signals, and a look into /proc")

# seconds; the promise is 2 s on a quiet machine, and the test's command never ends
AT_MOST_S = 60.0
ENDING = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]


async def test_a_signal_ends_the_turn_and_its_processes_and_leaves_a_complete_session(
    tmp_path,
) -> None:
    await asyncio.gather(*(ended_by(number, tmp_path / number.name) for number in ENDING))


async def ended_by(number: signal.Signals, folder: Path) -> None:
    folder.mkdir()
    home, marker = Home(folder), f"1000.{secrets.randbelow(10**9):09}"
    async with (
        LoopbackEndpoint([bash(f"echo started; sleep {marker}")]) as endpoint,
        raw_client(home, command=SERVE, environment=home.environment(endpoint.base_url)) as client,
    ):
        client.ask("indwell/prompt", {"text": "sleep"})
        await client.wait_until(lambda: "toolOutput" in str(client.of("indwell/event")))
        assert running(marker) != []
        os.kill(client.pid, number)
        assert await client.ended(timeout_s=AT_MOST_S) == 128 + number, client.stderr
        assert running(marker) == []
        assert "Traceback" not in client.stderr
    assert [ending for ending, _ in home.endings()] == ["interrupted"]


@pytest.fixture
def not_ignored() -> Iterator[None]:
    """Make child processes react to a hang-up, even if the tests run under ``nohup``."""
    before = {number: signal.signal(number, signal.SIG_DFL) for number in ENDING}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("not_ignored")
@pytest.mark.parametrize("number", ENDING)
async def test_a_signal_before_initialize_ends_the_server_without_a_traceback(
    tmp_path, number
) -> None:
    async with raw_client(Home(tmp_path), command=SCRIPTED, hello=False) as client:
        await client.request("no/such")
        os.kill(client.pid, number)
        code = await client.ended(timeout_s=AT_MOST_S)
        assert (code in {-number, 128 + number}, client.stderr) == (True, "")


async def test_signals_of_a_broken_pipe_or_a_resized_terminal_are_ignored(tmp_path) -> None:
    async with raw_client(Home(tmp_path), command=SCRIPTED) as client:
        for number in (signal.SIGPIPE, signal.SIGWINCH, signal.SIGCHLD, signal.SIGURG):
            os.kill(client.pid, number)
            await client.heard()
        assert await client.say_goodbye() == 0


async def test_a_suspended_server_continues_its_turn_after_a_resume_signal(tmp_path) -> None:
    """Ctrl+Z, or closing a laptop's lid during an answer, suspends the server."""
    home, go_on = Home(tmp_path), asyncio.Event()
    words = [chunk({"content": f"{number} "}) for number in range(50)]
    script = [stream(*words[:25], go_on, *words[25:], chunk({}, finish="stop")), say("Again.")]
    async with (
        LoopbackEndpoint(script) as endpoint,
        raw_client(home, command=SERVE, environment=home.environment(endpoint.base_url)) as client,
    ):
        asked = client.ask("indwell/prompt", {"text": "count"})
        await client.wait_until(lambda: "24 " in str(client.of("indwell/event")))
        os.kill(client.pid, signal.SIGSTOP)
        for number in range(100):
            client.ask("no/such", id_=number)
        go_on.set()
        os.kill(client.pid, signal.SIGCONT)
        answer = await client.answer(asked)
        assert answer["result"]["answer"] == "".join(f"{number} " for number in range(50))
        for number in range(100):
            await client.answer(number)
        assert (await client.prompt())["result"]["answer"] == "Again."
        assert await client.say_goodbye() == 0


async def test_signals_at_any_moment_leave_sessions_undamaged(tmp_path) -> None:
    """Runs a short form of ``tests/faults/signals.py``."""
    await storm(tmp_path, n_rounds=3, seed=2)
