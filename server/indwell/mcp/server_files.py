"""Reads MCP servers from ``[mcp.NAME]`` tables, ``.mcp.json`` and ``.vscode/mcp.json``. Pure.

An invalid definition becomes a sentence for the user; the other servers stay usable.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path, PurePath
from typing import Annotated, Any, NamedTuple, TypeVar

import msgspec
from msgspec import Meta

from indwell.lazy_pattern import lazy_pattern
from indwell.mcp.definition import (
    TIMEOUT_S,
    Grant,
    HttpServer,
    OwnClient,
    ServerDefinition,
    StdioServer,
    Transport,
    valid_name,
)
from indwell.prepared_types import prepared
from indwell.settings.values import shown

MCP_JSON = ".mcp.json"
VSCODE_JSON = ".vscode/mcp.json"
PROJECT_FILES = (MCP_JSON, VSCODE_JSON)
"""The files of a project that define servers; for equal names, the first file takes precedence."""

MOST_FILE_B = 256 << 10
MOST_SERVERS = 100  # the limit of servers in one file
_MOST_TEXT = 8_000  # the limit of characters for a command, an argument, a value or an address
_MOST_PARTS = 200  # the limit of arguments, variables or headers for one server

_StructT = TypeVar("_StructT")
_Text = Annotated[str, Meta(max_length=_MOST_TEXT)]
_Texts = Annotated[tuple[_Text, ...], Meta(max_length=_MOST_PARTS)]
_Table = Annotated[dict[str, _Text], Meta(max_length=_MOST_PARTS)]
_JSON_PIECE = lazy_pattern(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/|,(?=\s*[}\]])', re.DOTALL)
_INPUT = lazy_pattern(r"\$\{input:([\w.-]+)\}")
_AUTHORITY_END = lazy_pattern(r"[/?#\\]")
_VARIABLE = lazy_pattern(r"\$\{[A-Za-z_]\w*\}")
_NOT_NAME = lazy_pattern(r"[^a-z0-9]+")
_RIGHTS = frozenset(
    {
        *("confined", "hosts", "allow_sampling", "pinned", "autoApprove", "alwaysAllow", "trust"),
        *("sandboxEnabled", "sandbox", "includeTools", "excludeTools", "oauth", "issuer"),
        *("client_id", "client_secret", "grant"),
    }
)
"""Settings that decide something only the user, and no project, may decide."""


class FoundServers(NamedTuple):
    """The servers of one source, and a sentence for each problem."""

    servers: tuple[ServerDefinition, ...] = ()
    problems: tuple[str, ...] = ()


class OwnServer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table ``[mcp.NAME]`` of the user's settings.

    Attributes:
        command: The program to start, if there is no ``url``.
        args: The program's arguments.
        env: The program's variables, by name; ``${NAME}`` takes the value of a variable of the
            user.
        variables: Names of variables of the user that the program gets unchanged.
        cwd: The program's working directory; the first workspace folder if not set.
        url: The address of a server that runs already.
        headers: Headers that are only sent to ``url``, by name.
        client_id: The id of a client that the user registered at the authorization server.
        client_secret: The client's secret, by the name of a variable: ``${NAME}``.
        grant: ``client_credentials`` logs in as the client ``client_id``, without a browser.
        issuer: The authorization server, the only server that gets the secret.
        confined: Whether a started server runs in the sandbox.
        hosts: Hosts that a confined server may reach.
        allow_sampling: Whether the server may ask the model for text, at the user's cost.
        timeout_s: The time limit for one request, in seconds.
        pinned: Names of the server's tools that are part of every request to the model.
        enabled: Whether the server is used.
    """

    command: _Text = ""
    args: _Texts = ()
    env: _Table = {}
    variables: _Texts = ()
    cwd: _Text = ""
    url: _Text = ""
    headers: _Table = {}
    client_id: _Text = ""
    client_secret: _Text = ""
    grant: Grant = "authorization_code"
    issuer: _Text = ""
    confined: bool = True
    hosts: _Texts = ()
    allow_sampling: bool = False
    timeout_s: Annotated[float, Meta(gt=0, le=3_600)] = TIMEOUT_S
    pinned: _Texts = ()
    enabled: bool = True


class _ProjectServer(msgspec.Struct, frozen=True):
    """An entry of a project's file; other keys are ignored, with a notice."""

    type: str = ""
    command: _Text = ""
    args: _Texts = ()
    env: Annotated[dict[str, str | int | float | bool | None], Meta(max_length=_MOST_PARTS)] = {}
    cwd: _Text = ""
    url: _Text = ""
    headers: _Table = {}
    disabled: bool = False
    envFile: _Text = ""  # noqa: N815 - the file's spelling


class _Wrong(Exception):
    """A server definition that cannot be used; the message says why."""


def own_servers(tables: Mapping[str, Mapping[str, Any]], source: str) -> FoundServers:
    """Read the user's own servers.

    Args:
        tables: The tables by name.
        source: The name of the settings file for people.
    """

    def read(name: str, table: object) -> ServerDefinition:
        found = _converted(table, OwnServer)
        if not valid_name(name):
            raise _Wrong(
                "its name cannot be the beginning of tools' names; use small letters, digits and "
                "'-', at most 32"
            )
        env = (*found.env.items(), *((one, None) for one in found.variables))
        stdio = StdioServer(found.command, found.args, env, found.cwd)
        return ServerDefinition(
            name,
            _transport(
                stdio, HttpServer(found.url, tuple(found.headers.items()), _own_client(found))
            ),
            is_confined=found.confined,
            hosts=found.hosts,
            timeout_s=found.timeout_s,
            pinned=found.pinned,
            may_sample=found.allow_sampling,
            is_enabled=found.enabled,
        )

    return _read(tables, read, lambda name: f"{source}: [mcp.{name}]")


def _own_client(found: OwnServer) -> OwnClient | None:
    """Return the user's own OAuth client; the settings file must not contain the secret."""
    if not found.client_id:
        if found.client_secret or found.issuer or found.grant != "authorization_code":
            raise _Wrong("its login needs a 'client_id'")
        return None
    if found.command:
        raise _Wrong("a program takes no 'client_id'; only a server with a 'url' wants a login")
    if found.client_secret and not _VARIABLE.fullmatch(found.client_secret):
        raise _Wrong(
            "its 'client_secret' is written out; put the secret into a variable, and write "
            "'${NAME}' with the name of that variable"
        )
    if found.grant == "client_credentials" and not found.client_secret:
        raise _Wrong("its 'grant' needs a 'client_secret'")
    return OwnClient(found.client_id, found.client_secret, found.grant, found.issuer)


def project_servers(file: str, data: bytes, folder: Path) -> FoundServers:
    """Read the servers that a project defines; a project's file cannot grant permissions.

    Args:
        file: One of ``PROJECT_FILES``.
        data: The content of the file.
        folder: The path of the workspace folder, as a server sees it.
    """
    try:
        table = _json(data)
    except ValueError as error:
        return FoundServers(problems=(f"{file} is not used: {error}; correct it",))
    key = "mcpServers" if file == MCP_JSON else "servers"
    entries = table.get(key, {})
    if not isinstance(entries, Mapping) or len(entries) > MOST_SERVERS:
        return FoundServers(problems=(f"{file} is not used: {key!r} is not a table of servers",))
    inputs = _inputs(table.get("inputs", ()))
    ignored: list[str] = []

    def read(name: str, entry: object) -> ServerDefinition:
        found = _converted(entry, _ProjectServer)
        known = {*_ProjectServer.__struct_fields__, "description", "name", "gallery", "version"}
        assert isinstance(entry, Mapping)
        extra = sorted(str(one) for one in entry if one not in known)
        if extra:
            words = ", ".join(map(shown, extra))
            why = "only your own settings can set it" if _RIGHTS & {*extra} else "it has no effect"
            ignored.append(f"{file}: {words} of the server {shown(name)} is ignored: {why}")
        return _of_project(file, name, found, folder, inputs)

    servers = _read(entries, read, lambda name: f"{file}: the server {shown(name)}")
    return servers._replace(problems=(*servers.problems, *ignored))


def _of_project(
    file: str, written: str, found: _ProjectServer, folder: Path, inputs: Mapping[str, str]
) -> ServerDefinition:
    name = _NOT_NAME.sub("-", written.lower()).strip("-")[:32].strip("-")
    if not valid_name(name):
        raise _Wrong("its name has no letter or digit")
    if found.type.lower() not in {"", "stdio", "http", "streamable-http", "streamablehttp"}:
        raise _Wrong(f"it speaks {shown(found.type)}; Indwell speaks 'stdio' and 'http'")
    if found.envFile:
        raise _Wrong("it takes variables from an 'envFile'; write them in 'env'")
    fixed = {
        "${workspaceFolder}": str(folder),
        "${workspaceFolderBasename}": folder.name,
        "${userHome}": "${HOME}",
    }

    def fill(text: str) -> str:
        for placeholder, value in fixed.items():
            text = text.replace(placeholder, value)
        return _INPUT.sub(lambda match: _of_input(match[1], inputs), text)

    env = tuple(
        (variable, fill(value if isinstance(value, str) else json.dumps(value)))
        for variable, value in found.env.items()
        if value is not None
    )
    stdio = StdioServer(
        fill(found.command), tuple(map(fill, found.args)), env, _inside(folder, fill(found.cwd))
    )
    headers = tuple((header, fill(value)) for header, value in found.headers.items())
    transport = _transport(stdio, HttpServer(fill(found.url), headers))
    return ServerDefinition(name, transport, source=file, is_enabled=not found.disabled)


def _inside(folder: Path, written: str) -> str:
    place = PurePath(_normal(folder / written))
    if "${" not in written and not place.is_relative_to(folder):
        raise _Wrong(f"its 'cwd' {shown(written)} is outside of the folder")
    return str(place)


def _normal(path: Path) -> str:
    parts: list[str] = []
    for part in path.parts[1:]:
        if part == "..":
            parts = parts[:-1]
        else:
            parts.append(part)
    return str(Path(path.parts[0], *parts))


def _inputs(given: object) -> Mapping[str, str]:
    """Return the defaults of VS Code's inputs by id; an input without a default has no text."""
    if not isinstance(given, list):
        return {}
    known = (one for one in given[:_MOST_PARTS] if isinstance(one, Mapping))
    return {str(one.get("id", "")): str(one.get("default") or "") for one in known}


def _of_input(name: str, inputs: Mapping[str, str]) -> str:
    if name not in inputs:
        raise _Wrong(f"it names the input {shown(name)}, which the file does not define")
    default = inputs[name].replace("}", "")
    return f"${{input:{name}:-{default}}}" if default else f"${{input:{name}}}"


def _transport(stdio: StdioServer, http: HttpServer) -> Transport:
    """Return how to reach the server of an entry: as a program or at an address."""
    if bool(stdio.command.strip()) == bool(http.url.strip()):
        raise _Wrong("it needs either a 'command' or a 'url'")
    if http.url:
        if not http.url.lower().startswith(("https://", "http://")) and "${" not in http.url:
            raise _Wrong(
                f"its 'url' {shown(http.url)} is not an address such as 'https://host/mcp'"
            )
        place = _AUTHORITY_END.split(http.url.partition("://")[2])[0]
        # People could mistake an address with such characters for another host.
        if "@" in place or not place.isascii():
            raise _Wrong(f"its 'url' {shown(http.url)} needs a plain ASCII host, without a user")
        return http
    return stdio


def _read(
    tables: Mapping[str, object],
    read: Callable[[str, object], ServerDefinition],
    place: Callable[[str], str],
) -> FoundServers:
    found: dict[str, ServerDefinition] = {}
    problems: list[str] = []
    for name, table in tables.items():
        try:
            server = read(str(name), table)
        except _Wrong as error:
            problems.append(f"{place(str(name))} is not used: {error}")
            continue
        if server.name in found:
            problems.append(f"{place(str(name))} is not used: another is {server.name!r}, too")
        found.setdefault(server.name, server)
    return FoundServers(tuple(found.values()), tuple(problems))


def _converted(table: object, kind: type[_StructT]) -> _StructT:
    try:
        return msgspec.convert(table, prepared(kind))
    except msgspec.ValidationError as error:
        words = str(error).replace(" - at `$.", " for `")
        raise _Wrong(f"{words[:1].lower()}{words[1:]}") from error


def _json(data: bytes) -> Mapping[str, Any]:
    """Parse JSON with optional comments and trailing commas, as in VS Code's files.

    Raises:
        ValueError: The text is not a JSON object; the message says why.
    """
    if len(data) > MOST_FILE_B:
        raise ValueError(f"it is longer than {MOST_FILE_B >> 10} kB")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError("it is not UTF-8 text") from error
    text = _JSON_PIECE.sub(lambda match: match[0] if match[0][0] == '"' else " ", text)
    try:
        table = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"line {error.lineno} is not JSON ({error.msg})") from error
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error
    if not isinstance(table, dict):
        raise ValueError("it is not a JSON object")  # noqa: TRY004 - the file is wrong, not a type
    return table
