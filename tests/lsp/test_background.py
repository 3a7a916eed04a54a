"""Background commands for an editor's user: reported, listed, stopped, never left running."""

from __future__ import annotations

import asyncio
import json
import secrets
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from indwell.lsp.messages import status as commands
from indwell.lsp.methods.commands import CLOSE
from support.editing import USAGE, Editor, Home, Playlist, editing, running, texts_of
from support.loopback_endpoint import Answer, LoopbackEndpoint, say

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")

PATIENCE_S = 60.0  # seconds; only a failing test waits so long


def starts(command: str) -> Answer:
    arguments = json.dumps({"command": command, "background": True})
    return say(calls=[("bash", arguments)], usage=USAGE)


@asynccontextmanager
async def a_server(
    folder: Path, *extensions: str
) -> AsyncIterator[tuple[Editor, LoopbackEndpoint, str]]:
    """Start an editor in whose session a command continues; yield also the command's marker."""
    home, playlist, marker = Home(folder), Playlist(), f"1000.{secrets.randbelow(10**9):09}"
    home.configure('mode = "auto"\n')
    async with (
        LoopbackEndpoint(playlist) as endpoint,
        editing(home, endpoint.base_url, extensions=extensions) as editor,
    ):
        playlist.play(starts(f"echo ready; sleep {marker}"), say("It runs."), say("I see."))
        editor.open(home.shop)
        await editor.ask("start it")
        assert running(marker) != []
        yield editor, endpoint, marker


async def listed(editor: Editor, **params: Any) -> commands.CommandsResult:
    found: commands.CommandsResult = await editor.client.protocol.send_request_async(
        "indwell/commands", commands.CommandsParams(**params)
    )
    return found


async def test_the_user_sees_and_stops_a_background_command_and_the_model_is_told(
    tmp_path: Path,
) -> None:
    async with a_server(tmp_path, "events") as (editor, endpoint, marker):
        (told,) = [one for one in editor.events if one["type"] == "commandsChanged"]
        (row,) = told["commands"]
        assert (row["id"], row["state"], row["exitCode"], row["tail"], row["by"]) == (
            *("b1", "running", None),
            *("ready\n", ""),
        )
        (now,) = (await listed(editor)).commands
        assert {**now, "seconds": 0} == {**row, "seconds": 0}
        (stopped,) = (await listed(editor, stop="b1")).commands
        assert (stopped["state"], stopped["by"]) == ("stopped", "user")
        assert running(marker) == []
        again = [one for one in editor.events if one["type"] == "commandsChanged"][-1]
        assert again["commands"][0]["state"] == "stopped"
        await editor.ask("and now?")
        assert "b1: stopped by the user, after " in texts_of(endpoint.seen[-1].body["messages"])


async def test_a_command_that_cannot_be_stopped_is_reported(tmp_path: Path) -> None:
    async with a_server(tmp_path, "events") as (editor, _, marker):
        with pytest.raises(Exception, match="no background command 'b9'; there are: b1"):
            await listed(editor, stop="b9")
        with pytest.raises(Exception, match="that session is not open"):
            await listed(editor, session="20261122-000000-0000", stop="b1")
        assert (await listed(editor, session="20261122-000000-0000")).commands == ()
        assert running(marker) != []


async def test_a_button_in_a_plain_editor_stops_a_background_command(tmp_path: Path) -> None:
    async with a_server(tmp_path) as (editor, _, marker):
        offered: list[tuple[str, ...]] = []

        def choose(message: str, titles: tuple[str, ...]) -> str:
            offered.append((message, *titles))
            return titles[1]

        editor.answers.choose = choose
        await editor.execute("indwell.commands")
        async with asyncio.timeout(PATIENCE_S):
            while (await listed(editor)).commands[0]["state"] == "running":
                await editor.heard()
        assert running(marker) == []
        ((message, *titles),) = offered
        assert message.startswith("Indwell: these commands run in the background:\nb1: runs, ")
        assert [one[:20] for one in titles] == [CLOSE, "Stop b1: echo ready;"]
        await editor.execute("indwell.commands")
        assert editor.messages[-1] == "Indwell: no background commands run"


async def test_a_new_session_ends_the_background_commands_of_the_old_session(
    tmp_path: Path,
) -> None:
    async with a_server(tmp_path, "events") as (editor, _, marker):
        await editor.execute("indwell.newSession")
        assert running(marker) == []
        assert (await listed(editor)).session is None


async def test_no_background_command_survives_a_stop_of_the_server(tmp_path: Path) -> None:
    async with a_server(tmp_path, "events") as (editor, _, marker):
        await editor.stop()
        assert running(marker) == []


async def test_prc_03_no_background_command_survives_a_kill_of_the_server(tmp_path: Path) -> None:
    async with a_server(tmp_path, "events") as (editor, _, marker):
        editor.process.kill()
        await editor.process.wait()
        async with asyncio.timeout(PATIENCE_S):
            while running(marker):
                await asyncio.to_thread(lambda: None)
