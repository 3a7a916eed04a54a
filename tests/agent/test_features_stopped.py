"""A session continues after a turn was stopped in any slot of any feature."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from indwell.agent.core import events
from indwell.agent.core.feature import Feature
from indwell.agent.core.prompt import Prompt
from indwell.agent.core.session import Session
from indwell.agent.core.session_features import Features
from indwell.agent.loop.turn import run_turn
from indwell.context.pairing import problems
from indwell.messages import Request, Text, ToolResult
from indwell.providers.scripted import Answer
from support.checked_project import Project, a_project
from support.session import PATIENCE_S, asks, call, says

SLOTS = (
    "begin", "prompt_blocks", "remind", "tell", "around", "check_words", "before_tool",
    "after_tool", "after_reply", "answered", "on_stop", "end",
)  # fmt: skip


def model(request: Request) -> Answer:
    """Return replies that read one file in each turn."""
    blocks = request.messages[-1].blocks
    # The result of a stopped turn's call is in the same message as the next prompt.
    is_new = any(isinstance(block, Text) and block.text == "go" for block in blocks)
    if not is_new and any(isinstance(block, ToolResult) for block in blocks):
        return says("done")
    return asks(call("read_file", f"c{len(request.messages)}", path="a.txt"))


def stopped_in(feature: Feature[Session], slot: str, stop: Callable[[], None]) -> Feature[Session]:
    """Return the feature, changed to cancel its turn when ``slot`` begins."""
    own = getattr(feature, slot)

    def begin(*given: Any) -> Any:
        stop()
        return own(*given)

    return dataclasses.replace(feature, **{slot: begin})


async def stop_in(project: Project, feature: Feature[Session], slot: str) -> None:
    session = project.session
    parts = session.parts
    is_reached = asyncio.Event()
    turn: asyncio.Task[events.TurnFinished]

    def stop() -> None:
        is_reached.set()
        turn.cancel()  # takes effect where the slot next awaits, or right after the slot

    changed = [stopped_in(one, slot, stop) if one is feature else one for one in parts.features]
    session.parts = dataclasses.replace(parts, features=Features(changed))
    turn = asyncio.ensure_future(run_turn(session, Prompt("go"), project.events.append))
    with suppress(asyncio.CancelledError):
        await asyncio.wait_for(turn, PATIENCE_S)
    muted = session.parts.features.muted
    session.parts = parts
    assert is_reached.is_set(), "no turn comes by here"
    assert muted == frozenset()
    finished = [one for one in project.events if isinstance(one, events.TurnFinished)][-1]
    # If the slot `end` does not await anything, the turn ends before the cancellation.
    assert finished.ending in ({"cancelled", "done"} if slot == "end" else {"cancelled"})


@pytest.mark.parametrize("slot", SLOTS)
async def test_a_turn_that_is_stopped_in_a_feature_leaves_a_session_that_works(
    tmp_path: Path, slot: str
) -> None:
    async with a_project(tmp_path, model) as project:
        for feature in project.session.parts.features:
            if getattr(feature, slot) is not None:
                await stop_in(project, feature, slot)
        assert (await project.turn()).ending == "done"
        assert problems(project.session.conversation.messages) == ()
