"""Live events, and events read back from the log, show the same panel.

The sessions have a scripted model. Their live events, and the page of events that the log gives
afterwards, go through the panel's own reducer in Node, and the results are compared.
"""

from __future__ import annotations

import asyncio
import random
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from editors.place import missing
from indwell.agent.core import events
from indwell.lsp.messages import methods as protocol
from indwell.lsp.messages.answers import session_result
from indwell.messages import Reply, Request, ToolCall, ToolUse
from indwell.messages import Text as Words
from indwell.messages import Thinking as Thought
from indwell.providers.scripted import Hang, hang
from indwell.sessions.imports import Recorded
from support.recorded import foreign_sessions
from support.session import World, a_tool, a_world, asks, call, says
from support.subagents import EDIT, PLAIN, READ, Model, a_house

EXTENSION = Path(__file__).resolve().parents[2] / "vscode-extension"
NODE = EXTENSION.parent / ".venv" / "bin" / "node"
FILES = {"a.py": "x = 1\ny = 2\n", "b.py": "z = 3\n"}
MOST_REPLIES = 40  # limit for a recorded session
RECORDINGS = ("pi", "codex", "opencode", "sweagent")

Story = dict[str, Any]


async def record_story(world: World) -> Story:
    """Return the events that a client received live, and those that it gets when it asks again."""
    await world.session.parts.log.commit()
    reading = world.store.open(world.session.id)
    page = session_result(world.session.id, reading, before=None, limit=100)
    return {
        "live": [protocol.event_json(one) for one in world.events],
        "page": {"session": page.session, "turns": [_plain(one) for one in page.turns]},
    }


def _plain(row: Any) -> dict[str, Any]:
    return {name: getattr(row, name) for name in ("turn", "at", "left", "cut", "events")}


def assert_equal_panels(stories: dict[str, Story], folder: Path) -> None:
    """Check that the panel shows each session as it was live when the session's page is read."""
    if not NODE.exists() and shutil.which("node") is None:
        missing("Node is not installed: scripts/setup")
    path = folder / "stories.json"
    path.write_bytes(msgspec.json.encode(stories))
    node = str(NODE) if NODE.exists() else "node"
    command = [node, "--no-warnings", "test/told-once.ts", str(path)]
    done = subprocess.run(
        command, cwd=EXTENSION, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-8000:]
    assert done.stdout == f"{len(stories)} agree\n"


async def test_live_and_logged_events_agree_after_sub_agents_edits_and_failures(
    tmp_path: Path,
) -> None:
    lost = asks(call("read_file", "m1", path="nowhere.py"))
    model = Model(
        [
            asks(call("agent", "c1", task="first"), call("agent", "c2", task=PLAIN)),
            asks(call("read_file", "r9", path="shop.py"), text="I look again."),
            says("done"),
        ],
        children={"first": [READ, says("x")], PLAIN: [READ, EDIT, lost, says("mended")]},
    )
    async with a_house(tmp_path, model) as (world, _):
        await world.turn()
        assert_equal_panels({"house": await record_story(world)}, tmp_path)


async def test_live_and_logged_events_agree_after_stopped_steered_and_failed_turns(
    tmp_path: Path,
) -> None:
    stories: dict[str, Story] = {}
    stories["steered"] = await _steered(tmp_path / "steered")
    stories["cancelled"] = await _cancelled(tmp_path / "cancelled")
    stories["steered too late"] = await _steered_too_late(tmp_path / "late")
    stories["compacted"] = await _compacted(tmp_path / "compacted")
    stories["in a call"] = await _in_a_call(tmp_path / "call")
    assert_equal_panels(stories, tmp_path)


async def _steered(folder: Path) -> Story:
    def steers(_request: Request) -> Reply:
        world.session.steer("use tabs")
        world.session.steer("and be brief")
        return Reply("I read.", (call("read_file", path="a.py"),), "hm", "tool_calls")

    async with a_world(folder, [steers, says("Brief."), says("Again.")], files=FILES) as world:
        await world.turn("read it", title="Read")
        await world.turn("and again")
        return await record_story(world)


async def _cancelled(folder: Path) -> Story:
    async with a_world(folder, [hang("Half an answer"), says("whole")], files=FILES) as world:
        task = world.begin("say much")
        await world.until(
            lambda event: isinstance(event, events.TextAdded) and "answer" in event.text
        )
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await world.turn("go on")
        return await record_story(world)


async def _steered_too_late(folder: Path) -> Story:
    def steers(_request: Request) -> Hang:
        world.session.steer("too late")
        return hang("I")

    async with a_world(folder, [steers], files=FILES) as world:
        task = world.begin("begin")
        await world.until(lambda event: isinstance(event, events.TextAdded))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return await record_story(world)


async def _compacted(folder: Path) -> Story:
    large = "\n".join(f"value_{line} = compute({line})" for line in range(900))
    files = {f"part{place}.py": large.replace("value", f"part{place}") for place in range(6)}
    reads = [asks(call("read_file", path=path), text=f"I read {path}.") for path in files]
    async with a_world(folder, [*reads, says()], files=files, window=24_000) as world:
        await world.turn("read them")
        assert world.told(events.Compacted)
        return await record_story(world)


async def _in_a_call(folder: Path) -> Story:
    begun = asyncio.Event()

    async def wait(_name: str, _context: object) -> str:
        begun.set()
        await asyncio.Event().wait()
        return ""

    reply = asks(call("read_file", "c0", path="a.py"), call("bash", "c1", name="make"))
    tools = [a_tool("bash", wait, effect="run")]
    async with a_world(folder, [reply], files=FILES, tools=tools, answers=["once"]) as world:
        task = world.begin()
        await asyncio.wait_for(begun.wait(), 60)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return await record_story(world)


async def test_live_and_logged_events_agree_for_random_sessions(tmp_path: Path) -> None:
    """Seeded scripts: text, reasoning, parallel reads, edits, refusals, unknown tools."""
    stories: dict[str, Story] = {}

    async def run(name: str, _context: object) -> str:
        return f"ran {name}"

    for seed in range(24):
        chance = random.Random(seed)
        replies = [_reply(chance, place) for place in range(12)]
        tools = [a_tool("bash", run, effect="run")]
        answers = [chance.choice(["once", "no"]) for _ in range(40)]
        async with a_world(
            tmp_path / str(seed),
            [*replies, says("At the end.")] + [says(f"more {one}") for one in range(30)],
            files=FILES,
            tools=tools,
            answers=answers,
        ) as world:
            for turn in range(3):
                await world.turn(f"words {turn}")
            stories[f"seed {seed}"] = await record_story(world)
    assert_equal_panels(stories, tmp_path)


def _reply(chance: random.Random, place: int) -> Reply:
    text = chance.choice(["", f"I say {place}.", "Two\n\nparagraphs"])
    thinking = chance.choice(["", "hm, well"])
    if chance.random() < 0.2:
        return Reply(text or "Done.", thinking=thinking)
    calls = tuple(_call(chance, f"c{one}") for one in range(chance.randint(1, 4)))
    return Reply(text, calls, thinking, "tool_calls")


def _call(chance: random.Random, id_: str) -> ToolCall:
    path = chance.choice(["a.py", "b.py", "nowhere.py"])
    edits = [{"old": "1", "new": "1 + 1"}]
    return chance.choice(
        [
            call("read_file", id_, path=path),
            call("read_file", id_, path="a.py"),
            call("edit_file", id_, path="a.py", edits=edits),
            call("write_file", id_, path=f"new{chance.randint(1, 9)}.py", content="one\ntwo\n"),
            call("bash", id_, name=f"make {path}"),
            call("no_such_tool", id_, what=path),
            ToolCall(id_, "read_file", "{not json"),
        ]
    )


@pytest.mark.parametrize("name", RECORDINGS)
async def test_live_and_logged_events_agree_for_recorded_sessions(
    name: str, tmp_path: Path
) -> None:
    """The script has the replies of real sessions of other agents, with their text and calls."""
    found = foreign_sessions(name, every=7)
    stories: dict[str, Story] = {}
    for place, recorded in zip(range(3), found, strict=False):
        stories[f"{name} {place}"] = await _again(recorded, tmp_path / str(place))
    assert_equal_panels(stories, tmp_path)


async def _again(recorded: Recorded, folder: Path) -> Story:
    replies = list(_replies(recorded))[:MOST_REPLIES]
    async with a_world(folder, [*replies, says("That is all.")], files=FILES) as world:
        while len(world.provider.requests) <= len(replies):
            await world.turn(f"part {world.session.turns + 1}")
        return await record_story(world)


def _replies(recorded: Recorded) -> Iterator[Reply]:
    for message in recorded.messages:
        if message.role != "assistant":
            continue
        calls = tuple(
            ToolCall(block.id, block.name, block.arguments)
            for block in message.blocks
            if isinstance(block, ToolUse)
        )
        text = _joined([one.text for one in message.blocks if isinstance(one, Words)])
        thinking = _joined([one.text for one in message.blocks if isinstance(one, Thought)])
        if text.strip() or calls:
            yield Reply(text, calls, thinking, "tool_calls" if calls else "stop")


def _joined(texts: Sequence[str]) -> str:
    return "\n\n".join(texts)
