"""What one server process holds: the editor, its documents, the session, the turns.

Each public method is what one request or command does; the handlers only translate.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from indwell.agent.compaction.compact_now import COMPACT
from indwell.agent.core.prompt import CONTINUE, NOTHING, Prompt, is_blank
from indwell.agent.core.session import Session
from indwell.agent.features.background.board import Board
from indwell.agent.features.checks.gate import CheckGate
from indwell.errors import SessionError, UserError
from indwell.lsp.backend import Backend
from indwell.lsp.editor.answering import Answering
from indwell.lsp.editor.client import Client
from indwell.lsp.messages import methods as protocol
from indwell.lsp.messages.lsprotocol_types import types
from indwell.lsp.prompts.attention import Attention
from indwell.lsp.prompts.diagnostics import EditorProblems
from indwell.lsp.prompts.prompting import Prompting, check_model
from indwell.lsp.sessions.configuration import Configuration
from indwell.lsp.sessions.open_sessions import OpenSessions
from indwell.lsp.sessions.review_ledger import HeldLedger
from indwell.lsp.sessions.showing import Showing
from indwell.lsp.sessions.turns import Turns
from indwell.lsp.sessions.unsent import Unsent
from indwell.lsp.workspace.documents import Document, Documents, shown_name
from indwell.service.chores import Chores, close_all
from indwell.service.secrets import OtherNames
from indwell.service.session_settings import in_mode
from indwell.service.turns.event_log import Missed
from indwell.service.turns.queue import OnEnd, Ticket, WaitingPrompt
from indwell.service.turns.stillness import Stillness
from indwell.sessions.log_lines import LogReading
from indwell.settings.model import Mode, Settings

OPENING_S = 1.0  # for words to a turn that is about to begin; a session opens in a quarter of it


async def steered(
    running: Ticket | None, params: protocol.SteerParams, within_s: float, *, numbered: bool = False
) -> protocol.SteerResult:
    """Give words to the running turn.

    Args:
        running: It, if one runs.
        params: The words, and for which session they are meant.
        within_s: Seconds that it may take to begin.
        numbered: They were typed below a question's numbered options.

    Raises:
        UserError: None runs, or not in that session, or too much waits for it already.
    """
    if is_blank(params.text):
        raise UserError("there are no words to steer with; write what should be done")
    if running is not None:
        await running.begins(within_s)
    if running is None or running.session is None or running.ended.is_set():
        raise UserError("no turn is running; send the words with indwell/prompt instead")
    session = running.session
    if params.session not in {None, session.id}:
        raise UserError(
            f"no turn is running in session {params.session!r}; send the words with "
            "indwell/prompt instead"
        )
    is_choice = session.steer(params.text, numbered=numbered)
    return protocol.SteerResult(
        session=session.id, turn=running.number, delivered=True, is_choice=is_choice
    )


class Host:
    """One editor's server.

    Args:
        client: The editor.
        backend: Makes settings, workspace and sessions.

    Attributes:
        after_turn: Each hears of every prompt that has ended.
    """

    def __init__(self, client: Client, backend: Backend) -> None:
        self.client = client
        self.backend = backend
        self.documents = Documents()
        names = OtherNames(lambda: self._roots, backend)
        self.attention = Attention(self.documents, backend.monotonic, self.display, names)
        self.problems = EditorProblems(client, self.documents, lambda: self.settings)
        self.configuration = Configuration(client, backend)
        self.prompting = Prompting(self.documents, self.attention, lambda: self.settings)
        self.sessions = OpenSessions(client, backend, self.configuration)
        self.turns = Turns(client, self._session_of, self._afterwards)
        self.sessions.is_used = self.turns.is_used
        self.sessions.on_current = self.turns.show
        self.showing = Showing(client, lambda: self.settings)
        self._roots: tuple[Path, ...] = ()
        self._numbers = itertools.count(1)
        self.chores = Chores()  # what nobody waits for
        self.answering = Answering(client, self.chores)
        self.stillness = Stillness(
            backend.monotonic,
            lambda: self.settings.question_pause_s,
            lambda words: client.show(types.MessageType.Info, words),
            self.turns.hold,
        )
        client.still = self.stillness.wait
        self.documents.on_typing = self.stillness.typed
        self._unsent = Unsent(backend, self.showing, self.chores, self._first_root)
        self.turns.unsent_changed = self._unsent.want
        self.review = HeldLedger(backend, self.sessions, self.turns, self.warn)
        self.after_turn: list[Callable[[Ticket], None]] = []
        self._stopped: asyncio.Task[None] | None = None

    @property
    def settings(self) -> Settings:
        """Those in force in the current session, whose running turn may have a mode of its own."""
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

    async def reading(self, session: str) -> LogReading:
        """The log of a session; of an open one with all that has happened in it.

        Raises:
            SessionError: There is none, or it cannot be read.
            UserError: No folder is open.
        """
        opened = self.sessions.find(session)
        if opened is not None:
            with suppress(SessionError):  # a full disk, which its turn tells the user
                await opened.parts.log.commit()  # a turn ends before its records are on disk
        return await self.backend.session(self.root, session)

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
        return shown_name(document, self._roots)

    async def prompt(self, params: protocol.PromptParams) -> Ticket:
        """Take the user's own words.

        Raises:
            UserError: They cannot be taken, in plain words.
        """
        self.check_usable()
        if is_blank(params.text):
            raise UserError("the prompt is empty; write what should be done")
        await self.sessions.check(params.session)
        prompt = await self.prompting.with_attached(params, self.sessions.workspace)
        if prompt.pictures and params.session in {None, "new", self.sessions.id}:
            await check_model(self.backend, self.settings)
        waiting = self.waiting(prompt, params.session, params.mode)
        return self.turns.submit(waiting, self.showing.nothing)

    async def steer(
        self, params: protocol.SteerParams, *, numbered: bool = False
    ) -> protocol.SteerResult:
        """Give words to the running turn; ``numbered``: typed where options have numbers.

        Raises:
            UserError: None runs, or not in that session, or too much waits for it already.
        """
        is_asked = self.sessions.is_asking  # that can take minutes
        within_s = 0 if is_asked else OPENING_S
        named = self.turns.running_in(params.session) if params.session is not None else None
        return await steered(named or self.turns.running, params, within_s, numbered=numbered)

    def compact(self) -> Ticket:
        """Shorten the current conversation, as a turn of its own, behind those that wait.

        Raises:
            UserError: There is none.
        """
        self.check_usable()
        if self.sessions.current is None:
            raise UserError("there is no conversation yet that could be shortened")
        prompt = Prompt(COMPACT, title="shorten the conversation")
        return self.turns.submit(self.waiting(prompt), self.showing.summary)

    def go_on(self) -> Ticket:
        """Continue the current conversation where Indwell's end stopped it, as a turn of its own.

        Raises:
            UserError: There is none.
        """
        self.check_usable()
        if self.sessions.current is None:
            raise UserError(f"{NOTHING}; resume a session first (`indwell.resume`)")
        prompt = Prompt(CONTINUE, title="continue")
        return self.turns.submit(self.waiting(prompt), self.showing.summary)

    def begin(
        self, prompt: Prompt, session: str, mode: Mode | None = None, *, is_shown: bool = False
    ) -> Ticket:
        """Begin a turn that a button asked for, first; ``is_shown``: its end is seen elsewhere.

        Raises:
            UserError: It cannot be taken, in plain words.
        """
        self.check_usable()
        shown = self.showing.nothing if is_shown else self.showing.summary
        ticket = self.turns.submit(self.waiting(prompt, session, mode), shown, first=True)
        self.chores.begin(self.tell_error(ticket))
        return ticket

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

    def set_mode(self, mode: Mode, session: str | None = None) -> None:
        """Choose how much is asked; from here it counts for the next call.

        Args:
            mode: The mode.
            session: Whose; the current one's, and that of sessions to come, if None.

        Raises:
            UserError: The session is not open.
        """
        if session in {None, self.sessions.id}:
            self.configuration.choose_mode(mode)
            return
        opened = self.sessions.find(session)
        settings = None if opened is None else self.sessions.settings_of(opened)
        if settings is None:
            raise UserError(
                f"session {session!r} is not open; send the mode along with the next prompt to it"
            )
        settings.keep(mode=mode)

    async def stop(self) -> None:
        """Stop what runs, write down what is not written yet, keep what was never sent.

        It is done once: an ``exit`` behind ``shutdown`` waits for the same end.
        """
        self._stopped = self._stopped or asyncio.create_task(self._stop())
        try:
            await asyncio.shield(self._stopped)
        finally:
            self.chores.close()  # also where the server has no time left to wait for all of it

    async def _stop(self) -> None:
        self._unsent.stop()
        await close_all(
            lambda: self._unsent.leave(self.turns.close()),
            self.turns.drain_all,
            self.sessions.stop_asking,
            self.chores.stop,
            self.sessions.close,
            self.review.close,
        )

    def check_usable(self) -> None:
        """Can a prompt be taken at all?

        Raises:
            UserError: The settings cannot be used, or no folder is open.
        """
        if self.configuration.problem:
            raise UserError(self.configuration.problem)
        _ = self.root

    def waiting(
        self, prompt: Prompt, target: str | None = None, mode: Mode | None = None
    ) -> WaitingPrompt:
        """A prompt as it waits; one that names no session belongs to the current one."""
        home = "" if target else self.turns.home(self.sessions.id)
        return WaitingPrompt(self._next_id(), prompt, target, mode, home)

    def _next_id(self) -> str:
        return f"p{next(self._numbers)}"

    async def _session_of(self, ticket: Ticket) -> Session:
        """Where a turn begins."""
        await self.configuration.known()  # which tells what it finds by itself
        notices = self.configuration.notices
        waiting = ticket.waiting
        if ticket.is_beside:
            session = await self.sessions.get_beside(waiting.session, waiting.mode)
        else:
            session = await self.sessions.get(waiting.session or None, waiting.mode)
        session.parts.features.door(CheckGate).source = self.problems
        session.parts.features.door(Board).outside = partial(self.turns.tell, session)
        self.warn(tuple(one for one in self.configuration.notices if one not in notices))
        return session

    def _afterwards(self, ticket: Ticket) -> None:
        """A turn is over: where it failed, or others wait behind it, the user decides."""
        if ticket.session is not None:
            self.sessions.end_turn(ticket.session)
        self.chores.begin(self.sessions.close_idle())
        offered = self.showing.afterwards(ticket, self.turns, self._again, self._anew)
        self.chores.begin(offered)
        for hear in self.after_turn:
            hear(ticket)

    def _again(self, ticket: Ticket, on_end: OnEnd) -> None:
        """The same words with the same selection, before all that waits."""
        old = ticket.waiting
        home = ticket.session.id if ticket.session is not None else ""
        waiting = WaitingPrompt(self._next_id(), old.prompt, old.target, old.mode, home)
        self.turns.submit(waiting, on_end, first=True)

    async def _anew(self, ticket: Ticket, on_end: OnEnd) -> None:
        """The same words in a new session, which takes the task of an outgrown one along."""
        await self.sessions.leave()
        old = ticket.waiting
        self.turns.submit(
            WaitingPrompt(self._next_id(), old.prompt, mode=old.mode), on_end, first=True
        )

    async def tell_error(self, ticket: Ticket) -> None:
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
