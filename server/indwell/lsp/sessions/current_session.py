"""The current session: opened when a turn first needs it, with the model that is chosen by then."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from indwell.agent.core.session import Session
from indwell.agent.restore.resume import HeldWith, Resumed
from indwell.errors import RecordsLost, SessionError, SettingsError, UserError
from indwell.lsp.backend import Backend
from indwell.lsp.editor.client import Client
from indwell.lsp.editor.first_run import ANSWER_S, FirstRun
from indwell.lsp.messages.lsprotocol_types import types
from indwell.lsp.sessions.configuration import Configuration, model_identity
from indwell.lsp.sessions.trust import TrustQuestions
from indwell.service.inherited_task import HandingOn
from indwell.sessions.overview import Overview
from indwell.settings.model import Settings
from indwell.workspace.base import Workspace

OFFERED = 5  # sessions or models to choose from; more buttons no message has room for
TITLE_CHARACTERS = 48


class CurrentSession:
    """At most one session is open; the next prompt goes to it.

    Args:
        client: Asked in the first run, and for permissions.
        backend: Opens sessions.
        configuration: Says which model is chosen.
        settings: Those in force for the running turn.

    Attributes:
        workspace: The user's files; set before the first turn.
        first_run: Leads to a usable model where there is none.
        trust: Asks about folders of which nobody has said that they are trusted.
    """

    def __init__(
        self,
        client: Client,
        backend: Backend,
        configuration: Configuration,
        settings: Callable[[], Settings],
    ) -> None:
        self.workspace: Workspace | None = None
        self.first_run = FirstRun(client, backend)
        self.trust = TrustQuestions(client, backend)
        self._client = client
        self._backend = backend
        self._configuration = configuration
        self._settings = settings
        self._session: Session | None = None
        self._model: tuple[object, ...] = ()
        self._next = HandingOn(backend, self._first_root)
        self._changing = asyncio.Lock()

    @property
    def current(self) -> Session | None:
        """The open one."""
        return self._session

    @property
    def id(self) -> str | None:
        """Its id."""
        return self._session.id if self._session else None

    @property
    def is_interrupted(self) -> bool:
        """Did Indwell end while its last turn ran?"""
        return self._session is not None and self._session.is_interrupted

    @property
    def is_asking(self) -> bool:
        """Is the user asked something before a turn can begin?"""
        return self.first_run.is_open or self.trust.is_open

    async def stop_asking(self) -> None:
        """Close the questions; for the end of the server."""
        await self.first_run.stop()
        await self.trust.stop()

    def id_of(self, wanted: str | None) -> str:
        """The session that is meant: the current one if none is named.

        Raises:
            UserError: None is named, and there is no current one.
        """
        named = wanted or self.id
        if named is None:
            raise UserError("no session has begun yet; send a prompt, or name an older session")
        return named

    async def check(self, target: str | None) -> None:
        """Return if a prompt can go there: to the current session, a new one, or an older one.

        Raises:
            UserError: There is no such session.
        """
        if target is not None and target not in {"new", self.id}:
            await self._backend.check_session(self._root, target)

    async def get(self, target: str | None) -> Session:
        """The session of a turn that begins; where no model is usable, the first run comes first.

        Raises:
            UserError: There can be none, in plain words.
        """
        await self._settle()
        if target is not None and target not in {"new", self.id}:
            return (await self._taken_up(target, None)).session
        async with self._changing:
            if target == "new":
                await self._leave()
            elif self._session is not None and self._session.turns:
                await self._next.begun()
            try:
                return await self._with_model()
            except SettingsError:
                if not await self.first_run.run():
                    raise
                await self._configuration.read_again()
                return await self._with_model()

    async def resume(self, session: str, model: str | None = None) -> Resumed:
        """Make an older session the current one, with its own model or another of the user's.

        Raises:
            UserError: It cannot be gone on with; the current one stays.
        """
        await self._settle()
        if self._session is not None and session == self.id:
            return Resumed(self._session, "", ())
        resumed = await self._taken_up(session, model)
        resumed.session.notice = ""  # whoever asked tells the notices
        return resumed

    async def leave(self, *, for_good: bool = False, inherit: str = "") -> None:
        """Let the next prompt begin a new one; ``for_good``: nothing of this one goes along.

        ``inherit``: it takes the task of this session along, whatever is current.

        Raises:
            SessionError: The disk does not take what was said last; the current one stays.
        """
        async with self._changing:
            await self._leave()
            await self._next.wish(inherit, for_good=for_good)

    async def close(self) -> None:
        """The server ends: what the next session was to take along, the next server knows."""
        async with self._changing:
            old, self._session = self._session, None
            try:
                if old is not None:
                    if old.turns:
                        await self._next.begun()
                    await old.close()
            finally:
                if self.workspace is not None:
                    self.workspace.watch.close()

    async def ask_about_trust(self) -> bool:
        """Ask about the folders that are not trusted, whatever was said before; are all trusted?"""
        await self._settle(again=True)
        assert self.workspace is not None
        standings = await self._backend.standings(self.workspace.roots)
        return all(one.state == "trusted" for one in standings)

    async def _settle(self, *, again: bool = False) -> None:
        """Know the editor's settings, and whether the folders are trusted as they are now."""
        await self._configuration.known()
        assert self.workspace is not None
        timeout_s = self._configuration.settings.answer_timeout_s
        if await self.trust.settle(self.workspace.roots, timeout_s, again=again):
            await self._configuration.read_again()  # what a folder says may count now

    async def _leave(self) -> None:
        if self._session is not None:
            await self._save()
            old, self._session = self._session, None
            await self._next.left(old)
            await self._let_go(old)

    async def _save(self) -> None:
        """What was said last is on disk before the current one is left.

        Raises:
            SessionError: It is full: once there is room, the same can be wished again.
        """
        if self._session is not None:
            with suppress(RecordsLost):  # no waiting mends that; it is told when it is let go of
                await self._session.parts.log.commit()

    async def _let_go(self, old: Session) -> None:
        """Close one that is not current any more; what is lost with it is told."""
        try:
            await old.close()
        except SessionError as error:
            self._client.show(types.MessageType.Warning, f"Indwell: {error}")

    async def _taken_up(self, session: str, model: str | None) -> Resumed:
        assert self.workspace is not None
        if self._configuration.settings.provider != "scripted":
            held = await self._backend.held_with(self._root, session)
            current = self._configuration.settings.model
            chosen = model or held.model
            if chosen != current and model is None and held.problem:
                chosen = await self._other(held)
            if chosen and chosen != current:  # the one in force may be of the endpoint's list
                self._configuration.choose_model(chosen)
        async with self._changing:  # only now: a question may stand for long
            await self._save()
            settings = self._configuration.settings
            approver = self._backend.approver(self._client, settings)
            resumed = await self._backend.resume_session(
                session, self.workspace, approver, self._settings
            )
            old, self._session = self._session, resumed.session
            self._model = model_identity(settings)
            if old is not None:
                await self._let_go(old)
            await self._next.drop()
            return resumed

    async def _other(self, held: HeldWith) -> str:
        """Another model, as the user chooses.

        Raises:
            UserError: The user chose none.
        """
        titles = held.instead[:OFFERED]
        question = f"Indwell: {held.problem}. Which model shall go on?"
        chosen = await self._client.choose(question, titles, ANSWER_S) if titles else None
        if chosen is None:
            raise UserError(f"{held.problem}; name a model of your settings to go on with it")
        return chosen

    def _first_root(self) -> Path | None:
        return next(iter(self.workspace.roots), None) if self.workspace is not None else None

    @property
    def _root(self) -> Path:
        assert self.workspace is not None
        return self.workspace.roots[0]

    async def _with_model(self) -> Session:
        settings = self._configuration.settings
        model = model_identity(settings)
        if self._session is None:
            assert self.workspace is not None
            approver = self._backend.approver(self._client, settings)
            session = await self._backend.open_session(self.workspace, approver, self._settings)
            try:
                await self._next.give(session)
            except BaseException:  # the next prompt tries again
                await session.close()
                raise
            self._session = session
        elif model != self._model:
            await self._backend.switch_model(self._session, settings)
        self._model = model
        return self._session


async def choose_session(client: Client, found: Sequence[Overview]) -> str | None:
    """Let the user choose one of the newest sessions; None if none was chosen.

    Raises:
        UserError: There is none.
    """
    titles: dict[str, str] = {}
    for one in found[:OFFERED]:
        turns = "1 turn" if one.turns == 1 else f"{one.turns} turns"
        day = one.at[:16].replace("T", " ")
        title = f"{(one.title or one.preview)[:TITLE_CHARACTERS] or 'no words'} ({turns}, {day})"
        titles[title if title not in titles else f"{title} {one.id}"] = one.id
    if not titles:
        raise UserError("there is no older session of this folder to go on with")
    chosen = await client.choose("Indwell: which session shall go on?", tuple(titles), ANSWER_S)
    return titles.get(chosen) if chosen is not None else None
