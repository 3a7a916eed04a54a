"""Tests SYS-03, SYS-04 and SYS-05: programs, folders, descriptors or memory are missing."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from indwell.cli import NO_HOME
from support.editing import EDIT, MENDED, READ, SERVE, SOURCE, USAGE, Home, bash, results
from support.loopback_endpoint import LoopbackEndpoint, say
from support.raw_client import SCRIPTED, RawClient, launched, raw_client
from support.raw_wire import PATIENCE_S

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="limits and folders of Unix")

GREP = ("grep", json.dumps({"pattern": "total"}))
GLOB = ("glob", json.dumps({"pattern": "*.py"}))
ALL_TOOLS = [
    say(calls=[READ, GREP, GLOB], usage=USAGE),
    bash("echo from-the-shell"),
    say(calls=[EDIT], usage=USAGE),
    say("Done.", usage=USAGE),
]


async def a_whole_turn(
    home: Home, command: tuple[str, ...] = SERVE, variables: Mapping[str, str | None] = {}
) -> list[str]:
    """Use all tools in one turn; return the results that the model received."""
    async with LoopbackEndpoint(ALL_TOOLS) as endpoint:
        environment = home.environment(endpoint.base_url) | variables
        kept = {name: value for name, value in environment.items() if value is not None}
        async with raw_client(home, command=command, environment=kept) as client:
            answer = await client.prompt("go")
            assert answer["result"]["ending"] == "done", answer
            assert await client.say_goodbye() == 0, client.stderr
            assert "Traceback" not in client.stderr
            return results(endpoint.seen[-1])


def limited(what: str, amount: int) -> tuple[str, ...]:
    """Return the server's command under a resource limit, as from ``ulimit``."""
    code = (
        "import os, resource, sys; "
        f"resource.setrlimit(resource.{what}, ({amount}, {amount})); "
        "os.execv(sys.argv[1], sys.argv[1:])"
    )
    return (sys.executable, "-c", code, *SERVE)


async def test_sys_03_without_programs_on_path_edits_work_and_missing_programs_are_reported(
    tmp_path,
) -> None:
    home, empty = Home(tmp_path), tmp_path / "empty"
    empty.mkdir()
    read, _grep, _glob, shell, edit = await a_whole_turn(home, variables={"PATH": str(empty)})
    assert "return sum(items) + 1" in read
    assert "bash" in shell or "from-the-shell" in shell
    assert (home.shop.read_text(), "shop.py" in edit) == (MENDED, True)


async def test_sys_03_the_server_works_without_a_path_variable(tmp_path) -> None:
    home = Home(tmp_path)
    await a_whole_turn(home, variables={"PATH": None})
    assert home.shop.read_text() == MENDED


HOMES = {
    "no HOME": None,
    "an empty one": "",
    "a relative one": "nowhere",
    "one that cannot be written": "/proc/1/nowhere",
}


async def test_sys_04_a_configured_state_folder_works_without_a_home_folder(tmp_path) -> None:
    async def one(name: str, home_folder: str | None) -> object:
        (tmp_path / name).mkdir()
        home = Home(tmp_path / name)
        shown = await a_whole_turn(home, variables={"HOME": home_folder})
        return len(shown), home.endings()

    ended = await asyncio.gather(*(one(*case) for case in HOMES.items()))
    assert dict(zip(HOMES, ended, strict=True)) == dict.fromkeys(HOMES, (5, [("done", "")]))


async def test_sys_04_and_per_08_a_turn_works_without_a_writable_log_and_reports_the_problem(
    tmp_path,
) -> None:
    home = Home(tmp_path)
    environment = home.environment(INDWELL_STATE="/proc/1/nowhere")
    async with raw_client(home, command=SCRIPTED, environment=environment) as client:
        answer = await client.prompt()
        assert answer["result"]["ending"] == "done"
        (told,) = [
            one["event"]["message"]
            for one in client.of("indwell/event")
            if one["event"]["type"] == "notice"
        ]
        assert told.startswith("this session is not saved, and cannot be resumed later: ")
        assert "/proc/1/nowhere" in told
        await client.heard()
        assert await client.say_goodbye() == 0
        assert "Traceback" not in client.stderr


NO_ENTRY = """
import pwd
def no_entry(uid):
    raise KeyError(uid)
pwd.getpwuid = no_entry
"""


async def test_sys_04_a_user_without_a_home_or_an_entry_of_the_system_gets_an_answer(
    tmp_path,
) -> None:
    """A container may run any number as its user."""
    home = Home(tmp_path)
    kept = home.environment()
    for name in ("HOME", "XDG_CONFIG_HOME", "INDWELL_STATE"):
        del kept[name]
    command = launched(NO_ENTRY, "--stdio", "--scripted")
    async with raw_client(home, command=command, environment=kept) as client:
        assert (await client.prompt())["result"]["ending"] == "done"
        assert await client.say_goodbye() == 0
        assert "Traceback" not in client.stderr
    assert not Path(NO_HOME).exists()


async def test_sys_04_a_home_that_cannot_be_written_costs_no_traceback(tmp_path) -> None:
    home = Home(tmp_path)
    environment = home.environment(INDWELL_STATE="/proc/1/nowhere", PATH=os.environ["PATH"])
    async with LoopbackEndpoint([bash("git init"), say("Done.", usage=USAGE)]) as endpoint:
        environment |= {"OPENAI_BASE_URL": endpoint.base_url, "INDWELL_MODEL": "any"}
        async with raw_client(home, command=SERVE, environment=environment) as client:
            assert (await client.prompt())["result"]["ending"] == "done"
            assert await client.say_goodbye() == 0
            assert client.stderr.count("the state of git's files cannot be kept") == 1
            assert "Traceback" not in client.stderr


async def test_sys_04_without_a_temporary_folder_everything_works(tmp_path) -> None:
    variables = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), "/proc/1/nowhere")
    await a_whole_turn(Home(tmp_path), variables=variables)


async def test_sys_04_sixty_four_descriptors_are_enough(tmp_path) -> None:
    shown = await a_whole_turn(Home(tmp_path), limited("RLIMIT_NOFILE", 64))
    assert "from-the-shell" in shown[3]


async def test_sys_04_a_gigabyte_of_address_space_is_enough(tmp_path) -> None:
    shown = await a_whole_turn(Home(tmp_path), limited("RLIMIT_AS", 1 << 30))
    assert "from-the-shell" in shown[3]


@pytest.mark.parametrize("megabytes", [60, 120])
async def test_sys_04_a_server_with_too_little_memory_ends_or_works_but_never_hangs(
    tmp_path, megabytes
) -> None:
    home = Home(tmp_path)
    command = (*limited("RLIMIT_AS", megabytes << 20), "--scripted")
    async with raw_client(home, command=command, hello=False) as client:
        asked = client.ask("initialize", client.hello())
        await client.wait_until(lambda: client.answers(asked) != [] or client.at_end)
        probe = client.ask("no/such")
        await client.wait_until(lambda: client.answers(probe) != [] or client.at_end)
        if client.at_end:
            assert await client.ended() != 0
            assert client.stderr != ""


def n_watches(pid: int) -> int:
    """Return the number of folders that a process watches (Linux)."""
    n_found = 0
    for one in Path(f"/proc/{pid}/fdinfo").iterdir():
        # the process has closed the descriptor meanwhile
        with contextlib.suppress(FileNotFoundError):
            n_found += one.read_text().count("inotify wd:")
    return n_found


async def _idle_cpu_s(client: RawClient) -> float:
    """Return a server's processor time after its threads have loaded and watched everything."""
    n_still, before = 0, client.facts.cpu_s
    # On a busy machine, one idle measurement may only mean that the server waits.
    while n_still < 4:
        await asyncio.sleep(0.25)
        now = client.facts.cpu_s
        n_still, before = (n_still + 1 if now == before else 0), now
    return before


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
async def test_sys_05_a_storm_of_file_events_is_cheap_and_read_files_stay_watched(
    tmp_path,
) -> None:
    home = Home(tmp_path)
    replies = [say(calls=[READ], usage=USAGE), *[say("Done.", usage=USAGE)] * 3]
    async with LoopbackEndpoint(replies) as endpoint:
        environment = home.environment(endpoint.base_url)
        async with raw_client(home, command=SERVE, environment=environment) as client:
            await client.prompt("read")
            async with asyncio.timeout(PATIENCE_S):
                while not n_watches(client.pid):  # a thread starts the watches
                    await client.heard()
                before = await _idle_cpu_s(client)
            for number in range(2_000):
                home.write(f"node_modules/{number % 50}/{number}.js", "x")
            await client.heard()
            assert client.facts.cpu_s - before < 0.2
            # The server watches the folder of shop.py for read files, and for the check before the
            # first command. The watch for the check reports node_modules, but nothing in its fifty
            # folders.
            assert n_watches(client.pid) <= 3
            for number in range(3_000):
                home.write(f"{number}.tmp", "x")
            await client.prompt("and now?")  # then it checks that folder
            assert client.facts.cpu_s - before < 1.5
            home.shop.write_text(SOURCE + "# more\n")
            await client.prompt("and now?")
            assert "+# more" in json.dumps(endpoint.seen[-1].body)


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of Linux")
async def test_sys_05_files_are_polled_if_no_watch_is_available(tmp_path) -> None:
    home = Home(tmp_path)
    replies = [say(calls=[READ], usage=USAGE), *[say("Done.", usage=USAGE)] * 2]
    no_watch = (
        "import runpy, sys; import watchdog.observers.inotify as i; "
        "sys.argv = ['indwell', 'serve', '--stdio']; "
        "i.InotifyObserver.schedule = lambda *a, **k: (_ for _ in ()).throw(OSError(28, 'limit')); "
        "runpy.run_module('indwell', run_name='__main__')"
    )
    async with LoopbackEndpoint(replies) as endpoint:
        environment = home.environment(endpoint.base_url)
        command = (sys.executable, "-c", no_watch)
        async with raw_client(home, command=command, environment=environment) as client:
            await client.prompt("read")
            await client.prompt("go on")
            home.shop.write_text(SOURCE + "# more\n")
            await client.prompt("and now?")
            assert "+# more" in json.dumps(endpoint.seen[-1].body)
            # the check before a command uses a watch that reports names
            assert n_watches(client.pid) <= 1
