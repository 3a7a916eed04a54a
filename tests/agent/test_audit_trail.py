"""The log records each decision, so that ``indwell audit`` can show it."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from pathlib import Path

from indwell.agent.core.events import PermissionAsked
from indwell.policy.approvals import Question, Said
from indwell.policy.call_facts import Policy
from indwell.sessions.audit_trail import Act, acts
from indwell.workspace.disk import DiskWorkspace
from support.session import World, a_tool, a_world, asks, call, says


class Silent:
    """An approver that never answers."""

    async def ask(self, question: Question) -> Said:
        del question
        await asyncio.Event().wait()
        raise AssertionError


async def acted(world: World) -> list[tuple[str, str | None, str, str]]:
    """Return tool, decision, answer and ending of each action in the log."""
    found: tuple[Act, ...] = acts(await world.records())
    return [(act.tool, act.decision, act.answer, act.end) for act in found]


async def test_the_audit_lists_every_call_except_allowed_reads(tmp_path: Path) -> None:
    script = [
        asks(
            call("read_file", "c1", path="a.py"),
            call("write_file", "c2", path="b.py", content="x"),
            call("write_file", "c3", path=".git/config", content="x"),
            call("write_file", "c4", path=".vscode/tasks.json", content="x"),
            call("read_file", "c5", path=".env"),
        ),
        says(),
    ]
    policy = Policy("auto", deny=(".env",))
    async with a_world(
        tmp_path, script, files={"a.py": "1"}, policy=policy, answers=["no", "once"]
    ) as world:
        await world.turn()
        assert await acted(world) == [
            ("write_file", "allow", "", "done"),
            ("write_file", "ask", "no", "refused"),
            ("write_file", "ask", "once", "done"),
            ("read_file", "deny", "", "denied"),
        ]


async def test_a_question_that_was_open_when_the_turn_stopped_is_in_the_audit(
    tmp_path: Path,
) -> None:
    async def run(_name: str, _context: object) -> str:
        raise AssertionError

    tool = a_tool("work", run, effect="run")
    async with a_world(tmp_path, [asks(call("work", name="make"))], tools=[tool]) as world:
        world.session.parts = dataclasses.replace(world.session.parts, approver=Silent())
        turn = world.begin()
        await world.until(lambda event: isinstance(event, PermissionAsked))
        turn.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await turn
        ((tool_name, decision, answer, _),) = await acted(world)
    assert (tool_name, decision, answer) == ("work", "ask", "")


async def test_a_call_refused_because_of_its_target_is_recorded(tmp_path: Path) -> None:
    root = tmp_path / "work"
    root.mkdir()
    script = [
        asks(
            call("read_file", "c1", path="/etc/passwd"),
            call("write_file", "c2", path="../../etc/x", content="x"),
        ),
        says(),
    ]
    async with a_world(tmp_path, script, workspace=DiskWorkspace([root])) as world:
        await world.turn()
        found = acts(await world.records())
    assert [(act.tool, act.what, act.decision, act.end) for act in found] == [
        ("read_file", "/etc/passwd", "deny", "denied"),
        ("write_file", "../../etc/x", "deny", "denied"),
    ]
    assert all("outside" in act.reason for act in found)
