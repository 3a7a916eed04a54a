"""Shows turns in an editor without a panel: the answer, the end, the queue, what to do next."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from indwell.agent.core.events import TurnFinished
from indwell.agent.core.session import Session
from indwell.context.untrusted_text import short_line, visible
from indwell.errors import SessionError, ToolError, reason
from indwell.files.contents.atomic import write_atomic
from indwell.files.spelling import quoted
from indwell.lsp.editor.client import Client
from indwell.lsp.editor.progress import REASON_LIMIT, summary
from indwell.lsp.messages.lsprotocol_types import types
from indwell.service.turns import queue as line
from indwell.service.turns.queue import PLAN_WAITS, OnEnd, Queue, Ticket, proposed_in
from indwell.service.turns.turns import Turns
from indwell.settings.model import Mode, Settings

MOST_ANSWERS = 20  # the limit of older answers below the newest; the session's log has all answers
RULE = "\n\n---\n\n"


class AnswerDocument:
    """The file with a session's answers, for clients with ``experimental.indwell.reread``."""

    def __init__(self) -> None:
        self._session = ""
        self._answers: tuple[str, ...] = ()
        self._path: Path | None = None

    async def add(self, session: Session, answer: str) -> Path:
        """Insert an answer above the earlier answers; return the file's path.

        Raises:
            SessionError: The text cannot be written to disk.
        """
        if session.id != self._session:
            self._session, self._answers, self._path = session.id, (), None
        self._answers = (answer.rstrip("\n"), *self._answers[: MOST_ANSWERS - 1])
        text = RULE.join(self._answers) + "\n"
        if self._path is None:
            self._path = await session.parts.spill.keep("answers.md", text)
            return self._path
        path, data = self._path, text.encode("utf-8", "replace")
        try:
            await asyncio.to_thread(partial(write_atomic, path, data, [path.parent]))
        except (ToolError, OSError) as error:
            raise SessionError(
                f"the answer could not be written to {quoted(path)} ({reason(error)}); "
                "make room there"
            ) from error
        return path


AGAIN = "Try again"
IN_NEW_SESSION = "Go on in a new session"
GO_ON = "Go on with the next"
NOT_NOW = "Not now"
ANSWER_LIMIT = 2_000  # the limit of characters for an answer in a message

Retry = Callable[[Ticket, OnEnd], None]
RetryInNewSession = Callable[[Ticket, OnEnd], Awaitable[None]]


class TurnDisplay:
    """Shows messages, documents and questions in a client that does not show events itself.

    Args:
        client: The editor.
        settings: Returns the settings in force.
    """

    def __init__(self, client: Client, settings: Callable[[], Settings]) -> None:
        self._client = client
        self._settings = settings
        self._answers = AnswerDocument()

    @property
    def _is_rich(self) -> bool:
        return self._client.features.has("events")

    async def nothing(self, session: Session, finished: TurnFinished) -> None:
        """Show nothing, because the answer to the request reports the end."""

    async def summary(self, session: Session, finished: TurnFinished) -> None:
        """Show a summary of the turn; if no file changed, first show the model's answer."""
        if self._is_rich:
            return
        is_good = finished.ending == "done"
        if is_good and not finished.changes:
            await self.answer(session, finished)
            if not finished.message:
                return
        level = types.MessageType.Info if is_good else types.MessageType.Error
        # After a failure, the question that offers another attempt shows the reason.
        if not (finished.retryable or finished.outgrown):
            self._client.show(level, f"Indwell: {summary(finished)}")

    async def answer(self, session: Session, finished: TurnFinished) -> None:
        """Show the model's answer in a separate document."""
        if self._is_rich:
            return
        is_offered = finished.retryable or finished.outgrown
        if finished.ending != "done" and not is_offered:
            why = short_line(finished.message, REASON_LIMIT)
            self._client.show(types.MessageType.Error, f"Indwell: {why}")
        # A client with ``stream`` has shown the answer while the answer arrived.
        if finished.answer and not self._client.features.has("stream"):
            if self._client.features.has("reread"):
                path = await self._answers.add(session, finished.answer)
            else:
                path = await session.parts.spill.keep(f"answer-{finished.turn}.md", finished.answer)
            if not await self._client.show_document(path.as_uri()):
                self._client.show(types.MessageType.Info, "", _shortened(finished.answer, path))

    def mode(self, mode: Mode) -> None:
        """Show the mode that the user chose."""
        if not self._is_rich:
            words = f"Indwell: the mode is `{mode}` now"
            self._client.show(types.MessageType.Info, words)

    def queued(self, queue: Queue) -> None:
        """Show that a prompt is queued."""
        if not self._is_rich:
            number = len(queue.waiting)
            words = f"Indwell: queued behind the running turn ({number} waiting)"
            self._client.show(types.MessageType.Info, words)

    async def afterwards(
        self, ticket: Ticket, turns: Turns, again: Retry, again_in_new_session: RetryInNewSession
    ) -> None:
        """Ask the user what to do after a failed turn, or with the prompts queued behind it.

        Args:
            ticket: The ticket of the turn.
            turns: The turns and their queue.
            again: Sends the same prompt in the same session.
            again_in_new_session: Sends the prompt in a new session that continues the task.
        """
        if self._is_rich:
            return
        n_held = sum(one.is_held for one in turns.queue.waiting)
        finished = ticket.finished
        # The request that sent the prompt was answered with the error.
        is_own = ticket.on_end == self.nothing
        may_retry = finished is not None and finished.retryable and not is_own
        may_leave = finished is not None and finished.outgrown and not is_own
        was_stopped = finished is not None and finished.ending == "cancelled"
        if not (n_held or may_retry or may_leave):
            # No progress shows the end of a turn that was stopped before its session existed.
            is_shown = self._client.features.progress and ticket.session is not None
            if was_stopped and not is_own and not is_shown:
                self._client.show(types.MessageType.Info, "Indwell: stopped")
            return
        waits = "waits" if n_held == 1 else "wait"
        behind = f"; {_prompts(n_held)} still {waits}" if n_held else ""
        goes = "goes" if n_held == 1 else "go"
        if was_stopped:
            words = f"Indwell: stopped{behind}, and {goes} on with your next one"
            self._client.show(types.MessageType.Info, words)
            return
        if proposed_in(ticket):  # another question already asks about the plan
            words = f"Indwell: {PLAN_WAITS}{behind}, and {goes} on after it"
            self._client.show(types.MessageType.Info, words)
            return
        reason = finished.message if finished is not None else str(ticket.error)
        offers = ((may_retry, AGAIN), (may_leave, IN_NEW_SESSION), (n_held, GO_ON), (True, NOT_NOW))
        titles = tuple(title for is_offered, title in offers if is_offered)
        timeout_s = self._settings().answer_timeout_s
        why = short_line(reason, REASON_LIMIT)
        chosen = await self._client.choose(f"Indwell: {why}{behind}", titles, timeout_s)
        if chosen == AGAIN and may_retry:
            again(ticket, ticket.on_end)
        elif chosen == IN_NEW_SESSION and may_leave:
            await again_in_new_session(ticket, ticket.on_end)
        elif chosen == GO_ON:
            turns.change(line.released)


def _shortened(answer: str, path: Path) -> str:
    """Return an answer as a message: shortened, with control characters visible."""
    if len(answer) <= ANSWER_LIMIT:
        return visible(answer)
    return f"{visible(answer[:ANSWER_LIMIT])}…\n[all of it is in {path}]"


def _prompts(number: int) -> str:
    return "1 prompt" if number == 1 else f"{number} prompts"
