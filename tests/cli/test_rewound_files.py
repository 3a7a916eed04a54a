"""``indwell run --turn N --files``: files are restored from the command line."""

from __future__ import annotations

import json

import pytest

from support.editing import EDIT, READ, SOURCE, USAGE, Home, bash
from support.loopback_endpoint import LoopbackEndpoint, say
from support.strict_chat import strictly
from support.terminal import Ended, indwell


@pytest.fixture
def home(tmp_path) -> Home:
    return Home(tmp_path)


async def run(home: Home, *arguments: str, base_url: str = "") -> Ended:
    environment = home.environment(base_url)
    return await indwell(*arguments, environment=environment, folder=home.workspace)


async def two_turns(home: Home) -> None:
    """Run a turn that edits a file, and a turn that runs a command."""
    script = [
        say("I look.", calls=[READ], usage=USAGE),
        say(calls=[EDIT], usage=USAGE),
        say("Mended.", usage=USAGE),
        bash("printf 'a\\0b' > data.bin; echo x > made.txt"),
        say("Ran.", usage=USAGE),
    ]
    async with LoopbackEndpoint(strictly(script)) as endpoint:
        url = endpoint.base_url
        first = await run(home, "run", "mend it", base_url=url)
        then = await run(home, "run", "--continue", "make it", "--allow-commands", base_url=url)
    assert (first.code, then.code) == (0, 0), (first, then)


async def test_a_rewind_restores_files_turn_by_turn_and_keeps_user_files(home) -> None:
    await two_turns(home)
    assert home.files["data.bin"] == b"a\0b"
    mended = home.files["shop.py"]
    home.write("shop.py", mended.decode() + "# mine\n")
    back = await run(home, "run", "--continue", "--turn", "1", "--files")
    assert back.code == 0, back
    assert "rewound to the end of turn 1\n" in back.stdout
    assert "restored 2 files: " in back.stderr
    assert home.files == {"shop.py": mended + b"# mine\n"}
    back = await run(home, "run", "--continue", "--turn", "0", "--files", "--json")
    assert "restored 1 file: shop.py" in json.loads(back.stdout)["notices"]
    assert home.files == {"shop.py": SOURCE.encode() + b"# mine\n"}
    again = await run(home, "run", "--continue", "--turn", "0", "--files", "--json")
    assert json.loads(again.stdout)["notices"] == ["the files hold no changes of later turns"]


async def test_a_rewind_without_the_files_flag_leaves_files_unchanged(home) -> None:
    await two_turns(home)
    before = home.files
    back = await run(home, "run", "--continue", "--turn", "0")
    assert "files are unchanged (--files restores them)" in back.stdout
    assert home.files == before
    wrong = await run(home, "run", "--continue", "--files")
    assert wrong.code == 2
    assert "--files: name the turn" in wrong.stderr


async def test_a_rewind_with_a_prompt_continues_the_conversation_at_once(home) -> None:
    await two_turns(home)
    async with LoopbackEndpoint(strictly([say("Otherwise.", usage=USAGE)])) as endpoint:
        which = ("--continue", "--turn", "0", "--files")
        ended = await run(home, "run", *which, "otherwise", base_url=endpoint.base_url)
    assert ended.code == 0, ended
    assert "restored 3 files: " in ended.stderr
    assert home.files == {"shop.py": SOURCE.encode()}
    assert "mend it" not in json.dumps(endpoint.seen[0].body["messages"])
