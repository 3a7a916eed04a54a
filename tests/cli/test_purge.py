"""Sessions can be listed and deleted, and all stored data can be purged."""

from __future__ import annotations

import json
import os
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from indwell.cli.stored.purge import OURS, places
from indwell.cli.stored.sessions import whole_id
from indwell.sessions.storage.store import SessionStore
from support import file_keyring
from support.editing import Home
from support.loopback_endpoint import LoopbackEndpoint
from support.model_server import answering, listed
from support.platforms import posix_only
from support.terminal import Ended, indwell
from support.terminal_screen import Terminal


@pytest.fixture
def home(tmp_path) -> Home:
    return Home(tmp_path)


async def run(home: Home, *arguments: str, stdin: bytes | None = None) -> Ended:
    temporary = home.folder / "temporary"  # the machine's may have folders of other tests
    temporary.mkdir(exist_ok=True)
    environment = {
        **home.environment(TMPDIR=str(temporary)),
        **file_keyring.variables(home.folder),
    }
    return await indwell(*arguments, environment=environment, folder=home.workspace, stdin=stdin)


async def test_a_session_can_be_listed_and_deleted(home) -> None:
    await run(home, "run", "What can you do?", "--scripted")
    shown = await run(home, "sessions")
    (listed_one,) = json.loads((await run(home, "sessions", "list", "--json")).stdout)
    name = listed_one["id"]
    assert (shown.code, name in shown.stdout, "What can you do?" in shown.stdout) == (0, True, True)
    assert listed_one["workspace"] == str(home.workspace)
    deleted = await run(home, "sessions", "delete", name, "--json")
    assert (deleted.code, json.loads(deleted.stdout)) == (0, {"deleted": [name], "failed": {}})
    again = await run(home, "sessions", "delete", name)
    assert (again.code, again.stdout) == (1, "")
    assert again.stderr == f"there is no session {name!r}; `indwell sessions --all` lists them\n"


async def test_sessions_of_other_folders_are_shown_only_when_asked_for(home) -> None:
    _, writer = SessionStore(home.state, home.folder / "other").create(
        model="m", now=datetime.now(UTC)
    )
    await writer.close()
    assert (await run(home, "sessions", "--json")).stdout == "[]\n"
    everywhere = json.loads((await run(home, "sessions", "--all", "--json")).stdout)
    assert [one["workspace"] for one in everywhere] == [str(home.folder / "other")]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("delete",), "name the sessions to delete"),
        (("list", "x"), "remove the ID"),
        (("remove",), "invalid choice"),
    ],
)
async def test_a_wrong_sessions_command_line_is_a_usage_error(home, arguments, words) -> None:
    ended = await run(home, "sessions", *arguments)
    assert (ended.code, words in ended.stderr) == (2, True), ended


async def test_purge_lists_first_and_deletes_only_indwells_files(home) -> None:
    async with LoopbackEndpoint(answering(listed("q"))) as endpoint:
        await run(home, "login", endpoint.base_url, "--key-stdin", stdin=b"sk-canary-5\n")
    await run(home, "run", "hello", "--scripted")
    (home.state / "other.txt").write_bytes(b"of somebody else")
    settings = (home.config / "indwell" / "config.toml").read_text(encoding="utf-8")
    asked = await run(home, "purge")
    assert (asked.code, asked.stderr) == (2, "to delete this, add --yes\n")
    assert f"folder: {home.state / 'sessions'} (" in asked.stdout
    assert f"key: {endpoint.base_url.removesuffix('/v1')}\n" in asked.stdout
    assert file_keyring.held(home.folder) != {}
    would = json.loads((await run(home, "purge", "--json")).stdout)
    assert [one["kind"] for one in would["would_delete"]] == ["folder", "key"]
    done = await run(home, "purge", "--yes")
    assert (done.code, file_keyring.held(home.folder)) == (0, {})
    assert done.stdout.endswith("\nall of this is deleted\n")
    assert [path.name for path in home.state.iterdir()] == ["other.txt"]
    assert [path.name for path in (home.config / "indwell").iterdir()] == ["config.toml"]
    assert (home.config / "indwell" / "config.toml").read_text(encoding="utf-8") == settings
    assert (await run(home, "purge")).stdout == "there is nothing to delete\n"
    done = await run(home, "purge", "--settings", "--yes")
    assert (done.code, "settings: " in done.stdout) == (0, True)
    assert not (home.config / "indwell").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="folders have no modes there")
async def test_purge_keeps_folders_that_others_made_beside_the_state(home) -> None:
    worktrees = home.state.with_name("state-worktrees")
    others = (home.state / "git", home.state / "tasks" / ".git", worktrees)
    for folder in others:
        folder.mkdir(parents=True)
    (home.state / "tasks").chmod(0o700)
    done = await run(home, "purge", "--yes")
    assert (done.code, done.stdout) == (0, "there is nothing to delete\n")
    assert all(f"{one} stays: " in done.stderr for one in (*others[::2], home.state / "tasks"))
    assert all(map(Path.is_dir, others))


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the system makes these folders")
async def test_purge_leaves_nothing_in_a_new_home_but_what_others_put_there(home) -> None:
    environment = {
        name: value
        for name, value in home.environment().items()
        if name != "INDWELL_STATE" and not name.startswith("XDG_")
    }
    await indwell("run", "hello", "--scripted", environment=environment, folder=home.workspace)
    assert (home.folder / ".local" / "state" / "indwell").is_dir()
    others = home.folder / ".config" / "other"
    others.mkdir(parents=True)
    (home.folder / ".config" / "indwell").mkdir()
    (home.folder / ".config" / "indwell" / "config.toml").write_bytes(b"")
    await indwell("purge", "--settings", "--yes", environment=environment, folder=home.workspace)
    left = {one.relative_to(home.folder).as_posix() for one in home.folder.rglob("*")}
    assert {one for one in left if not one.startswith("work")} == {".config", ".config/other"}


async def test_purge_keeps_and_reports_an_open_session(home) -> None:
    name, writer = SessionStore(home.state, home.workspace).create(model="m", now=datetime.now(UTC))
    await writer.commit()
    ended = await run(home, "purge", "--yes")
    assert (ended.code, f"session {name!r} is open in an editor" in ended.stderr) == (1, True)
    await writer.close()
    assert SessionStore(home.state, home.workspace).ids() == (name,)


@posix_only("descriptors")
async def test_purge_deletes_the_temporary_folders_of_servers_that_were_killed(home) -> None:
    folder = home.folder / "temporary" / "indwell-temp-abcdefgh"
    (folder / "tmp").mkdir(parents=True)
    os.utime(folder, (0, 0))
    asked = await run(home, "purge")
    assert (asked.code, f"folder: {folder} (" in asked.stdout) == (2, True)
    assert (await run(home, "purge", "--yes")).code == 0
    assert not folder.exists()


def test_purge_spares_the_settings_where_everything_shares_one_folder() -> None:
    linux = (Path("/h/.local/state/indwell"), Path("/h/.config/indwell/config.toml"))
    cache, data = Path("/h/.cache/indwell"), Path("/h/.local/share/indwell")
    assert places(linux[0], (cache, data), linux[1], is_named=False) == (linux[0], cache, data)
    named = tuple(Path("/mine") / name for name in OURS)
    assert places(Path("/mine"), (cache,), linux[1], is_named=True) == (*named, cache)
    mac = Path("/h/Library/Application Support/indwell")
    assert places(mac, (cache, mac), mac / "config.toml", is_named=False) == (
        *(mac / name for name in OURS),
        cache,
    )


async def kept_sessions(home: Home, number: int) -> list[str]:
    """Create ended sessions, oldest first."""
    names = []
    for hour in range(number):
        began = datetime(2026, 1, 2, 3 + hour, tzinfo=UTC)
        name, writer = SessionStore(home.state, home.workspace).create(model="m" * 60, now=began)
        await writer.close()
        names.append(name)
    return names


async def test_the_session_list_has_one_line_per_session_with_the_full_id_first(home) -> None:
    names = await kept_sessions(home, 2)
    piped = await run(home, "sessions")
    assert [line.split("\t")[0] for line in piped.stdout.splitlines()] == names[::-1]
    with Terminal("sessions", environment=home.environment(), folder=home.workspace) as terminal:
        assert terminal.ends() == 0
    head, *lines, room = terminal.shown.splitlines()
    assert room == "sessions take 0.0 MB; at most 2,000 MB are kept (`keep_sessions_mb`)"
    assert head.split() == ["session", "turns", "cost", "model", "words"]
    assert [line.split()[0] for line in lines] == names[::-1]
    assert max(map(len, lines)) <= 100
    assert lines[0].endswith("…")


async def test_the_session_list_has_aligned_columns_and_marks_imported_sessions(
    home,
) -> None:
    (home.workspace / "x.jsonl").write_bytes(
        b'{"messages":[{"role":"user","content":"hello"},{"role":"assistant","content":"well"}]}\n'
    )
    await run(home, "sessions", "import", "x.jsonl")
    await run(home, "run", "What can you do?", "--scripted")
    piped = await run(home, "sessions")
    assert [line.split("\t")[3] for line in piped.stdout.splitlines()][1:] == ["imported"]
    with Terminal("sessions", environment=home.environment(), folder=home.workspace) as terminal:
        assert terminal.ends() == 0
    head, first, second, _room = terminal.shown.splitlines()
    at = head.index("words")
    assert (first[at : at + 8], second[at : at + 5]) == ("What can", "hello")
    assert second[head.index("model") :].startswith("imported ")


async def test_a_session_can_be_deleted_by_a_unique_beginning_of_its_id(home) -> None:
    first, second = await kept_sessions(home, 2)
    shared = first[:9]  # this part is the date
    assert second.startswith(shared)
    refused = await run(home, "sessions", "delete", shared)
    assert (refused.code, refused.stderr) == (
        1,
        f"2 sessions begin with {shared!r}; give more characters\n",
    )
    done = await run(home, "sessions", "delete", first[:11])
    assert (done.code, done.stdout) == (0, f"deleted: {first}\n")


@pytest.mark.parametrize(("given", "whole"), [("a", "a"), ("ab-", "ab-1"), ("x", "x"), ("", "")])
def test_an_exact_session_id_takes_precedence_over_longer_ids_and_an_empty_id_finds_nothing(
    given, whole
) -> None:
    assert whole_id(given, ("a", "ab-1", "abc")) == whole


async def test_a_run_deletes_old_sessions(home) -> None:
    store = SessionStore(home.state, home.workspace)
    names = []
    for days in (60, 1):
        at = datetime.now(UTC) - timedelta(days=days)
        name, writer = store.create(model="m", now=at)
        await writer.close()
        os.utime(store.spill(name).parent / "log.jsonl", (at.timestamp(), at.timestamp()))
        names.append(name)
    home.configure("keep_sessions_days = 30\n")
    done = await run(home, "run", "hello", "--scripted")
    assert (done.code, "deleted 1 old session" in done.stderr) == (0, True)
    assert set(store.ids()) & set(names) == {names[1]}
    listed = await run(home, "sessions")
    assert "Indwell deleted 1 old session (`keep_sessions_days`)" in listed.stderr
    found = await run(home, "doctor", "--offline")
    assert "at most 2,000 MB are kept" in found.stdout


async def test_a_run_keeps_a_session_that_a_wrong_clock_dated(home) -> None:
    store = SessionStore(home.state, home.workspace)
    name, writer = store.create(model="m", now=datetime.now(UTC) - timedelta(days=1))
    await writer.close()
    os.utime(store.spill(name).parent / "log.jsonl", (0, 0))
    home.configure("keep_sessions_days = 30\n")
    assert (await run(home, "run", "hello", "--scripted")).code == 0
    assert name in store.ids()


def test_ctrl_c_at_the_confirmation_of_purge_deletes_nothing(home) -> None:
    home.state.mkdir()
    (home.state / "sessions").mkdir(mode=0o700)
    with Terminal("purge", environment=home.environment(), folder=home.workspace) as terminal:
        terminal.interrupt("[y/N] ")
        assert (terminal.ends(), terminal.echoes) == (130, True)
    assert terminal.shown.rstrip().endswith("nothing was deleted")
    assert "Traceback" not in terminal.shown
    assert (home.state / "sessions").exists()
