"""The definition of one MCP server, as the user or a project wrote it. Pure.

``ServerDefinition`` has the text as written. Variables such as ``${TOKEN}`` are replaced when the
server starts, so that approvals, logs and lists contain no secrets.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias
from urllib.parse import urlsplit

import msgspec

from indwell.errors import UserError
from indwell.lazy_pattern import lazy_pattern
from indwell.secrets import secrets_of

# The time limit for one request, such as a tool call, in seconds; reported progress restarts it.
TIMEOUT_S = 60.0
START_S = 30.0  # the time limit, in seconds, until a started server must have listed its tools
_VARIABLE = lazy_pattern(r"\$\{([A-Za-z_][\w:./-]*?)(?::-([^}]*))?\}")
_NAME = lazy_pattern(r"[a-z0-9][a-z0-9-]{0,31}")


@dataclass(frozen=True, slots=True)
class StdioServer:
    """A server that Indwell starts as a program, and that uses standard input and output.

    Attributes:
        command: The program, by path or name.
        args: The program's arguments.
        env: The program's environment variables by name; None copies Indwell's value.
        cwd: The program's working directory, or empty for the first workspace folder.
    """

    command: str
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str | None], ...] = ()
    cwd: str = ""


Grant: TypeAlias = Literal["authorization_code", "client_credentials"]
"""How a login gets a token: from a person in the browser, or by the client's secret."""


@dataclass(frozen=True, slots=True)
class OwnClient:
    """An OAuth client that the user has registered by hand at the authorization server.

    Attributes:
        id: The client id.
        secret: The client secret as written, such as ``${SECRET}``; may be empty.
        grant: How the client gets a token.
        issuer: The only authorization server that gets the secret, or empty for the one that the
            MCP server names.
    """

    id: str
    secret: str = ""
    grant: Grant = "authorization_code"
    issuer: str = ""


@dataclass(frozen=True, slots=True)
class HttpServer:
    """A server at an address, which uses streamable HTTP.

    Attributes:
        url: The address.
        headers: Headers that are only sent to this address, by name.
        client: The OAuth client; with None, Indwell registers a new client.
    """

    url: str
    headers: tuple[tuple[str, str], ...] = ()
    client: OwnClient | None = None

    @property
    def is_near(self) -> bool:
        """Return whether the server's address is on this machine."""
        return urlsplit(self.url).hostname in {"localhost", "127.0.0.1", "::1"}

    @property
    def logs_in_alone(self) -> bool:
        """Return whether a login needs no person."""
        return self.client is not None and self.client.grant == "client_credentials"


Transport: TypeAlias = StdioServer | HttpServer


@dataclass(frozen=True, slots=True)
class ServerDefinition:
    """The definition of one server.

    Attributes:
        name: The server's name, chosen by the user or the project; fits ``valid_name``.
        transport: How to start or reach the server.
        source: ``user``, or the path of the project's file that defines the server.
        is_confined: Whether the server runs in the sandbox; a project cannot change this value.
        timeout_s: The time limit for one request, in seconds.
        pinned: Names of tools, in the server's spelling, that are part of each request to the
            model.
        hosts: Hosts that a confined server may reach; empty means no host.
        may_sample: Whether the server may ask the user's model for text.
        is_enabled: Whether the server is used.
    """

    name: str
    transport: Transport
    source: str = "user"
    is_confined: bool = True
    timeout_s: float = TIMEOUT_S
    pinned: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    may_sample: bool = False
    is_enabled: bool = True

    @property
    def is_near(self) -> bool:
        """Return whether the server can change files of this machine."""
        return isinstance(self.transport, StdioServer) or self.transport.is_near

    def fingerprint(self) -> str:
        """Return a digest of all parts of the definition that need approval.

        An approval is bound to this digest, so the user is asked again after a change. The digest
        includes the values of variables and headers, because a variable such as ``NODE_OPTIONS``
        can decide which program runs.
        """
        match self.transport:
            case StdioServer(command, args, env, cwd):
                parts: object = ["stdio", command, args, sorted(env, key=str), cwd]
            case HttpServer(url, headers, client):
                parts = ["http", url, sorted(headers), *([] if client is None else [client])]
        data = msgspec.json.encode(
            [self.name, parts, self.is_confined, self.hosts, self.may_sample]
        )
        return hashlib.sha256(data).hexdigest()

    def expanded(self, variables: Mapping[str, str]) -> ServerDefinition:
        """Return the definition with ``${NAME}`` and ``${NAME:-default}`` replaced.

        Args:
            variables: The values by name, of environment variables and of other names in
                definitions, such as ``env:TOKEN`` or ``input:key``.

        Raises:
            UserError: A variable has no value.
        """

        def fill(text: str) -> str:
            return _filled(text, variables, self.name)

        match self.transport:
            case StdioServer(command, args, env, cwd):
                values = tuple(
                    (name, variables.get(name) if value is None else fill(value))
                    for name, value in env
                )
                transport: Transport = StdioServer(
                    fill(command), tuple(map(fill, args)), values, fill(cwd)
                )
            case HttpServer(url, headers, client):
                filled = tuple((name, fill(value)) for name, value in headers)
                if client is not None:
                    client = replace(
                        client,
                        id=fill(client.id),
                        secret=fill(client.secret),
                        issuer=fill(client.issuer),
                    )
                transport = HttpServer(fill(url), filled, client)
        return replace(self, transport=transport)

    def named_variables(self) -> tuple[str, ...]:
        """Return the names of the definition's variables, without names of the user's inputs."""
        match self.transport:
            case StdioServer(command, args, env, cwd):
                texts = (command, *args, *(value or "" for _, value in env), cwd)
                passed = [name for name, value in env if value is None]
            case HttpServer(url, headers, client):
                texts = (url, *(value for _, value in headers))
                texts += () if client is None else (client.id, client.secret, client.issuer)
                passed = []
        named = (
            match[1].removeprefix("env:") for one in texts for match in _VARIABLE.finditer(one)
        )
        found = dict.fromkeys((*passed, *named))
        return tuple(one for one in found if not one.startswith("input:"))

    def secrets(self) -> frozenset[str]:
        """Return the values of secret variables and of headers, if ``expanded``."""
        match self.transport:
            case StdioServer(env=env):
                named = {name: value for name, value in env if value is not None}
                return frozenset(secrets_of(named))
            case HttpServer(headers=headers, client=client):
                values = (value for _, value in headers)
                words = {word for value in values for word in (value, value.rpartition(" ")[2])}
                return frozenset(words | ({client.secret} if client is not None else set()))

    def shown(self) -> str:
        """Return the command line or address as written, for the user's approval."""
        match self.transport:
            case StdioServer(command, args):
                return " ".join((command, *args))
            case HttpServer(url):
                return url


def valid_name(name: str) -> bool:
    """Return whether a server may have this name, with which the names of its tools begin."""
    return _NAME.fullmatch(name) is not None


def _filled(text: str, variables: Mapping[str, str], server: str) -> str:
    parts: list[str] = []
    end = 0
    for match in _VARIABLE.finditer(text):
        name, default = match[1], match[2]
        value = variables.get(name, variables.get(name.removeprefix("env:"), default))
        if value is None:
            raise UserError(
                f"the MCP server {server!r} needs the variable {name!r}, which is not set; set it, "
                "and start the server again"
            )
        parts += (text[end : match.start()], value)
        end = match.end()
    return "".join((*parts, text[end:]))
