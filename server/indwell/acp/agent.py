"""Answers the requests of an ACP client: sessions, prompts, modes, options."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from acp.exceptions import RequestError
from acp.meta import PROTOCOL_VERSION

import indwell
from acp import schema
from indwell.acp.client import AcpClient
from indwell.acp.prompts import Block
from indwell.acp.sessions import AcpSession, SessionMaker
from indwell.errors import SessionError, SettingsError, UserError
from indwell.own_path import own_path
from indwell.service.sessions.stored_sessions import StoredSessions
from indwell.sessions.overview import Overview
from indwell.translation import translation_from_environment

AUTH_REQUIRED = -32000
NOT_FOUND = -32002
FAILED = -32603
WRONG = -32602
PAGE = 50  # the limit of sessions in one answer
LOGIN = "login"
META = "indwell"  # the key of data that only Indwell defines


class AcpAgent:
    """Implements the protocol's requests; the SDK's router calls the methods by name.

    Args:
        client: The client.
        new_maker: Returns a new composition root for each session.
    """

    def __init__(self, client: AcpClient, new_maker: Callable[[], SessionMaker]) -> None:
        self._client = client
        client.stop_turns = self._stop_turns
        self._new_maker = new_maker
        self._sessions: dict[str, AcpSession] = {}
        self._folders = {Path.cwd()}
        self._opening_again = asyncio.Lock()

    async def initialize(
        self,
        protocol_version: int,
        client_capabilities: schema.ClientCapabilities | None = None,
        client_info: schema.Implementation | None = None,
        **meta: object,
    ) -> schema.InitializeResponse:
        """Return the protocol version and Indwell's capabilities."""
        # A client that does not support version 1 disconnects by itself.
        del client_info, meta, protocol_version
        self._client.capabilities = client_capabilities or schema.ClientCapabilities()
        auth = self._client.capabilities.auth
        words = "Connect a model: run `indwell login` in a terminal"
        method: schema.AuthMethodAgent | schema.TerminalAuthMethod
        if isinstance(auth, schema.AuthCapabilities) and auth.terminal:
            method = schema.TerminalAuthMethod(
                type="terminal", id=LOGIN, name="Indwell login", description=words, args=["login"]
            )
        else:
            method = schema.AuthMethodAgent(id=LOGIN, name="Indwell login", description=words)
        return schema.InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_info=schema.Implementation(
                name="indwell", title="Indwell", version=indwell.__version__
            ),
            agent_capabilities=schema.AgentCapabilities(
                load_session=True,
                prompt_capabilities=schema.PromptCapabilities(image=True, embedded_context=True),
                mcp_capabilities=schema.McpCapabilities(http=True),
                session_capabilities=schema.SessionCapabilities(
                    list=schema.SessionListCapabilities(),
                    delete=schema.SessionDeleteCapabilities(),
                    fork=schema.SessionForkCapabilities(),
                    resume=schema.SessionResumeCapabilities(),
                    close=schema.SessionCloseCapabilities(),
                    additional_directories=schema.SessionAdditionalDirectoriesCapabilities(),
                ),
            ),
            auth_methods=[method],
        )

    async def authenticate(self, method_id: str, **meta: object) -> schema.AuthenticateResponse:
        """Check that a model is connected now; `indwell login` itself runs in a terminal."""
        del method_id, meta
        session = self._new({Path.cwd(): str(Path.cwd())}, ())
        try:
            await session.service.settle()
            if not session.service.settings.model:
                words = "no model is connected yet: run `indwell login` in a terminal"
                raise RequestError(AUTH_REQUIRED, words)
        except UserError as error:
            raise RequestError(AUTH_REQUIRED, _told(error)) from error
        finally:
            await session.close()
        return schema.AuthenticateResponse()

    async def new_session(
        self,
        cwd: str,
        additional_directories: list[str] | None = None,
        mcp_servers: Sequence[Any] | None = None,
        **meta: object,
    ) -> schema.NewSessionResponse:
        """Begin a session in a folder."""
        del meta
        session = self._new(_folders(cwd, additional_directories), mcp_servers or ())
        await self._opening(session, session.begin())
        self._show_soon(session)
        return schema.NewSessionResponse(
            session_id=session.id, modes=session.modes(), config_options=list(session.options())
        )

    async def load_session(
        self,
        cwd: str,
        session_id: str,
        mcp_servers: Sequence[Any] | None = None,
        additional_directories: list[str] | None = None,
        **meta: object,
    ) -> schema.LoadSessionResponse:
        """Open a stored session, and send the session's turns to the client."""
        del meta
        session = await self._taken_up(cwd, session_id, additional_directories, mcp_servers)
        await session.replay()
        self._show_soon(session)
        return schema.LoadSessionResponse(
            modes=session.modes(), config_options=list(session.options())
        )

    async def resume_session(
        self,
        cwd: str,
        session_id: str,
        additional_directories: list[str] | None = None,
        mcp_servers: Sequence[Any] | None = None,
        **meta: object,
    ) -> schema.ResumeSessionResponse:
        """Open a stored session without sending its turns."""
        del meta
        session = await self._taken_up(cwd, session_id, additional_directories, mcp_servers)
        self._show_soon(session)
        return schema.ResumeSessionResponse(
            modes=session.modes(), config_options=list(session.options())
        )

    async def fork_session(
        self,
        session_id: str,
        cwd: str,
        additional_directories: list[str] | None = None,
        mcp_servers: Sequence[Any] | None = None,
        **meta: object,
    ) -> schema.ForkSessionResponse:
        """Begin a new session with a copy of another session's state."""
        del meta
        origin = self._sessions.get(session_id)
        session = self._new(_folders(cwd, additional_directories), mcp_servers or ())

        async def forked() -> None:
            if origin is not None:
                # wait until the other session's last records are on disk
                await origin.service.reading(session_id)
            fork = await session.service.stored.fork_session(session_id, None)
            await session.resume(fork.session)
            session.service.warn(fork.notices)

        await self._opening(session, forked())
        self._show_soon(session)
        return schema.ForkSessionResponse(
            session_id=session.id, modes=session.modes(), config_options=list(session.options())
        )

    async def list_sessions(
        self, cwd: str | None = None, cursor: str | None = None, **meta: object
    ) -> schema.ListSessionsResponse:
        """Return one page of a folder's stored sessions, newest first."""
        del meta
        root = _folder(cwd) if cwd else Path.cwd()
        stored = self._stored(root)
        try:
            found, more = await stored.sessions(limit=PAGE, before=cursor)
            tasks = await stored.tasks_by_session()
        except UserError as error:
            raise RequestError(FAILED, _told(error)) from error
        return schema.ListSessionsResponse(
            sessions=[
                schema.SessionInfo(
                    session_id=one.id,
                    cwd=one.workspace or str(root),
                    title=_listed_title(one, tasks.get(one.id, "")),
                    updated_at=one.at or None,
                    field_meta=self._state(one.id),
                )
                for one in found
                if one.turns
            ],
            next_cursor=found[-1].id if more and found else None,
        )

    def _state(self, identifier: str) -> dict[str, object] | None:
        """Return the extra data of a listed session, which say what an open session does."""
        session = self._sessions.get(identifier)
        return {META: {"state": session.state}} if session is not None and session.state else None

    async def delete_session(self, session_id: str, **meta: object) -> None:
        """Stop a session's turn if one runs, then delete the session, open or not."""
        del meta
        try:
            await self._delete(session_id)
        except UserError as error:
            raise RequestError(FAILED, _told(error)) from error

    async def _delete(self, session_id: str) -> None:
        session = self._sessions.get(session_id)
        if session is not None:
            session.cancel()
            await session.service.commands.delete(session_id)
            del self._sessions[session_id]
            await session.close()
            return
        for root in tuple(self._folders):
            stored = self._stored(root)
            try:
                await stored.check_session(session_id)
            except SessionError:
                continue
            await stored.delete_session(session_id)
            return
        raise RequestError(NOT_FOUND, f"no session {session_id!r} is stored in a known folder")

    def _stored(self, root: Path) -> StoredSessions:
        self._folders.add(root)
        environment = self._new_maker().environment
        return StoredSessions(environment, lambda: (root,), is_resident=False)

    async def close_session(self, session_id: str, **meta: object) -> schema.CloseSessionResponse:
        """Close a session, which the client can load again later."""
        del meta
        session = self._sessions.pop(session_id, None)
        if session is not None:
            await session.close()
        return schema.CloseSessionResponse()

    async def prompt(
        self, session_id: str, prompt: Sequence[Block], **meta: object
    ) -> schema.PromptResponse:
        """Run a turn."""
        del meta
        session = self._known(session_id)
        try:
            stop, finished = await session.prompt(prompt)
        except SettingsError as error:
            raise RequestError(AUTH_REQUIRED, _told(error)) from error
        except UserError as error:
            raise RequestError(FAILED, _told(error)) from error
        usage = finished.usage
        return schema.PromptResponse(
            stop_reason=stop,
            usage=schema.Usage(
                total_tokens=usage.input + usage.output,
                input_tokens=usage.input,
                output_tokens=usage.output,
                cached_read_tokens=usage.cached,
                thought_tokens=usage.thinking or None,
            ),
        )

    async def cancel(self, session_id: str, **meta: object) -> None:
        """Cancel the running turn of a session."""
        del meta
        session = self._sessions.get(session_id)
        if session is not None:
            session.cancel()

    async def set_session_mode(
        self, session_id: str, mode_id: str, **meta: object
    ) -> schema.SetSessionModeResponse:
        """Set the mode of a session."""
        del meta
        try:
            self._known(session_id).set_mode(mode_id)
        except UserError as error:
            raise RequestError(FAILED, _told(error)) from error
        return schema.SetSessionModeResponse()

    async def set_config_option(
        self, session_id: str, config_id: str, value: object, **meta: object
    ) -> schema.SetSessionConfigOptionResponse:
        """Set an option of a session."""
        del meta
        session = self._known(session_id)
        try:
            await session.choose(config_id, str(value))
        except UserError as error:
            raise RequestError(FAILED, _told(error)) from error
        return schema.SetSessionConfigOptionResponse(config_options=list(session.options()))

    async def close(self) -> None:
        """Close all sessions, because the client has gone."""
        for session in tuple(self._sessions.values()):
            await session.close()
        self._sessions.clear()

    def _stop_turns(self) -> None:
        for session in self._sessions.values():
            session.cancel()

    def _new(self, roots: Mapping[Path, str], servers: Sequence[Any]) -> AcpSession:
        own_path.keep_out(tuple(roots))
        return AcpSession(self._client, self._new_maker(), roots, servers)

    async def _taken_up(
        self,
        cwd: str,
        session_id: str,
        additional: list[str] | None,
        servers: Sequence[Any] | None,
    ) -> AcpSession:
        folders = _folders(cwd, additional)
        async with self._opening_again:
            before = self._sessions.pop(session_id, None)
            if before is not None:
                await before.close()
            session = self._new(folders, servers or ())
            await self._opening(session, session.resume(session_id))
            return session

    async def _opening(self, session: AcpSession, work: Awaitable[None]) -> None:
        """Open a session; after a failure, close its service and answer with an error."""
        try:
            await work
        except BaseException as error:
            await session.close()
            if isinstance(error, SettingsError):
                raise RequestError(AUTH_REQUIRED, _told(error)) from error
            if isinstance(error, UserError):
                raise RequestError(FAILED, _told(error)) from error
            raise
        self._sessions[session.id] = session
        self._folders.add(session.roots[0])

    def _show_soon(self, session: AcpSession) -> None:
        """Show the session after the client has received the session's id."""
        session.service.chores.begin(_later(session))

    def _known(self, session_id: str) -> AcpSession:
        session = self._sessions.get(session_id)
        if session is None:
            raise RequestError(NOT_FOUND, f"no session {session_id!r} is open; load it first")
        return session


async def _later(session: AcpSession) -> None:
    session.show()


def _told(error: UserError) -> str:
    """Return a message in the language that the environment names; the protocol names none."""
    return translation_from_environment(os.environ).of(str(error))


def _folder(path: str) -> Path:
    folder = Path(path)
    if not folder.is_absolute() or not folder.is_dir():
        raise RequestError(WRONG, f"{path!r} is not an absolute path of a folder")
    if folder.resolve() == Path(folder.anchor):
        raise RequestError(WRONG, "the whole disk cannot be a session's folder; open a folder")
    return folder.resolve()


def _folders(cwd: str, additional: Sequence[str] | None) -> Mapping[Path, str]:
    """Return the session's folders, resolved, each with the client's spelling."""
    return {_folder(one): one for one in (cwd, *(additional or ()))}


def _listed_title(one: Overview, task: str) -> str | None:
    """Return a session's title for the list, after its task and the task's state, if it has one."""
    title = one.title or one.preview
    return f"{task}: {title}" if task else title or None
