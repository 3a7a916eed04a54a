"""The last minutes: sessions are listed and deleted, and everything can be purged."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from indwell.cli.purge import OURS, places
from indwell.sessions.store import SessionStore
from support import file_keyring
from support.editing import Home
from support.loopback_endpoint import LoopbackEndpoint
from support.model_server import answering, listed
from support.terminal import Ended, indwell


@pytest.fixture
def home(tmp_path) -> Home:
    return Home(tmp_path)


async def run(home: Home, *arguments: str, stdin: bytes | None = None) -> Ended:
    environment = {**home.environment(), **file_keyring.variables(home.folder)}
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
        (("list", "x"), "takes no ID"),
        (("remove",), "invalid choice"),
    ],
)
async def test_a_wrong_command_line_is_a_usage_error(home, arguments, words) -> None:
    ended = await run(home, "sessions", *arguments)
    assert (ended.code, words in ended.stderr) == (2, True), ended


async def test_purge_lists_first_and_deletes_only_what_is_ours(home) -> None:
    async with LoopbackEndpoint(answering(listed("q"))) as endpoint:
        await run(home, "login", endpoint.base_url, "--key-stdin", stdin=b"sk-canary-5\n")
    await run(home, "run", "hello", "--scripted")
    (home.state / "other.txt").write_text("of somebody else")
    settings = (home.config / "indwell" / "config.toml").read_text()
    asked = await run(home, "purge")
    assert (asked.code, asked.stderr) == (2, "say --yes to delete this\n")
    assert f"folder: {home.state / 'sessions'} (" in asked.stdout
    assert f"key: {endpoint.base_url.removesuffix('/v1')}\n" in asked.stdout
    assert file_keyring.held(home.folder) != {}
    would = json.loads((await run(home, "purge", "--json")).stdout)
    assert [one["kind"] for one in would["would_delete"]] == ["folder", "key"]
    done = await run(home, "purge", "--yes")
    assert (done.code, file_keyring.held(home.folder)) == (0, {})
    assert [path.name for path in home.state.iterdir()] == ["other.txt"]
    assert [path.name for path in (home.config / "indwell").iterdir()] == ["config.toml"]
    assert (home.config / "indwell" / "config.toml").read_text() == settings
    assert (await run(home, "purge")).stdout == "nothing is kept here\n"


async def test_purge_leaves_an_open_session_and_says_so(home) -> None:
    name, writer = SessionStore(home.state, home.workspace).create(model="m", now=datetime.now(UTC))
    await writer.commit()
    ended = await run(home, "purge", "--yes")
    assert (ended.code, f"session {name!r} is open in an editor" in ended.stderr) == (1, True)
    await writer.close()
    assert SessionStore(home.state, home.workspace).ids() == (name,)


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
