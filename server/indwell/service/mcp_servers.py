"""Asks which MCP servers of a project may be used, and changes the user's own servers.

No answer means no, and a late answer is ignored.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import msgspec

from indwell.errors import SettingsError, UserError
from indwell.mcp.server_book import (
    LEAVE,
    START,
    KnownServer,
    ServerBook,
    WorkspaceServers,
    question_about,
    server_named,
)
from indwell.mcp.server_files import own_servers
from indwell.service.front_door import FrontDoor
from indwell.service.user_settings import change_user_settings
from indwell.settings.paths import user_file


class McpServers:
    """The MCP servers of a workspace, and the user's decisions; at most one question is open.

    Args:
        door: Asks the user.
        book: Finds the servers, and stores answers.
    """

    def __init__(self, door: FrontDoor, book: ServerBook) -> None:
        self._door = door
        self._book = book
        self._open: asyncio.Task[None] | None = None
        self._asked: set[str] = set()
        self._told: set[str] = set()

    @property
    def is_open(self) -> bool:
        """Return whether a question is open."""
        return self._open is not None

    async def look(self) -> WorkspaceServers:
        """Return the servers as they are defined now."""
        return await asyncio.to_thread(self._book.look)

    async def unapproved(self) -> tuple[str, ...]:
        """Return the names of the servers about which the user was asked and has not decided."""
        if self.is_open or not self._asked:
            return ()
        found = await self.look()
        return tuple(one.name for one in found.unanswered if one.seen in self._asked)

    async def settle(self, timeout_s: float) -> None:
        """Ask about each project server about which the user has not decided.

        A second caller waits for the same answer, and cancelling one caller does not close the
        question for the others.

        Args:
            timeout_s: The user's time to answer, in seconds.
        """
        if self._open is None:
            found = await self.look()
            self._warn(found.problems)
            waiting = tuple(one for one in found.unanswered if one.seen not in self._asked)
            if not waiting:
                return
            if self._open is None:
                self._asked.update(one.seen for one in waiting)
                self._open = asyncio.create_task(self._ask(waiting, timeout_s), name="mcp")
                self._open.add_done_callback(self._closed)
        await asyncio.shield(self._open)

    def ask_anew(self) -> None:
        """Let the next ``settle`` ask again, because no user has seen the earlier questions."""
        self._asked.clear()
        self._told.clear()

    async def stop(self) -> None:
        """Close the question, because the server ends."""
        if self._open is not None:
            self._open.cancel()
            await asyncio.wait({self._open})

    async def approve(self, name: str, timeout_s: float) -> KnownServer:
        """Ask about a project's server, even if the user has already answered.

        Returns:
        The server after the answer.

        Raises:
        UserError: The server does not exist, or an answer is not needed or not possible.
        """
        server = server_named(await self.look(), name)
        if server.folder is None or server.standing in {"restricted", "off"}:
            raise UserError(why_unasked(server))
        await self._put(server, timeout_s)
        return server_named(await self.look(), name)

    async def _ask(self, waiting: tuple[KnownServer, ...], timeout_s: float) -> None:
        for server in waiting:
            await self._put(server, timeout_s)

    async def _put(self, server: KnownServer, timeout_s: float) -> None:
        answer = await self._door.allow(question_about(server), (LEAVE, START), timeout_s)
        if answer not in {LEAVE, START}:
            self._warn((unanswered_words(server),))
            return
        try:
            await asyncio.to_thread(self._book.answer, server, approved=answer == START)
        except SettingsError as error:
            self._door.warn(f"{error}; so the MCP server {server.name!r} is not used")

    def _closed(self, task: asyncio.Task[None]) -> None:
        self._open = None
        if not task.cancelled():
            task.exception()  # The error is retrieved, because nothing may wait for the result.

    def _warn(self, problems: tuple[str, ...]) -> None:
        new = tuple(one for one in problems if one not in self._told)
        self._told.update(new)
        if new:
            self._door.warn("\n".join(new))


def unanswered_words(server: KnownServer) -> str:
    """Return a message that a server waits for an answer, and how to answer."""
    return (
        f"the MCP server {server.name!r} of {server.source} is not used until you approve it; run "
        f"`indwell mcp approve {server.name}` here, in an editor the command `indwell.mcp`"
    )


def why_unasked(server: KnownServer) -> str:
    """Return why an answer of the user about a server is not needed, or would not help."""
    if server.standing == "off":
        return f"the MCP server {server.name!r} is turned off in {server.source}; change that there"
    if server.standing == "restricted":
        return (
            f"the MCP server {server.name!r} is not started in a folder that you have not trusted "
            "as it is now; trust it (`indwell trust`, in an editor the command `indwell.trust`)"
        )
    return f"the MCP server {server.name!r} is in your own settings, so it needs no approval"


def add_server(name: str, table: Mapping[str, object]) -> None:
    """Add a server to the user's settings, or replace it. Blocks.

    Args:
        name: The name of the server.
        table: The server's table; see ``server_files.OwnServer``.

    Raises:
        UserError: The table is wrong, or the settings cannot be changed.
    """
    found = own_servers({name: table}, user_file().name)
    if found.problems:
        raise UserError(found.problems[0])
    change_user_settings({f"mcp.{name}": msgspec.to_builtins(table)})


def remove_server(name: str, found: WorkspaceServers) -> None:
    """Remove a server from the user's settings. Blocks.

    Raises:
        UserError: There is no such server, or the settings cannot be changed.
    """
    server = server_named(found, name)
    if server.folder is not None:
        raise UserError(
            f"the MCP server {name!r} is defined in {server.source} of the project; remove it "
            "there, or decide with `indwell mcp approve` that it is not used"
        )
    change_user_settings({f"mcp.{name}": None})
