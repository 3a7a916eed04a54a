"""What one server process holds: the editor, its documents, the session, the turns.

Each public method is what one request or command does; the handlers in ``server`` and ``methods``
only translate.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lsprotocol import types

from indwell.agent.compacting import COMPACT
from indwell.agent.prompt import Prompt
from indwell.agent.session import Session
from indwell.agent.words import is_blank
from indwell.errors import UserError
from indwell.lsp import answers, protocol
from indwell.lsp import protocol_views as views
from indwell.lsp.answering import Answering
from indwell.lsp.attachments import check_model
from indwell.lsp.attention import Attention
from indwell.lsp.backend import Backend
from indwell.lsp.chores import Chores
from indwell.lsp.client import Client
from indwell.lsp.configuration import Configuration, in_mode
from indwell.lsp.current_session import OFFERED, CurrentSession, choose_session
from indwell.lsp.diagnostics import EditorProblems
from indwell.lsp.documents import Document, Documents
from indwell.lsp.event_log import Missed
from indwell.lsp.prompting import Prompting
from indwell.lsp.queue import Waiting
from indwell.lsp.review_ledger import HeldLedger
from indwell.lsp.showing import Showing
from indwell.lsp.steering import OPENING_S, steered
from indwell.lsp.tickets import OnEnd, Ticket
from indwell.lsp.turns import Turns
from indwell.lsp.unsent import Unsent
from indwell.policy.approvals import one_line
from indwell.prompt.tasks import Task
from indwell.settings.model import Mode, Settings
from indwell.workspace.paths import display


class Host:
    """One editor's server.

    Args:
        client: The editor.
        backend: Makes settings, workspace and sessions.
    """

    def __init__(self, client: Client, backend: Backend) -> None:
        self.client = client
        self.backend = backend
        self.documents = Documents()
        self.attention = Attention(self.documents, backend.monotonic, self.display)
        self.problems = EditorProblems(
            client, self.documents, self.attention, lambda: self.settings
        )
        self.configuration = Configuration(client, backend)
        self.prompting = Prompting(self.documents, self.attention, lambda: self.settings)
        self.sessions = CurrentSession(client, backend, self.configuration, lambda: self.settings)
        self.turns = Turns(client, self._session_of, self._afterwards)
        self._showing = Showing(client, lambda: self.settings)
        self._roots: tuple[Path, ...] = ()
        self._numbers = itertools.count(1)
        self.chores = Chores()  # what nobody waits for
        self.answering = Answering(client, self.chores)
        self._unsent = Unsent(backend, self._showing, self.chores, self._first_root)
        self.turns.unsent_changed = self._unsent.want
        self.review = HeldLedger(backend, self.sessions, self.turns, self.warn)
        self._stopped: asyncio.Task[None] | None = None

    @property
    def settings(self) -> Settings:
        """Those in force; the running turn may have a mode of its own."""
        settings = self.configuration.settings
        running = self.turns.running
        return in_mode(settings, running.waiting.mode) if running else settings

    @property
    def root(self) -> Path:
        """The first folder of the workspace.

        Raises:
            UserError: None is open.
        """
        if not self._roots:
            raise UserError("no folder is open; open the folder of the project, and try again")
        return self._roots[0]

    @property
    def is_stopped(self) -> bool:
        """Has the end begun?"""
        return self._stopped is not None

    def start(self, roots: tuple[Path, ...], options: Mapping[str, Any]) -> None:
        """The editor has said where it works and what it wants."""
        self._roots = roots
        if self.client.features.is_restricted:
            self.backend.hold_back()
        self.configuration.start(roots, options)
        self.sessions.workspace = self.backend.workspace(
            roots, self.documents, self.client, self.settings
        )

    def warm_up(self) -> None:
        """A sign that a prompt may come: actions are looked at, something is marked."""
        self.backend.warm_up(self.configuration.settings)

    def greet(self) -> None:
        """Say what was wrong in the settings, once the editor can show it; ask for its own."""
        self.warn(self.configuration.notices)
        if self.configuration.problem:
            self.client.show(types.MessageType.Error, f"Indwell: {self.configuration.problem}")
        if self.client.features.configuration or self._roots:
            self.chores.begin(self._ask_configuration())
        if self._roots:
            self.chores.begin(self._unsent.tell(self._roots[0]))
            self.chores.begin(self.review.open())

    async def reconfigure(self, section: object) -> None:
        """The editor's configuration has changed; ``section`` is what it pushed, if it did."""
        if self.client.features.configuration:
            await self._ask_configuration()
        else:
            self.warn(await self.configuration.take(section))

    def display(self, document: Document) -> str:
        """A document's name as people read it: relative to the first root that holds it."""
        if document.path is None:
            return one_line(document.uri)
        return display(document.path, self._roots)

    async def run_task(self, task: Task, arguments: protocol.TaskArguments) -> Ticket | None:
        """Take the prompt of a code action; None if the user closed the question it needs.

        Raises:
            UserError: It cannot be taken, in plain words.
        """
        self._check_usable()
        document = self.prompting.document(arguments.uri)
        words = arguments.text
        if task in {"ask", "refactor"} and not words and self.client.features.has("ask"):
            question = "Ask about this" if task == "ask" else "Refactor how"
            typed = await self.client.ask(
                protocol.AskParams(prompt=question), self.settings.answer_timeout_s
            )
            if typed is None:
                return None
            words = typed
        if task == "ask" and not words.strip():
            raise UserError("there is no question; give it as `text`, or in an editor that can ask")
        prompt = self.prompting.task(task, document, arguments, words)
        is_answer = task in {"explain", "ask"}
        shown = self._showing.answer if is_answer else self._showing.summary
        ticket = self.turns.submit(self._waiting(prompt), shown)
        if ticket.waiting in self.turns.queue.waiting:
            self._showing.queued(self.turns.queue)
            if not arguments.wait:
                self.chores.begin(self._tell_error(ticket))
            return ticket
        try:
            await ticket.begun.wait()
        except asyncio.CancelledError:
            self.turns.abandon(ticket)
            raise
        if ticket.error is not None:
            raise ticket.error
        return ticket

    async def prompt(self, params: protocol.PromptParams) -> Ticket:
        """Take the user's own words.

        Raises:
            UserError: They cannot be taken, in plain words.
        """
        self._check_usable()
        if is_blank(params.text):
            raise UserError("the prompt is empty; write what should be done")
        await self.sessions.check(params.session)
        prompt = await self.prompting.with_attached(params, self.sessions.workspace)
        if prompt.pictures and params.session in {None, "new", self.sessions.id}:
            await check_model(self.backend, self.settings)
        waiting = self._waiting(prompt, params.session, params.mode)
        return self.turns.submit(waiting, self._showing.nothing)

    async def steer(self, params: protocol.SteerParams) -> protocol.SteerResult:
        """Give words to the running turn.

        Raises:
            UserError: None runs, or not in that session, or too much waits for it already.
        """
        is_asked = self.sessions.is_asking  # that can take minutes
        return await steered(self.turns.running, params, 0 if is_asked else OPENING_S)

    def compact(self) -> Ticket:
        """Shorten the current conversation, as a turn of its own, behind those that wait.

        Raises:
            UserError: There is none.
        """
        self._check_usable()
        if self.sessions.current is None:
            raise UserError("there is no conversation yet that could be shortened")
        prompt = Prompt(COMPACT, title="shorten the conversation")
        return self.turns.submit(self._waiting(prompt), self._showing.summary)

    async def new_session(self) -> None:
        """Let the next prompt begin a new session; a running turn is stopped first.

        What waits stays with the session that it was typed in, held.
        """
        await self.turns.drain("a new session was begun")
        await self.sessions.leave()

    async def resume(self, arguments: protocol.ResumeArguments) -> views.ResumeResult | None:
        """Take an older session up, which the next prompt goes to; a running turn is stopped first.

        Where none is named the user is asked; None if the user chose none.

        Raises:
            UserError: It cannot be gone on with.
        """
        self._check_usable()
        wanted = arguments.session or await self._chosen_session()
        if wanted is None:
            return None
        await self.sessions.check(wanted)
        if wanted != self.sessions.id:
            await self.turns.drain("another session was taken up")
        resumed = await self.sessions.resume(wanted, arguments.model)
        self.warn(resumed.notices)
        return answers.resume_result(resumed)

    async def _chosen_session(self) -> str | None:
        found, _ = await self.backend.sessions(self.root, limit=OFFERED, before=None)
        return await choose_session(
            self.client, [one for one in found if one.id != self.sessions.id]
        )

    def missed(self, session: str, after: int) -> Missed:
        """Events of a session after a number.

        Raises:
            UserError: Nothing is known of it.
        """
        missed = self.turns.events.after(session, after)
        if missed is None:
            raise UserError(
                f"no events of session {session!r} are kept; indwell/session shows its turns"
            )
        return missed

    def set_mode(self, mode: Mode) -> None:
        """Choose how much is asked; from here it counts for the next call."""
        self.configuration.choose_mode(mode)

    async def stop(self) -> None:
        """Stop what runs, write down what is not written yet, keep what was never sent.

        It is done once: an ``exit`` behind ``shutdown`` waits for the same end.
        """
        self._stopped = self._stopped or asyncio.create_task(self._stop())
        await asyncio.shield(self._stopped)

    async def _stop(self) -> None:
        self._unsent.stop()
        await self._unsent.leave(self.turns.close())
        await self.turns.drain("the server ends")
        await self.sessions.stop_asking()
        await self.chores.stop()
        await self.sessions.leave()
        await self.review.close()
        if self.sessions.workspace is not None:
            self.sessions.workspace.watch.close()

    def _check_usable(self) -> None:
        if self.configuration.problem:
            raise UserError(self.configuration.problem)
        _ = self.root

    def _waiting(
        self, prompt: Prompt, target: str | None = None, mode: Mode | None = None
    ) -> Waiting:
        """A prompt as it waits; one that names no session belongs to the current one."""
        home = "" if target else self.turns.home(self.sessions.id)
        return Waiting(self._next_id(), prompt, target, mode, home)

    def _next_id(self) -> str:
        return f"p{next(self._numbers)}"

    async def _session_of(self, ticket: Ticket) -> Session:
        """Where a turn begins."""
        await self.configuration.known()  # which tells what it finds by itself
        notices = self.configuration.notices
        waiting = ticket.waiting
        session = await self.sessions.get(waiting.target or waiting.home or None)
        session.parts.gate.source = self.problems
        self.warn(tuple(one for one in self.configuration.notices if one not in notices))
        return session

    def _afterwards(self, ticket: Ticket) -> None:
        """A turn is over: where it failed, or others wait behind it, the user decides."""
        offered = self._showing.afterwards(ticket, self.turns, self._again, self._anew)
        self.chores.begin(offered)

    def _again(self, ticket: Ticket, on_end: OnEnd) -> None:
        """The same words with the same selection, before all that waits."""
        old = ticket.waiting
        home = ticket.session.id if ticket.session is not None else ""
        waiting = Waiting(self._next_id(), old.prompt, old.target, old.mode, home)
        self.turns.submit(waiting, on_end, first=True)

    async def _anew(self, ticket: Ticket, on_end: OnEnd) -> None:
        """The same words in a new session, which takes the task of an outgrown one along."""
        await self.sessions.leave()
        old = ticket.waiting
        self.turns.submit(Waiting(self._next_id(), old.prompt, mode=old.mode), on_end, first=True)

    async def _tell_error(self, ticket: Ticket) -> None:
        """Say why a prompt could not begin, where nobody waits for its answer any more."""
        await ticket.ended.wait()
        if ticket.error is not None:
            self.client.show(types.MessageType.Error, f"Indwell: {ticket.error}")

    async def _ask_configuration(self) -> None:
        self.warn(await self.configuration.ask())

    def _first_root(self) -> Path | None:
        return self._roots[0] if self._roots else None

    def warn(self, notices: tuple[str, ...]) -> None:
        """Show what the user should know, where there is something."""
        if notices:
            self.client.show(types.MessageType.Warning, "Indwell: " + "\n".join(notices))
