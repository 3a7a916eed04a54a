"""MCP servers in an editor: the question about a project's server, the list, adding, removing."""

from __future__ import annotations

import asyncio
import json
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from indwell.lsp.messages import status as told
from indwell.mcp.server_book import LEAVE, START
from support.chatting import chat, is_over, send, write
from support.editing import USAGE, Editor, Home, editing
from support.fake_editor.buffer import Buffer
from support.login_server import browse, login_server
from support.loopback_endpoint import LoopbackEndpoint, Seen, say

DEFINED = '{"mcpServers": {"a": {"command": "no-such-program", "args": ["x"]}}}'


@pytest.fixture
def home(tmp_path) -> Home:
    made = Home(tmp_path)
    made.write(".mcp.json", DEFINED)
    return made


async def mcp(editor: Editor, action: str = "list", **named: Any) -> told.McpResult:
    params = told.McpParams(action, **named)  # type: ignore[arg-type] # a test says what it likes
    return await editor.client.protocol.send_request_async("indwell/mcp", params)


async def standings(editor: Editor) -> dict[str, str]:
    return {one.name: one.standing for one in (await mcp(editor)).servers}


async def unapproved(editor: Editor) -> tuple[str, ...]:
    wanted = told.StatusParams()
    status = await editor.client.protocol.send_request_async("indwell/status", wanted)
    return tuple(status.unapproved)


def questions(editor: Editor) -> list[str]:
    return [one for one in editor.messages if "defines the MCP server" in one]


def answering(answer: str | None) -> Callable[[str, tuple[str, ...]], str | None]:
    return lambda _message, titles: answer if START in titles else None


def n_words(n: int) -> LoopbackEndpoint:
    return LoopbackEndpoint([say("Hello.", usage=USAGE)] * n)


@pytest.mark.parametrize(
    ("answer", "standing"), [(START, "usable"), (LEAVE, "declined"), (None, "open")]
)
async def test_the_first_prompt_asks_once_about_a_projects_server_and_the_answer_is_kept(
    home, answer, standing
):
    async with n_words(2) as endpoint:
        async with editing(home, endpoint.base_url) as editor:
            editor.answers.choose = answering(answer)
            await editor.ask("hello")
            await editor.ask("hello")
            assert len(questions(editor)) == 1
            assert "│ no-such-program x\n" in questions(editor)[0]
            assert await standings(editor) == {"a": standing}
        async with editing(home, endpoint.base_url) as editor:
            assert await standings(editor) == {"a": standing}


async def test_a_changed_definition_is_asked_about_at_the_next_prompt(home):
    async with n_words(2) as endpoint, editing(home, endpoint.base_url) as editor:
        editor.answers.choose = answering(START)
        await editor.ask("hello")
        home.write(".mcp.json", DEFINED.replace('"x"', '"y"'))
        assert await standings(editor) == {"a": "open"}
        await editor.ask("hello")
        assert ["│ no-such-program y\n" in one for one in questions(editor)] == [False, True]


async def test_a_restricted_folder_is_not_asked_about_its_servers(home):
    home.trusted = ()
    async with n_words(1) as endpoint, editing(home, endpoint.base_url) as editor:
        editor.answers.choose = answering(START)
        await editor.ask("hello")
        assert questions(editor) == []
        assert await standings(editor) == {"a": "restricted"}


async def test_an_unanswered_question_says_how_to_answer_later(home):
    async with n_words(1) as endpoint, editing(home, endpoint.base_url) as editor:
        editor.answers.choose = answering(None)
        await editor.ask("hello")
        assert any("is not used until you approve it" in one for one in editor.messages)
        assert await standings(editor) == {"a": "open"}  # neither a yes nor a no is stored
        assert await unapproved(editor) == ("a",)
        editor.answers.choose = answering(LEAVE)
        await mcp(editor, "approve", name="a")
        assert await unapproved(editor) == ()


async def test_servers_can_be_added_approved_and_removed_by_requests(home):
    async with editing(home) as editor:
        await mcp(editor, "add", name="files", command=("npx", "-y", "x"))
        await mcp(editor, "add", name="docs", url="https://host/mcp")
        assert await standings(editor) == {"files": "usable", "docs": "usable", "a": "open"}
        (row, *_) = (await mcp(editor)).servers
        assert (row.runs, row.source, row.own) == ("npx -y x", "your settings", True)
        editor.answers.choose = answering(START)
        await mcp(editor, "approve", name="a")
        await mcp(editor, "remove", name="files")
        assert await standings(editor) == {"docs": "usable", "a": "usable"}


async def test_a_form_adds_variables_hosts_and_a_header_by_name_only(home):
    async with editing(home) as editor:
        await mcp(editor, "add", name="b", command=("x",), variables=("TOKEN",), hosts=("h.org",))
        named = {"header": "Authorization", "header_variable": "DOCS_TOKEN"}
        await mcp(editor, "add", name="c", url="https://host/mcp", **named)
        rows = {one.name: one for one in (await mcp(editor)).servers}
        assert (rows["b"].remote, rows["c"].remote) == (False, True)
    file = home.config / "indwell" / "config.toml"
    written = tomllib.loads(file.read_text(encoding="utf-8"))["mcp"]
    assert written == {
        "b": {"command": "x", "variables": ["TOKEN"], "hosts": ["h.org"]},
        "c": {"url": "https://host/mcp", "headers": {"Authorization": "Bearer ${DOCS_TOKEN}"}},
    }


@pytest.mark.parametrize(
    ("named", "why"),
    [
        ({"action": "add"}, "needs the `name` of a server"),
        ({"action": "add", "name": "b"}, "either a `command` or a `url`"),
        ({"action": "add", "name": "B c", "url": "https://h"}, "its name cannot be the beginning"),
        (
            {"action": "add", "name": "b", "command": ("x", "--key", "sk-0123456789abcdef")},
            "put it into a variable of yours",
        ),
        (
            {"action": "add", "name": "b", "url": "https://me:hunter22@h/mcp"},
            "put it into a variable of yours",
        ),
        (
            {"action": "add", "name": "b", "command": ("x",), "variables": ("TOKEN=abc",)},
            "is not the name of a variable",
        ),
        (
            {"action": "add", "name": "b", "url": "https://h", "header": "X-Team"},
            "needs its name and the variable with its value",
        ),
        ({"action": "log", "name": "a"}, "its log begins when a prompt starts it"),
        ({"action": "remove", "name": "a"}, "is defined in .mcp.json of the project"),
        ({"action": "approve", "name": "z"}, "there is no MCP server 'z' here"),
    ],
)
async def test_a_request_that_cannot_be_carried_out_says_why(home, named, why):
    async with editing(home) as editor:
        with pytest.raises(JsonRpcException, match=why):
            await mcp(editor, **named)


async def test_a_plain_editors_user_decides_by_the_commands_buttons(home):
    async with editing(home, extensions=()) as editor:
        editor.answers.choose = lambda _message, titles: (
            START if START in titles else next(one for one in titles if one == "Decide on a")
        )
        await editor.execute("indwell.mcp", {"wait": True})
        assert await standings(editor) == {"a": "usable"}
        (listed,) = [one for one in editor.messages if "MCP servers:\n" in one]
        assert "a: waits for your decision (.mcp.json): no-such-program x" in listed


PAPER = Path(__file__).parents[1] / "support" / "mcp_server.py"


@pytest.fixture
def paper(tmp_path) -> Home:
    """Create a project that defines the SDK's server, which may run outside of the sandbox."""
    made = Home(tmp_path)
    made.configure(
        f"[mcp.paper]\ncommand = {json.dumps(sys.executable)}\nargs = [{json.dumps(str(PAPER))}]\n"
        "confined = false\n"
    )
    return made


def users(seen: Seen) -> str:
    return "\n".join(one["content"] for one in seen.body["messages"] if one["role"] == "user")


async def labels(editor: Editor, buffer: Buffer) -> list[str]:
    """Return the editor's completions at the end of a chat."""
    editor.desk.tell()
    lines = buffer.text.split("\n")
    params = types.CompletionParams(
        text_document=types.TextDocumentIdentifier(uri=buffer.uri),
        position=types.Position(line=len(lines) - 1, character=len(lines[-1])),
    )
    found = await editor.client.text_document_completion_async(params)
    assert isinstance(found, types.CompletionList)
    return [one.label for one in found.items]


async def test_a_running_server_shows_its_state_and_what_it_offers(paper):
    file = paper.config / "indwell" / "config.toml"
    paper.configure(f'[rules]\ndeny = ["tool: paper__a*"]\n{file.read_text(encoding="utf-8")}')
    async with n_words(1) as endpoint, editing(paper, endpoint.base_url) as editor:
        assert (await mcp(editor)).servers[0].state == "idle"
        await editor.ask("hello /paper and @paper:note://today")
        (row,) = (await mcp(editor)).servers
        assert (row.name, row.state, row.problem) == ("paper", "ready", "")
        assert row.tools == len(row.offers) > 5
        permissions = {one.name: (one.permission, one.rule) for one in row.offers}
        assert permissions["add"] == ("deny", "tool: paper__a*")
        assert {one for name, one in permissions.items() if not name.startswith("a")} == {
            ("ask", "")
        }
        assert [one.text for one in row.prompts] == ["/paper:letter"]
        assert [one.text for one in row.resources] == ["@paper:note://today"]
        assert '<attached-item server="paper" uri="note://today">\nbuy paper\n' in users(
            endpoint.seen[0]
        )
        await mcp(editor, "restart", name="paper")
        lines = (await mcp(editor, "log", name="paper")).log
        assert any("[indwell] ready: paper 1.2 uses version 20" in line for line in lines)
        assert "[indwell] Indwell starts it again" in "".join(lines)
        assert (await mcp(editor)).log == ()


async def test_a_prompt_of_a_server_is_called_with_its_arguments(paper):
    async with n_words(1) as endpoint, editing(paper, endpoint.base_url) as editor:
        await editor.ask("/paper:letter Ann and Bob")
        assert '<skill name="paper:letter" from="mcp server">\nWrite a letter to Ann and Bob.' in (
            users(endpoint.seen[0])
        )


async def test_the_user_is_asked_for_a_missing_argument_of_a_prompt(paper):
    async with (
        n_words(1) as endpoint,
        editing(paper, endpoint.base_url, extensions=("events", "ask", "permission")) as editor,
    ):
        asked: list[str] = []

        def answer(question):
            asked.append(question)
            return "Ann"

        editor.answers.ask = answer
        await editor.ask("/paper:letter")
        assert ["The prompt /paper:letter of an MCP server needs 'to'" in one for one in asked] == [
            True
        ]
        assert "Write a letter to Ann." in users(endpoint.seen[0])


async def test_a_prompt_that_names_a_missing_prompt_or_resource_is_not_sent(paper):
    async with n_words(2) as endpoint, editing(paper, endpoint.base_url) as editor:
        for words in ("/paper:nothing", "see @paper:note://gone"):
            result = await editor.ask(words)
            assert result.ending != "done"
            assert "the MCP server 'paper'" in result.message
        assert endpoint.seen == []


async def test_a_chat_completes_prompts_and_resources_of_running_servers(paper):
    async with n_words(1) as endpoint, editing(paper, endpoint.base_url) as editor:
        buffer = await chat(editor)
        write(editor, buffer, "hello @paper:note://today")
        await send(editor, buffer)
        await editor.wait_until(lambda: is_over(buffer, 1))
        assert "buy paper" in users(endpoint.seen[0])
        assert "is not attached" not in buffer.text
        write(editor, buffer, "/paper:")
        assert "/paper:letter" in await labels(editor, buffer)
        write(editor, buffer, "see @paper:")
        assert "@paper:note://today" in await labels(editor, buffer)


async def test_a_server_that_needs_a_login_is_reported_and_the_turn_continues(tmp_path):
    home = Home(tmp_path)
    async with login_server() as server, n_words(1) as endpoint:
        home.configure(f"[mcp.vault]\nurl = {json.dumps(server.url)}\npinned = ['secret']\n")
        async with editing(home, endpoint.base_url, extensions=("events",)) as editor:
            assert (await editor.ask("hello")).ending == "done"
            (row,) = (await mcp(editor)).servers
            assert row.state == "needs login"
            assert "run `indwell mcp login vault`" in row.problem
            told = [one["message"] for one in editor.events if one["type"] == "notice"]
            assert any("run `indwell mcp login vault`" in one for one in told)


async def test_a_login_is_confirmed_with_its_address_and_the_server_starts_again(tmp_path):
    home = Home(tmp_path)
    async with login_server() as server, n_words(2) as endpoint:
        home.configure(f"[mcp.vault]\nurl = {json.dumps(server.url)}\n")
        async with editing(home, endpoint.base_url) as editor:
            await editor.ask("hello")
            editor.answers.choose = lambda _message, titles: "Close" if "Open" in titles else None
            with pytest.raises(JsonRpcException, match="the login was not begun"):
                await mcp(editor, "login", name="vault")
            editor.answers.choose = lambda _message, titles: "Open" if "Open" in titles else None
            login = asyncio.ensure_future(mcp(editor, "login", name="vault"))
            await editor.wait_until(lambda: bool(editor.shown))
            await browse(editor.shown[-1])
            (row,) = (await login).servers
            assert row.remote
            (asked, *_) = [one for one in editor.messages if "wants a login. Open this" in one]
            assert f"{server.base}/authorize?" in asked
            await editor.ask("hello")
            async with asyncio.timeout(30):
                while (await mcp(editor)).servers[0].state != "ready":
                    pass
