"""If no thread can start, each prompt is answered or fails, and the log stays usable."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from editors.place import missing
from faults.edit_faults import strace
from support.editing import SERVE, Home, bash
from support.loopback_endpoint import Answer, LoopbackEndpoint, Seen, say
from support.raw_client import RawClient, launched, raw_client

# The code behaves as if clone(2) returned EAGAIN, until SIGUSR2.
NO_ROOM = """
import signal, sys, threading
start = threading._start_new_thread
def refuse(*_arguments, **_named):
    raise RuntimeError("can't start new thread")
def switch(number, _frame):
    threading._start_new_thread = refuse if number == signal.SIGUSR1 else start
    sys.stderr.write(f"switched {number}\\n")
signal.signal(signal.SIGUSR1, switch)
signal.signal(signal.SIGUSR2, switch)
"""


def runs_it(seen: Seen) -> Answer:
    """Answer with one command for each prompt, and then end the turn."""
    return say("Well.") if seen.body["messages"][-1]["role"] == "tool" else bash("echo hi")


async def switched(client: RawClient, number: signal.Signals) -> None:
    os.kill(client.pid, number)
    await client.wait_until(lambda: f"switched {int(number)}" in client.stderr)


def is_answered(message: object) -> bool:
    """Return whether the prompt is done (its command may have failed) or failed with a message."""
    assert isinstance(message, dict)
    said = message.get("error") or message["result"]
    return said.get("ending") == "done" or "no room for another" in said["message"]


async def test_every_prompt_is_answered_even_if_the_kernel_refuses_threads(
    tmp_path: Path,
) -> None:
    tracer = strace()
    if tracer is None:
        missing("there is no strace that may trace")
    home = Home(tmp_path)
    async with (
        LoopbackEndpoint(runs_it) as endpoint,
        raw_client(home, command=SERVE, environment=home.environment(endpoint.base_url)) as client,
    ):
        assert (await client.prompt("hello"))["result"]["ending"] == "done"
        fault = "inject=clone,clone3,fork,vfork:error=EAGAIN"
        tracing = await asyncio.create_subprocess_exec(
            *(tracer, "-f", "-o", os.devnull, "-p", str(client.pid)),
            *("-e", "trace=clone,clone3,fork,vfork", "-e", fault),
            stderr=asyncio.subprocess.PIPE,
        )
        assert tracing.stderr is not None
        assert b"attached" in await tracing.stderr.readline()
        asking = [
            client.request("indwell/prompt", {"text": f"new {number}", "session": "new"})
            for number in range(3)
        ]
        said = [await one for one in asking]
        assert [one for one in said if not is_answered(one)] == []
        tracing.terminate()
        await tracing.communicate()
        assert (await client.prompt("after"))["result"]["ending"] == "done"


@pytest.mark.parametrize("is_fresh", [True, False], ids=["from the start", "in the middle"])
async def test_without_new_threads_each_prompt_gets_an_error_and_later_prompts_work(
    tmp_path: Path, *, is_fresh: bool
) -> None:
    home = Home(tmp_path)
    async with (
        LoopbackEndpoint(runs_it) as endpoint,
        raw_client(
            home, command=launched(NO_ROOM), environment=home.environment(endpoint.base_url)
        ) as client,
    ):
        if not is_fresh:
            assert (await client.prompt("hello"))["result"]["ending"] == "done"
        await switched(client, signal.SIGUSR1)
        said = [await client.prompt(f"again {number}") for number in range(3)]
        said.append(await client.request("indwell/prompt", {"text": "new", "session": "new"}))
        assert [one for one in said if not is_answered(one)] == []
        await switched(client, signal.SIGUSR2)
        assert (await client.prompt("after"))["result"]["ending"] == "done"
    assert all(log for log in home.logs()), "what was acknowledged is in the log"
