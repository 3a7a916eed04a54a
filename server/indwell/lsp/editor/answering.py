"""Delays questions to the user until commands are answered and the user has stopped typing.

Some editors block until a command is answered, and a key press may be meant for a file.

Emacs (eglot) waits up to ten seconds for the answer to a command. Meanwhile Emacs reports no
changes, and drops an open question when the answer arrives. Each command is therefore answered
after a moment and before any question; a message reports the outcome. A client that sets ``wait``,
or declares ``events`` and so does not block, receives the result as the answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from indwell.errors import UserError
from indwell.lsp.editor.client import Client
from indwell.service.chores import Chores

T = TypeVar("T")

ANSWER_S = 0.3  # the time, in seconds, until a command is answered; users notice longer pauses
# The time, in seconds, between an answer and a question, which lsp-mode 8.0 may otherwise lose.
GAP_S = 0.1


class Answering:
    """Answers commands, and delays questions until all commands are answered.

    Args:
        client: The editor, whose questions wait until all commands are answered.
        chores: Runs the work that continues after its command was answered.
    """

    def __init__(self, client: Client, chores: Chores) -> None:
        self._client = client
        self._chores = chores
        self._open: set[asyncio.Event] = set()
        client.before_asking = self._answer_all

    async def answer(
        self, work: Coroutine[Any, Any, T], *, wait: bool, within_s: float = ANSWER_S
    ) -> T | None:
        """Run a command's work; return its result, or None after the time limit or an error.

        Errors are shown to the user. Cancelling the command in time cancels the work.
        """
        if self.may_wait(wait=wait):
            return await self._told(work)
        task = asyncio.create_task(self._told(work))
        self._chores.begin(_owned(task))
        try:
            await self.until(task, within_s)
        except asyncio.CancelledError:
            task.cancel()
            raise
        return task.result() if task.done() else None

    def may_wait(self, *, wait: bool) -> bool:
        """Return whether a command of this client may be answered late."""
        return wait or self._client.features.has("events")

    async def until(self, work: asyncio.Task[T], within_s: float) -> None:
        """Wait until the work is done, the time is over, or the user must be asked."""
        asked = asyncio.Event()
        self._open.add(asked)
        waiting = asyncio.create_task(asked.wait())
        try:
            await asyncio.wait(
                {work, waiting}, timeout=within_s, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            self._open.discard(asked)
            waiting.cancel()

    async def _answer_all(self) -> None:
        """Answer all commands before the editor shows a question to the user."""
        if self._open:
            for one in self._open:
                one.set()
            await asyncio.sleep(GAP_S)

    async def _told(self, work: Coroutine[Any, Any, T]) -> T | None:
        try:
            return await work
        except UserError as error:
            self._client.fail(error)
            return None


async def _owned(task: asyncio.Task[T]) -> None:
    """Wait for the task; if the caller is cancelled, cancel the task, too."""
    await task


WAITING = "a question waits until you stop typing"
NOTICE_S = 10.0  # After a delay of 10 seconds, a message announces the question.


class Stillness:
    """Delays questions until the user stops typing in the editor.

    A delayed question is never dropped: the editor shows it as soon as the user pauses.

    Args:
        monotonic: Returns the time of a monotonic clock in seconds.
        pause_s: Returns the pause that the settings require, in seconds.
        notice: Shows a message that ignores key presses.
        held: Called with True when a question begins to wait, and with False when no question
            waits.
        sleep: Waits for a number of seconds.
    """

    def __init__(
        self,
        monotonic: Callable[[], float],
        pause_s: Callable[[], float],
        notice: Callable[[str], None],
        held: Callable[[bool], None],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._monotonic = monotonic
        self._pause_s = pause_s
        self._notice = notice
        self._held = held
        self._sleep = sleep
        self._typed_at: float | None = None
        self._n_waiting = 0

    def typed(self) -> None:
        """Record that the user changed a document or moved the selection."""
        self._typed_at = self._monotonic()

    async def wait(self) -> None:
        """Wait until the user has paused."""
        if self._rest_s() <= 0:
            return
        began, is_told = self._monotonic(), False
        self._count(1)
        try:
            while (rest_s := self._rest_s()) > 0:
                if not is_told and self._monotonic() - began >= NOTICE_S:
                    is_told = True
                    self._notice(f"Indwell: {WAITING}.")
                await self._sleep(min(rest_s, NOTICE_S))
        finally:
            self._count(-1)

    def _rest_s(self) -> float:
        if self._typed_at is None:
            return 0.0
        return self._typed_at + self._pause_s() - self._monotonic()

    def _count(self, change: int) -> None:
        was_held = self._n_waiting > 0
        self._n_waiting += change
        if was_held is not (self._n_waiting > 0):
            self._held(not was_held)
