"""The open sessions: the current session, and others whose turns run at the same time.

A session is opened when a turn first needs it, with the model that is chosen at that time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial

from indwell.agent.core.session import Resumed, Session
from indwell.agent.features.background.board import BackgroundBoard
from indwell.errors import RecordsLost, SettingsError, UserError
from indwell.service.chores import close_all
from indwell.service.configuration import Configuration, model_identity
from indwell.service.endpoint.first_run import FirstRun
from indwell.service.front_door import AskingSession, FrontDoor
from indwell.service.mcp_servers import McpServers
from indwell.service.sessions.factory import OpenSession, SessionFactory
from indwell.service.sessions.inherited_task import HandingOn
from indwell.service.sessions.session_settings import ModelChoice, SessionSettings
from indwell.service.sessions.stored_sessions import StoredSessions, Sweeper
from indwell.service.sessions.worktrees.worktrees import WorkPlace, Worktrees
from indwell.service.trust_questions import TrustQuestions
from indwell.service.turns.queue import FRESH
from indwell.settings.model import Mode, Settings
from indwell.workspace.base import Workspace


class OpenSessions:
    """Opens and closes sessions. A prompt that names no session goes to the current one.

    Args:
        door: Asks the user.
        factory: Creates sessions.
        configuration: The settings in force, with the chosen model.
        stored: All sessions of the state folder.
        first_run: Helps the user to set up a model if no model can be called.
        trust: Asks whether folders are trusted.
        mcp: Asks the user about a project's MCP servers.
        places: Decides where each session works.
        sweeper: Deletes old sessions when a new session begins, or None for no deletion.

    Attributes:
        workspace: The user's files; set before the first turn.
        is_used: Returns whether a turn of a session runs or is about to begin.
        on_current: Called with the id of the new current session, or with an empty text.
    """

    def __init__(
        self,
        door: FrontDoor,
        factory: SessionFactory,
        configuration: Configuration,
        stored: StoredSessions,
        *,
        first_run: FirstRun,
        trust: TrustQuestions,
        mcp: McpServers,
        places: Worktrees,
        sweeper: Sweeper | None,
    ) -> None:
        self.workspace: Workspace | None = None
        self._first_run = first_run
        self._trust = trust
        self._mcp = mcp
        self.is_used: Callable[[str], bool] = lambda _session: False
        self.on_current: Callable[[str], None] = lambda _session: None
        self._door = door
        self._factory = factory
        self._stored = stored
        self._places = places
        self._sweeper = sweeper
        self._models = ModelChoice(door, configuration, stored)
        self._told: set[str] = set()  # The notices that were already shown in this process.
        self._configuration = configuration
        self._current: OpenSession | None = None
        self._beside: dict[str, OpenSession] = {}
        self._next = HandingOn(stored)
        self._changing = asyncio.Lock()

    @property
    def current(self) -> Session | None:
        """The current session."""
        return self._current.session if self._current else None

    @property
    def id(self) -> str | None:
        """The id of the current session."""
        return self._current.session.id if self._current else None

    def __iter__(self) -> Iterator[Session]:
        """Yield all open sessions, the current one first."""
        opened = (*filter(None, [self._current]), *self._beside.values())
        return iter([one.session for one in opened])

    def find(self, session: str | None) -> Session | None:
        """Return an open session by id, or None if this process has not opened the session."""
        return next((one for one in self if one.id == session), None)

    def settings_of(self, session: Session) -> SessionSettings | None:
        """Return the settings of an open session."""
        opened = (*filter(None, [self._current]), *self._beside.values())
        return next((one.settings for one in opened if one.session is session), None)

    async def place_of(self, session: str) -> WorkPlace:
        """Return the files and the ledger that have the changes of a stored session.

        Raises:
            UserError: The ledger cannot be opened, or another process uses the session's worktree.
        """
        return await self._places.rewind_place(session)

    @property
    def answer_timeout_s(self) -> float:
        """The user's time to answer a question, in seconds."""
        return self._configuration.settings.answer_timeout_s

    @property
    def is_interrupted(self) -> bool:
        """Return whether Indwell ended during the last turn of the current session."""
        return self.current is not None and self.current.endings.is_interrupted

    @property
    def is_asking(self) -> bool:
        """Return whether a question to the user delays the beginning of a turn."""
        return self._first_run.is_open or self._trust.is_open or self._mcp.is_open

    async def stop_asking(self) -> None:
        """Close open questions, because the server ends."""
        await self._first_run.stop()
        await self._trust.stop()
        await self._mcp.stop()

    def id_of(self, wanted: str | None) -> str:
        """Return the id of the named session, or of the current session if none is named.

        Raises:
            UserError: No session is named, and there is no current session.
        """
        named = wanted or self.id
        if named is None:
            raise UserError("no session has begun yet; send a prompt, or name an older session")
        return named

    async def check(self, target: str | None) -> None:
        """Check that a prompt can go to a session, which may be current, new, or stored.

        Raises:
            UserError: There is no such session.
        """
        if target is not None and target not in {*FRESH, self.id}:
            await self._stored.check_session(target)

    async def get(self, target: str | None, mode: Mode | None = None) -> Session:
        """Open the session of a turn that begins; without a model, the first run comes first.

        Args:
            target: An id, ``new``, or None for the current session.
            mode: The mode for the turn, or None for the session's mode.

        Raises:
            UserError: The session cannot be opened.
        """
        await self.settle()
        if target is not None and target not in {*FRESH, self.id}:
            session = (await self._taken_up(target, None)).session
            self._begin_turn(session, mode)
            return session
        async with self._changing:
            if target in FRESH:
                await self._leave()
            elif self.current is not None and self.current.turns:
                await self._next.begun()
            try:
                session = await self._with_model(target)
            except SettingsError:
                if not await self._first_run.run():
                    raise
                await self._configuration.read_again()
                session = await self._with_model(target)
            self._begin_turn(session, mode)
            return session

    async def get_beside(self, target: str, mode: Mode | None = None) -> Session:
        """Open the session of a turn that runs at the same time as the current session's turn.

        Args:
        target: An id, or ``new``.

        mode: The mode for the turn, or None for the session's mode.

        Raises:
        UserError: The session cannot be opened.
        """
        await self.settle()
        model = "" if target in {*FRESH, *self._beside} else await self._models.of(target)
        async with self._changing:
            if target == self.id:
                session = await self._with_model()
            elif target in FRESH:
                session = self._opened_beside(await self._made(target))
            else:
                session = (await self._resumed_beside(target, model)).session
            self._begin_turn(session, mode)
            return session

    async def resume(
        self, session: str, model: str | None = None, *, is_beside: bool = False
    ) -> Resumed:
        """Make a stored session the current one; with ``is_beside``, only open it.

        Raises:
            UserError: The session cannot be resumed; the current session is unchanged.
        """
        await self.settle()
        if self.current is not None and session == self.id:
            return Resumed(self.current, "", ())
        resumed = await self._taken_up(session, model, is_beside=is_beside)
        resumed.session.notice = ""  # The caller shows the notices.
        return resumed

    def end_turn(self, session: Session) -> None:
        """End a mode that applies only to one turn."""
        settings = self.settings_of(session)
        if settings is not None:
            settings.end_turn()

    async def close_idle(self) -> None:
        """Close all sessions but the current one and those with a background command."""
        async with self._changing:
            for name, one in tuple(self._beside.items()):
                if not self.is_used(name) and not _is_busy(one.session):
                    await self._close_beside(name)

    async def release(self, session: str) -> None:
        """Close a session that is not the current one and runs no turn."""
        async with self._changing:
            if session in self._beside:
                await self._close_beside(session)

    async def leave(self, *, for_good: bool = False, inherit: str = "") -> None:
        """Leave the current session, so that the next prompt begins a new session.

        Args:
            for_good: Whether the new session drops this session's task.
            inherit: The session whose task the new session continues; empty lets Indwell choose.

        Raises:
            SessionError: The last records cannot be written; the current session is unchanged.
        """
        async with self._changing:
            await self._leave()
            await self._next.wish(inherit, for_good=for_good)

    async def close(self) -> None:
        """Close all sessions; store which task the next server's new session continues."""
        async with self._changing:
            old, self._current = self._current, None
            await close_all(
                *(partial(self._close_beside, one) for one in tuple(self._beside)),
                partial(self._close_current, old),
                self._close_workspace,
            )

    async def _close_current(self, old: OpenSession | None) -> None:
        if old is not None:
            if old.session.turns:
                await self._next.begun()
            await old.session.close()
            await self._places.close_place(old.place, old.session)

    async def _close_workspace(self) -> None:
        if self.workspace is not None:
            self.workspace.watch.close()

    async def ask_about_trust(self) -> bool:
        """Ask again about untrusted folders; return whether all folders are trusted now."""
        await self.settle(again=True)
        assert self.workspace is not None
        standings = await self._trust.look(self.workspace.roots)
        return all(one.state == "trusted" for one in standings)

    async def settle(self, *, again: bool = False) -> None:
        """Wait for the client's settings, then decide the trust in folders and MCP servers."""
        await self._configuration.known()
        assert self.workspace is not None
        timeout_s = self.answer_timeout_s
        roots = (*self.workspace.roots, *self._places.roots)
        if await self._trust.settle(roots, timeout_s, again=again):
            # A folder that has become trusted may contain settings.
            await self._configuration.read_again()
        await self._mcp.settle(timeout_s)

    def _begin_turn(self, session: Session, mode: Mode | None) -> None:
        settings = self.settings_of(session)
        assert settings is not None, "the session of a turn is open"
        settings.begin_turn(mode)

    async def _leave(self) -> None:
        if self._current is not None:
            await self._save()
            old, self._current = self._current, None
            await self._next.left(old.session)
            await self._put_aside(old)
            self.on_current("")

    async def _save(self) -> None:
        """Write the last records of the current session; raise ``SessionError`` on a full disk."""
        if self.current is not None:
            # Waiting would not help, and closing the session reports the loss.
            with suppress(RecordsLost):
                await self.current.parts.log.commit()

    async def _put_aside(self, old: OpenSession) -> None:
        """Close a session that is no longer current, unless a turn needs the session."""
        if self.is_used(old.session.id):
            old.settings.keep()
            self._beside[old.session.id] = old
        else:
            await self._let_go(old)

    async def _close_beside(self, session: str) -> None:
        await self._let_go(self._beside.pop(session))

    async def _let_go(self, old: OpenSession) -> None:
        """Close a session, and inform the user if records are lost."""
        try:
            await old.session.close()
            await self._places.close_place(old.place, old.session)
        except UserError as error:
            self._door.warn(str(error))

    async def _taken_up(
        self, session: str, model: str | None, *, is_beside: bool = False
    ) -> Resumed:
        chosen = "" if session in self._beside else await self._models.of(session, model)
        # A question may take minutes, so the lock is taken only after the question.
        async with self._changing:
            if is_beside:
                return await self._resumed_beside(session, chosen)
            await self._save()
            if session in self._beside:
                known = self._beside[session]
                resumed = Resumed(known.session, "", ())
            else:
                known, resumed = await self._restored(session, chosen)
            old, self._current = self._current, known
            if old is not None:
                await self._put_aside(old)
            self._beside.pop(session, None)
            self._follow(known.settings)
            if model and model != self._configuration.settings.model:
                self._configuration.choose_model(model)
            await self._switched(known)
            self.on_current(session)
            await self._next.drop()
            return resumed

    def _follow(self, settings: SessionSettings) -> None:
        """Apply the mode, the model and the effort of the new current session."""
        own, now = settings.between_turns, self._configuration.settings
        before_plan = settings.mode_before_plan
        settings.follow()
        if own.mode != now.mode or own.mode == "plan":
            self._configuration.choose_mode(own.mode, before_plan=before_plan)
        if own.model != now.model:
            self._configuration.choose_model(own.model)
        if own.effort != now.effort:
            self._configuration.choose_effort(own.effort)

    async def _restored(self, session: str, model: str) -> tuple[OpenSession, Resumed]:
        """Open a stored session with ``model``, or with the chosen model if ``model`` is empty."""
        assert self.workspace is not None
        settings = SessionSettings(self._configuration)
        if model:
            settings.keep(model=self._configuration.allowed_model(model))
        now = settings.now
        opened: list[Session] = []
        approver = self._door.approver(now, partial(self._asking, opened))
        place = await self._placed(session)
        try:
            resumed = await self._factory.resume(
                session, place.workspace, approver, settings.read, place.ledger
            )
        except BaseException:
            await self._places.close_place(place)
            raise
        opened.append(resumed.session)
        await self._places.record_session(place, session)
        return OpenSession(resumed.session, place, settings, model_identity(now)), resumed

    async def _placed(self, target: str) -> WorkPlace:
        """Return where a session works; a worktree is trusted as the folder is trusted."""
        place = await self._places.place(target)
        if place.worktree is not None:
            await self._trust.settle(place.workspace.roots, self.answer_timeout_s)
        return place

    async def _made(self, target: str | None = None) -> OpenSession:
        """Create a new session; ``target`` is ``new``, ``worktree`` or None."""
        settings = SessionSettings(self._configuration)
        now = settings.now
        opened: list[Session] = []
        approver = self._door.approver(now, partial(self._asking, opened))
        place = await self._placed(target or "new")
        try:
            session = await self._factory.begin(
                place.workspace, approver, settings.read, place.ledger
            )
        except BaseException:
            await self._places.close_place(place)
            raise
        opened.append(session)
        await self._tell_state(session, settings.now)
        await self._places.record_session(place, session.id)
        return OpenSession(session, place, settings, model_identity(now))

    async def _tell_state(self, session: Session, settings: Settings) -> None:
        """Report deletions that this process has not reported, and begin to delete old sessions."""
        if session.notice in self._told:
            session.notice = ""
        self._told.add(session.notice)
        if self._sweeper is None:
            return
        try:
            gone = await self._sweeper.sweep(settings, session.id)
        except BaseException:  # The error may be a cancellation during an earlier sweep.
            await session.close()
            raise
        session.notice = "; ".join(filter(None, (session.notice, gone)))

    def _asking(self, opened: Sequence[Session]) -> AskingSession:
        """Return the session that asks; the title is empty for the current session."""
        if not opened:
            return AskingSession()
        is_current = (session := opened[0]) is self.current
        return AskingSession(session.id, "" if is_current else session.title or session.id)

    async def _resumed_beside(self, session: str, model: str) -> Resumed:
        if session in self._beside:
            return Resumed(await self._switched(self._beside[session]), "", ())
        opened, resumed = await self._restored(session, model)
        self._opened_beside(opened)
        return resumed

    def _opened_beside(self, opened: OpenSession) -> Session:
        opened.settings.keep()
        return self._beside.setdefault(opened.session.id, opened).session

    async def _switched(self, opened: OpenSession) -> Session:
        """Switch a session to the model that is chosen for it now."""
        settings = opened.settings.between_turns
        model = model_identity(settings)
        if model != opened.model:
            await self._factory.switch_model(opened.session, settings)
            opened.model = model
        return opened.session

    async def _with_model(self, target: str | None = None) -> Session:
        """Return the current session, or a new one, with the model that is chosen now."""
        if self._current is None:
            opened = await self._made(target)
            try:
                await self._next.give(opened.session)
            except BaseException:  # The next prompt tries again.
                await opened.session.close()
                raise
            self._current = opened
        return await self._switched(self._current)


def _is_busy(session: Session) -> bool:
    """Return whether the session has a running background command."""
    return bool((board := session.parts.features.find(BackgroundBoard)) and board.running)
