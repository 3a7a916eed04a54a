"""Finds the MCP servers of user and project, and stores the user's answers about them.

A project's server is used only after the user has approved the server's exact definition. The
answer is bound to the folder, the definition, and the content of the folder's files that the
command line names. After a change of the folder, the definition or the files, the user is asked
again. The answers are in the user's state folder, never in the project.

All methods block, so call them in a thread.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from indwell.bounds.folder_trust import FolderTrust
from indwell.context.untrusted_text import narrow, one_line
from indwell.errors import ToolError, WrongArgument
from indwell.files.contents.reading import read_bytes
from indwell.files.system.access import why_foreign
from indwell.mcp.definition import HttpServer, ServerDefinition, StdioServer
from indwell.mcp.offers import McpError
from indwell.mcp.server_files import MOST_FILE_B, PROJECT_FILES, own_servers, project_servers
from indwell.policy.file_rules import project_files
from indwell.sessions.storage.store import folder_name
from indwell.settings.credentials import redacted
from indwell.settings.model import Settings
from indwell.settings.paths import state_folder, user_file
from indwell.settings.permission_rules import RuleBook
from indwell.settings.trusted_files import digest_of
from indwell.workspace.executable_files import known_file

Standing: TypeAlias = Literal["usable", "open", "declined", "restricted", "off"]
"""Whether a server may be used. ``open``: the user has not answered; ``restricted``: the folder is
not trusted.
"""

_ENDS = ("", ".js", "/index.js", "/package.json", "/__main__.py")
"""Suffixes that node and Python add to the path that names a program."""
# endings of files that ``python -m package.module`` can run
_MODULE_ENDS = (".py", "/__main__.py", "/__init__.py")

START = "Start this server"
LEAVE = "Do not start it"


class KnownServer(NamedTuple):
    """A server that the user or a project defines for a workspace.

    Attributes:
        definition: The server's definition, as written.
        standing: Whether the server may be used, or why the server may not be used.
        folder: The folder whose project defines the server, or None for a server of the user.
        seen: The exact state to which the user's answer is bound, or empty for a user's server.
    """

    definition: ServerDefinition
    standing: Standing
    folder: Path | None = None
    seen: str = ""

    @property
    def name(self) -> str:
        """The server's name."""
        return self.definition.name

    @property
    def source(self) -> str:
        """The description, for people, of where the server is defined."""
        return "your settings" if self.folder is None else self.definition.source


class WorkspaceServers(NamedTuple):
    """The servers of a workspace, and a sentence for each problem of a definition."""

    servers: tuple[KnownServer, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def usable(self) -> tuple[ServerDefinition, ...]:
        """The definitions of the servers that may run."""
        return tuple(one.definition for one in self.servers if one.standing == "usable")

    @property
    def unanswered(self) -> tuple[KnownServer, ...]:
        """The servers that the user has neither approved nor rejected."""
        return tuple(one for one in self.servers if one.standing == "open")


class ServerBook:
    """Finds the servers of a workspace, and stores the user's answers about servers.

    Args:
        roots: Returns the folders of the workspace.
        settings: Returns the user's settings.
        trust: Returns which folders are trusted; of a project's file, only trusted text is used.
        environment: The process's environment variables, which may name the state folder.
    """

    def __init__(
        self,
        roots: Callable[[], Sequence[Path]],
        settings: Callable[[], Settings],
        trust: FolderTrust,
        environment: Mapping[str, str],
    ) -> None:
        self._roots = roots
        self._settings = settings
        self._trust = trust
        self._environment = environment

    def look(self) -> WorkspaceServers:
        """Return the servers as defined now; the user's servers come before a project's."""
        roots = tuple(self._roots())
        may_start = all(map(self._trust.may_start, roots))
        own = own_servers(self._settings().mcp, user_file().name)
        known = {one.name: _of_user(one, may_start=may_start) for one in own.servers}
        problems = list(own.problems)
        for root in roots:
            for file in PROJECT_FILES:
                found, said = self._of_project(root, file)
                problems += said
                for one in found:
                    if one.name in known:
                        other = known[one.name].source
                        problems.append(
                            f"{file}: the server {one.name!r} is not used: {other} has one of the "
                            "same name"
                        )
                    else:
                        known[one.name] = one
        return WorkspaceServers(tuple(known.values()), tuple(dict.fromkeys(problems)))

    def usable(self) -> tuple[ServerDefinition, ...]:
        """Return the servers that may run now."""
        return self.look().usable

    def inspect(self, definition: ServerDefinition, folder: Path | None) -> str:
        """Return a digest of a server's program, including workspace files that it would run.

        Args:
            definition: The server's definition.
            folder: The folder in which the program would run.

        Raises:
            McpError: A project defines the server, and the server's present state is not what the
                user has approved.
        """
        if definition.source == "user":
            files = (
                one for root in self._roots() for one in _files(definition, root, folder or root)
            )
            return digest_of("\n".join(files).encode())
        now = next((one for one in self.look().servers if one.name == definition.name), None)
        if now is None or now.definition != definition or now.standing != "usable":
            raise McpError(
                "its definition, or a file that its command line names, has changed since you "
                f"approved it; look at the change, then run `indwell mcp approve {definition.name}`"
                ", in an editor the command `indwell.mcp`"
            )
        return now.seen

    def answer(self, server: KnownServer, *, approved: bool) -> None:
        """Store the user's answer about a project's server in the shown state.

        Raises:
            SettingsError: The answer cannot be stored.
        """
        assert server.folder is not None, "the user's own servers need no answer"
        book = self._book(server.folder)
        word = "yes" if approved else "no"
        book.replace(_about(book, server.name), f"{word} {server.name} {server.seen}")

    def forget(self, server: KnownServer) -> None:
        """Delete the user's answer about a project's server.

        Raises:
            SettingsError: The answers cannot be changed.
        """
        assert server.folder is not None
        book = self._book(server.folder)
        if old := _about(book, server.name):
            book.revoke(old)

    def _book(self, folder: Path) -> RuleBook:
        answers = state_folder(self._environment) / "mcp"
        return RuleBook(answers / f"{folder_name(folder.resolve())}.json")

    def _of_project(self, root: Path, file: str) -> tuple[list[KnownServer], tuple[str, ...]]:
        try:
            data = read_bytes(root / file, [root], MOST_FILE_B)
        except ToolError as error:
            is_there = os.path.lexists(root / file)
            return [], (f"{file} is not used: {error}",) if is_there else ()
        if foreign := why_foreign(root / file):
            return [], (f"{file} is not used: {foreign}",)
        found = project_servers(file, data, root.resolve())
        if not self._trust.obeys(root, file, data):
            rest = [KnownServer(one, "restricted", root) for one in found.servers]
            return rest, ()
        book = self._book(root)
        problems = (*found.problems, *([book.problem] if book.problem else ()))
        return [_answered(one, root, book.always) for one in found.servers], problems


def _about(book: RuleBook, name: str) -> list[str]:
    """Return the keys of the stored answers about a server."""
    return [one for one in book.always if one.split(" ")[1:2] == [name]]


def _of_user(server: ServerDefinition, *, may_start: bool) -> KnownServer:
    """Return a user's server; in an untrusted folder, a program may not be started."""
    if not server.is_enabled:
        return KnownServer(server, "off")
    is_started = isinstance(server.transport, StdioServer)
    return KnownServer(server, "restricted" if is_started and not may_start else "usable")


def _answered(server: ServerDefinition, root: Path, answers: Sequence[str]) -> KnownServer:
    seen = digest_of("\n".join((server.fingerprint(), *_files(server, root, root))).encode())
    standing: Standing = "open"
    if not server.is_enabled:
        standing = "off"
    elif f"yes {server.name} {seen}" in answers:
        standing = "usable"
    elif f"no {server.name} {seen}" in answers:
        standing = "declined"
    return KnownServer(server, standing, root, seen)


def _files(server: ServerDefinition, root: Path, base: Path) -> list[str]:
    """Return the digests of the folder's files that a command line names or implies."""
    if not isinstance(server.transport, StdioServer):
        return []
    words = (server.transport.command, *server.transport.args)
    folder, real = base.resolve() / Path(server.transport.cwd).expanduser(), root.resolve()
    implied = project_files((Path(words[0]).name, *words[1:]))
    named = [part for word in words for part in (word, word.rpartition("=")[2]) if part]
    whole = (f"{part}{end}" for part in named for end in _ENDS)
    modules = (f"{part.replace('.', '/')}{end}" for part in named for end in _MODULE_ENDS)
    found = {}
    for name in dict.fromkeys((*whole, *modules, *implied)):
        path = Path(os.path.normpath(folder / name)) if name and "\0" not in name else real
        if path.is_relative_to(real) and path != real:
            one = known_file(real, path, "servers")
            if one is not None:
                found[one.name] = one.seen.digest
    return [f"{name} {digest}" for name, digest in sorted(found.items())]


def question_about(server: KnownServer) -> str:
    """Return the question to the user whether a project's server may be used."""
    definition = server.definition
    assert server.folder is not None
    told = f"{definition.source} of this project defines the MCP server {server.name!r}"
    lines = [
        f"Indwell: {told}. May Indwell use it?",
        f"│ {one_line(redacted(definition.shown()))}",
    ]
    match definition.transport:
        case StdioServer(env=env, cwd=cwd):
            lines.append(f"It is a program, and runs in the sandbox in {one_line(cwd)!r}.")
            given = [f"{name}={value}" for name, value in env if value is not None]
            if given:
                lines.append(f"Its variables: {one_line(redacted(', '.join(given)))}")
        case HttpServer(headers=headers):
            lines.append("It is at that address, and gets the arguments of each call.")
            if definition.transport.url.lower().startswith("http:"):
                lines.append("The connection to it is not encrypted.")
            if headers:
                sent = ", ".join(f"{name}: {value}" for name, value in headers)
                lines.append(f"Its headers: {one_line(redacted(sent))}")
    if taken := definition.named_variables():
        lines.append(f"It gets the values of your variables {', '.join(map(one_line, taken))}.")
    lines.append(
        "Your rules decide about each call of its tools. You are asked again when its definition "
        "changes."
    )
    return narrow("\n".join(lines))


def server_named(found: WorkspaceServers, name: str) -> KnownServer:
    """Return the server of this name.

    Raises:
        WrongArgument: There is no server of this name.
    """
    server = next((one for one in found.servers if one.name == name), None)
    if server is None:
        names = ", ".join(one.name for one in found.servers) or "none"
        raise WrongArgument(f"there is no MCP server {name!r} here; the servers are: {names}")
    return server
