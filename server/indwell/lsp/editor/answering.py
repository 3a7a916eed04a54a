"""Answers commands in time, because some editors block until a command is answered.

Emacs (eglot) waits for it up to ten seconds, tells of no change meanwhile, and throws away a
question that stands when the answer comes. So a command is answered after a moment, done or not,
and always before anybody is asked anything; the work goes on, and its outcome is told by message.
Who sets ``wait``, or declares ``events`` and so does not block, is answered with the result.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from indwell.errors import UserError
from indwell.lsp.editor.client import Client
from indwell.lsp.messages.lsprotocol_types import types
from indwell.service.chores import Chores

T = TypeVar("T")

ANSWER_S = 0.3  # then a command is answered; a longer stop is felt as one
GAP_S = 0.1  # from the answer to a question: lsp-mode 8.0 loses one that comes in the same piece


class Answering:
    """Knows which commands are not answered yet.

    Args:
        client: Its questions wait until these are.
        chores: Own the work that goes on.
    """

    def __init__(self, client: Client, chores: Chores) -> None:
        self._client = client
        self._chores = chores
        self._open: set[asyncio.Event] = set()
        client.before_asking = self._answer_all

    async def answer(
        self, work: Coroutine[Any, Any, T], *, wait: bool, within_s: float = ANSWER_S
    ) -> T | None:
        """The result of a command's work; None if it is not there in time, or went wrong.

        What went wrong is told. Whoever cancels the command in time cancels the work.
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
        """Does it do no harm to answer late?"""
        return wait or self._client.features.has("events")

    async def until(self, work: asyncio.Task[T], within_s: float) -> None:
        """Return when the work is done, the time is over, or the user is about to be asked."""
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
        """Somebody is about to ask the user: let each command be answered first."""
        if self._open:
            for one in self._open:
                one.set()
            await asyncio.sleep(GAP_S)

    async def _told(self, work: Coroutine[Any, Any, T]) -> T | None:
        try:
            return await work
        except UserError as error:
            self._client.show(types.MessageType.Error, f"Indwell: {error}")
            return None


async def _owned(task: asyncio.Task[T]) -> None:
    """Whoever owns this owns the work: it ends with it."""
    await task
