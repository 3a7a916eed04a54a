"""Runs a hostile MCP server and a model that obeys it; nothing unapproved may run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from indwell.agent.core.events import TurnFinished
from indwell.messages import Text
from support.checked_project import Project, a_project
from support.session import asks, call, says

SERVER = Path(__file__).parents[1] / "support" / "hostile_mcp_server.py"
NOTES = asks(call("find_tools", query="evil__notes"))
TAGS = ("<system-reminder>", "</changed-tools><", "\u202e")


def evil(trick: str = "", **more: Any) -> dict[str, Any]:
    return {
        "evil": {"command": sys.executable, "args": [str(SERVER), trick], "confined": False, **more}
    }


def texts(project: Project, source: str) -> list[str]:
    return [
        getattr(block, "text", "")
        for message in project.session.conversation.messages
        for block in message.blocks
        if block.meta.source == source
    ]


async def test_a_hostile_server_cannot_replace_indwells_tools(tmp_path: Path) -> None:
    script = [
        asks(call("find_tools", query="bash read_file edit_file find_tools")),
        asks(call("read_file", "c2", path="a.txt")),
        says(),
    ]
    async with a_project(tmp_path, script, mcp=evil()) as project:
        await project.turn()
        tools = project.session.parts.tools.tools
        by_name = {tool.spec.name: tool for tool in tools}
        assert len(by_name) == len(tools)
        assert by_name["bash"].effect == "run"
        assert by_name["read_file"].effect == "read"
        assert by_name["evil__bash"].effect == "external"
        # Indwell's own read_file has answered without a question
        assert project.approver.questions == []


async def test_descriptions_open_no_tag_and_instruct_only_as_data(tmp_path: Path) -> None:
    script = [NOTES, says(), says()]
    async with a_project(tmp_path, script, mcp=evil()) as project:
        await project.turn()
        await project.turn()
        told = [*texts(project, "server_tools"), *texts(project, "tool_list")]
        assert told
        for text in told:
            inner = text.removeprefix("<changed-tools>").removesuffix("</changed-tools>")
            assert not [tag for tag in TAGS if tag in inner]
        tiers = {
            block.meta.tier
            for message in project.session.conversation.messages
            for block in message.blocks
            if isinstance(block, Text) and block.meta.source in {"server_tools", "tool_list"}
        }
        assert tiers <= {2, 3}
        specs = [tool.spec for tool in project.session.parts.tools.tools]
        for spec in specs:
            assert not [tag for tag in TAGS if tag in spec.description + spec.parameters]


async def test_a_claim_of_being_read_only_runs_nothing_unasked(tmp_path: Path) -> None:
    script = [NOTES, asks(call("evil__notes", "c2", text="the key")), says()]
    async with a_project(tmp_path, script, mcp=evil(), mode="auto") as project:
        await project.turn()
        (question,) = project.approver.questions
        assert question.detail == '{\n  "text": "the key"\n}'
        assert "the server says of it: read-only" in question.reason


@pytest.mark.parametrize("trick", ["", "error"])
async def test_a_result_that_imitates_the_user_remains_a_tool_result(
    tmp_path: Path, trick: str
) -> None:
    script = [NOTES, asks(call("evil__notes", "c2")), says()]
    async with a_project(tmp_path, script, mcp=evil(trick), answers=["once"]) as project:
        await project.turn()
        last = texts(project, "tool")[-1]
        assert "Human: I am the user" in last
        assert not [tag for tag in TAGS if tag in last]


async def test_a_description_that_changes_after_the_approval_needs_a_new_approval(
    tmp_path: Path,
) -> None:
    def script(_request: object) -> Any:
        return next(steps, says())

    steps = iter((NOTES, asks(call("evil__notes", "c2"))))
    answers = ["session", "no"]
    async with a_project(tmp_path, script, mcp=evil("rug pull"), answers=answers) as project:
        await project.turn()
        assert len(project.approver.questions) == 1
        for number in range(50):  # until the client has received the server's new list
            steps = iter((NOTES, asks(call("evil__notes", f"n{number}"))))
            await project.turn()
            if len(project.approver.questions) > 1:
                break
        first, second = project.approver.questions
        assert first.rule != second.rule
        assert "its description has changed in this session" in second.reason


@pytest.mark.parametrize(
    ("trick", "words"),
    [
        ("100 MB", "a message of over 8 MB"),
        ("silence", "did not answer within 1 s"),
        ("endless list", ""),
    ],
)
async def test_a_server_that_floods_or_is_silent_harms_no_turn(
    tmp_path: Path, trick: str, words: str
) -> None:
    script = [NOTES, asks(call("evil__notes", "c2")), says()]
    servers = evil(trick, timeout_s=1)
    async with a_project(tmp_path, script, mcp=servers, answers=["once"]) as project:
        ended = await project.turn()
        assert isinstance(ended, TurnFinished)
        assert ended.ending == "done"
        assert words in texts(project, "tool")[-1]
