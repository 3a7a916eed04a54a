"""The service for every client: sessions, turns and their queue, trust, settings, review.

A client, such as an editor or the terminal, only translates between this service and the client's
protocol or screen. The client makes no decisions.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from indwell.agent.compaction.fit import COMPACT
from indwell.agent.core.event_log import Missed
from indwell.agent.core.events import TurnFinished
from indwell.agent.core.prompt import CONTINUE, NOTHING, Prompt, is_blank
from indwell.agent.core.session import Session
from indwell.agent.features.background.board import BackgroundBoard
from indwell.agent.features.tasks import SharedTasks, changed_event
from indwell.agent.features.worktrees import SharedWorktrees
from indwell.agent.requests.request_blocks import no_pictures_words
from indwell.bounds.folder_trust import FolderTrust
from indwell.errors import SessionError, UserError
from indwell.mcp.server_book import ServerBook
from indwell.service.chores import Chores, close_all
from indwell.service.configuration import Configuration, settings_reader
from indwell.service.endpoint.connecting import Connecting
from indwell.service.endpoint.editor_models import EditorModels
from indwell.service.endpoint.first_run import FirstRun
from indwell.service.endpoint.model_list import offered_models
from indwell.service.front_door import FrontDoor
from indwell.service.mcp_servers import McpServers
from indwell.service.sessions.factory import SessionFactory
from indwell.service.sessions.open_sessions import OpenSessions
from indwell.service.sessions.plan_commands import PlanCommands
from indwell.service.sessions.review_ledgers import WorkspaceLedger, tell_sessions
from indwell.service.sessions.session_commands import SessionCommands
from indwell.service.sessions.session_settings import in_mode
from indwell.service.sessions.stored_sessions import StoredSessions, Sweeper, Unsent
from indwell.service.sessions.worktrees.worktrees import Worktrees
from indwell.service.task_runs import TaskRuns
from indwell.service.trust_questions import TrustQuestions
from indwell.service.turns.queue import FRESH, OnEnd, SteeringOutcome, Ticket, WaitingPrompt
from indwell.service.turns.turns import Turns
from indwell.sessions.log_lines import LogReading
from indwell.sessions.task_list import TaskList
from indwell.settings.model import Mode, Settings
from indwell.workspace.base import Workspace

# A turn that is about to begin may take 1 s; a session opens in about 0.25 s.
OPENING_S = 1.0


class Service:
    """The service of one process for one workspace.

    Args:
        door: Shows the user what happens, and asks the user.
        factory: Creates sessions.
        trust: Knows the trusted folders.
        environment: Variables of the process.
        editor_models: The client's own language models.
        scripted: Whether to use the scripted model in place of the user's model.
        is_resident: Whether the process serves its user for longer than one command. Such a process
            deletes old sessions, stores waiting prompts, and lets a new session continue the task
            of an outgrown session.

    Attributes:
        chores: Runs background work that no caller waits for.
        stored: The sessions of the state folder.
        trust: Asks the user which folders are trusted.
        mcp: Asks the user which MCP servers of a project are used.
        configuration: The settings in force.
        endpoint: Connects to a model.
        sessions: The open sessions.
        turns: The running turns, and the queue.
        commands: The user's commands for whole sessions.
        plans: The user's decisions on proposed plans.
        review: The ledger of the agent's changes in the workspace.
        tasks: The tasks of the workspace, and the sessions that work on them.
        worktrees: The copies of the folder in which sessions work apart.
        on_session: Functions that are called with the session of each turn that begins.
        after_turn: Functions that are called with each prompt that has ended.
    """

    def __init__(
        self,
        door: FrontDoor,
        factory: SessionFactory,
        trust: FolderTrust,
        environment: Mapping[str, str],
        *,
        editor_models: EditorModels,
        scripted: bool = False,
        is_resident: bool = True,
    ) -> None:
        self.chores = Chores()
        self.stored = StoredSessions(environment, lambda: self._roots, is_resident=is_resident)
        read = settings_reader(environment, trust, is_scripted=lambda: self.endpoint.is_scripted)
        offered = partial(offered_models, editor=editor_models)
        self.configuration = Configuration(door, read, offered=offered)
        users = partial(getattr, self.configuration, "users")
        self.trust = TrustQuestions(door, trust, users)
        book = ServerBook(lambda: self._roots, users, trust, environment)
        self.mcp = McpServers(door, book)
        self.endpoint = Connecting(environment, users, editor_models, scripted=scripted)
        self.review = WorkspaceLedger(
            environment, users, lambda: self.workspace, self._review_changed, self.warn
        )
        self.worktrees = Worktrees(environment, self, self.review.ready, trust)
        self.sessions = OpenSessions(
            door,
            factory,
            self.configuration,
            self.stored,
            first_run=FirstRun(door, self.endpoint),
            trust=self.trust,
            mcp=self.mcp,
            places=self.worktrees,
            sweeper=Sweeper(environment) if is_resident else None,
        )
        self.turns = Turns(door, self._session_of, self._afterwards)
        self.sessions.is_used = self.turns.is_used
        self.sessions.on_current = self.turns.show
        self.commands = SessionCommands(
            door,
            self.sessions,
            self.stored,
            self.turns,
            self.configuration,
        )
        self.plans = PlanCommands(
            self.sessions,
            self.stored,
            self.turns,
            self.commands,
            self.configuration,
        )
        self.tasks = TaskRuns(
            lambda: self.stored.tasks,
            self,
            lambda: self.configuration.settings.tasks_at_once,
            self.chores,
            lambda words: self.warn((words,)),
        )
        self.tasks.on_change.append(self._tasks_changed)
        self.on_session: list[Callable[[Session], None]] = []
        self.after_turn: list[Callable[[Ticket], None]] = []
        self._door = door
        self._factory = factory
        self._roots: tuple[Path, ...] = ()
        self._unsent = Unsent(self.stored, door, self.chores)
        self.turns.unsent_changed = self._unsent.want
        self._numbers = itertools.count(1)
        self._stopped: asyncio.Task[None] | None = None

    @property
    def settings(self) -> Settings:
        """The settings of the current session; the running turn may have another mode."""
        settings = self.configuration.settings
        running = self.turns.running
        return in_mode(settings, running.waiting.mode) if running else settings

    @property
    def workspace(self) -> Workspace:
        """The user's files."""
        assert self.sessions.workspace is not None, "the front door has said where the user works"
        return self.sessions.workspace

    @property
    def roots(self) -> tuple[Path, ...]:
        """The folders of the workspace, or empty if none is open."""
        return self._roots

    @property
    def root(self) -> Path:
        """The first folder of the workspace.

        Raises:
            UserError: No folder is open.
        """
        return self.stored.root

    @property
    def is_stopped(self) -> bool:
        """Return whether the service is shutting down."""
        return self._stopped is not None

    def start(self, roots: tuple[Path, ...], options: Mapping[str, Any]) -> None:
        """Set the user's folders and the client's settings."""
        self._roots = roots
        self.configuration.start(roots, options)

    def play_demo(self, roots: tuple[Path, ...]) -> None:
        """Use the scripted model in a project that Indwell made, which may be edited at once."""
        self.endpoint.is_scripted = True
        self.trust.let_edit(roots, "Indwell made this folder")

    def greet(self) -> None:
        """Read all settings, and report problems as soon as the client can show them."""
        self.warn(self.configuration.notices)
        if self._door.has_section or self._roots:
            self.chores.begin(self._read_configuration())
        if self._roots:
            self.chores.begin(self._unsent.tell())
            self.chores.begin(self.review.open())
            self.chores.begin(self.worktrees.sweep())

    async def settle(self) -> None:
        """Read all settings, ask whether the folders are trusted, and report problems.

        Raises:
            UserError: The settings cannot be used, or no folder is open.
        """
        told = self.configuration.notices
        await self.configuration.ask()
        self.check_usable()
        await self.sessions.settle()
        self.check_usable()
        self.warn(tuple(dict.fromkeys((*told, *self.configuration.notices))))

    async def read_settings(self) -> None:
        """Read all settings again, and report their problems."""
        self.warn(await self.configuration.read_again())

    def warm_up(self) -> None:
        """Prepare for a prompt, when a prompt seems likely."""
        self._factory.warm_up(self.configuration.settings)

    def warn(self, notices: tuple[str, ...]) -> None:
        """Show notices to the user, if there are any."""
        if notices:
            self._door.warn("\n".join(notices))

    async def check_prompt(self, text: str, target: str | None) -> None:
        """Check that a prompt can be accepted.

        Args:
            text: The user's text.
            target: The session of the prompt: an id, ``new``, or None for the current one.

        Raises:
            UserError: The prompt cannot be accepted; the message says why.
        """
        self.check_usable()
        if is_blank(text):
            raise UserError("the prompt is empty; write what should be done")
        await self.sessions.check(target)

    async def prompt(
        self,
        prompt: Prompt,
        target: str | None,
        mode: Mode | None,
        on_end: OnEnd,
        *,
        is_beside: bool = False,
    ) -> Ticket:
        """Accept a checked prompt; its turn begins now or waits in the queue.

        Args:
            prompt: The user's text, with attachments.
            target: The session of the prompt: an id, ``new``, or None for the current session.
            mode: The mode of the turn, if it differs from the session's mode.
            on_end: Shows the end of the turn.
            is_beside: Whether the current session stays the current one.

        Raises:
            UserError: The model accepts no pictures, or too many prompts wait.
        """
        if prompt.pictures and target in {None, *FRESH, self.sessions.id}:
            model = self.settings.model
            if model and not await self.endpoint.pictures(self.settings):
                raise UserError(no_pictures_words(model))
        waiting = self.waiting(prompt, target, mode)
        if is_beside and target not in {None, self.sessions.id}:
            waiting = msgspec.structs.replace(waiting, is_beside=True)
        return self.turns.submit(waiting, on_end)

    async def begin_task(self, prompt: Prompt, session: str) -> Ticket:
        """Begin the turn of a task beside the current session; see ``TaskTurns``."""
        await self.check_prompt(prompt.words, session)
        return await self.prompt(prompt, session, None, _nothing, is_beside=True)

    def stop_task(self, ticket: Ticket) -> None:
        """Stop the turn of a task; see ``TaskTurns``."""
        self.turns.abandon(ticket)

    async def steer(
        self, text: str, target: str | None, *, numbered: bool = False
    ) -> tuple[Ticket, SteeringOutcome]:
        """Add a message of the user to a running turn, or answer a command that needs no turn.

        Args:
            text: The message.
            target: The session of the turn, or None for the current session.
            numbered: Whether the user typed the message below a question's numbered options.

        Returns:
            The turn, and what became of the message. The events of the turn show the answer to a
            command.

        Raises:
            UserError: No turn runs in the session, too many messages already wait for the turn, or
                the message is a command that cannot be carried out now.
        """
        if is_blank(text):
            raise UserError("there are no words to steer with; write what should be done")
        within_s = 0 if self.sessions.is_asking else OPENING_S  # A question can take minutes.
        named = self.turns.running_in(target) if target is not None else None
        running = named or self.turns.running
        if running is not None:
            await running.begins(within_s)
        if running is None or running.session is None or running.ended.is_set():
            raise UserError("no turn is running; send the words with indwell/prompt instead")
        session = running.session
        if target not in {None, session.id}:
            raise UserError(
                f"no turn is running in session {target!r}; send the words with "
                "indwell/prompt instead"
            )
        return running, await self.turns.steer(running, session, text, numbered=numbered)

    def compact(self, on_end: OnEnd) -> Ticket:
        """Shorten the current conversation, in a separate turn, after the waiting prompts.

        Raises:
            UserError: The session has no conversation.
        """
        self.check_usable()
        if self.sessions.current is None:
            raise UserError("there is no conversation to shorten yet")
        prompt = Prompt(COMPACT, title="shorten the conversation")
        return self.turns.submit(self.waiting(prompt), on_end)

    def go_on(self, on_end: OnEnd) -> Ticket:
        """Continue the conversation that stopped when Indwell ended, in a separate turn.

        Raises:
        UserError: The session has no conversation.
        """
        self.check_usable()
        if self.sessions.current is None:
            raise UserError(f"{NOTHING}; resume a session first (`indwell.resume`)")
        return self.turns.submit(self.waiting(Prompt(CONTINUE, title="continue")), on_end)

    def begin(
        self, prompt: Prompt, session: str, on_end: OnEnd, mode: Mode | None = None
    ) -> Ticket:
        """Begin a turn that a button requested, before all waiting prompts.

        Raises:
            UserError: The turn cannot begin; the message says why.
        """
        self.check_usable()
        return self.turns.submit(self.waiting(prompt, session, mode), on_end, first=True)

    def again(self, ticket: Ticket, on_end: OnEnd) -> None:
        """Send the same prompt with the same selection again, before all waiting prompts."""
        old = ticket.waiting
        home = ticket.session.id if ticket.session is not None else ""
        waiting = WaitingPrompt(self._next_id(), old.prompt, old.target, old.mode, home)
        self.turns.submit(waiting, on_end, first=True)

    async def again_in_new_session(self, ticket: Ticket, on_end: OnEnd) -> None:
        """Send the same prompt in a new session that continues the outgrown session's task."""
        await self.sessions.leave()
        old = ticket.waiting
        self.turns.submit(
            WaitingPrompt(self._next_id(), old.prompt, mode=old.mode), on_end, first=True
        )

    def missed(self, session: str, after: int) -> Missed:
        """Return the events of a session after an event number.

        Raises:
            UserError: The ticket is unknown.
        """
        missed = self.turns.events.after(session, after)
        if missed is None:
            raise UserError(
                f"no events of session {session!r} are kept; indwell/session shows its turns"
            )
        return missed

    async def reading(self, session: str) -> LogReading:
        """Return the log of a session; an open session's log includes all records so far.

        Raises:
            SessionError: The session does not exist, or cannot be read.
            UserError: No folder is open.
        """
        opened = self.sessions.find(session)
        if opened is not None:
            with suppress(SessionError):  # The turn informs the user about a full disk.
                # The turn may end before its records are on disk.
                await opened.parts.log.commit()
        return await self.stored.session(session)

    def check_usable(self) -> None:
        """Check that prompts can be accepted.

        Raises:
            UserError: The settings cannot be used, or no folder is open.
        """
        if self.configuration.problem:
            raise UserError(self.configuration.problem)
        _ = self.root

    def waiting(
        self, prompt: Prompt, target: str | None = None, mode: Mode | None = None
    ) -> WaitingPrompt:
        """Return a prompt for the queue; by default it belongs to the current session."""
        home = "" if target else self.turns.home(self.sessions.id)
        return WaitingPrompt(self._next_id(), prompt, target, mode, home)

    async def stop(self) -> None:
        """Stop running turns, write pending records, and store unsent prompts.

        Only the first call stops the service; a second caller waits for the same end.
        """
        self._stopped = self._stopped or asyncio.create_task(self._stop())
        try:
            await asyncio.shield(self._stopped)
        finally:
            # Chores are closed even if the process has no time left for the other steps.
            self.chores.close()

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

    def _next_id(self) -> str:
        return f"p{next(self._numbers)}"

    async def _read_configuration(self) -> None:
        self.warn(await self.configuration.ask())

    def _review_changed(self) -> None:
        tell_sessions(self.sessions, self.turns.tell)

    def _tasks_changed(self, tasks: TaskList) -> None:
        """Report the tasks through the current session, if there is one."""
        session = self.sessions.current
        if session is not None:
            self.turns.tell(session, changed_event(session.turns, tasks, self.tasks.wanted))

    async def _session_of(self, ticket: Ticket) -> Session:
        """Open the session where a turn begins."""
        await self.configuration.known()  # The configuration reports its problems itself.
        notices = self.configuration.notices
        waiting = ticket.waiting
        if ticket.is_beside:
            session = await self.sessions.get_beside(waiting.session, waiting.mode)
            ticket.is_beside = session.id != self.sessions.id
        else:
            session = await self.sessions.get(waiting.session or None, waiting.mode)
        session.parts.features.door(BackgroundBoard).outside = partial(
            self.turns.events.tell, session.id
        )
        session.parts.features.door(SharedTasks).book = self.tasks
        apart = session.parts.features.door(SharedWorktrees)
        apart.book, apart.session = self.worktrees, session.id
        for hear in self.on_session:
            hear(session)
        self.warn(tuple(one for one in self.configuration.notices if one not in notices))
        return session

    async def _settle_turn(self, session: Session | None) -> None:
        """Record what a turn changed in a worktree, and close idle sessions."""
        if session is not None and session.parts.changes.is_apart:
            await self.worktrees.record_turn(session)
        await self.sessions.close_idle()

    def _afterwards(self, ticket: Ticket) -> None:
        """Finish a turn: close idle sessions, and notify the client."""
        if ticket.session is not None:
            self.sessions.end_turn(ticket.session)
        self.chores.begin(self._settle_turn(ticket.session))
        for hear in self.after_turn:
            hear(ticket)


async def _nothing(session: Session, finished: TurnFinished) -> None:
    """Show nothing at the end of a task's turn, because events show the end."""
    del session, finished
