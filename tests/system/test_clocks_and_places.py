"""Tests SYS-06: time zones, locales, wrong clocks; a monotonic clock measures durations."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from indwell.sessions.ids import RANDOM_B, check_id, new_id
from support.editing import EDIT, READ, SERVE, USAGE, Home, bash, results
from support.loopback_endpoint import LoopbackEndpoint, say
from support.raw_client import raw_client
from support.session import a_world, asks, call, says, with_parts

PACKAGE = Path(__file__).resolve().parents[2] / "server" / "indwell"
ZONES = (
    "UTC",
    "Asia/Kathmandu",
    "Pacific/Apia",
    "America/St_Johns",
    "Not/AZone",
    "",
    ":",
    "XYZ-25",
)
LOCALES = (
    {"LANG": "C", "LC_ALL": "C"},
    {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    {"LANG": "tr_TR.UTF-8", "LC_ALL": "tr_TR.UTF-8"},
    {"LANG": "nonsense", "LC_ALL": "nonsense", "LANGUAGE": "zz"},
)
WORDS = "ünï 🐍 Ωμέγα \u2028 ß"


async def a_turn_in(folder: Path, variables: dict[str, str]) -> None:
    """Run a turn with a non-ASCII prompt, non-ASCII file names and output."""
    folder.mkdir()
    home = Home(folder)
    home.write("naïve ☃.py", "x = 'ß'\n")
    script = [
        bash("printf 'ünï 🐍'; ls"),
        say(calls=[READ], usage=USAGE),
        say(calls=[EDIT], usage=USAGE),
        say(WORDS, usage=USAGE),
    ]
    async with LoopbackEndpoint(script) as endpoint:
        environment = home.environment(endpoint.base_url, **variables)
        async with raw_client(home, command=SERVE, environment=environment) as client:
            answer = await client.prompt(WORDS)
            assert (answer["result"]["ending"], answer["result"]["answer"]) == ("done", WORDS), (
                variables,
                answer,
            )
            finished = client.of("indwell/event")[-1]["event"]
            assert (finished["type"], finished["seconds"] >= 0) == ("turnFinished", True)
            assert await client.say_goodbye() == 0
            assert "Traceback" not in client.stderr
        asked = endpoint.seen[0].body["messages"]
        shown = str(endpoint.seen[1].body["messages"])
        assert (WORDS in str([one["content"] for one in asked])) or WORDS in asked[-1]["content"]
        assert ("ünï 🐍" in shown, "naïve ☃.py" in shown) == (True, True), (variables, shown[-900:])
    assert home.endings() == [("done", "")]


async def test_a_turn_is_the_same_in_every_time_zone_and_locale(tmp_path) -> None:
    """Each server has an odd time zone and an odd locale, in independent combinations."""
    odd = [{"TZ": zone, **locale} for zone, locale in zip(ZONES[1:], cycle(LOCALES), strict=False)]
    for first in range(0, len(odd), 4):  # four servers at once do not overload a small machine
        four = enumerate(odd[first : first + 4], first)
        await asyncio.gather(*(a_turn_in(tmp_path / f"{n} ü", variables) for n, variables in four))


def test_an_argument_and_the_output_are_utf_8_in_every_locale(tmp_path) -> None:
    home = Home(tmp_path)
    odd = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    said = subprocess.run(
        [sys.executable, "-m", "indwell", "memory", "add", "Größe 🐍".encode()],
        env=home.environment(**odd),
        cwd=home.workspace,
        capture_output=True,
        check=False,
    )
    assert (said.stdout.decode(), said.stderr) == ("kept: Größe 🐍\n", b"")


MOMENTS = {
    "the second after 32 bits": datetime(2038, 1, 19, 3, 14, 8, tzinfo=UTC),
    "unsigned 32 bits": datetime(2106, 2, 7, 6, 28, 16, tzinfo=UTC),
    "a leap day": datetime(2028, 2, 29, 23, 59, 59, 999_999, tzinfo=UTC),
    "no leap year": datetime(2100, 2, 28, 23, 59, 59, tzinfo=UTC),
    "the epoch": datetime(1970, 1, 1, tzinfo=UTC),
    "a dead battery": datetime(1, 1, 1, tzinfo=UTC),
    "the last year": datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC),
}


@pytest.mark.parametrize("moment", MOMENTS.values(), ids=MOMENTS)
async def test_a_session_of_any_time_can_be_read(tmp_path, moment) -> None:
    script = [asks(call("read_file", path="a.py")), says("read")]
    async with a_world(tmp_path, script, files={"a.py": "x\n"}) as world:
        with_parts(world.session, now=lambda: moment)
        finished = await world.turn()
        assert finished.ending == "done"
        assert await world.records()
    check_id(new_id(moment, bytes(RANDOM_B)))


async def test_a_clock_that_goes_back_an_hour_in_a_turn_changes_no_duration(tmp_path) -> None:
    script = [asks(call("read_file", path="a.py")), says("read")]
    async with a_world(tmp_path, script, files={"a.py": "x\n"}) as plain:
        expected = await plain.turn()
    start, steps = datetime(2026, 10, 25, 2, 59, 59, tzinfo=UTC), iter(range(10_000))
    async with a_world(tmp_path / "back", script, files={"a.py": "x\n"}) as world:
        with_parts(world.session, now=lambda: start - timedelta(hours=next(steps)))
        finished = await world.turn()
        assert (finished.ending, finished.seconds) == ("done", expected.seconds)
        assert await world.records()


def test_session_names_sort_by_time_across_years_and_time_changes() -> None:
    names = [new_id(moment, b"\xff" * RANDOM_B) for moment in sorted(MOMENTS.values())]
    assert names == sorted(names)


def test_no_duration_is_measured_with_the_wall_clock() -> None:
    """Code may use ``datetime.now`` for a time, and only ``time.monotonic`` for a duration.

    Some modules compare a file's time of change with the current time, and one stores the expiry
    of a login. These use the wall clock correctly.
    """
    wall_clock = re.compile(r"\btime\.time(_ns)?\(|\butcnow\(")
    found = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if wall_clock.search(path.read_text("utf-8"))
    }
    # They are compared with times of files.
    watching = {"files/watch/installed_repositories.py", "files/watch/tree.py"}
    ages_of_files = {*watching, "service/demo_project.py", "files/private.py"}
    assert found == {*ages_of_files, "mcp/login.py"}
    assert wall_clock.search("taken = time.time() - started")


async def test_a_workspace_behind_a_link_is_recognised_by_both_paths(tmp_path: Path) -> None:
    """On macOS, ``/tmp`` is a link to ``/private/tmp``, and commands print the target."""
    (tmp_path / "private").mkdir()
    (tmp_path / "tmp").symlink_to(tmp_path / "private")
    home = Home(tmp_path / "private")
    real = str(home.shop)
    home.workspace = tmp_path / "tmp" / "work"
    home.trusted = (home.workspace,)
    edits = [{"old": "unsaved", "new": "edited"}]
    script = [
        say(calls=[("read_file", json.dumps({"path": real}))], usage=USAGE),
        say(calls=[("edit_file", json.dumps({"path": real, "edits": edits}))], usage=USAGE),
        say("done", usage=USAGE),
    ]
    async with (
        LoopbackEndpoint(script) as server,
        raw_client(home, command=SERVE, environment=home.environment(server.base_url)) as client,
    ):
        asked: list[str] = []

        def refuse(params: dict[str, Any]) -> dict[str, bool]:
            asked.extend(one["textDocument"]["uri"] for one in params["edit"]["documentChanges"])
            return {"applied": False}

        client.replies["workspace/applyEdit"] = refuse
        uri = client.open_shop("unsaved = 1\n")
        answer = await client.prompt()
        assert answer["result"]["ending"] == "done", client.stderr
        assert set(asked) == {uri}
        assert await client.say_goodbye() == 0
    read, _refused = results(server.seen[-1])
    assert "unsaved = 1" in read
