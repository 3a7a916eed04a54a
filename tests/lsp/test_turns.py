"""The registry of turns when messages cannot be sent: prompts are answered, none is lost."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from indwell.agent.core import events
from indwell.agent.core.prompt import Prompt
from indwell.agent.core.session import Session
from indwell.errors import UserError
from indwell.lsp.front_door import EditorDoor
from indwell.lsp.workspace.documents import Documents
from indwell.messages import Request
from indwell.providers.scripted import Hang, hang
from indwell.service.turns import queue as line
from indwell.service.turns.queue import Ticket, WaitingPrompt
from indwell.service.turns.turns import Turns
from indwell.tools.base import ToolContext
from support.session import a_tool, a_world, asks, call, says


class DeadScreen:
    """An editor to which no message can be sent: each attempt raises."""

    def event(self, *_args: object) -> None:
        raise UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates not allowed")

    async def create_progress(self, _token: str) -> bool:
        raise ConnectionResetError

    def progress(self, *_args: object) -> None:
        raise ConnectionResetError


class HalfDeadScreen(DeadScreen):
    """Accepts the beginning of a progress, and raises an error at each report."""

    async def create_progress(self, _token: str) -> bool:
        return True


async def nothing(_session: Session, _finished: object) -> None:
    """Do nothing, because the caller has the answer."""


def turns_of(
    session: Session,
    screen: Any,
    ended: list[Ticket],
    *listeners: Callable[[str, events.Event], None],
) -> Turns:
    async def open_session(_ticket: Ticket) -> Session:
        return session

    door = EditorDoor(screen, Documents())
    door.listeners.extend((object, hear) for hear in listeners)
    return Turns(door, open_session, ended.append)


@pytest.mark.parametrize("screen", [DeadScreen(), HalfDeadScreen()])
async def test_an_editor_that_cannot_receive_events_loses_no_prompt(
    tmp_path, caplog, screen
) -> None:
    ended: list[Ticket] = []
    async with a_world(tmp_path, [says("One."), says("Two."), says("Three.")]) as world:
        turns = turns_of(world.session, screen, ended)
        tickets = [
            turns.submit(WaitingPrompt(name, Prompt(words=name)), nothing)
            for name in ("one", "two", "three", "four")
        ]
        turns.change(partial(line.removed, identifier="four"))
        async with asyncio.timeout(60):
            answers = [(await one.wait()).answer for one in tickets]
        await world.records()
    assert answers == ["One.", "Two.", "Three.", ""]
    assert (tickets[-1].finished.draft, turns.queue.waiting, turns.running) == ("four", (), None)
    assert [one.waiting.id for one in ended] == ["one", "two", "three"]
    # asyncio may log here about a task of another test in this process.
    own = [one for one in caplog.records if one.name.startswith("indwell")]
    logged = [one.message for one in own if one.levelno >= logging.ERROR]
    assert logged == ["events could not be sent to the editor; turns continue"]


async def test_shutdown_lists_unlogged_prompts_and_starts_no_further_turn(
    tmp_path,
) -> None:
    """A session is being opened, one prompt waits for it, and another prompt comes too late."""
    opening = asyncio.Event()

    async def open_for_ever(_ticket: Ticket) -> Session:
        opening.set()
        await asyncio.Event().wait()
        raise AssertionError

    turns = Turns(EditorDoor(DeadScreen(), Documents()), open_for_ever, lambda _ticket: None)  # type: ignore[arg-type]
    one = turns.submit(WaitingPrompt("p1", Prompt(words="first")), nothing)
    two = turns.submit(WaitingPrompt("p2", Prompt(words="second")), nothing)
    await opening.wait()
    assert turns.close() == ("first", "second")
    await turns.drain("the server ends")
    ends = [await ticket.wait() for ticket in (one, two)]
    assert [(end.ending, end.draft) for end in ends] == [
        ("cancelled", "first"),
        ("cancelled", "second"),
    ]
    with pytest.raises(UserError, match="the server is shutting down; send the words again"):
        turns.submit(WaitingPrompt("p3", Prompt(words="late")), nothing)


async def test_the_log_of_a_running_turn_contains_its_prompt(tmp_path) -> None:
    async with a_world(tmp_path, [hang]) as world:
        turns = turns_of(world.session, DeadScreen(), [])
        running = turns.submit(WaitingPrompt("p1", Prompt(words="first")), nothing)
        await running.begun.wait()
        turns.submit(WaitingPrompt("p2", Prompt(words="second")), nothing)
        assert turns.close() == ("second",)
        await turns.drain("the server ends")
        assert (await running.wait()).draft == "first"
        records = await world.records()
    assert (records[-1].ending, records[-1].words) == ("interrupted", "first")


async def test_no_turn_is_reported_as_running_after_its_last_event(tmp_path) -> None:
    """After the last event, records are written, and the sender of the prompt gets its answer."""
    answering, go_on = asyncio.Event(), asyncio.Event()
    heard: list[int | None] = []

    async def answer(_session: Session, _finished: object) -> None:
        answering.set()
        await go_on.wait()

    async with a_world(tmp_path, [says("One.")]) as world:
        turns = turns_of(
            world.session, DeadScreen(), [], lambda *_event: heard.append(turns.running_number)
        )
        assert turns.running_number is None
        ticket = turns.submit(WaitingPrompt("p1", Prompt(words="one")), answer)
        assert turns.running_number == 0
        await answering.wait()
        assert turns.running is ticket
        assert heard[-1] is turns.running_number is None
        assert heard[0] == 1
        go_on.set()
        await ticket.wait()
        await world.records()


async def test_a_prompt_sent_right_after_a_failed_turn_is_not_held(tmp_path) -> None:
    """The user chooses Retry before the records of the stopped turn are on disk."""
    asked, retried = asyncio.Event(), list[Ticket]()

    def ask(_request: Request) -> Hang:
        asked.set()
        return hang()

    async with a_world(tmp_path, [ask, says("Two.")]) as world:

        def retry(_session: str, event: events.Event) -> None:
            if isinstance(event, events.TurnFinished) and not retried:
                retried.append(turns.submit(WaitingPrompt("p2", Prompt(words="again")), nothing))

        turns = turns_of(world.session, DeadScreen(), [], retry)
        first = turns.submit(WaitingPrompt("p1", Prompt(words="one")), nothing)
        await asked.wait()
        turns.cancel()
        assert (await first.wait()).ending == "cancelled"
        async with asyncio.timeout(60):
            assert (await retried[0].wait()).answer == "Two."
        assert turns.queue.held == ""
        await world.records()


async def test_a_second_stop_does_not_interrupt_the_clean_up_of_the_first(tmp_path) -> None:
    begun, tidying, go_on = asyncio.Event(), asyncio.Event(), asyncio.Event()
    tidied: list[str] = []

    async def work(name: str, _context: ToolContext) -> str:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            tidying.set()
            await go_on.wait()
            tidied.append(name)
        raise AssertionError

    tools, script = [a_tool("work", work, effect="edit")], [asks(call("work", name="a.py"))]
    async with a_world(tmp_path, script, tools=tools) as world:
        turns = turns_of(world.session, DeadScreen(), [])
        running = turns.submit(WaitingPrompt("p1", Prompt(words="go")), nothing)
        await begun.wait()
        assert turns.cancel()
        await tidying.wait()
        assert turns.cancel()
        draining = asyncio.ensure_future(turns.drain("the server ends"))
        await asyncio.sleep(0)
        go_on.set()
        await draining
        assert (await running.wait()).ending == "cancelled"
        await world.records()
    assert tidied == ["a.py"]
