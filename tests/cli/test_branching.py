"""Forks and rewinds from the command line keep the bytes and texts up to the turn."""

from __future__ import annotations

import json

import pytest

from indwell.sessions.storage.store import SessionStore
from support.branch_logs import log_of
from support.editing import READ, USAGE, Home, results
from support.loopback_endpoint import LoopbackEndpoint, Seen, say
from support.strict_chat import strictly
from support.terminal import Ended, indwell


@pytest.fixture
def home(tmp_path) -> Home:
    return Home(tmp_path)


async def run(home: Home, *arguments: str, base_url: str = "", **variables: str) -> Ended:
    environment = home.environment(base_url, **variables)
    return await indwell(*arguments, environment=environment, folder=home.workspace)


def goes_on(later: Seen, earlier: Seen) -> bool:
    """Return whether ``later`` begins with the bytes of ``earlier`` up to its last message."""
    sent, now = earlier.body, later.body
    assert {name: now[name] for name in now if name != "messages"} == {
        name: sent[name] for name in sent if name != "messages"
    }
    messages = zip(earlier.raw, later.raw, strict=False)
    differ = next(at for at, (old, new) in enumerate(messages) if old != new)
    return earlier.raw[:differ].count(b'"role":') == len(sent["messages"])


@pytest.mark.parametrize("is_fork", [True, False])
async def test_a_request_after_a_rewind_begins_with_the_bytes_of_the_kept_turn(
    home, is_fork
) -> None:
    script = [say("I look.", calls=[READ], usage=USAGE)]
    script += [say(words, usage=USAGE) for words in ("one", "two", "three", "otherwise")]
    async with LoopbackEndpoint(strictly(script)) as endpoint:
        url = endpoint.base_url
        await run(home, "run", "first", base_url=url)
        await run(home, "run", "--continue", "second", base_url=url)
        await run(home, "run", "--continue", "third", base_url=url)
        store = SessionStore(home.state, home.workspace)
        (origin,) = store.ids()
        before = log_of(store, origin).read_bytes()
        if is_fork:
            made = await run(home, "sessions", "fork", origin, "--turn", "2", "--json")
            session = json.loads(made.stdout)["session"]
            which = ("--resume", session)
        else:
            session, which = origin, ("--continue", "--turn", "2")
        ended = await run(home, "run", *which, "otherwise, please", base_url=url)
        assert ended.code == 0, ended
    second, _third, otherwise = endpoint.seen[2:]
    assert goes_on(otherwise, second)
    said = json.dumps(otherwise.body["messages"])
    assert ("third" in said, "second" in said) == (False, True)
    assert "took the conversation back" in said
    assert log_of(store, origin).read_bytes().startswith(before)
    if is_fork:
        assert log_of(store, origin).read_bytes() == before
    for number, seen in (("3", second), ("4" if is_fork else "5", otherwise)):
        replayed = await run(home, "sessions", "replay-request", session, number, "--json")
        told = json.loads(replayed.stdout)
        assert (told["equal"], told["body"]) == (True, json.loads(seen.raw))


async def test_a_fork_can_read_spilled_texts_of_its_deleted_origin(home) -> None:
    words = "".join(f"line {number} of a long text\n" for number in range(20_000))
    script = [say("one", usage=USAGE)]

    async with LoopbackEndpoint(strictly(script)) as endpoint:
        first = await run(home, "run", words[:120_000], base_url=endpoint.base_url)
        assert first.code == 0, first
    origin = SessionStore(home.state, home.workspace).ids()[0]
    made = await run(home, "sessions", "fork", origin)
    assert made.code == 0, made
    fork = made.stdout.split("\t")[0]
    assert (await run(home, "sessions", "delete", origin)).code == 0
    assert [line.split("\t")[0] for line in (await run(home, "sessions")).stdout.splitlines()] == [
        fork
    ]
    spilled = next(home.state.rglob("spill/0001-*"))
    arguments = json.dumps({"path": str(spilled), "offset": 3_001, "limit": 1})
    script = [say(calls=[("read_file", arguments)], usage=USAGE), say("read", usage=USAGE)]
    async with LoopbackEndpoint(strictly(script)) as endpoint:
        ended = await run(home, "run", "--resume", fork, "read it", base_url=endpoint.base_url)
        assert ended.code == 0, ended
    assert str(spilled) in json.dumps(endpoint.seen[0].body)
    assert "line 3000 of a long text" in results(endpoint.seen[1])[-1]


async def test_a_fork_continues_with_the_model_of_its_turn(home) -> None:
    home.configure('models = ["older-model", "newer-model"]\n')
    async with LoopbackEndpoint(strictly([say("x", usage=USAGE)] * 4)) as endpoint:
        url = endpoint.base_url
        await run(home, "run", "a", base_url=url, INDWELL_MODEL="older-model")
        await run(home, "run", "--continue", "b", "--model", "newer-model", base_url=url)
        (origin,) = SessionStore(home.state, home.workspace).ids()
        made = await run(home, "sessions", "fork", origin, "--turn", "1")
        fork = made.stdout.split("\t")[0]
        await run(home, "run", "--resume", fork, "c", base_url=url)
        await run(home, "run", "--resume", origin, "--turn", "1", "d", base_url=url)
    asked = [one.body["model"] for one in endpoint.seen if one.method == "POST"]
    assert asked == ["older-model", "newer-model", "older-model", "older-model"]


def _ids(home: Home) -> tuple[str, ...]:
    return SessionStore(home.state, home.workspace).ids()


async def test_an_unknown_turn_is_reported_in_one_sentence(home) -> None:
    await run(home, "run", "x", "--scripted")
    (session,) = _ids(home)
    for arguments in (
        ("sessions", "fork", session, "--turn", "4"),
        ("run", "--resume", session, "--turn", "4", "x", "--scripted"),
    ):
        ended = await run(home, *arguments)
        assert ended.code == 1
        assert "the session has no turn 4; its turns are 1 to 1" in ended.stdout + ended.stderr
    usage = await run(home, "run", "--turn", "1", "x", "--scripted")
    assert (usage.code, "name the session to resume" in usage.stderr) == (2, True)
    usage = await run(home, "sessions", "fork", session, "--turn", "x")
    assert (usage.code, "'x' is not the number of a turn" in usage.stderr) == (2, True)
    escaping = await run(home, "sessions", "fork", "../x")
    assert (escaping.code, "'../x' is not a session id" in escaping.stderr) == (2, True)
