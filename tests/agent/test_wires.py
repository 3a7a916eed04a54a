"""The same conversation over each API, with the real client, a real endpoint and the log."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from indwell.agent.core.events import TextAdded, ThinkingAdded
from indwell.messages import Message, Reply, Request, Thinking
from indwell.providers.base import StreamEvent
from indwell.providers.client import EndpointClient
from indwell.providers.wires.dialect import Dialect, WireName
from indwell.providers.wires.encoder import LAYOUTS, RequestEncoder
from indwell.sessions.conversation_restore import rebuilt
from indwell.sessions.records import MessageRecord, Prefixed, RequestRecord
from support.loopback_endpoint import Answer, LoopbackEndpoint, Seen
from support.session import World, a_world, with_parts
from support.strict_wires import complaints
from support.wire_streams import STREAMS, WIRES, Called, Part, Said, Thought

READ = Called("call_1", "read_file", ('{"path":', '"a.py"}'))
REPLIES: tuple[tuple[Part, ...], ...] = (
    (Thought(("I look.",), "seal1"), READ),
    (Thought(("It is fine.",), "seal2"), Said(("All is ", "well."))),
)
OF_PATH = {f"/v1{layout.PATH}": wire for wire, layout in LAYOUTS.items()}
each_wire = pytest.mark.parametrize("wire", WIRES)


@asynccontextmanager
async def endpoint_of(
    folder: Path, wire: WireName, replies: Sequence[Sequence[Part]]
) -> AsyncIterator[tuple[World, LoopbackEndpoint]]:
    """Run a session at an endpoint with all APIs; the client begins with ``wire``."""
    left = iter(replies)

    def answer(seen: Seen) -> Answer:
        events = STREAMS[OF_PATH[seen.path]](next(left), "")
        return Answer(tuple(events), headers={"Content-Type": "text/event-stream"})

    async with (
        LoopbackEndpoint(answer) as endpoint,
        a_world(folder, [], files={"a.py": "x = 1\n"}) as world,
    ):
        with use_wire(world, endpoint, wire) as client:
            yield world, endpoint
            await client.aclose()


class use_wire:  # noqa: N801 - reads as a statement
    """Sends the session's requests over another API from now on."""

    def __init__(self, world: World, endpoint: LoopbackEndpoint, wire: WireName) -> None:
        dialect = Dialect(wire=wire, cache_marks=wire == "messages")
        self._client = EndpointClient(base_url=endpoint.base_url, dialect=dialect)
        with_parts(world.session, provider=self._client)

    def __enter__(self) -> EndpointClient:
        return self._client

    def __exit__(self, *_: object) -> None:
        """Do nothing, because the test closes the client."""


def plain(messages: Sequence[Message]) -> list[object]:
    """Return the conversation without parts that only one API can read."""
    return [
        [
            msgspec.structs.replace(block, extra="") if isinstance(block, Thinking) else block
            for block in message.blocks
        ]
        for message in messages
    ]


@pytest.mark.parametrize("wire", ["responses", "messages"])
async def test_each_wire_leaves_the_same_conversation_and_the_same_events(
    tmp_path: Path, wire: WireName
) -> None:
    told = {}
    for name in ("chat", wire):
        folder = tmp_path / f"{name}-of-{wire}"
        folder.mkdir(parents=True)
        async with endpoint_of(folder, name, REPLIES) as (world, _):
            assert (await world.turn("check a.py")).ending == "done"
            await world.records()  # the log restores the session's messages
            events = [
                "".join(e.text for e in world.told(kind)) for kind in (TextAdded, ThinkingAdded)
            ]  # type: ignore[attr-defined]
            usage = msgspec.structs.replace(world.session.spending.last_usage, thinking=0)
            told[name] = (plain(world.messages), events, usage)
    assert told[wire] == told["chat"]


@each_wire
async def test_each_request_can_be_rebuilt_from_the_log(tmp_path: Path, wire: WireName) -> None:
    async with endpoint_of(tmp_path, wire, REPLIES) as (world, endpoint):
        await world.turn("check a.py")
        prefix = Prefixed(
            tuple(one.text for one in world.session.conversation.system),
            "digest",
            "t",
            world.session.conversation.tools,
        )
        records = (prefix, *await world.records())
        sent = [one.number for one in records if isinstance(one, RequestRecord)]
        assert len(sent) == len(endpoint.seen) == 2
        for number, seen in zip(sent, endpoint.seen, strict=True):
            again = rebuilt(records, number)
            dialect = msgspec.json.decode(again.attempts[-1].dialect, type=Dialect)
            assert RequestEncoder().encode(again.request, dialect) == seen.raw


@pytest.mark.parametrize("first", WIRES)
@pytest.mark.parametrize("second", WIRES)
async def test_a_session_continues_over_another_wire(
    tmp_path: Path, first: WireName, second: WireName
) -> None:
    replies = (*REPLIES, (READ,), (Said(("Still well.",)),))
    async with endpoint_of(tmp_path, first, replies) as (world, endpoint):
        assert (await world.turn("check a.py")).ending == "done"
        with use_wire(world, endpoint, second) as client:
            assert (await world.turn("and again")).ending == "done"
            await client.aclose()
        paths = [OF_PATH[seen.path] for seen in endpoint.seen]
        assert paths == [first, first, second, second]
        raw = endpoint.seen[-1].raw.decode()
    for part in ("check a.py", "All is well.", "and again", "x = 1"):
        assert part in raw
    assert ("seal1" in raw) == (first == second != "chat")


WORDS = st.sampled_from(["I look.", " ", "é🎉\nAnd more.", "Done"])
CALLS = st.builds(
    Called,
    # Some endpoints restart their numbering with each reply.
    st.sampled_from(["call_0", "toolu_1", "an id: with signs", ""]),
    st.sampled_from(["read_file", "nothing_such"]),
    st.sampled_from([('{"path":', '"a.py"}'), ("{}",), ("no json",), ()]),
)
THOUGHTS = st.builds(Thought, st.just(("Hm.",)), st.just("seal=="))
SAID = st.builds(Said, st.tuples(WORDS))
ROUNDS = st.builds(
    lambda thoughts, said, calls: (*thoughts, *said, *calls),
    st.lists(THOUGHTS, max_size=2),
    st.lists(SAID, max_size=1),
    st.lists(
        st.one_of(CALLS, CALLS.map(lambda call: call._replace(id="other"))), min_size=1, max_size=3
    ),
)
TURNS = st.lists(
    st.builds(
        lambda rounds, thoughts, said: (*rounds, (*thoughts, said)),
        st.lists(ROUNDS, max_size=2),
        st.lists(THOUGHTS, max_size=1),
        SAID.filter(lambda said: bool(said.pieces[0].strip())),
    ),
    min_size=1,
    max_size=3,
)


class InTurn:
    """A provider that uses the given APIs in order, and then always the last API."""

    def __init__(self, base_url: str, wires: Sequence[WireName]) -> None:
        self._left = list(wires)
        self.clients = {
            wire: EndpointClient(
                base_url=base_url, dialect=Dialect(wire=wire, cache_marks=wire == "messages")
            )
            for wire in WIRES
        }

    async def complete(self, request: Request, on_event: Callable[[StreamEvent], None]) -> Reply:
        wire = self._left.pop(0) if len(self._left) > 1 else self._left[0]
        return await self.clients[wire].complete(request, on_event)


async def held(
    folder: Path, turns: Sequence[Sequence[tuple[Part, ...]]], wires: Sequence[WireName]
) -> tuple[list[object], list[object], int]:
    """Run a conversation; return messages, endings, log and number of requests."""
    left = iter([reply for turn in turns for reply in turn])
    wrong: list[str] = []

    def answer(seen: Seen) -> Answer:
        wire = OF_PATH[seen.path]
        wrong.extend(complaints(wire, seen.body))
        events = STREAMS[wire](next(left), "")
        return Answer(tuple(events), headers={"Content-Type": "text/event-stream"})

    async with (
        LoopbackEndpoint(answer) as endpoint,
        a_world(folder, [], files={"a.py": "x = 1\n"}) as world,
    ):
        provider = InTurn(endpoint.base_url, wires)
        with_parts(world.session, provider=provider)
        endings = [(await world.turn(f"turn {n}")).ending for n in range(len(turns))]
        records = await world.records()
        for client in provider.clients.values():
            await client.aclose()
    assert wrong == []
    log = [one.message if isinstance(one, MessageRecord) else type(one).__name__ for one in records]
    return [*said_in(world.messages), *endings], said_in(log), len(endpoint.seen)


def said_in(log: Sequence[Message | str]) -> list[object]:
    """Return messages without parts that only one API reads, and without positions of reasoning."""
    found: list[object] = []
    for one in log:
        if isinstance(one, str):
            found.append(one)
            continue
        thought = "".join(block.text for block in one.blocks if isinstance(block, Thinking))
        rest = tuple(block for block in one.blocks if not isinstance(block, Thinking))
        found.append((thought, msgspec.structs.replace(one, blocks=rest)))
    return found


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(turns=TURNS, wires=st.lists(st.sampled_from(WIRES), min_size=1, max_size=6))
def test_any_conversation_is_equal_and_valid_over_every_wire(
    turns: list[tuple[tuple[Part, ...], ...]], wires: list[WireName]
) -> None:
    with TemporaryDirectory() as one, TemporaryDirectory() as other:
        expected = asyncio.run(held(Path(one), turns, ("chat",)))
        assert asyncio.run(held(Path(other), turns, wires)) == expected
