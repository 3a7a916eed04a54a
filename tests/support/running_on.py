"""Creates a session with background commands, which a pipe blocks until the test opens it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from indwell.agent.core.events import BackgroundCommand, CommandsChanged
from indwell.agent.features.background.board import BackgroundBoard, RunningCommand
from indwell.messages import Reply, Text, ToolResult
from support.checked_project import Project, a_project
from support.session import asks, call

SOON_S = 60.0  # Only a failing test waits this many seconds.
WAITS = "echo ready; cat gate; echo over"  # The command waits until the test opens the pipe `gate`.


def starts(command: str, id_: str = "s1", **more: Any) -> Reply:
    return asks(call("bash", id_, command=command, background=True, **more))


def looks(id_: str = "l1", **arguments: Any) -> Reply:
    return asks(call("commands", id_, **arguments))


def results(project: Project) -> list[str]:
    return [
        block.text
        for message in project.session.conversation.messages
        for block in message.blocks
        if isinstance(block, ToolResult)
    ]


def reminders(project: Project) -> list[str]:
    return [
        block.text
        for message in project.session.conversation.messages
        for block in message.blocks
        if isinstance(block, Text) and "ackground command" in block.text
    ]


def told(project: Project) -> list[tuple[BackgroundCommand, ...]]:
    return [one.commands for one in project.events if isinstance(one, CommandsChanged)]


async def has_written(one: RunningCommand, last: str = "\n") -> None:
    """Wait until a command has written ``last``; on a busy machine, its shell starts late."""
    async with asyncio.timeout(SOON_S):
        while not one.output.tail.endswith(last):  # noqa: ASYNC110 - decoding tells nobody
            await asyncio.sleep(0.01)


def background(
    folder: Path,
    script: list[Reply],
    *,
    begin_s: float = 0.3,
    begun: Callable[[RunningCommand], Awaitable[object]] | None = None,
    **more: Any,
) -> Any:
    """Yield a project whose commands wait for a pipe ``gate`` and soon run in the background.

    A command counts as running after ``begin_s`` seconds, or when ``begun`` returns.
    """
    made = a_project(folder, script, **more)

    class Made:
        async def __aenter__(self) -> Project:
            project: Project = await made.__aenter__()
            os.mkfifo(project.folder / "gate")
            board = project.session.parts.features.door(BackgroundBoard)
            board.begin_s = begin_s
            board.begun = begun or board.begun
            board.outside = project.events.append
            return project

        async def __aexit__(self, *error: object) -> None:
            await made.__aexit__(*error)

    return Made()


async def let_go(project: Project) -> None:
    """Let the waiting command end, and wait for its report."""
    (running,) = project.session.parts.features.door(BackgroundBoard).running
    assert running.task is not None
    await asyncio.to_thread((project.folder / "gate").write_text, "open\n")
    await asyncio.wait_for(asyncio.wait({running.task}), SOON_S)
    await asyncio.sleep(0)
