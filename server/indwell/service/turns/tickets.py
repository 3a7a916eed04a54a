"""One prompt on its way: what was asked for, its turn, how it ended; and what follows from that."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from indwell.agent import events
from indwell.agent.features.plan.board import PlanBoard
from indwell.agent.prompt import Prompt
from indwell.agent.session import Session
from indwell.errors import UserError
from indwell.messages import Usage
from indwell.service.turns.queue import Waiting

PLAN_WAITS = "a plan waits for your word"
"""Why prompts behind a turn that proposed a plan do not begin: approving comes first."""


@dataclass(slots=True, eq=False)
class Ticket:
    """One prompt, from when it was taken to the end of its turn.

    Attributes:
        waiting: The prompt as it stands in the queue; only the queue changes it.
        on_end: Shows the end to the user.
        session: Whose turn it is; None until it begins.
        number: Of the turn; 0 until it begins.
        is_written: The session's log has its words.
        is_stopped: Its turn was told to stop.
        in_chat: The user is in the session's chat: it was begun there, or was given words there.
        finished: How it ended.
        error: Why it could not begin.
        begun: Set when the turn has begun, or never will.
        ended: Set when all is over.
    """

    waiting: Waiting
    on_end: OnEnd
    session: Session | None = None
    number: int = 0
    is_written: bool = False
    is_stopped: bool = False
    in_chat: bool = False
    finished: events.TurnFinished | None = None
    error: UserError | None = None
    task: asyncio.Task[None] | None = None
    token: str = field(default_factory=lambda: f"indwell-{uuid.uuid4()}")
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def prompt(self) -> Prompt:
        """What is asked for."""
        return self.waiting.prompt

    async def begins(self, within_s: float) -> None:
        """Wait a moment for a turn that is about to begin.

        Raises:
            UserError: It has not, such as while the user is asked for a model.
        """
        try:
            async with asyncio.timeout(within_s):
                await self.begun.wait()
        except TimeoutError:
            raise UserError(
                "no turn is running yet; send the words with indwell/prompt, and they wait behind "
                "the prompt that is about to begin"
            ) from None

    async def wait(self) -> events.TurnFinished:
        """Wait for the end; a cancelled turn ends with a result like any other.

        Raises:
            UserError: It could not begin.
        """
        await self.ended.wait()
        if self.error is not None:
            raise self.error
        assert self.finished is not None
        return self.finished


OnEnd = Callable[[Session, events.TurnFinished], Awaitable[None]]
"""Shows the end of a turn, while it still counts as running."""

Open = Callable[[Ticket], Awaitable[Session]]
"""Gives the session for a prompt; raises ``UserError`` if there can be none."""

Afterwards = Callable[[Ticket], None]
"""Hears of each prompt that has ended, when the next may have begun."""


def never_started(prompt: Prompt) -> events.TurnFinished:
    """The end of a turn that was stopped before it did anything; the words come back."""
    return events.TurnFinished(
        turn=0,
        ending="cancelled",
        message="stopped",
        answer="",
        draft=prompt.words,
        rounds=0,
        usage=Usage(),
        cost=0.0,
        seconds=0.0,
    )


def proposed_in(ticket: Ticket) -> bool:
    """Did its turn end with a plan that waits for the user? Pure."""
    if ticket.session is None or ticket.finished is None or ticket.finished.ending != "done":
        return False
    board = ticket.session.parts.features.find(PlanBoard)
    if board is None:
        return False
    return board.plan.state == "proposed" and board.proposed_in == ticket.number


def why_held(ticket: Ticket) -> str:
    """Why those behind this one must not begin by themselves; empty if they may. Pure."""
    if ticket.error is not None:
        return str(ticket.error)
    assert ticket.finished is not None
    match ticket.finished.ending:
        case "done":
            return PLAN_WAITS if proposed_in(ticket) else ""
        case "cancelled":
            return "the turn before was stopped"
        case _:
            return ticket.finished.message
