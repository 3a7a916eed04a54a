"""Answers about git entries survive a restart; the agent's entries never count as the user's."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from indwell.bounds.git import known_state as git_note
from indwell.bounds.git.entries import GitEntries
from indwell.bounds.git.known_state import GitNote
from indwell.errors import ToolError
from support.bubblewrap import needs_bubblewrap
from support.editing import USAGE, Home, bash
from support.forging import forge
from support.git_shell import run
from support.loopback_endpoint import LoopbackEndpoint, say
from support.platforms import posix_only
from support.raw_client import HATCHED, raw_client

pytestmark = posix_only("git")

EVIL = ".github/workflows/evil.yml"
PLANT = (
    "b=$(echo evil | git hash-object -w --stdin); "
    f"git update-index --add --cacheinfo 100644,$b,{EVIL}"
)
IN_INDEX = f"'{EVIL}' in the index"


class Place:
    """A workspace with stored answers; each ``process`` begins with the last process's state."""

    def __init__(self, folder: Path) -> None:
        self.work = (folder / "work").resolve()
        self.note = folder / "state" / "git" / "work"
        self.work.mkdir()
        self.runs = False
        run(self.work, "git init -q -b main; mkdir .github; echo old > .github/old.yml")
        run(self.work, "git add -A; git commit -qm first")

    def process(self) -> GitEntries:
        """Return the entries of a new process, which only knows the stored note."""
        git_note._notes.clear()  # forgets the state of the earlier process
        return GitEntries(lambda: (self.work,), GitNote(self.note), lambda: self.runs)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


async def command(entries: GitEntries, place: Place, text: str) -> list[str]:
    """Run a command; return the notices before and after the command."""
    told = await entries.news()
    await entries.begin()
    run(place.work, text)
    return [one.words for one in (*told, *await entries.look())]


async def test_a_refused_git_entry_stays_refused_in_the_next_process(place: Place) -> None:
    assert await command(place.process(), place, PLANT) == [IN_INDEX]
    entries = place.process()
    assert await command(entries, place, "true") == [], "it was told already"
    assert entries.in_git == (IN_INDEX,)
    run(place.work, f"git rm -q --cached {EVIL}")
    await command(entries, place, "true")
    assert place.process().waiting == entries.waiting == ()


async def test_an_approved_git_entry_stays_approved_in_the_next_process(place: Place) -> None:
    entries = place.process()
    await command(entries, place, PLANT)
    await entries.agree(entries.waiting)
    entries = place.process()
    assert await command(entries, place, "true") == []
    assert entries.waiting == ()


async def test_changes_of_the_user_between_commands_need_no_question(place: Place) -> None:
    entries = place.process()
    await command(entries, place, "true")
    run(place.work, f"{PLANT}; git commit -qm mine")
    assert await command(entries, place, "true") == []
    run(place.work, PLANT.replace("evil", "also"))
    assert await command(place.process(), place, "true") == [], "nor between two processes"


async def test_the_next_process_reports_changes_that_a_killed_process_missed(place: Place) -> None:
    entries = place.process()
    await entries.begin()
    run(place.work, PLANT)
    forge(place.work, "a loose object")
    entries = place.process()
    told = await entries.news()
    assert [one.kind for one in told] == ["store", "file"]
    await entries.begin()
    await entries.look()
    run(place.work, PLANT.replace("evil", "mine"))
    assert await command(place.process(), place, "true") == [], "it is the user's own again"


async def test_git_changes_by_a_background_command_are_reported_at_the_next_command(
    place: Place,
) -> None:
    entries = place.process()
    place.runs = True
    assert await command(entries, place, "true") == []
    run(place.work, PLANT)
    place.runs = False
    await entries.settle()
    run(place.work, f"{PLANT.replace('evil', 'mine')}; git commit -qm mine")
    assert [one.words for one in await entries.news()] == [IN_INDEX]


async def test_changes_by_a_check_or_hook_are_reported_before_the_next_command(
    place: Place,
) -> None:
    entries = place.process()
    async with entries.around():
        run(place.work, PLANT)
    assert entries.in_git == (IN_INDEX,)
    assert await command(entries, place, "true") == [IN_INDEX]


async def test_git_changes_by_a_stopped_check_are_reported(place: Place) -> None:
    entries = place.process()

    async def stopped() -> None:
        async with entries.around():
            run(place.work, PLANT)
            raise ToolError("stopped")

    with pytest.raises(ToolError):
        await stopped()
    assert [one.words for one in await entries.news()] == [IN_INDEX]


async def test_two_sessions_share_refused_git_entries(place: Place) -> None:
    one = place.process()
    other = GitEntries(lambda: (place.work,), GitNote(place.note))
    await command(other, place, "true")
    await command(one, place, PLANT)
    assert await command(other, place, "true") == []
    assert other.in_git == (IN_INDEX,)
    await other.agree(other.waiting)
    await command(one, place, "true")
    assert one.in_git == (), "nor does an answer that another session got count twice"


async def test_git_changes_during_another_sessions_command_are_not_the_users(place) -> None:
    one = place.process()
    other = GitEntries(lambda: (place.work,), GitNote(place.note))
    await command(other, place, "true")
    await one.begin()
    run(place.work, PLANT)
    assert [found.words for found in await other.news()] == [IN_INDEX]
    await other.begin()
    await other.look()
    run(place.work, PLANT.replace("evil", "more"))
    assert len(await other.news()) == 1, "the first one has not ended yet"


@pytest.mark.parametrize("damage", [b"{", b"[]", b"\xff", b'{"waiting": 3}', b"[" * 100_000])
async def test_a_damaged_note_is_reported_until_the_user_removes_it(place: Place, damage) -> None:
    await command(place.process(), place, PLANT)
    (place.note / "seen.json").write_bytes(damage)
    entries = place.process()
    (told,) = await command(entries, place, "true")
    assert "cannot be read" in told
    damaged = place.note / "damaged.json"
    assert str(damaged) in told
    assert entries.unchecked == (told,)
    entries = place.process()
    await command(entries, place, "true")
    assert entries.unchecked == (told,), "it outlives the process"
    damaged.unlink()
    await command(entries, place, "true")
    assert entries.waiting == ()


async def test_a_damaged_note_that_cannot_be_moved_away_is_not_written_over(place: Place) -> None:
    (place.note / "damaged.json" / "x").mkdir(parents=True)
    (place.note / "seen.json").write_bytes(b"{")
    entries = place.process()
    (told,) = await command(entries, place, "true")
    assert str(place.note / "seen.json") in told
    assert await command(entries, place, "true") == []
    assert (place.note / "seen.json").read_bytes() == b"{"
    await entries.agree(entries.waiting)
    assert await command(entries, place, PLANT) == [IN_INDEX]
    assert b"evil" in (place.note / "seen.json").read_bytes()


async def test_a_yes_forgets_a_damaged_note(place: Place) -> None:
    place.note.mkdir(parents=True)
    (place.note / "seen.json").write_bytes(b"{")
    entries = place.process()
    await command(entries, place, "true")
    await entries.agree(entries.waiting)
    assert entries.waiting == ()
    assert await command(place.process(), place, "true") == []
    assert not (place.note / "damaged.json").exists()


async def test_only_the_user_can_read_the_stored_note(place: Place) -> None:
    entries = place.process()
    await entries.begin()
    for one in (place.note, *place.note.iterdir()):
        assert stat.S_IMODE(one.stat().st_mode) & 0o077 == 0, one
    await entries.look()
    assert [one.name for one in place.note.iterdir()] == ["seen.json"]


async def test_a_file_name_with_any_bytes_is_stored_in_the_note(place: Place) -> None:
    text = PLANT.replace(EVIL, "$(printf '.vscode/\\xff')")
    assert len(await command(place.process(), place, text)) == 1
    entries = place.process()
    await command(entries, place, "true")
    assert len(entries.waiting) == 1


STORE = "Keep these changed files of git's store?"
KEEP = "Keep these protected files in git?"


@needs_bubblewrap
async def test_git_changes_by_commands_are_asked_about_in_the_background_and_after_a_restart(
    tmp_path,
) -> None:
    home = Home(tmp_path)
    run(home.workspace, "git init -q -b main; mkdir .github; echo old > .github/old.yml")
    run(home.workspace, "git add -A; git commit -qm first")
    (home.workspace / "forge.py").write_bytes(
        b"import sys, zlib\n"
        b"from pathlib import Path\n"
        b"one = Path('.git/objects') / sys.argv[1][:2] / sys.argv[1][2:]\n"
        b"one.unlink()\n"
        b"one.write_bytes(zlib.compress(b'blob 5\\0evil\\n'))\n"
    )
    name = run(home.workspace, "git rev-parse HEAD:.github/old.yml").strip()
    evil = run(home.workspace, "echo evil | git hash-object -w --stdin").strip()
    plant = f"sleep 2; git update-index --add --cacheinfo 100644,{evil},{EVIL}"
    forge_it = f"git status --short; python3 forge.py {name}"
    background = ("bash", json.dumps({"command": plant, "background": True}))
    script = [
        say(calls=[background], usage=USAGE),
        say(calls=[("commands", json.dumps({"id": "b1", "wait_s": 60}))], usage=USAGE),
        bash(forge_it),
        say("ok", usage=USAGE),
        bash("git push"),
        say("ok", usage=USAGE),
    ]
    asked: list[tuple[str, str]] = []

    def reply(params: dict[str, str]) -> dict[str, str]:
        asked.append((params["title"], f"{params['reason']}\n{params['detail']}"))
        return {"answer": "no" if params["title"] in {KEEP, STORE} else "once"}

    async with LoopbackEndpoint(script) as server:
        environment = home.environment(server.base_url)
        for _ in range(2):
            async with raw_client(home, command=HATCHED, environment=environment) as client:
                client.replies["indwell/permission"] = reply
                client.open_shop()
                ended = await client.prompt()
                assert ended["result"]["ending"] == "done", client.stderr
                assert await client.say_goodbye() == 0
    assert [title.partition(" in /")[0] for title, _ in asked] == [KEEP, STORE, "Run a command"]
    why = asked[-1][1]
    assert (
        f"it may send protected files that came into git without your approval: '{EVIL}' in the "
        "index"
    ) in why
    assert (
        f"it may send changes that could not be checked: '.git/objects/{name[:2]}/{name[2:]}'"
        in why
    )
