"""The registry of turns: one at a time, cancelled in three ways, always with an answer.

pygls cannot cancel a running command, so turns are tasks of our own: ``indwell.cancel``, the stop
button of the progress, and ``$/cancelRequest`` on ``indwell/prompt`` all end here.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from indwell.agent import events
from indwell.agent.session import Prompt, Session
from indwell.agent.turn import run_turn
from indwell.errors import UserError
from indwell.lsp.client import Client
from indwell.lsp.progress import TurnProgress, summary
from indwell.messages import Usage

_log = logging.getLogger(__name__)


class Busy(UserError):
    """A turn is running already."""


@dataclass(slots=True)
class Running:
    """A turn under way, or just ended."""

    session: Session
    number: int
    prompt: Prompt
    progress: TurnProgress
    task: asyncio.Task[None]
    finished: events.TurnFinished | None = None

    async def wait(self) -> events.TurnFinished:
        """Wait for the end; a cancelled turn ends with a result like any other."""
        await asyncio.wait({self.task})
        if self.finished is None:  # cancelled before its first step
            return never_started(self.number, self.prompt)
        return self.finished


def never_started(number: int, prompt: Prompt) -> events.TurnFinished:
    """The end of a turn that was stopped before it did anything; the words come back."""
    return events.TurnFinished(
        turn=number,
        ending="cancelled",
        message="stopped",
        answer="",
        draft=prompt.words,
        rounds=0,
        usage=Usage(),
        cost=0.0,
        seconds=0.0,
    )


OnEnd = Callable[[Session, events.TurnFinished], Awaitable[None]]


class Turns:
    """Starts, finds, cancels and drains turns.

    Args:
        client: Hears events and progress.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._running: Running | None = None
        self._seq: dict[str, int] = {}

    @property
    def running(self) -> Running | None:
        """The turn under way, if there is one."""
        return self._running

    def start(self, session: Session, prompt: Prompt, on_end: OnEnd) -> Running:
        """Begin a turn.

        Raises:
            Busy: One is running already.
        """
        self.check_free()
        progress = TurnProgress(self._client, f"indwell-{uuid.uuid4()}")
        number = session.turns + 1
        task = asyncio.create_task(self._run(session, prompt, progress, on_end))
        self._running = Running(session, number, prompt, progress, task)
        task.add_done_callback(self._forget)
        return self._running

    def check_free(self) -> None:
        """Return if a turn may begin.

        Raises:
            Busy: One is running.
        """
        if self._running is not None:
            raise Busy("a turn is running already; stop it or wait for its end")

    def cancel(self, token: str | int | None = None) -> bool:
        """Cancel the running turn (if ``token`` is given, only the one with this progress)."""
        running = self._running
        if running is None or (token is not None and running.progress.token != token):
            return False
        return running.task.cancel()

    async def drain(self) -> None:
        """Cancel what runs and wait until its session is left valid."""
        running = self._running
        if running is not None:
            running.task.cancel()
            await asyncio.wait({running.task})

    async def _run(
        self, session: Session, prompt: Prompt, progress: TurnProgress, on_end: OnEnd
    ) -> None:
        running = self._running
        assert running is not None

        def emit(event: events.Event) -> None:
            if isinstance(event, events.TurnFinished):
                running.finished = event
            seq = self._seq[session.id] = self._seq.get(session.id, 0) + 1
            self._client.event(session.id, seq, event)
            progress.follow(event)

        begun = asyncio.create_task(progress.begin(prompt.title))
        try:
            finished = await run_turn(session, prompt, emit)
        finally:
            begun.cancel()
            if running.finished is not None:
                progress.end(summary(running.finished))
        await on_end(session, finished)

    def _forget(self, task: asyncio.Task[None]) -> None:
        """The turn's task has ended: another may start, and a bug in ending it is logged."""
        if self._running is not None and self._running.task is task:
            self._running = None
        if not task.cancelled() and (bug := task.exception()) is not None:
            _log.error("a turn ended badly", exc_info=bug)
