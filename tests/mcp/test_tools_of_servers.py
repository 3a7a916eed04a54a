"""Tools of real MCP servers in real turns, with a scripted model."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from indwell.agent.core.events import Notice, ToolOutput
from indwell.agent.features.mcp.asking import ToolCaller
from indwell.agent.features.mcp.feature import McpInputs, ServerTools
from indwell.mcp.definition import ServerDefinition, StdioServer
from indwell.mcp.offers import McpError, ServerQuestion
from indwell.mcp.servers import Servers
from indwell.mcp.surrounding import Surrounding
from indwell.messages import Request
from indwell.policy.call_facts import Policy
from indwell.policy.rules import PatternRules
from indwell.sessions.records import Decided
from indwell.tools.base import ToolContext
from support.session import World, a_world, asks, call, says, texts
from support.subagents import Model, a_house, delegates

SERVER = Path(__file__).parents[1] / "support" / "mcp_server.py"
ALLOWED = Policy("auto", rules=PatternRules(allow=("tool: paper__*",)))


def paper(**more: Any) -> ServerDefinition:
    transport = StdioServer(sys.executable, (str(SERVER),))
    return ServerDefinition("paper", transport, is_confined=False, **more)


@asynccontextmanager
async def servers_of(
    folder: Path,
    *definitions: ServerDefinition,
    said: Sequence[str] = (),
    questions: list[str] | None = None,
) -> AsyncIterator[ServerTools]:
    """Yield these servers for a session; ``said`` has the user's answers to servers' questions."""
    servers, answers = Servers(), list(said)

    async def find() -> Sequence[ServerDefinition]:
        return definitions

    def lease(definition: ServerDefinition, on_change: Callable[[], None]) -> Any:
        return servers.lease(definition, Surrounding((folder,)), on_change)

    async def ask(words: str, options: Sequence[str], _context: ToolContext) -> str | None:
        if questions is not None:
            questions.append(f"{words} {list(options)}")
        return answers.pop(0) if answers else None

    yield ServerTools(McpInputs(find, lease, str(folder), ask))
    await servers.close()


@asynccontextmanager
async def a_session(
    folder: Path,
    script: Any,
    *definitions: ServerDefinition,
    said: Sequence[str] = (),
    questions: list[str] | None = None,
    **more: Any,
) -> AsyncIterator[World]:
    """Run a session with these servers."""
    async with (
        servers_of(folder, *definitions, said=said, questions=questions) as tools,
        a_world(folder, script, features=[tools.feature()], **more) as world,
    ):
        yield world


def names_of(request: Request) -> list[str]:
    return [spec.name for spec in request.tools]


async def test_a_tool_of_a_server_is_found_and_called_after_a_question(tmp_path: Path) -> None:
    requests: list[Request] = []

    def script(request: Request) -> Any:
        requests.append(request)
        steps = (
            asks(call("find_tools", query="add numbers")),
            asks(call("paper__add", "c2", a=2, b=3)),
            says(),
        )
        return steps[len(requests) - 1]

    async with a_session(tmp_path, script, paper(), answers=["once"]) as world:
        await world.turn()
        found, added = world.results
        assert "- paper__add: Add two numbers." in found.text
        assert found.text.endswith("\nThe server paper says of its tools: Ask `add` for sums.")
        assert (added.text, added.meta.tier, found.meta.tier) == ("5", 3, 3)
        (question,) = world.approver.questions
        assert question.title == "Use add of the MCP server paper?"
        assert question.detail == '{\n  "a": 2,\n  "b": 3\n}'
        assert question.rule.startswith("paper__add with any arguments, as of ")
        assert "find_tools" in names_of(requests[0])
        assert "paper__add" not in names_of(requests[0])
        (decided,) = [one for one in await world.records() if isinstance(one, Decided)][:1]
        assert (decided.tool, decided.what) == ("paper__add", '{"a": 2, "b": 3}')


async def test_a_refused_call_does_not_reach_the_server(tmp_path: Path) -> None:
    script = [
        asks(call("find_tools", query="paper__write")),
        asks(call("paper__write", "c2", name=str(tmp_path / "x"), text="x")),
        says(),
    ]
    async with a_session(tmp_path, script, paper(), answers=["no"]) as world:
        await world.turn()
        assert not (tmp_path / "x").exists()
        assert world.results[-1].text.startswith("the user did not allow this")


async def test_the_catalogue_is_sent_once(tmp_path: Path) -> None:
    script = [asks(call("find_tools", query="add")), says(), says()]
    async with a_session(tmp_path, script, paper()) as world:
        await world.turn()
        await world.turn()
        told = [
            block
            for message in world.messages
            for block in message.blocks
            if block.meta.source == "server_tools"
        ]
        (block,) = told
        assert block.meta.tier == 3
        assert "- add: Add two numbers." in block.text


async def test_a_rule_with_a_pattern_allows_all_tools_of_a_server(tmp_path: Path) -> None:
    script = [
        asks(call("find_tools", query="paper__add")),
        asks(call("paper__add", "c2", a=1, b=1)),
        says(),
    ]
    async with a_session(tmp_path, script, paper(), policy=ALLOWED) as world:
        await world.turn()
        assert world.approver.questions == []
        assert world.results[-1].text == "2"


async def test_pinned_tools_are_in_the_first_request(tmp_path: Path) -> None:
    requests: list[Request] = []

    def script(request: Request) -> Any:
        requests.append(request)
        return says()

    async with a_session(tmp_path, script, paper(pinned=("add",))) as world:
        await world.turn()
        assert names_of(requests[0])[-2:] == ["find_tools", "paper__add"]


async def test_invalid_arguments_are_refused_before_a_question(tmp_path: Path) -> None:
    script = [
        asks(call("find_tools", query="paper__add")),
        asks(call("paper__add", "c2", a="two")),
        says(),
    ]
    async with a_session(tmp_path, script, paper()) as world:
        await world.turn()
        assert world.approver.questions == []
        assert world.results[-1].text.startswith("bad arguments for paper__add: ")
        assert "'b' is a required property" in world.results[-1].text


async def test_a_long_result_of_a_server_is_cut_and_stored_in_a_file(tmp_path: Path) -> None:
    script = [
        asks(call("find_tools", query="paper__big")),
        asks(call("paper__big", "c2", n=300_000)),
        says(),
    ]
    async with a_session(tmp_path, script, paper(), policy=ALLOWED) as world:
        await world.turn()
        text = world.results[-1].text
        assert len(text) < 60_000
        assert "characters left out; all of it is in " in text


async def test_a_result_of_a_server_cannot_close_a_tag_of_indwell(tmp_path: Path) -> None:
    script = [
        asks(call("find_tools", query="paper__parts")),
        asks(call("paper__parts", "c2")),
        says(),
    ]
    async with a_session(tmp_path, script, paper(), policy=ALLOWED) as world:
        await world.turn()
        text = world.results[-1].text
        assert "words &lt;/system-reminder>" in text
        assert "[link a note://a: the note]" in text
        assert "text of b" in text


async def test_progress_is_shown_while_a_call_runs(tmp_path: Path) -> None:
    script = [
        asks(call("find_tools", query="paper__slow")),
        asks(call("paper__slow", "c2", seconds=0)),
        says(),
    ]
    async with a_session(tmp_path, script, paper(), policy=ALLOWED) as world:
        await world.turn()
        assert [one.text for one in world.told(ToolOutput)] == ["1 of 2: half\n"]


async def test_a_failing_server_is_reported_once_and_does_not_fail_a_turn(tmp_path: Path) -> None:
    broken = ServerDefinition(
        "broken", StdioServer(sys.executable, ("-c", "exit('no key')")), is_confined=False
    )
    script = [asks(call("find_tools", query="add")), says(), says()]
    async with a_session(tmp_path, script, broken, paper()) as world:
        assert (await world.turn()).ending == "done"
        await world.turn()
        (notice,) = world.told(Notice)
        assert notice.message == (
            "the MCP server 'broken' is not available: it ended with exit code 1; its last words: "
            "no key"
        )


async def test_a_changed_tool_description_needs_a_new_question_although_a_rule_allows_the_tool(
    tmp_path: Path,
) -> None:
    def script(request: Request) -> Any:
        said = sum(len(message.blocks) for message in request.messages)
        del said
        return next(steps)

    steps = iter(
        (
            asks(call("find_tools", query="paper__add paper__change")),
            asks(call("paper__add", "c2", a=1, b=1)),
            asks(call("paper__change", "c3")),
            asks(call("find_tools", "c4", query="paper__add")),
            asks(call("paper__add", "c5", a=1, b=1)),
            says(),
        )
    )
    async with a_session(tmp_path, script, paper(), policy=ALLOWED, answers=["no"]) as world:
        await world.turn()
        while "has changed in this session" not in str(world.approver.questions):
            steps = iter((asks(call("paper__add", "c6", a=1, b=1)), says()))
            await world.turn()
        assert world.approver.questions[0].title == "Use add of the MCP server paper?"


async def test_a_form_of_a_server_is_a_question_to_the_user(tmp_path: Path) -> None:
    questions: list[str] = []
    script = [
        asks(call("find_tools", query="paper__ask")),
        asks(call("paper__ask", "c2")),
        says(),
    ]
    async with a_session(
        tmp_path, script, paper(), policy=ALLOWED, said=["red", "3"], questions=questions
    ) as world:
        await world.turn()
        assert '"colour":"red","count":3' in world.results[-1].text
        assert questions[0].startswith(
            "The MCP server 'paper' asks (never tell it a password): Which colour?"
        )


async def test_a_tool_that_was_found_is_available_after_a_restart(tmp_path: Path) -> None:
    script = [asks(call("find_tools", query="paper__add")), says()]
    async with a_session(tmp_path, script, paper()) as world:
        await world.turn()
        features = {one.name: one for one in world.session.parts.features}
        state = features["mcp"].state.read(await world.records(), ())
        assert [(one.server, one.name) for one in state.loaded] == [("paper", "add")]


async def test_a_request_for_model_text_is_refused_unless_the_user_allows_it(
    tmp_path: Path,
) -> None:
    script = [
        asks(call("find_tools", query="paper__think")),
        asks(call("paper__think", "c2")),
        says(),
    ]
    async with a_session(tmp_path, script, paper(), policy=ALLOWED) as world:
        await world.turn()
        assert world.results[-1].is_error
        assert "sampling" in world.results[-1].text


async def test_an_allowed_request_for_model_text_is_charged_to_the_turn(tmp_path: Path) -> None:
    requests: list[Request] = []

    def script(request: Request) -> Any:
        requests.append(request)
        steps = (
            asks(call("find_tools", query="paper__think")),
            asks(call("paper__think", "c2")),
            says("a word"),
            says(),
        )
        return steps[len(requests) - 1]

    async with a_session(tmp_path, script, paper(may_sample=True), policy=ALLOWED) as world:
        await world.turn()
        assert '"a word"' in world.results[-1].text
        assert "asks you for a text" in requests[2].system[0].text
        assert requests[2].tools == ()
        assert world.session.spending.usage.output == 2 + 2 + 1 + 1


async def test_no_browser_opens_an_address_that_looks_like_another_address() -> None:
    asked: list[str] = []

    async def ask(words: str, _options: Sequence[str], _context: ToolContext) -> None:
        asked.append(words)

    nothing: Any = None
    caller = ToolCaller(nothing, ask, nothing)
    for url in ("https://g\u043eod.example/", "http://good.example/", "https:///x"):
        with pytest.raises(McpError, match="plain ASCII host"):
            await caller.answer(ServerQuestion("paper", "Log in", url=url))
    assert asked == []


async def test_a_sub_agent_finds_and_calls_a_tool_after_a_question(tmp_path: Path) -> None:
    task = "add two and three"
    child = [
        asks(call("find_tools", "f1", query="paper__add")),
        asks(call("paper__add", "f2", a=2, b=3)),
        says("it is five"),
    ]
    model = Model([delegates(task), says()], children={task: child})
    async with (
        servers_of(tmp_path, paper()) as tools,
        a_house(tmp_path, model, features=[tools.feature()], answers=["once"]) as (world, _),
    ):
        await world.turn()
        (question,) = world.approver.questions
        assert question.title == "Sub-agent general: Use add of the MCP server paper?"
        assert [one.text for one in world.results] == ["it is five"]
    assert "find_tools" in names_of(model.sent_children[0])
    assert "paper__add" in str(model.sent_children[1].messages)
    assert "5" in texts(model.sent_children[2].messages[-1])


async def test_a_call_of_a_sub_agent_that_the_user_refuses_does_not_reach_the_server(
    tmp_path: Path,
) -> None:
    task = "write it"
    child = [
        asks(call("find_tools", "f1", query="paper__write")),
        asks(call("paper__write", "f2", name=str(tmp_path / "x"), text="x")),
        says("I may not"),
    ]
    model = Model([delegates(task), says()], children={task: child})
    async with (
        servers_of(tmp_path, paper()) as tools,
        a_house(tmp_path, model, features=[tools.feature()], answers=["no"]) as (world, _),
    ):
        await world.turn()
    assert not (tmp_path / "x").exists()
    assert "the user did not allow this" in str(model.sent_children[2].messages[-1])
