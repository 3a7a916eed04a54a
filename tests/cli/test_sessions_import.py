"""Recorded sessions of other tools are imported, continued, and rebuilt from the log."""

from __future__ import annotations

import gzip
import json
from itertools import islice
from pathlib import Path

import pytest

from indwell.sessions.storage.store import SessionStore
from support.editing import USAGE, Home
from support.loopback_endpoint import LoopbackEndpoint, say
from support.recorded import recorded_sessions
from support.strict_chat import strictly
from support.terminal import Ended, indwell


@pytest.fixture
def home(tmp_path) -> Home:
    return Home(tmp_path)


async def run(home: Home, *arguments: str, base_url: str = "", stdin: bytes | None = None) -> Ended:
    environment = home.environment(base_url)
    return await indwell(*arguments, environment=environment, folder=home.workspace, stdin=stdin)


def packed(folder: Path, name: str, n_sessions: int) -> Path:
    """Write the first sessions of a shared file to a packed file."""
    path = folder / f"{name}.jsonl.gz"
    sessions = islice(recorded_sessions(name), n_sessions)
    lines = [json.dumps({"id": f"{name}-{at}", "messages": one}) for at, one in enumerate(sessions)]
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    return path


@pytest.mark.parametrize("name", ["entire", "sweagent", "tau"])
async def test_an_imported_session_continues_and_its_request_can_be_rebuilt(home, name) -> None:
    file = packed(home.folder, name, 2)
    made = await run(home, "sessions", "import", str(file), "--json")
    told = json.loads(made.stdout)
    assert (made.code, told["failed"], len(told["imported"])) == (0, {}, 2)
    session = told["imported"][0]["session"]
    async with LoopbackEndpoint(strictly([say("I see.", usage=USAGE)])) as endpoint:
        ended = await run(home, "run", "--resume", session, "go on", base_url=endpoint.base_url)
    assert ended.code == 0, ended
    sent = endpoint.seen[0].body["messages"]
    (first,) = islice(recorded_sessions(name), 1)
    words = next(str(one["content"]) for one in first if one["role"] == "user")
    assert words.splitlines()[0][:60] in json.dumps(sent, ensure_ascii=False)
    replayed = await run(home, "sessions", "replay-request", session, "1", "--json")
    assert json.loads(replayed.stdout)["equal"] is True


async def test_each_import_failure_is_reported_in_one_sentence(home) -> None:
    broken = packed(home.folder, "tau", 2)
    broken.write_bytes(broken.read_bytes()[:-9])
    empty = home.folder / "empty.jsonl"
    empty.write_bytes(b'{"a": 1}\nno json\n')
    ended = await run(
        home, "sessions", "import", str(broken), str(empty), str(home.folder / "none"), "--json"
    )
    assert ended.code == 1
    failed = json.loads(ended.stdout)["failed"]
    assert "it is truncated" in failed[str(broken)]
    assert "the conversations before it are imported (1); check it" in failed[str(broken)]
    assert "has no conversation" in failed[str(empty)]
    assert "cannot be read" in failed[str(home.folder / "none")]
    assert len(SessionStore(home.state, home.workspace).ids()) == 1  # the file is read in part


async def test_a_file_of_several_packed_parts_is_read_to_its_end(home) -> None:
    one = packed(home.folder, "tau", 1)
    one.write_bytes(one.read_bytes() + gzip.compress(b"\n") + one.read_bytes())
    made = await run(home, "sessions", "import", str(one), "--json")
    assert len(json.loads(made.stdout)["imported"]) == 2


GOOD = json.dumps({"id": "a", "messages": [{"role": "user", "content": "look"}]}) + "\n"


async def test_import_and_replay_report_damage_in_the_same_words(home) -> None:
    file = home.folder / "bad.jsonl"
    wordless = '{"id": "b", "messages": [{"role": "assistant", "content": "hello"}]}\n'
    file.write_bytes(f'{GOOD}{{broken\n{{"x": 1}}\n{wordless}'.encode())
    made = await run(home, "sessions", "import", str(file))
    assert made.code == 0, made
    assert made.stderr.splitlines() == [
        "bad: line 2 is not a JSON object and was left out",
        "bad: line 3 contains no message and was left out",
    ]
    assert len(made.stdout.splitlines()) == 2
    assert "it contains no user message" in made.stdout.splitlines()[1]
    again = await run(home, "sessions", "import", str(file), "--json")
    assert (again.stderr, len(json.loads(again.stdout)["imported"])) == (made.stderr, 2)


async def test_a_conversation_can_be_imported_from_stdin(home) -> None:
    for given in (GOOD.encode(), gzip.compress(GOOD.encode())):
        made = await run(home, "sessions", "import", "-", "--json", stdin=given)
        assert (made.code, made.stderr) == (0, "")
        (one,) = json.loads(made.stdout)["imported"]
        assert one["source"] == "stdin: a"
