"""Runs an MCP server that requires a login, and its authorization server (OAuth 2.1).

Both servers run in the test's process, where a test can observe and break each step.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit
from urllib.request import urlopen

BASIC, POST = "client_secret_basic", "client_secret_post"
Answer = tuple[int, Mapping[str, str], Any]


class LoginServer:
    """The state of both servers.

    Attributes:
        heard: Method and path of each request.
        life_s: The lifetime of a token in seconds that the server reports.
        gives: Whether the user agrees in the browser
        refreshes: Whether the client can refresh a token
        leads_to: The login page; the server's own page if empty.
        gives_at: The path of the token endpoint.
        metadata_at: The address of the metadata in refusals; the true address if empty.
        issuer_at: The authorization server in the metadata; this server if empty.
        registers_at: The address that registers clients; the true address if empty.
        tells_at: The token address in the metadata; the true address if empty.
        token: The only valid token.
        secret: The secret of the client ``mine`` that the user registered; empty for no client.
        methods: The methods by which a client proves its secret.
        grants: The supported grants.
        scopes: The scopes that a tool's call needs.
        asked: The scopes that the last login requested.
    """

    def __init__(self) -> None:
        self.port = 0
        self.heard: list[str] = []
        self.life_s = 3_600
        self.gives = True
        self.refreshes = True
        self.leads_to = ""
        self.gives_at = "/token"
        self.metadata_at = ""
        self.issuer_at = ""
        self.registers_at = ""
        self.tells_at = ""
        self.token = ""
        self.secret = ""
        self.grants = ["authorization_code", "refresh_token"]
        self.scopes = ""
        self.asked = ""
        self.methods = ["none"]
        self._rights: set[str] = set()
        self._n_tokens = 0
        self._challenges: dict[str, str] = {}
        self._redirects: list[str] = []

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        """Return the address of the MCP server."""
        return f"{self.base}/mcp"

    def answer(self, method: str, target: str, headers: Mapping[str, str], body: str) -> Answer:
        parts = urlsplit(target)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        form = {name: values[0] for name, values in parse_qs(body).items()}
        self.heard.append(f"{method} {parts.path}")
        match parts.path:
            case "/mcp":
                return self._mcp(headers, body)
            case "/.well-known/oauth-protected-resource/mcp":
                issuer = self.issuer_at or self.base
                return 200, {}, {"resource": self.url, "authorization_servers": [issuer]}
            case "/.well-known/oauth-authorization-server":
                return 200, {}, self._metadata()
            case "/register" if not self.secret:
                asked = json.loads(body)
                self._redirects = asked["redirect_uris"]
                return 201, {}, {**asked, "client_id": "indwell-1"}
            case "/authorize":
                return self._authorize(query)
            case path if path == self.gives_at:
                return self._token(form, headers.get("authorization", ""))
        return 404, {}, {}

    def _metadata(self) -> Mapping[str, Any]:
        known = (
            {"registration_endpoint": self.registers_at or f"{self.base}/register"}
            if not self.secret
            else {}
        )
        return {
            **known,
            "issuer": self.base,
            "authorization_endpoint": self.leads_to or f"{self.base}/authorize",
            "token_endpoint": self.tells_at or f"{self.base}{self.gives_at}",
            "response_types_supported": ["code"],
            "grant_types_supported": self.grants,
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": self.methods,
        }

    def _mcp(self, headers: Mapping[str, str], body: str) -> Answer:
        if not self.token or headers.get("authorization") != f"Bearer {self.token}":
            where = self.metadata_at or f"{self.base}/.well-known/oauth-protected-resource/mcp"
            return 401, {"WWW-Authenticate": f'Bearer resource_metadata="{where}"'}, {}
        asked = json.loads(body)
        if asked["method"] == "tools/call" and not {*self.scopes.split()} <= self._rights:
            wants = f'Bearer error="insufficient_scope", scope="{self.scopes}"'
            return 403, {"WWW-Authenticate": wants}, {}
        if "id" not in asked:
            return 202, {}, None
        if asked["method"] == "tools/list":
            schema = {"type": "object", "properties": {}}
            tool = {"name": "secret", "description": "Tells it.", "inputSchema": schema}
            result: Mapping[str, Any] = {"tools": [tool]}
        elif asked["method"] == "tools/call":
            result = {"content": [{"type": "text", "text": "it is 42"}]}
        elif asked["method"] == "initialize":
            result = {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "vault", "version": "1"},
            }
        else:
            error = {"code": -32601, "message": "no such method"}
            return 200, {}, {"jsonrpc": "2.0", "id": asked["id"], "error": error}
        return 200, {}, {"jsonrpc": "2.0", "id": asked["id"], "result": result}

    def _authorize(self, query: Mapping[str, str]) -> Answer:
        back = query["redirect_uri"]
        assert back in self._redirects or self.secret
        self.asked = query.get("scope", "")
        assert query["code_challenge_method"] == "S256"
        code = f"code-{len(self._challenges)}"
        self._challenges[code] = query["code_challenge"]
        given = {"code": code} if self.gives else {"error": "access_denied"}
        return 302, {"Location": f"{back}?{urlencode({**given, 'state': query['state']})}"}, None

    def _token(self, form: Mapping[str, str], given: str) -> Answer:
        if self.secret:
            pair = base64.b64encode(f"mine:{self.secret}".encode()).decode()
            is_posted = form.get("client_secret") == self.secret and self.methods == [POST]
            if given != f"Basic {pair}" and not is_posted:
                return 401, {}, {"error": "invalid_client"}
        self._rights = {*self.asked.split()}
        if form["grant_type"] == "client_credentials":
            assert self.grants == ["client_credentials"]
        elif form["grant_type"] == "refresh_token":
            if not self.refreshes or form["refresh_token"] != f"refresh-{self._n_tokens}":
                return 400, {}, {"error": "invalid_grant"}
        else:
            digest = hashlib.sha256(form["code_verifier"].encode()).digest()
            challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
            if self._challenges.pop(form["code"], "") != challenge:
                return 400, {}, {"error": "invalid_grant"}
        self._n_tokens += 1
        self.token = f"token-{self._n_tokens}"
        return (
            200,
            {},
            {
                "access_token": self.token,
                "refresh_token": f"refresh-{self._n_tokens}",
                "token_type": "Bearer",
                "expires_in": self.life_s,
            },
        )


async def browse(address: str) -> None:
    """Open an address as a browser does, through all redirects."""

    def get() -> None:
        with urlopen(address, timeout=20) as page:  # noqa: S310 - our own server's address
            page.read()

    await asyncio.to_thread(get)


@asynccontextmanager
async def login_server() -> AsyncIterator[LoginServer]:
    """Yield the state of both servers, which listen."""
    state = LoginServer()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        first, *rest = head.split("\r\n")
        method, target, _ = first.split(" ")
        headers = dict(line.lower().split(": ", 1) for line in rest if ": " in line)
        exact = dict(line.split(": ", 1) for line in rest if ": " in line)
        if "authorization" in headers:
            headers["authorization"] = next(
                value for name, value in exact.items() if name.lower() == "authorization"
            )
        body = (await reader.readexactly(int(headers.get("content-length", 0)))).decode()
        status, more, answer = state.answer(method, target, headers, body)
        data = b"" if answer is None else json.dumps(answer).encode()
        lines = [f"HTTP/1.1 {status} OK", "Content-Type: application/json"]
        lines += [f"Content-Length: {len(data)}", "Connection: close"]
        lines += [f"{name}: {value}" for name, value in more.items()]
        writer.write("\r\n".join([*lines, "", ""]).encode() + data)
        await writer.drain()
        writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    state.port = listening.sockets[0].getsockname()[1]
    try:
        yield state
    finally:
        listening.close()
