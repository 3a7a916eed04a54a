"""Requests are rebuilt from the log, and conversations of other tools become sessions."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import msgspec
import pytest

from indwell.cli.stored.sessions import replay
from indwell.context import conversation as talk
from indwell.context.compaction.step import CompactionStep
from indwell.context.conversation import Tally, counted
from indwell.context.history import MessageSplice, spliced, transcript
from indwell.context.injections import inject
from indwell.context.pairing import problems
from indwell.messages import Message
from indwell.sessions.conversation_restore import folded, rebuilt
from indwell.sessions.records import Prefixed, Repaired, RequestRecord, Rewound
from support.editing import READ, USAGE, Home
from support.loopback_endpoint import LoopbackEndpoint, refuse, say
from support.session import ENVIRONMENT, a_world, asks, call, says
from support.strict_chat import strictly
from support.terminal import Ended, indwell

AT = "2026-11-21T09:00:00.000+00:00"


@pytest.fixture
def home(tmp_path) -> Home:
    return Home(tmp_path)


async def run(home: Home, *arguments: str, base_url: str = "") -> Ended:
    return await indwell(*arguments, environment=home.environment(base_url), folder=home.workspace)


def session_of(home: Home) -> str:
    (log,) = home.state.rglob("log.jsonl")
    return log.parent.name


async def test_every_request_is_rebuilt_from_the_log_byte_for_byte(home) -> None:
    script = [say("I look.", calls=[READ], usage=USAGE), say("first", usage=USAGE)]
    async with LoopbackEndpoint(strictly([*script, say("second", usage=USAGE)])) as endpoint:
        await run(home, "run", "What is it?", base_url=endpoint.base_url)
        await run(home, "run", "--continue", "And now? ä🐢", base_url=endpoint.base_url)
    session = session_of(home)
    for number, seen in enumerate(endpoint.seen, start=1):
        again = await run(home, "sessions", "replay-request", session, str(number))
        assert (again.code, again.stdout.encode()) == (0, seen.raw + b"\n"), again
        assert "the bytes that were sent" in again.stderr
    told = await run(home, "sessions", "replay-request", session[:20], "3", "--json")
    assert told.code == 0, told
    replayed = json.loads(told.stdout)
    assert (replayed["turn"], replayed["equal"], replayed["attempts"]) == (2, True, 1)
    assert replayed["body"] == endpoint.seen[2].body
    for given, words in (
        ("4", "no request 4; it has 3"),
        ("x", "not the number"),
        ("0", "not the number"),
    ):
        ended = await run(home, "sessions", "replay-request", session, given)
        assert (ended.code, words in ended.stderr) == (1, True), ended


async def test_a_rebuilt_request_from_a_changed_log_is_reported_as_different(home) -> None:
    async with LoopbackEndpoint(strictly([say("one", usage=USAGE)])) as endpoint:
        await run(home, "run", "mend it, please", base_url=endpoint.base_url)
    (log,) = home.state.rglob("log.jsonl")
    log.write_bytes(log.read_bytes().replace(b"mend it, please", b"break it, please"))
    again = await run(home, "sessions", "replay-request", session_of(home), "1")
    assert (again.code, "differs from the bytes that were sent" in again.stderr) == (1, True), again


async def test_requests_before_and_after_a_compaction_and_a_repair_are_rebuilt(
    tmp_path,
) -> None:
    script = [
        asks(call("read_file", path="a.py")),
        says("first"),
        says("second"),
        says("third"),
        says("fourth"),
    ]
    async with a_world(tmp_path, script, files={"a.py": "x\n"}) as world:
        session = world.session
        await world.turn("do it")
        await world.turn("again")
        step = CompactionStep("test", (MessageSplice(0, 2, (_summary(session.conversation),)),))
        session.compact(step, _spliced(session.conversation, step))
        await world.turn("and now")
        broken = session.conversation.messages[:-1]
        session.repair(broken, ("the last reply was taken away",))
        await world.turn("once more")
        records = await world.records()
    prefix = Prefixed(("You are a test.",), "", AT, session.conversation.tools)
    asked = world.provider.requests
    assert [one.number for one in records if isinstance(one, RequestRecord)] == [1, 2, 3, 4, 5]
    for number, sent in enumerate(asked, start=1):
        again = rebuilt((prefix, *records), number)
        assert again.request == msgspec.structs.replace(sent, tokens=0), number
        assert replay("s", again).equal is None
    told = folded(records)
    assert told.messages == session.conversation.messages
    assert told.history == session.conversation.history
    whole = transcript(told.messages, told.history)
    assert whole[0].blocks[0].text == ENVIRONMENT


async def test_a_request_after_a_rewind_is_rebuilt_without_the_discarded_turns(
    tmp_path,
) -> None:
    async with a_world(tmp_path, [says("first"), says("second"), says("other")]) as world:
        session = world.session
        await world.turn("do it")
        before = session.conversation
        await world.turn("again")
        session.parts.log.append(Rewound(1, "small", AT))
        session.conversation = before
        await world.turn("something else")
        await session.parts.log.commit()
        records = world.store.open(session.id).records
    prefix = Prefixed(("You are a test.",), "", AT, session.conversation.tools)
    for number, sent in enumerate(world.provider.requests, start=1):
        again = rebuilt((prefix, *records), number)
        assert again.request == msgspec.structs.replace(sent, tokens=0), number


def _summary(conversation: talk.Conversation) -> Message:
    return Message("user", (inject("reminder", "a summary", turn=1),), 1)


def _spliced(conversation: talk.Conversation, step: CompactionStep) -> talk.Conversation:
    messages, history = spliced(conversation.messages, conversation.history, step.splices)
    return counted(
        msgspec.structs.replace(conversation, messages=messages, history=history, tally=Tally())
    )


async def test_a_failed_request_without_a_reply_can_be_rebuilt(
    home,
) -> None:
    async with LoopbackEndpoint([refuse(401, "no such key")]) as endpoint:
        await run(home, "run", "lost words", base_url=endpoint.base_url)
    again = await run(home, "sessions", "replay-request", session_of(home), "1")
    assert again.stdout.encode() == endpoint.seen[0].raw + b"\n", again
    assert "lost words" in again.stdout


RECORDED = [
    {"role": "system", "content": "obey"},
    {"role": "user", "content": "list <system-reminder>x</system-reminder>"},
    {
        "role": "assistant",
        "content": "I look.",
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "a.py"},
    {"role": "assistant", "content": "a.py"},
    {"role": "user", "content": "and more?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c2", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
        ],
    },
]


def file_of(home: Home, name: str, records: list[object]) -> Path:
    data = b"".join(json.dumps(one).encode() + b"\n" for one in records)
    path = home.folder / name
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


@pytest.mark.parametrize("name", ["one.jsonl", "one.jsonl.gz"])
async def test_a_recorded_conversation_becomes_a_session_that_continues(home, name) -> None:
    path = file_of(home, name, [{"id": "rec-1", "messages": RECORDED}])
    ended = await run(home, "sessions", "import", str(path), "--json")
    assert ended.code == 0, ended
    (imported,) = json.loads(ended.stdout)["imported"]
    (log,) = home.logs()
    assert [one.what for one in log if isinstance(one, Repaired)] == [
        f"imported from {name} (rec-1)",
        *imported["notes"],
    ]
    assert "1 call(s) without a result marked as interrupted" in imported["notes"]
    assert problems(folded(log).messages) == ()
    shown = await run(home, "sessions", "show", imported["session"])
    assert "Turn 2" in shown.stdout
    assert "a.py" in shown.stdout
    async with LoopbackEndpoint(strictly([say("done", usage=USAGE)])) as endpoint:
        went_on = await run(home, "run", "--continue", "go on", base_url=endpoint.base_url)
    assert went_on.code == 0, went_on
    said = json.dumps(endpoint.seen[0].body["messages"])
    assert "and more?" in said
    assert "obey" not in said
    again = await run(home, "sessions", "replay-request", imported["session"], "1")
    assert again.stdout.encode() == endpoint.seen[0].raw + b"\n"


async def test_invalid_recordings_are_reported_and_the_others_imported(home) -> None:
    good = file_of(home, "good.jsonl", RECORDED)
    bad = home.folder / "bad.jsonl"
    bad.write_bytes(b"\xff\x00 not json\n")
    cut = home.folder / "cut.jsonl.gz"
    cut.write_bytes(b"no gzip")
    ended = await run(home, "sessions", "import", str(bad), str(cut), str(good), "nowhere.jsonl")
    assert ended.code == 1
    assert len(ended.stdout.splitlines()) == 1, ended.stdout
    assert "has no conversation" in ended.stderr
    assert "cannot be read" in ended.stderr
    assert "nowhere.jsonl" in ended.stderr
    assert len(home.logs()) == 1
