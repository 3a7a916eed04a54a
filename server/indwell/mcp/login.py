"""Logs in to MCP servers by OAuth: a browser, a redirect to this machine, tokens in the keyring.

The SDK does the protocol: discovery, registration, PKCE, refresh. A turn uses a stored login and
refreshes its tokens, but never opens a browser.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import msgspec
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.exceptions import OAuthFlowError
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
)
from pydantic import AnyUrl, ValidationError

from indwell.context.untrusted_text import short_line
from indwell.errors import SettingsError
from indwell.mcp.definition import HttpServer, ServerDefinition
from indwell.mcp.http import Auth, http_client
from indwell.mcp.offers import McpError, NeedsLogin
from indwell.settings.credentials import Secret
from indwell.settings.keys import KeyStore

BROWSER_S = 300.0  # seconds that a person has for the login in the browser
_MOST_B = 16 << 10  # bytes of a redirect's request
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_WORDS = 300
_PATH = "/callback"
_DONE = "You may close this page: Indwell has the answer."
_HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "indwell", "version": "1"},
    },
}

_TOOLS = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}


class _Kept(msgspec.Struct, frozen=True):
    """A login as it is stored: the SDK's values as JSON objects, and when the token ends.

    ``issuer`` describes the server that gave the token, which alone may refresh it.
    """

    tokens: dict[str, Any]
    client: dict[str, Any]
    expires_at: float | None = None
    issuer: dict[str, Any] = {}


def login_key(server: HttpServer) -> str:
    """Return the name of a server's login among the user's keys."""
    return f"mcp:{server.url}"


def is_logged_in(server: HttpServer, keys: KeyStore) -> bool:
    """Return whether a login is stored; no keyring is opened."""
    return login_key(server) in keys.origins()


def turn_auth(definition: ServerDefinition, keys: KeyStore) -> Auth | None:
    """Return what adds the stored token to a server's requests; None without a login."""
    server = definition.transport
    if not isinstance(server, HttpServer) or not is_logged_in(server, keys):
        return None

    async def refuse(_address: str) -> None:
        raise NeedsLogin(
            f"the login at the MCP server {definition.name!r} has ended; run "
            f"`indwell mcp login {definition.name}`"
        )

    async def nothing() -> AuthorizationCodeResult:
        raise AssertionError("nobody was led to a browser")

    metadata = _metadata("http://127.0.0.1/callback")
    return _Provider(server.url, metadata, StoredLogin(server, keys), refuse, nothing)


class StoredLogin:
    """The tokens of one server in the user's keyring; the SDK's ``TokenStorage``.

    Args:
        server: The server.
        keys: The user's keys.
        is_new: Forget what is stored, and register again: the address of the redirect has changed.
    """

    def __init__(self, server: HttpServer, keys: KeyStore, *, is_new: bool = False) -> None:
        self._key = login_key(server)
        self._keys = keys
        self._is_new = is_new
        self._client: dict[str, Any] | None = None
        self.issuer: OAuthMetadata | None = None
        self.was_stored = False

    async def get_tokens(self) -> OAuthToken | None:
        """Return the tokens, with the seconds that are left."""
        kept = await self._kept()
        if kept is None:
            return None
        tokens = OAuthToken.model_validate(kept.tokens)
        self.issuer = OAuthMetadata.model_validate(kept.issuer) if kept.issuer else None
        if kept.expires_at is not None:
            tokens.expires_in = int(kept.expires_at - time.time())
        return tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Store the tokens of a login or of a refresh."""
        ends = None if tokens.expires_in is None else time.time() + tokens.expires_in
        issuer = self.issuer.model_dump(mode="json", exclude_none=True) if self.issuer else {}
        kept = _Kept(tokens.model_dump(mode="json"), self._client or {}, ends, issuer)
        text = msgspec.json.encode(kept).decode()
        try:
            await asyncio.to_thread(self._keys.put, self._key, Secret(text))
        except SettingsError as error:
            raise McpError(f"the login could not be stored: {error}") from error
        self.was_stored = True

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Return how Indwell is registered with the server that logs in."""
        kept = await self._kept()
        if kept is None or not kept.client:
            return None
        self._client = kept.client
        return OAuthClientInformationFull.model_validate(kept.client)

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Keep the registration; it is stored together with the tokens."""
        self._client = client_info.model_dump(mode="json", exclude_none=True)

    async def _kept(self) -> _Kept | None:
        if self._is_new:
            return None
        try:
            stored = await asyncio.to_thread(self._keys.get, self._key)
            text = stored.key.reveal() if stored is not None and stored.key is not None else ""
            return msgspec.json.decode(text, type=_Kept) if text else None
        except (SettingsError, msgspec.DecodeError) as error:
            raise McpError(
                f"the stored login cannot be read ({error}); log in again with `indwell mcp login`"
            ) from error


class _Provider(OAuthClientProvider):
    """The SDK's flow, which also knows when a stored token ends, and who may refresh it.

    Otherwise the SDK would send the token to ``/token`` of the MCP server's host.
    """

    async def _initialize(self) -> None:
        await super()._initialize()
        self.context.oauth_metadata = self._login.issuer
        if self.context.current_tokens is not None:
            self.context.update_token_expiry(self.context.current_tokens)

    async def _handle_token_response(self, response: httpx2.Response) -> None:
        self._login.issuer = self.context.oauth_metadata
        await super()._handle_token_response(response)

    @property
    def _login(self) -> StoredLogin:
        assert isinstance(self.context.storage, StoredLogin)
        return self.context.storage


def _metadata(redirect: str) -> OAuthClientMetadata:
    return OAuthClientMetadata(
        redirect_uris=[AnyUrl(redirect)],
        client_name="Indwell",
        grant_types=["authorization_code", "refresh_token"],
        response_types=["code"],
        token_endpoint_auth_method="none",  # noqa: S106 - a method, no password
    )


async def log_in(
    definition: ServerDefinition,
    keys: KeyStore,
    show: Callable[[str], Awaitable[None]],
    pasted: Callable[[], Awaitable[str]] | None = None,
) -> bool:
    """Log in to a server, and store the tokens.

    Args:
        definition: The server, with all variables replaced.
        keys: The user's keys.
        show: Leads the user to an address in the browser.
        pasted: Returns the address at which the browser ended, where it cannot reach this machine.

    Returns:
        False if the server wants no login.

    Raises:
        McpError: The login failed, or took too long.
    """
    server = definition.transport
    assert isinstance(server, HttpServer)
    storage = StoredLogin(server, keys, is_new=True)
    try:
        async with asyncio.timeout(BROWSER_S), _redirect() as (address, came):

            async def lead(target: str) -> None:
                await show(_checked(target))

            async def answer() -> AuthorizationCodeResult:
                return _code(await _first(came, pasted))

            provider = _Provider(server.url, _metadata(address), storage, lead, answer)
            status = await _greet(server, provider, storage)
    except TimeoutError as error:
        raise McpError(f"nobody finished the login within {BROWSER_S / 60:.0f} minutes") from error
    except (OAuthFlowError, httpx2.HTTPError, ValidationError) as error:
        raise McpError(f"the login failed: {short_line(str(error), _WORDS)}") from error
    if not storage.was_stored and status in {401, 403}:
        raise McpError("the server refuses Indwell, and tells no way to log in")
    return storage.was_stored


async def _greet(server: HttpServer, auth: Auth, storage: StoredLogin) -> int:
    """Send the first messages of a connection, and return the status of the last answer.

    Some servers greet everybody, and want a login only for their tools.
    """
    headers = {"Accept": "application/json, text/event-stream"}
    async with http_client(server, auth, lambda: None) as client:
        for message in (_HELLO, _TOOLS):
            async with client.stream("POST", server.url, json=message, headers=headers) as answer:
                session = answer.headers.get("mcp-session-id")
                headers |= {"mcp-session-id": session} if session else {}
                if not answer.is_success or storage.was_stored:
                    break
        return answer.status_code


def _checked(address: str) -> str:
    """Return an address to which a person may be led: the server of the login chose it."""
    parts = urlsplit(address)
    is_safe = parts.scheme == "https" or (
        parts.scheme == "http" and (parts.hostname or "") in _LOOPBACK
    )
    if not is_safe or not address.isprintable() or " " in address:
        raise McpError("the login's address is not an https address, so it is not opened")
    return address


def _code(address: str) -> AuthorizationCodeResult:
    """Read the answer of a login from the address at which it ended."""
    given = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
    if "code" not in given:
        why = given.get("error_description") or given.get("error") or "no code came back"
        raise McpError(f"the login was not given: {short_line(why, _WORDS)}")
    return AuthorizationCodeResult(
        code=given["code"], state=given.get("state"), iss=given.get("iss")
    )


async def _first(came: asyncio.Future[str], pasted: Callable[[], Awaitable[str]] | None) -> str:
    """Return the address of the redirect, or the one that the user pasted before it came."""
    if pasted is None:
        return await came
    typing = asyncio.ensure_future(pasted())
    try:
        await asyncio.wait({came, typing}, return_when=asyncio.FIRST_COMPLETED)
        return came.result() if came.done() else typing.result()
    finally:
        typing.cancel()


@asynccontextmanager
async def _redirect() -> AsyncIterator[tuple[str, asyncio.Future[str]]]:
    """Listen on this machine for the browser's return; yields the address, and what came."""
    came: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def hear(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(10):
                head = await reader.readuntil(b"\r\n\r\n")
            _, target, *_ = head.split(b"\r\n", 1)[0].decode("ascii", "replace").split(" ")
            is_ours = urlsplit(target).path == _PATH
            writer.write(_page("200 OK", _DONE) if is_ours else _page("404 Not Found", "nothing"))
            await writer.drain()
            if is_ours and not came.done():
                came.set_result(target)
        except (OSError, ValueError, TimeoutError, asyncio.IncompleteReadError):
            pass  # somebody else's request, or a browser that went away
        finally:
            writer.close()

    server = await asyncio.start_server(hear, "127.0.0.1", 0, limit=_MOST_B)
    port = server.sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}{_PATH}", came
    finally:
        server.close()
        if not came.done():
            came.cancel()


def _page(status: str, words: str) -> bytes:
    body = f"<!doctype html><title>Indwell</title><p>{words}</p>".encode()
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\nCache-Control: no-store\r\n"
        "Content-Security-Policy: default-src 'none'\r\nReferrer-Policy: no-referrer\r\n\r\n"
    )
    return head.encode() + body
