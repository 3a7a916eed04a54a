"""Measures the time between a model's answer and the next request: 100 calls, up to 0.5 MB.

The model runs in a separate process and answers at once. The log is on disk and the tool reads real
files; the tool's time does not count. The same run measures a raw socket that sends the same bytes
(the floor), and a loop that calls the SDK with all messages each time. Figures in milliseconds.

    python benchmarks/gap.py [chat | responses | messages] [profile]

The loop that calls the SDK speaks chat completions.
"""

from __future__ import annotations

import asyncio
import cProfile
import json
import pstats
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import openai
from instant_endpoint import TURNS

from indwell.agent.core.prompt import Prompt
from indwell.agent.core.session import Session
from indwell.agent.core.session_features import Features
from indwell.agent.core.session_parts import Parts, SessionModel, TurnLimits
from indwell.agent.features.review_news import ReviewNews
from indwell.agent.loop.turn import run_turn
from indwell.bounds.rules import ReadableFolders, Rules
from indwell.context.conversation import Config, Conversation, system_block
from indwell.messages import Usage
from indwell.policy.call_facts import Policy
from indwell.prompt.reminders import Surroundings
from indwell.prompt.system import Machine, system_prompt
from indwell.providers.client import EndpointClient
from indwell.providers.retry import Retrying
from indwell.providers.wires.dialect import Dialect, WireName
from indwell.providers.wires.encoder import LAYOUTS
from indwell.sessions.storage.store import SessionStore
from indwell.tools.base import Call, Outcome, ToolContext
from indwell.tools.commands.bash import Shell
from indwell.wiring.features import standard_tools
from indwell.wiring.spill import SpillFolder
from indwell.workspace.disk import DiskWorkspace
from support.wire_streams import WIRES

FILE_B = 5_000  # bytes of each file; 100 files make 0.5 MB


def make_files(folder: Path) -> None:
    line = "def f{}(value): return value * {}  # a line like any other\n"
    for n in range(1, TURNS + 1):
        text = "".join(line.format(i, n * i) for i in range(FILE_B // 60))
        (folder / f"file-{n}.txt").write_text(text)


class Clocked:
    """Measures the wall-clock time of each tool call."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def wrap(self, call: Call) -> Call:
        inner = call.run

        async def run(context: ToolContext) -> Outcome:
            began = time.monotonic()
            try:
                return await inner(context)
            finally:
                self.seconds.append(time.monotonic() - began)

        return msgspec.structs.replace(call, run=run)


async def ours(base_url: str, folder: Path, wire: WireName) -> list[float]:
    """Run the agent; return the tools' time of each turn."""
    clocked = Clocked()
    tools = standard_tools(Shell(folder, timeout_s=10))
    bind = tools.bind
    tools.bind = lambda name, arguments: clocked.wrap(bind(name, arguments))  # type: ignore[method-assign] # a stop watch
    store = SessionStore(folder / "state", folder)
    identifier, log = store.create(model="m", now=datetime.now(UTC))
    spill = store.spill(identifier)

    async def surroundings() -> Surroundings:
        return Surroundings("2026-11-21", str(folder), "main", "m")

    async def nothing(*_: object) -> str:
        return ""

    dialect = Dialect(wire=wire, cache_marks=wire == "messages")
    provider = EndpointClient(base_url=base_url, api_key="k", dialect=dialect)
    parts = Parts(
        model=SessionModel(Retrying(provider), lambda usage: usage.output * 1e-6),
        limits=TurnLimits(1_000),
        tools=tools,
        features=Features((ReviewNews().feature(),)),
        workspace=DiskWorkspace([folder]),
        approver=None,  # type: ignore[arg-type] # nothing asks
        rules=lambda: Rules(Policy("auto"), hidden=lambda _path: False),
        grant=nothing,  # type: ignore[arg-type] # nothing is granted
        log=log,
        spill=SpillFolder(spill),
        readable=ReadableFolders((spill,)),
        surroundings=surroundings,
    )
    machine = Machine(system="Linux", architecture="x", shell="bash", python="3.11")  # noqa: S604 - a word for the prompt
    prompt = system_prompt(machine)
    conversation = Conversation(
        Config("m", 2_000_000, 8_000, identifier), (system_block(prompt),), tools.specs
    )
    session = Session(identifier, parts, conversation)
    finished = await run_turn(session, Prompt("read them all"), lambda _event: None)
    assert (finished.ending, finished.rounds) == ("done", TURNS + 1), finished
    assert finished.usage.output == Usage(output=20 * (TURNS + 1)).output
    await session.close()
    await provider.aclose()
    return clocked.seconds


async def naive(base_url: str, folder: Path) -> list[float]:
    """Send all messages through the SDK each time, as most agents do."""
    client = openai.AsyncOpenAI(base_url=base_url, api_key="k")
    messages: list[Any] = [{"role": "user", "content": "read them all"}]
    tools: Any = [{"type": "function", "function": {"name": "read_file", "parameters": {}}}]
    spent = []
    while True:
        stream = await client.chat.completions.create(
            model="m", messages=messages, tools=tools, stream=True
        )
        name, identifier, arguments = "", "", ""
        async for chunk in stream:
            for choice in chunk.choices:
                for piece in choice.delta.tool_calls or ():
                    assert piece.function is not None
                    identifier = piece.id or identifier
                    name += piece.function.name or ""
                    arguments += piece.function.arguments or ""
        if not name:
            return spent
        began = time.monotonic()
        text = (folder / json.loads(arguments)["path"]).read_text()
        spent.append(time.monotonic() - began)
        call = {"name": name, "arguments": arguments}
        calls = [{"id": identifier, "type": "function", "function": call}]
        messages.append({"role": "assistant", "content": None, "tool_calls": calls})
        messages.append({"role": "tool", "tool_call_id": identifier, "content": text})


def raw(port: int, bodies: list[bytes], wire: WireName) -> list[float]:
    """Send the same bytes through a raw socket."""
    path = f"/v1{LAYOUTS[wire].PATH}"
    with socket.create_connection(("127.0.0.1", port)) as line:
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for body in bodies:
            head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}"
            line.sendall(head.encode() + b"\r\n\r\n" + body)
            data = line.recv(65_536)
            length = int(data.partition(b"Content-Length: ")[2].partition(b"\r\n")[0])
            while len(data) - data.index(b"\r\n\r\n") - 4 < length:
                data += line.recv(65_536)
    return [0.0] * TURNS


Times = list[tuple[float, float, float]]


def show(name: str, times: Times, tools: list[float], wire: list[float] | None) -> list[float]:
    """Print a row; return the gaps until each whole request, without the tools' time.

    ``wire`` are the gaps of the raw socket: the time that any client needs for the bytes.
    """
    pairs = list(zip(times, times[1:], tools, strict=False))
    assert len(pairs) == TURNS
    begun = [(after[0] - before[2] - tool) * 1e3 for before, after, tool in pairs]
    whole = [(after[1] - before[2] - tool) * 1e3 for before, after, tool in pairs]
    own = [gap - carried for gap, carried in zip(whole, wire, strict=True)] if wire else None
    for what, gaps in (("begins to arrive", begun), ("is whole", whole), ("less the wire", own)):
        if gaps is None:
            continue
        first, last = statistics.median(gaps[:10]), statistics.median(gaps[-10:])
        p95 = sorted(gaps)[int(len(gaps) * 0.95)]
        print(
            f"{name:20} {what:17} median {statistics.median(gaps):6.2f}  p95 {p95:6.2f}  first 10 "
            f"{first:6.2f}  last 10 {last:6.2f}  last/first {last / first:5.2f}"
        )
    return whole


def main() -> None:
    """Run all three against one endpoint."""
    here = Path(__file__).parent
    wire = next((one for one in WIRES if one in sys.argv[1:]), "chat")
    endpoint = subprocess.Popen(
        [sys.executable, str(here / "instant_endpoint.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert endpoint.stdout is not None
    assert endpoint.stdin is not None
    port = int(endpoint.stdout.readline())

    def get(path: str) -> bytes:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}") as answer:
            return bytes(answer.read())

    def measured(run: Callable[[], list[float]]) -> tuple[Times, list[float]]:
        get("/reset")
        began = time.process_time()
        tools = run()
        cpu_ms = (time.process_time() - began) * 1e3 / TURNS
        print(f"{cpu_ms:.2f} ms of our CPU a turn, with the tools:")
        return json.loads(get("/times")), tools

    url = f"http://127.0.0.1:{port}/v1"
    try:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name).resolve()
            make_files(folder)
            asyncio.run(ours(url, folder, wire))  # warms imports and caches, as in a running server
            profile = cProfile.Profile()
            if "profile" in sys.argv:
                profile.enable()
            mine = measured(lambda: asyncio.run(ours(url, folder, wire)))
            profile.disable()
            bodies = [get(f"/body/{n}") for n in range(TURNS + 1)]
            print(f"{wire}, milliseconds; the last request has {len(bodies[-1]):,} bytes")
            floor = show("raw socket (floor)", *measured(lambda: raw(port, bodies, wire)), None)
            gap = statistics.median(show("indwell", *mine, floor))
            loop = measured(lambda: asyncio.run(naive(url, folder)))
            slow = statistics.median(show("naive SDK loop", *loop, None))
            print(f"indwell is {slow / gap:.1f} times as fast as the naive loop")
            if "profile" in sys.argv:
                pstats.Stats(profile).sort_stats("tottime").print_stats(45)
    finally:
        endpoint.stdin.close()
        endpoint.wait(5)


if __name__ == "__main__":
    main()
