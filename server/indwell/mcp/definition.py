"""How to start or reach one MCP server, as the user or a project wrote it. Pure.

``ServerDefinition`` holds the written text: variables such as ``${TOKEN}`` are replaced only when
the server starts, so that no secret is in an approval, a log or a list of servers.
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

TIMEOUT_S = 60.0  # seconds for one request to a server, such as a tool call; progress renews it
START_S = 30.0  # seconds until a started server must have answered and listed its tools
_VARIABLE = lazy_pattern(r"\$\{([A-Za-z_][\w:./-]*?)(?::-([^}]*))?\}")
_NAME = lazy_pattern(r"[a-z0-9][a-z0-9-]{0,31}")


@dataclass(frozen=True, slots=True)
class StdioServer:
    """A server that Indwell starts as a program and speaks to over its standard streams.

    Attributes:
        command: The program, by path or name.
        args: Its arguments.
        env: Its variables by name. The value None takes the variable of Indwell's own environment.
        cwd: Its working directory; empty for the first workspace folder.
    """

    command: str
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str | None], ...] = ()
    cwd: str = ""


Grant: TypeAlias = Literal["authorization_code", "client_credentials"]
"""How a login gets a token: by a person in the browser, or by the client itself."""


@dataclass(frozen=True, slots=True)
class OwnClient:
    """A client that the user has registered by hand at the server that logs in.

    Attributes:
        id: The client id.
        secret: The client secret as it is written, such as ``${SECRET}``; empty for none.
        grant: How it gets a token.
        issuer: The server that logs in, and alone gets the secret; empty for the one that the
            MCP server names.
    """

    id: str
    secret: str = ""
    grant: Grant = "authorization_code"
    issuer: str = ""


@dataclass(frozen=True, slots=True)
class HttpServer:
    """A server at an address, spoken to by streamable HTTP.

    Attributes:
        url: The address.
        headers: Headers for that address alone, by name.
        client: The client of a login; None registers one.
    """

    url: str
    headers: tuple[tuple[str, str], ...] = ()
    client: OwnClient | None = None

    @property
    def is_near(self) -> bool:
        """Whether it is on this machine, as far as the address tells."""
        return urlsplit(self.url).hostname in {"localhost", "127.0.0.1", "::1"}

    @property
    def logs_in_alone(self) -> bool:
        """Whether a login needs no person."""
        return self.client is not None and self.client.grant == "client_credentials"


Transport: TypeAlias = StdioServer | HttpServer


@dataclass(frozen=True, slots=True)
class ServerDefinition:
    """One server.

    Attributes:
        name: The name that the user or the project gave it; it fits ``valid_name``.
        transport: How to start or reach it.
        source: ``user``, or the path of the project's file that defines it.
        is_confined: Whether a started server runs in the sandbox. A project cannot change this.
        timeout_s: Seconds for one request.
        pinned: Names of its tools, as the server spells them, that each request carries.
        hosts: Hosts that a confined server may reach; empty allows none.
        may_sample: Whether the server may ask the user's model for text.
        is_enabled: Whether it is used at all.
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
        """Whether the server may change files of this machine."""
        return isinstance(self.transport, StdioServer) or self.transport.is_near

    def fingerprint(self) -> str:
        """Return a digest of everything that decides what runs or who is asked.

        An approval is bound to this digest, so any change of it asks again. It covers the written
        values of variables and headers as well: ``NODE_OPTIONS`` decides what runs.
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
            variables: The values by name: those of the environment, and whatever else a
                definition may name, such as ``env:TOKEN`` or ``input:key``.

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
        """Return the names of the variables whose values it takes, inputs of the user excepted."""
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

    def shown(self) -> str:
        """Return the command line or address as it is written, for the user to judge."""
        match self.transport:
            case StdioServer(command, args):
                return " ".join((command, *args))
            case HttpServer(url):
                return url


def valid_name(name: str) -> bool:
    """Can a server have this name? The names of the server's tools begin with it."""
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
