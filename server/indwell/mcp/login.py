"""Logs in to MCP servers by OAuth: a browser, a redirect to this machine, tokens in the keyring.

The SDK implements the protocol: discovery, registration, PKCE, refresh. A turn uses a stored login
and refreshes tokens, but never discovers, registers or opens a browser. The server names the hosts
for the login. Requests only go to the server's own host and to hosts on the internet, over https.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import msgspec
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.exceptions import OAuthFlowError
from mcp.client.auth.utils import extract_scope_from_www_auth, issuers_match, union_scopes
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
)
from pydantic import AnyUrl, PrivateAttr, ValidationError

from indwell.context.untrusted_text import short_line
from indwell.errors import SettingsError
from indwell.mcp.definition import HttpServer, OwnClient, ServerDefinition
from indwell.mcp.http import Auth, check_login_host, http_client, wants_scope
from indwell.mcp.offers import McpError, NeedsLogin
from indwell.prepared_types import prepared
from indwell.settings.credentials import Secret
from indwell.settings.keys import KeyStore

BROWSER_S = 300.0  # the time limit, in seconds, for a person's login in the browser
_MOST_B = 16 << 10  # the limit of bytes for a redirected browser's request
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_WORDS = 300
_PATH = "/callback"
_BASIC, _POST = "client_secret_basic", "client_secret_post"
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
    """A stored login: the SDK's values as JSON objects, and the token's time of expiry.

    ``issuer`` describes the server that gave the token; only that server may refresh the token.
    ``wanted`` contains the scopes that a turn lacked and that the next login requests.
    """

    tokens: dict[str, Any]
    client: dict[str, Any]
    expires_at: float | None = None
    issuer: dict[str, Any] = {}
    wanted: str = ""


def login_key(server: HttpServer) -> str:
    """Return the name under which a server's login is stored among the user's keys."""
    return f"mcp:{server.url}"


def is_logged_in(server: HttpServer, keys: KeyStore) -> bool:
    """Return whether a login is stored, without opening a keyring."""
    return login_key(server) in keys.origins()


def turn_auth(definition: ServerDefinition, keys: KeyStore) -> Auth | None:
    """Return the object that adds the stored token to requests, or None without a login.

    A client without a person gets a new token for each connection, which is not stored.

    Raises:
        McpError: Others could read the token on the way to the server.
    """
    server = definition.transport
    if not isinstance(server, HttpServer):
        return None
    if not (server.logs_in_alone or is_logged_in(server, keys)):
        return None
    _check_encrypted(server)

    async def refuse(_address: str) -> None:
        raise NeedsLogin(
            f"the login at the MCP server {definition.name!r} has ended; log in "
            f"again with `indwell mcp login {definition.name}`"
        )

    async def nothing() -> AuthorizationCodeResult:
        raise AssertionError("nobody was led to a browser")

    login = StoredLogin(server, keys, is_new=server.logs_in_alone)
    return _TurnProvider(server.url, _metadata(f"http://127.0.0.1{_PATH}"), login, refuse, nothing)


def _check_encrypted(server: HttpServer) -> None:
    """Check that no other host can read a token that is sent to the server.

    Raises:
        McpError: The address is on another machine, and not encrypted.
    """
    url = httpx2.URL(server.url)
    if url.scheme != "https" and url.host not in _LOOPBACK:
        raise McpError(
            f"its address begins with {url.scheme}://, so others on the way to it could read the "
            "token of a login; write https:// in its definition"
        )


class StoredLogin:
    """Stores the tokens of one server in the user's keyring; implements ``TokenStorage``.

    Args:
        server: The server.
        keys: The user's keys.
        is_new: Whether to ignore the stored login and register again, because the redirect's
            address has changed.
    """

    def __init__(self, server: HttpServer, keys: KeyStore, *, is_new: bool = False) -> None:
        self.server = server
        self._key = login_key(server)
        self._keys = keys
        self._is_new = is_new
        self._client: dict[str, Any] | None = None
        self.issuer: OAuthMetadata | None = None
        self.was_stored = False

    async def get_tokens(self) -> OAuthToken | None:
        """Return the stored tokens, with the remaining lifetime in seconds."""
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
        if self.server.logs_in_alone:
            return
        ends = None if tokens.expires_in is None else time.time() + tokens.expires_in
        issuer = self.issuer.model_dump(mode="json", exclude_none=True) if self.issuer else {}
        kept = _Kept(tokens.model_dump(mode="json"), self._client or {}, ends, issuer)
        await self._put(kept)
        self.was_stored = True

    async def want(self, scope: str) -> None:
        """Store scopes that the next login has to request in addition to the present scopes."""
        kept = await self._kept()
        if kept is not None and scope:
            wanted = union_scopes(union_scopes(kept.tokens.get("scope"), kept.wanted), scope) or ""
            await self._put(msgspec.structs.replace(kept, wanted=wanted))

    async def wanted(self) -> str:
        """Return the scopes that the next login has to request; may be empty."""
        kept = await self._kept()
        return "" if kept is None else kept.wanted

    async def _put(self, kept: _Kept) -> None:
        text = msgspec.json.encode(kept).decode()
        try:
            await asyncio.to_thread(self._keys.put, self._key, Secret(text))
        except SettingsError as error:
            raise McpError(f"the login could not be stored: {error}") from error

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Return Indwell's client registration at the authorization server."""
        if self.server.client is not None:
            return _registered(self.server.client)
        kept = await self._kept()
        if kept is None or not kept.client:
            return None
        self._client = kept.client
        return OAuthClientInformationFull.model_validate(kept.client)

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Keep the client registration in memory, to store it together with the tokens."""
        self._client = client_info.model_dump(mode="json", exclude_none=True)

    async def _kept(self) -> _Kept | None:
        if self._is_new:
            return None
        try:
            stored = await asyncio.to_thread(self._keys.get, self._key)
            text = stored.key.reveal() if stored is not None and stored.key is not None else ""
            return msgspec.json.decode(text, type=prepared(_Kept)) if text else None
        except (SettingsError, msgspec.DecodeError) as error:
            raise McpError(
                f"the stored login cannot be read ({error}); log in again with `indwell mcp login`"
            ) from error


class _Provider(OAuthClientProvider):
    """Extends the SDK's login flow by the stored token's expiry and the server that may refresh it.

    Without the second extension, the SDK would send the token to ``/token`` of the MCP server's
    host.
    """

    async def _initialize(self) -> None:
        await super()._initialize()
        self.context.oauth_metadata = self._login.issuer
        if self.context.current_tokens is not None:
            self.context.update_token_expiry(self.context.current_tokens)

    async def _handle_token_response(self, response: httpx2.Response) -> None:
        self._login.issuer = self.context.oauth_metadata
        await super()._handle_token_response(response)

    async def _perform_authorization(self) -> httpx2.Request:
        """Log in with a browser, or without a person; only the chosen server gets the secret."""
        context, client = self.context, self._login.server.client
        if client is None:
            return await super()._perform_authorization()
        metadata = context.oauth_metadata
        found = "" if metadata is None else str(metadata.issuer)
        if client.issuer and not issuers_match(found, client.issuer):
            raise OAuthFlowError(f"the server names another issuer ({found}) than the settings")
        if client.secret:
            _checked(self._get_token_endpoint())
            known = (metadata and metadata.token_endpoint_auth_methods_supported) or ()
            if context.client_info and _POST in known and _BASIC not in known:
                context.client_info.token_endpoint_auth_method = _POST
        if client.grant == "authorization_code":
            return await super()._perform_authorization()
        form = {"grant_type": "client_credentials"}
        if context.should_include_resource_param(context.protocol_version):
            form["resource"] = context.get_resource_url()
        if context.client_metadata.scope:
            form["scope"] = context.client_metadata.scope
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        form, headers = context.prepare_token_auth(form, headers)
        return httpx2.Request("POST", self._get_token_endpoint(), data=form, headers=headers)

    async def _auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Run the SDK's login flow, and check each request of the flow.

        The SDK follows a request's redirects only within the request's origin.
        """
        async with aclosing(super()._auth_flow(request)) as flow:
            try:
                outgoing = await anext(flow)
                while True:
                    if outgoing is not request:
                        await self._check(outgoing)
                    outgoing = await flow.asend((yield outgoing))
            except StopAsyncIteration:
                return

    async def _check(self, request: httpx2.Request) -> None:
        await check_login_host(request.url, httpx2.URL(self.context.server_url))

    @property
    def _login(self) -> StoredLogin:
        assert isinstance(self.context.storage, StoredLogin)
        return self.context.storage


class _TurnProvider(_Provider):
    """The login flow during a turn: refreshes tokens, but never starts a login with a person.

    Scopes that the login lacks are stored for the next login.
    """

    _refresh: httpx2.Request | None = None

    async def _refresh_token(self) -> httpx2.Request:
        self._refresh = await super()._refresh_token()
        return self._refresh

    async def _handle_refresh_response(self, response: httpx2.Response) -> bool:
        is_done = await super()._handle_refresh_response(response)
        if not is_done and not self._login.server.logs_in_alone:
            await self._stop()
        return is_done

    async def _check(self, request: httpx2.Request) -> None:
        if request is not self._refresh and not self._login.server.logs_in_alone:
            await self._stop()
        await super()._check(request)

    async def _stop(self) -> None:
        """Report that the login has ended; the next request reads the stored login again."""
        self._initialized = False
        assert self.context.redirect_handler is not None
        await self.context.redirect_handler("")

    async def _auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        is_by_person = not self._login.server.logs_in_alone
        async with aclosing(super()._auth_flow(request)) as flow:
            try:
                sent = await anext(flow)
                while True:
                    response = yield sent
                    if is_by_person and sent is request and wants_scope(response):
                        await self._login.want(extract_scope_from_www_auth(response) or "")
                        self._initialized = False  # The next request looks for a new login.
                        return
                    sent = await flow.asend(response)
            except StopAsyncIteration:
                return


class _Metadata(OAuthClientMetadata):
    """The client's registration data, whose scope always includes the ``wanted`` scopes."""

    _at_least: str = PrivateAttr(default="")

    def __setattr__(self, name: str, value: Any) -> None:  # noqa: ANN401 - as pydantic has it
        if name == "scope":
            value = union_scopes(self._at_least, value)
        super().__setattr__(name, value)


def _registered(client: OwnClient) -> OAuthClientInformationFull:
    return OAuthClientInformationFull(
        redirect_uris=None,
        client_id=client.id,
        client_secret=client.secret or None,
        grant_types=[client.grant],
        token_endpoint_auth_method=_BASIC if client.secret else "none",
    )


def _metadata(redirect: str, at_least: str = "") -> OAuthClientMetadata:
    metadata = _Metadata(
        redirect_uris=[AnyUrl(redirect)],
        client_name="Indwell",
        grant_types=["authorization_code", "refresh_token"],
        response_types=["code"],
        token_endpoint_auth_method="none",  # noqa: S106 - a method, no password
    )
    metadata._at_least = at_least  # noqa: SLF001 - of our own class
    return metadata


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
        show: Opens an address in the user's browser.
        pasted: Returns the browser's final address, pasted by the user, if the browser cannot reach
            this machine.

    Returns:
        False if the server needs no login.

    Raises:
        McpError: The login failed, or took too long.
    """
    server = definition.transport
    assert isinstance(server, HttpServer)
    _check_encrypted(server)
    if server.logs_in_alone:
        return False
    storage = StoredLogin(server, keys, is_new=True)
    wanted = await StoredLogin(server, keys).wanted()
    try:
        async with asyncio.timeout(BROWSER_S), _redirect() as (address, came):

            async def lead(target: str) -> None:
                await show(_checked(target))

            async def answer() -> AuthorizationCodeResult:
                return _code(await _first(came, pasted))

            provider = _Provider(server.url, _metadata(address, wanted), storage, lead, answer)
            status = await _greet(server, provider, storage)
    except TimeoutError as error:
        raise McpError(f"the login was not finished within {BROWSER_S / 60:.0f} minutes") from error
    except (OAuthFlowError, httpx2.HTTPError, ValidationError) as error:
        raise McpError(f"the login failed: {short_line(str(error), _WORDS)}") from error
    if not storage.was_stored and status in {401, 403}:
        raise McpError("the server refuses Indwell, and offers no login")
    return storage.was_stored


async def _greet(server: HttpServer, auth: Auth, storage: StoredLogin) -> int:
    """Send the first messages of a connection, and return the status of the last answer.

    Some servers accept the first messages without a login, and only demand a login for tools.
    """
    headers = {"Accept": "application/json, text/event-stream"}
    async with http_client(server, auth, lambda _why: None) as client:
        for message in (_HELLO, _TOOLS):
            async with client.stream("POST", server.url, json=message, headers=headers) as answer:
                session = answer.headers.get("mcp-session-id")
                headers |= {"mcp-session-id": session} if session else {}
                if not answer.is_success or storage.was_stored:
                    break
        return answer.status_code


def _checked(address: str) -> str:
    """Check an address that the authorization server chose, before the user's browser opens it."""
    parts = urlsplit(address)
    is_safe = parts.scheme == "https" or (
        parts.scheme == "http" and (parts.hostname or "") in _LOOPBACK
    )
    if not is_safe or not address.isprintable() or " " in address:
        raise McpError("the login's address is not an https address, so it is not opened")
    return address


def _code(address: str) -> AuthorizationCodeResult:
    """Return the login's answer from the browser's final address."""
    given = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
    if "code" not in given:
        why = given.get("error_description") or given.get("error") or "no code came back"
        raise McpError(f"the login was refused: {short_line(why, _WORDS)}")
    return AuthorizationCodeResult(
        code=given["code"], state=given.get("state"), iss=given.get("iss")
    )


async def _first(came: asyncio.Future[str], pasted: Callable[[], Awaitable[str]] | None) -> str:
    """Return the redirect's address or the pasted address, whichever arrives first."""
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
    """Listen on this machine for the redirect; yield the listener's address and the result."""
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
            pass  # Other requests, and a browser that closes the connection, are ignored.
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
