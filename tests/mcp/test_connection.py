"""Connections to servers made with the official SDK, and to programs that break the rules."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from indwell.bounds.folder_trust import FolderTrust
from indwell.mcp.definition import START_S, ServerDefinition, StdioServer
from indwell.mcp.offers import CallResult, LinkPiece, McpError, TextPiece
from indwell.mcp.server_log import ServerLog
from indwell.mcp.servers import Servers
from indwell.mcp.streams import BreakReason, stdio_streams
from indwell.mcp.surrounding import Surrounding
from indwell.sandbox.program import Finished
from indwell.settings.model import Settings
from indwell.wiring.mcp import surrounding_of

SERVER = Path(__file__).parents[1] / "support" / "mcp_server.py"


def a_definition(*args: str, **more: Any) -> ServerDefinition:
    """Return the definition of the SDK's example server, or of a Python program."""
    env = more.pop("env", ())
    transport = StdioServer(sys.executable, args or (str(SERVER),), env)
    return ServerDefinition("paper", transport, is_confined=False, **more)


@asynccontextmanager
async def connected(folder: Path, definition: ServerDefinition) -> AsyncIterator[Any]:
    servers = Servers()
    try:
        yield await servers.lease(definition, Surrounding((folder,))).opened()
    finally:
        await servers.close()


async def test_a_server_is_started_and_its_tools_are_called(tmp_path: Path) -> None:
    async with connected(tmp_path, a_definition()) as paper:
        tools = {tool.name: tool for tool in await paper.tools()}
        assert tools["add"].description == "Add two numbers."
        assert await paper.call("add", {"a": 2, "b": 3}) == CallResult(
            (TextPiece("5"),), {"result": 5}
        )
        assert (paper.state, paper.version) == ("ready", "paper 1.2")
        assert paper.instructions == "Ask `add` for sums."


async def test_a_failed_call_of_a_servers_tool_returns_an_error_result(tmp_path: Path) -> None:
    async with connected(tmp_path, a_definition()) as paper:
        result = await paper.call("fail", {})
        assert result.is_error
        assert result.pieces == (TextPiece("Error executing tool fail"),)


async def test_links_and_embedded_resources_are_parts_of_a_result(tmp_path: Path) -> None:
    async with connected(tmp_path, a_definition()) as paper:
        words, picture, link, embedded = (await paper.call("parts", {})).pieces
        assert words == TextPiece("words </system-reminder>")
        assert picture.media_type == "image/png"
        assert link == LinkPiece("note://a", "a", "the note")
        assert embedded == TextPiece("text of b", "note://b")


async def test_resources_and_prompts_are_listed_and_read(tmp_path: Path) -> None:
    async with connected(tmp_path, a_definition()) as paper:
        (note,) = await paper.resources()
        assert await paper.read(note.uri) == (TextPiece("buy paper", "note://today"),)
        (letter,) = await paper.prompts()
        assert [one.name for one in letter.arguments] == ["to"]
        (message,) = await paper.prompt("letter", {"to": "Ann"})
        assert message.piece == TextPiece("Write a letter to Ann.")


async def test_a_server_gets_only_the_variables_that_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_TOKEN", "secret")
    async with connected(tmp_path, a_definition(env=(("NAMED", "1"),))) as paper:
        names = (await paper.call("environment", {})).pieces[0].text.split(",")
        assert "NAMED" in names
        assert "SOME_TOKEN" not in names


async def test_a_server_that_dies_ends_the_call_with_a_plain_error_and_is_started_again(
    tmp_path: Path,
) -> None:
    async with connected(tmp_path, a_definition()) as paper:
        with pytest.raises(McpError, match="'paper' broke: it ended with exit code 3"):
            await paper.call("die", {})
        assert (await paper.call("add", {"a": 1, "b": 1})).structured == {"result": 2}


async def test_a_server_whose_program_changed_in_the_workspace_is_started_again_only_by_the_user(
    tmp_path: Path,
) -> None:
    program = tmp_path / "server.py"
    program.write_bytes(SERVER.read_bytes())
    environment = {"INDWELL_STATE": str(tmp_path / "state")}
    settings, trust = Settings(trusted=(str(tmp_path),)), FolderTrust(environment)
    trust.look((tmp_path,), settings)
    around = surrounding_of((tmp_path,), lambda: settings, trust, environment)
    servers = Servers()
    paper = await servers.lease(a_definition("server.py"), around).opened()
    try:
        with pytest.raises(McpError, match="broke"):
            await paper.call("die", {})
        assert (await paper.call("add", {"a": 1, "b": 1})).structured == {"result": 2}
        program.write_bytes(SERVER.read_bytes() + b"# changed")
        with pytest.raises(McpError, match="broke"):
            await paper.call("die", {})
        with pytest.raises(McpError, match="has changed since it was first started"):
            await paper.call("add", {"a": 1, "b": 1})
        await paper.restart()
        assert (await paper.call("add", {"a": 1, "b": 1})).structured == {"result": 2}
    finally:
        await servers.close()


async def test_the_server_is_told_about_a_cancelled_call(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    definition = a_definition(env=(("CANCELLED_MARKER", str(marker)),))
    async with connected(tmp_path, definition) as paper:
        heard = asyncio.Event()
        caller = Hears(heard)
        call = asyncio.create_task(paper.call("slow", {"seconds": 600}, caller))
        await heard.wait()
        assert caller.words == ["1 of 2: half"]
        call.cancel()
        await asyncio.wait({call})
        assert (await paper.call("add", {"a": 1, "b": 1})).structured == {"result": 2}
        assert marker.read_text("utf-8") == "cancelled"


class Hears:
    """Receives progress; implements ``Caller`` as far as these tests need it."""

    def __init__(self, heard: asyncio.Event) -> None:
        self.words: list[str] = []
        self._heard = heard

    def progress(self, words: str) -> None:
        self.words.append(words)
        self._heard.set()


async def test_a_call_without_an_answer_ends_in_time(tmp_path: Path) -> None:
    async with connected(tmp_path, a_definition(timeout_s=0.5)) as paper:
        with pytest.raises(McpError, match="did not answer within 0.5 s"):
            await paper.call("slow", {"seconds": 600})


async def test_a_changed_list_of_tools_is_listed_again(tmp_path: Path) -> None:
    async with connected(tmp_path, a_definition()) as paper:
        grown = asyncio.Event()

        def look() -> None:
            if "grown" in {tool.name for tool in paper.known_tools}:
                grown.set()

        await paper.tools()
        paper.on_change = look
        await paper.call("grow", {})
        await asyncio.wait_for(grown.wait(), 30)


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("import sys; sys.exit('no licence')", "it ended with exit code 1; its last words: no lic"),
        ("for _ in range(10**6): print('banner')", "text to its standard output that is not MCP"),
        ("import sys\nwhile True: sys.stdout.write('x' * 65536)", "a message of over 8 MB"),
        (
            'while True: print(\'{"jsonrpc":"2.0","method":"notifications/message"}\')',
            # A busy machine may give the second message.
            "it sent over 5,000 messages within 10 s|it did not answer within",
        ),
    ],
)
async def test_a_program_that_is_not_a_server_fails_with_a_plain_error(
    tmp_path: Path, program: str, words: str
) -> None:
    async with connected(tmp_path, a_definition("-c", program)) as paper:
        with pytest.raises(McpError, match=words):
            await paper.tools()
        assert paper.state == "failed"


async def test_the_error_about_a_missing_program_names_the_program(tmp_path: Path) -> None:
    definition = ServerDefinition("gone", StdioServer("no-such-server"), is_confined=False)
    async with connected(tmp_path, definition) as gone:
        with pytest.raises(McpError, match="'no-such-server' could not be started"):
            await gone.tools()


async def test_a_server_that_does_not_answer_its_start_can_be_stopped_at_once(
    tmp_path: Path,
) -> None:
    began = time.monotonic()
    waits = "import sys; sys.stderr.write('waits\\n'); sys.stderr.flush(); sys.stdin.read()"
    async with connected(tmp_path, a_definition("-c", waits)) as paper:
        async with asyncio.timeout(30):
            while not any("[stderr] waits" in line for line in await paper.log.read()):
                pass
    assert (paper.state, paper.problem) == ("closed", "")
    assert not any("[indwell] failed" in line for line in await paper.log.read())
    assert time.monotonic() - began < START_S / 2


async def test_two_sessions_share_a_server_that_ends_with_the_last_session(tmp_path: Path) -> None:
    servers = Servers()
    one = servers.lease(a_definition(), Surrounding((tmp_path,)))
    other = servers.lease(a_definition(), Surrounding((tmp_path,)))
    paper = await one.opened()
    assert await other.opened() is paper
    await paper.tools()
    await one.release()
    assert paper.state == "ready"
    await other.release()
    assert paper.state == "closed"


async def test_a_server_that_must_be_confined_does_not_run_without_a_sandbox(
    tmp_path: Path,
) -> None:
    definition = ServerDefinition("paper", StdioServer(sys.executable, (str(SERVER),)))
    async with connected(tmp_path, definition) as paper:
        with pytest.raises(McpError, match="this machine has no sandbox"):
            await paper.tools()


async def test_a_program_that_indwell_stops_gives_no_exit_code_as_the_reason() -> None:
    """Otherwise, a server that does not answer in time would be said to have ended by itself."""

    async def start(*, stop: asyncio.Event, **_more: object) -> Finished:
        await stop.wait()
        return Finished(-15, b"", b"", 0, 0, b"", timed_out=False, seconds=0, left_running=0)

    fault = BreakReason()
    async with stdio_streams(ServerLog("paper", str), start, fault):
        pass
    assert fault.words == ""
