from __future__ import annotations

import asyncio
import dataclasses
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from indwell.context.attachments import Selection
from indwell.context.conversation import user_words, with_reply
from indwell.context.pairing import problems
from indwell.errors import ProviderError, ServerFault
from indwell.messages import Message, Reply, Request, Usage
from indwell.providers.wires.dialect import Dialect
from indwell.sessions.conversation_restore import fold
from indwell.tools.base import ToolContext
from support.chat_bodies import chat_body
from support.session import SURROUNDINGS, MemoryLog, World, a_tool, a_world, call, says, with_parts

calls = st.lists(
    st.sampled_from(
        [
            call("read_file", path="a.py"),
            call("read_file", "", path="b.py"),
            call("write_file", "c1", path="b.py", content="x"),
            call("look", "c1", name="x"),
            call("nothing", "c2"),
        ]
    ),
    max_size=3,
).map(tuple)
replies = st.one_of(
    st.builds(Reply, st.sampled_from(["", "\n", "ok"]), calls, st.sampled_from(["", "hm"])).filter(
        # The request is sent again after an empty reply.
        lambda reply: bool(reply.text.strip() or reply.calls)
    ),
    st.sampled_from(
        [
            Reply("half", finish="incomplete", problem="cut"),
            Reply("", (call("look"),), finish="length"),
        ]
    ),
    st.just(ServerFault("busy")),
)
turns = st.lists(
    st.tuples(
        st.sampled_from(["go", "", "<system-reminder>"]),
        st.sampled_from([None, "x", "y"]),
        st.sampled_from(["main", "topic"]),
        st.lists(replies, max_size=4).map(tuple),
    ),
    min_size=1,
    max_size=4,
)


class Script:
    """Plays the events of a turn, then closes it."""

    def __init__(self) -> None:
        self.left: list[Reply | ProviderError] = []
        self.answered: list[Request] = []

    def __call__(self, request: Request) -> Reply | ProviderError:
        step = self.left.pop(0) if self.left else says()
        if isinstance(step, Reply):
            self.answered.append(request)
        return step


async def look(name: str, context: ToolContext) -> str:
    return name


def body(request: Request) -> dict[str, Any]:
    return chat_body(request, Dialect(cache_key=True))


def check_extends(before: dict[str, Any], after: dict[str, Any]) -> None:
    """Check that a request repeats the request before; only the last user text may have grown."""
    rest_before, rest_after = (
        {key: value for key, value in one.items() if key not in {"messages", "tool_choice"}}
        for one in (before, after)
    )
    assert rest_before == rest_after
    old, new = before["messages"], after["messages"][: len(before["messages"])]
    assert new[:-1] == old[:-1]
    assert new[-1]["role"] == old[-1]["role"]
    assert new[-1]["content"].startswith(old[-1]["content"])


async def play(folder: Path, script: list[tuple[str, str | None, str, tuple[Any, ...]]]) -> None:
    steps = Script()
    async with a_world(folder, steps, files={"a.py": "x"}, tools=[a_tool("look", look)]) as world:
        real, memory = world.session.parts.log, MemoryLog()
        world.session.parts = dataclasses.replace(world.session.parts, log=memory)
        try:
            for words, marked, branch, answers in script:
                steps.left = list(answers)
                world.surroundings = msgspec.structs.replace(SURROUNDINGS, branch=branch)
                selection = None if marked is None else Selection("a.py", 1, 1, marked)
                finished = await world.turn(words, selection=selection)
                assert problems(world.messages) == ()
                assert fold(memory.records) == world.messages
                failed_at_once = bool(answers) and isinstance(answers[0], ProviderError)
                assert finished.draft == (words if failed_at_once else "")
        finally:
            world.session.parts = dataclasses.replace(world.session.parts, log=real)
        check_requests(world, steps.answered)


def check_requests(world: World, answered: list[Request]) -> None:
    """Check the answered requests; a request that failed is removed with its text."""
    bodies = [body(request) for request in answered]
    for index in range(1, len(bodies)):
        check_extends(bodies[index - 1], bodies[index])
    sent = [block.text for message in world.messages for block in message.blocks
            if block.meta.source == "ide_selection"]  # fmt: skip
    assert len(sent) == len(set(sent))


@settings(deadline=None, max_examples=5 * settings().max_examples // 2)
@given(turns)
def test_any_turns_keep_the_request_prefix_and_the_log_restores_the_conversation(
    script: list[tuple[str, str | None, str, tuple[Any, ...]]],
) -> None:
    with TemporaryDirectory() as folder:
        asyncio.run(play(Path(folder), script))


class Bare:
    """A model with constant replies, so that only the work of the turn is measured."""

    async def complete(self, request: Request, on_event: object) -> Reply:
        del request, on_event
        return Reply("ok", usage=Usage(input=10, output=1))


async def work_after(folder: Path, n_turns: int) -> int:
    """Return the number of function calls of one turn after ``n_turns`` turns."""
    n_calls = 0

    def profile(frame: FrameType, event: str, argument: object) -> None:
        nonlocal n_calls
        n_calls += event == "call"

    async with a_world(folder, [says(), says()], window=10_000_000) as world:
        conversation = world.session.conversation
        messages: list[Message] = []
        for turn in range(1, n_turns + 1):
            messages.append(Message("user", (user_words("go", turn=turn),), turn))
            empty = msgspec.structs.replace(conversation, messages=())
            messages += with_reply(empty, Reply("ok"), turn=turn).messages
        world.session.conversation = msgspec.structs.replace(conversation, messages=tuple(messages))
        world.session.turns = n_turns
        with_parts(world.session, provider=Bare())
        await world.turn()
        sys.setprofile(profile)
        try:
            assert (await world.turn()).ending == "done"
        finally:
            sys.setprofile(None)
        assert len(world.messages) == 2 * n_turns + 4
    return n_calls


async def test_the_work_of_a_turn_does_not_grow_with_earlier_turns(tmp_path: Path) -> None:
    short, long = [await work_after(tmp_path / str(n), n) for n in (500, 4_000)]
    assert long <= 1.1 * short
