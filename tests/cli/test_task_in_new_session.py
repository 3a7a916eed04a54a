"""A task that does not fit continues in a new session; commands and rewinds."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable

import pytest

from indwell.sessions.records import Rewound, TurnEndRecord
from indwell.sessions.storage.store import SessionStore
from support.editing import EDIT, READ, USAGE, Home
from support.loopback_endpoint import Answer, LoopbackEndpoint, Seen, say
from support.strict_chat import strictly
from support.terminal import Ended, indwell

SMALL = 'window = 9000\nmax_output = 3000\ncompaction = "slide"\n'
TASK = "count the carts. Never touch r1.py"


@pytest.fixture
def home(tmp_path) -> Home:
    home = Home(tmp_path)
    for number in range(3):
        lines = [f"def cart_{number}_{line}(): return {line}" for line in range(150)]
        home.write(f"r{number}.py", "\n".join(lines) + "\n")
    return home


async def run(home: Home, *arguments: str, base_url: str = "") -> Ended:
    environment = home.environment(base_url)
    return await indwell("run", *arguments, environment=environment, folder=home.workspace)


def reads_all_once(*before: tuple[str, str]) -> Callable[[Seen], Answer]:
    reads = [("read_file", json.dumps({"path": f"r{number}.py"})) for number in range(3)]
    made = iter([*([one] for one in before), reads])

    def answer(_seen: Seen) -> Answer:
        calls = next(made, None)
        return say(calls=calls, usage=USAGE) if calls else say("done", usage=USAGE)

    return answer


def ids(home: Home) -> tuple[str, ...]:
    return SessionStore(home.state, home.workspace).ids()


async def test_a_session_too_large_for_the_window_names_the_command_to_continue(
    home: Home,
) -> None:
    home.configure(SMALL)
    async with LoopbackEndpoint(strictly(reads_all_once())) as endpoint:
        ended = await run(home, TASK, "--json", base_url=endpoint.base_url)
        (old,) = ids(home)
        message = ended.events[-1]["message"]
        assert ended.code == 1
        assert f"`indwell run --new-from {old}`" in message, message
        other = await run(home, "--new-from", old[:-2], base_url=endpoint.base_url)
        assert other.code == 0, other
        said = json.dumps(endpoint.seen[-1].body["messages"])
    assert "<task-card>" in said
    assert TASK in said
    assert "def cart_" not in said
    assert len(ids(home)) == 2


async def test_the_new_session_is_told_of_pending_changes_of_the_old_session(
    home: Home,
) -> None:
    home.configure(f'mode = "review"\n{SMALL}')
    script = strictly(reads_all_once(READ, EDIT))
    async with LoopbackEndpoint(script) as endpoint:
        ended = await run(home, TASK, "--json", base_url=endpoint.base_url)
        assert ended.code == 1
        (old,) = ids(home)
        other = await run(home, "--new-from", old, base_url=endpoint.base_url)
        assert other.code == 0, other
        said = json.dumps(endpoint.seen[-1].body["messages"])
    assert "shop.py: 1 not reviewed yet" in said


async def test_the_task_of_the_old_session_is_sent_until_the_model_received_it(home: Home) -> None:
    home.configure(SMALL)
    refused = Answer((b"",), status=400)
    async with LoopbackEndpoint([say("Counted.", usage=USAGE), refused]) as endpoint:
        assert (await run(home, TASK, base_url=endpoint.base_url)).code == 0
        (old,) = ids(home)
        ended = await run(home, "--new-from", old, "go on", base_url=endpoint.base_url)
        assert ended.code == 1, ended
    async with LoopbackEndpoint([say("Well.", usage=USAGE)] * 2) as endpoint:
        for words in ("and now", "and then"):
            ended = await run(home, "--continue", words, base_url=endpoint.base_url)
            assert ended.code == 0, ended
            said = json.dumps(endpoint.seen[-1].body["messages"])
            assert (said.count("<task-card>"), TASK in said) == (1, True)


async def test_a_task_that_is_deleted_meanwhile_is_reported_and_the_session_continues(
    home: Home,
) -> None:
    refused = Answer((b"",), status=400)
    async with LoopbackEndpoint([say("Counted.", usage=USAGE), refused]) as endpoint:
        await run(home, TASK, base_url=endpoint.base_url)
        (old,) = ids(home)
        await run(home, "--new-from", old, "go on", base_url=endpoint.base_url)
    shutil.rmtree(SessionStore(home.state, home.workspace).spill(old).parent)
    async with LoopbackEndpoint([say("Well.", usage=USAGE)]) as endpoint:
        ended = await run(home, "--continue", "and now", base_url=endpoint.base_url)
    assert ended.code == 0, ended
    assert "is no longer carried over" in ended.stderr


async def test_inheriting_a_task_needs_an_existing_session(home: Home) -> None:
    await run(home, "hello", "--scripted")
    ended = await run(home, "--new-from", "x9", "go on", "--scripted")
    assert ended.code == 2
    assert "x9" in ended.stderr
    assert len(ids(home)) == 1
    both = await run(home, "--new-from", "x9", "--continue")
    assert both.code == 2


async def test_a_first_prompt_that_cannot_fit_asks_for_a_larger_window(home: Home) -> None:
    home.configure('profile = "full"\nwindow = 1500\nmax_output = 500\n')
    async with LoopbackEndpoint([]) as endpoint:
        ended = await run(home, TASK, "--json", base_url=endpoint.base_url)
    last = ended.events[-1]
    assert ended.code == 1
    assert "a larger window" in last["message"]
    assert "new session" not in last["message"]
    assert "--new-from" not in last["message"]
    assert last["outgrown"] is False


async def test_with_compaction_none_the_setting_is_named_as_the_reason(home: Home) -> None:
    home.configure(SMALL.replace("slide", "none"))
    async with LoopbackEndpoint(strictly(reads_all_once())) as endpoint:
        ended = await run(home, TASK, "--json", base_url=endpoint.base_url)
    assert 'the setting `compaction = "none"` is why nothing' in ended.events[-1]["message"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("/compact", "there is no conversation to shorten yet"),
        ("/compact keep the limits", "`/compact` takes no arguments"),
        ("/comptact", "there is no command or skill '/comptact'; did you mean `/compact`"),
    ],
)
async def test_an_impossible_command_creates_no_session(home: Home, words, told) -> None:
    ended = await run(home, words, "--scripted")
    assert ended.code == 1
    assert told in ended.stderr
    assert "Not sent" not in ended.stderr
    assert ids(home) == ()


async def test_text_that_looks_like_a_path_is_a_prompt(home: Home) -> None:
    for words in ("/usr/bin", "/tmp is full", "/compact/notes.md"):
        ended = await run(home, words, "--scripted")
        assert ended.code == 0, ended


async def test_a_rewind_without_a_prompt_only_reverts(home: Home) -> None:
    async with LoopbackEndpoint(strictly([say("x", usage=USAGE)] * 3)) as endpoint:
        await run(home, "first", base_url=endpoint.base_url)
        await run(home, "--continue", "second words", base_url=endpoint.base_url)
        n_asked = len(endpoint.seen)
        back = await run(home, "--continue", "--turn", "1", base_url=endpoint.base_url)
        (session,) = ids(home)
        assert back.code == 0, back
        assert len(endpoint.seen) == n_asked
        assert "second words" in back.stdout
        assert f'`indwell run --resume {session} "…"`' in back.stdout
        as_json = await run(home, "--resume", session, "--turn", "1", "--json")
        assert as_json.code == 0, as_json
        (told,) = as_json.events
        assert (told["session"], told["turn"]) == (session, 1)
    (log,) = home.logs()
    assert [one.turn for one in log if isinstance(one, Rewound)] == [1, 1]
    assert len([one for one in log if isinstance(one, TurnEndRecord)]) == 2
