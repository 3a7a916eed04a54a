"""Sub-agents in the real server: the client's view, the files on disk, and the results."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from indwell.lsp.messages.views import SessionParams
from indwell.sessions import log_lines
from indwell.sessions.audit_trail import acts
from indwell.sessions.records import MessageRecord, SessionStarted, Spent, TurnEndRecord
from support.editing import EDIT, MENDED, READ, SOURCE, USAGE, Editor, Home, editing, results
from support.loopback_endpoint import Answer, LoopbackEndpoint, Seen, say

TASK = "find the mistake in shop.py"
NOTES = """\
---
name: critic
description: finds what is wrong
tools: Read, Grep
---
Say what is wrong with it, and nothing kind.
"""


def system(seen: Seen) -> str:
    return "\n".join(one["content"] for one in seen.body["messages"] if one["role"] == "system")


def is_child(seen: Seen) -> bool:
    return "# You are a sub-agent" in system(seen)


class Two:
    """A script for the agent and a script for its sub-agents; stores the requests of both."""

    def __init__(self, main: Sequence[Answer], child: Sequence[Answer]) -> None:
        self.main, self.child = list(main), list(child)
        self.of_main: list[Seen] = []
        self.of_child: list[Seen] = []
        self.stuck = asyncio.Event()  # set when the last answer for a sub-agent is sent

    def __call__(self, seen: Seen) -> Answer:
        if is_child(seen):
            self.of_child.append(seen)
            if len(self.child) == 1:
                self.stuck.set()
            return self.child.pop(0)
        self.of_main.append(seen)
        return self.main.pop(0)


def delegate(**more: Any) -> Answer:
    return say(calls=[("agent", json.dumps({"task": TASK, **more}))], usage=USAGE)


def call(name: str, arguments: str) -> Answer:
    return say(calls=[(name, arguments)], usage=USAGE)


DONE = say("Done.", usage=USAGE)


async def test_a_client_sees_a_sub_agents_calls_and_the_turn_includes_the_edit(
    tmp_path: Path,
) -> None:
    home = Home(tmp_path)
    script = Two([delegate(), DONE], [call(*READ), call(*EDIT), say("Mended.", usage=USAGE)])
    async with (
        LoopbackEndpoint(script) as endpoint,
        editing(home, endpoint.base_url, extensions=("events",)) as editor,
    ):
        buffer = editor.open(home.shop)
        finished = await editor.ask("mend it")
        assert buffer.text == MENDED
        agents = {one["id"] for one in _of(editor, "toolStarted") if one["name"] == "agent"}
        inner = [one for one in editor.events if one.get("agent")]
        assert {one["agent"] for one in inner} == agents
        assert [one["name"] for one in inner if one["type"] == "toolFinished"] == [
            "read_file",
            "edit_file",
        ]
        (end,) = [one for one in _of(editor, "toolFinished") if one["name"] == "agent"]
        assert end["figure"] == "3 rounds, 36 tokens"
        assert finished.changes[0].path == "shop.py"
        assert finished.usage.input == 50, "its calls are the turn's"
        shown = await editor.client.protocol.send_request_async("indwell/session", SessionParams())
        read_back = [one for one in shown.turns[0].events if one["agent"]]
        kinds = {"toolStarted", "toolFinished"}
        assert [one for one in read_back if one["type"] in kinds] == [
            one for one in inner if one["type"] in kinds
        ], "who opens it again sees what was told"
        assert _edits(read_back) == _edits(editor.events)
        await editor.execute("indwell.rewind", {"turn": 0, "files": True, "wait": True})
        assert buffer.text == SOURCE, "a turn that is taken back takes its edits along"
    assert results(script.of_main[-1]) == ["Mended."]


def _edits(told: Sequence[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(one["path"], one["diff"]) for one in told if one["type"] == "editApplied"]


def _of(editor: Editor, kind: str) -> list[dict[str, Any]]:
    return [one for one in editor.events if one["type"] == kind]


async def test_a_sub_agents_log_is_in_the_sessions_folder_and_the_audit_names_it(
    tmp_path: Path,
) -> None:
    home = Home(tmp_path)
    script = Two(
        [delegate(name="explore"), delegate(), DONE],
        [say("Seen.", usage=USAGE), call(*READ), call(*EDIT), say("Mended.", usage=USAGE)],
    )
    async with (
        LoopbackEndpoint(script) as endpoint,
        editing(home, endpoint.base_url, extensions=("events",)) as editor,
    ):
        editor.open(home.shop)
        finished = await editor.ask("mend it")
    logs = sorted(home.state.glob(f"sessions/*/{finished.session}/agents/*.jsonl"))
    assert [one.name for one in logs] == ["0001.jsonl", "0002.jsonl"]
    assert all(one.stat().st_mode & 0o077 == 0 for one in logs)
    second = log_lines.read([logs[1].read_bytes()])
    assert second.notices == ()
    assert isinstance(second.records[0], SessionStarted)
    assert isinstance(second.records[-1], TurnEndRecord)
    assert sum(isinstance(one, MessageRecord) for one in second.records) >= 5
    (log,) = home.logs()
    assert [one.agent for one in log if isinstance(one, Spent)] == [
        "",
        "explore",
        "",
        *["general"] * 3,
        "",
    ]
    assert [(act.tool, act.agent, act.end) for act in acts(log) if act.agent] == [
        ("edit_file", "general", "done")
    ]


async def test_an_editor_without_events_shows_a_sub_agent_in_its_progress(tmp_path: Path) -> None:
    home = Home(tmp_path)
    script = Two([delegate(name="explore"), DONE], [call(*READ), say("Line 2.", usage=USAGE)])
    async with (
        LoopbackEndpoint(script) as endpoint,
        editing(home, endpoint.base_url) as editor,
    ):
        await editor.fix(editor.open(home.shop), wait=True)
        told = [one.get("message") for one in editor.progress]
    assert "agent explore: reading shop.py" in told


async def test_a_trusted_workspaces_sub_agent_is_data_and_can_only_tighten(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.write(".claude/agents/critic.md", NOTES)
    script = Two([delegate(name="critic"), DONE], [say("Bad.", usage=USAGE)])
    async with (
        LoopbackEndpoint(script) as endpoint,
        editing(home, endpoint.base_url) as editor,
    ):
        editor.open(home.shop)
        await editor.ask("look")
    (request,) = script.of_child
    assert "nothing kind" not in system(request), "no text of a repository has the system role"
    user = "\n".join(one["content"] for one in request.body["messages"] if one["role"] == "user")
    assert '<skill name="critic" from=".claude/agents/critic.md">\nSay what is wrong' in user
    assert [one["function"]["name"] for one in request.body["tools"]] == ["read_file", "grep"]
    assert results(script.of_main[-1]) == ["Bad."]


async def test_a_sub_agent_of_an_untrusted_workspace_does_not_exist(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.trusted = ()
    home.write(".indwell/agents/critic.md", NOTES)
    script = Two([delegate(name="critic"), DONE], [])
    async with (
        LoopbackEndpoint(script) as endpoint,
        editing(home, endpoint.base_url) as editor,
    ):
        editor.open(home.shop)
        await editor.ask("look")
    assert "there is no sub-agent 'critic'" in results(script.of_main[-1])[0]


async def test_a_user_defined_sub_agent_is_in_the_system_prompt_with_its_model(
    tmp_path: Path,
) -> None:
    home = Home(tmp_path)
    folder = home.configure("agent_rounds = 5\n").parent / "agents"
    folder.mkdir()
    (folder / "critic.md").write_bytes(
        NOTES.replace("tools:", "model: cheap-model\ntools:").encode()
    )
    script = Two([delegate(name="critic"), DONE], [say("Bad.", usage=USAGE)])
    async with (
        LoopbackEndpoint(script) as endpoint,
        editing(home, endpoint.base_url) as editor,
    ):
        editor.open(home.shop)
        await editor.ask("look")
    (request,) = script.of_child
    assert "nothing kind" in system(request)
    assert request.body["model"] == "cheap-model"
    assert "critic: finds what is wrong" in str(script.of_main[0].body["tools"])
    (log,) = home.logs()
    assert [one.model for one in log if isinstance(one, Spent) and one.agent] == ["cheap-model"]


@pytest.mark.parametrize(("last", "known"), [(EDIT, "unknown outcome"), (READ, "not done")])
async def test_after_a_kill_the_report_says_whether_a_sub_agent_may_have_changed_files(
    tmp_path: Path, last: tuple[str, str], known: str
) -> None:
    home, hang = Home(tmp_path), asyncio.Event()
    stuck = Answer((hang,), headers={"Content-Type": "text/event-stream"})
    script = Two([delegate()], [call(*READ), call(*last), stuck])
    async with LoopbackEndpoint(script) as endpoint:
        async with editing(home, endpoint.base_url, extensions=("events",)) as editor:
            editor.open(home.shop)
            turn = asyncio.ensure_future(editor.ask("mend it"))
            await asyncio.wait_for(script.stuck.wait(), 60)
            editor.process.kill()
            await editor.process.wait()
            turn.cancel()
        script.main = [say("I look again.", usage=USAGE)]
        async with editing(home, endpoint.base_url, extensions=("events",)) as editor:
            editor.open(home.shop)
            (log,) = home.state.glob("sessions/*/*/log.jsonl")
            session = log.parent
            await editor.execute("indwell.resume", {"session": session.name, "wait": True})
            await editor.ask("go on", session=session.name)
        hang.set()
    assert known in results(script.of_main[-1])[0]
