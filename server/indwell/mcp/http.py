"""Creates the HTTP client for one MCP server: one origin, no compression, limited answers.

The SDK follows redirects only within the origin of the server's address. The headers of the
definition, which may contain a token, are only sent to that origin. A login may lead to other
hosts.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Literal, TypeAlias

import httpx2

from indwell import edges
from indwell.context.untrusted_text import short_line
from indwell.errors import ToolError, reason
from indwell.lazy_pattern import lazy_pattern
from indwell.mcp.definition import HttpServer
from indwell.mcp.offers import McpError
from indwell.sandbox.proxy.hosts import is_public, literal, place_of
from indwell.sandbox.proxy.service import is_own, resolve

LIMIT_B = 8 << 20  # the limit of bytes for one answer, or for one event of a stream
# the limit of commas in one message, because a message with more would decode slowly
MOST_VALUES = 1_000_000
CONNECT_S = 15.0
_WORDS = 300  # the limit of characters for an address in an error message
READ_S = 330.0  # the longest silence on a stream in seconds; the time-out of a call is shorter
_EVENT_END = lazy_pattern(rb"\r?\n\r?\n")
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


Auth: TypeAlias = httpx2.Auth
"""Adds the token of a login to requests; a type of httpx2."""

Refusal: TypeAlias = Literal["login", "scope"]
"""Why a server refuses a request: the login is missing, or has too few rights."""


class AnswerTooLarge(httpx2.TransportError):
    """An answer is larger than the limit."""


class CompressedAnswer(httpx2.TransportError):
    """An answer is compressed, although the request did not allow compression."""


@asynccontextmanager
async def http_client(
    server: HttpServer, auth: Auth | None, on_refused: Callable[[Refusal], None]
) -> AsyncIterator[httpx2.AsyncClient]:
    """Open the client for a server.

    Args:
        server: The server's address and headers, with all variables replaced.
        auth: Adds the token of a login.
        on_refused: Called if the server refuses a request with the present login.

    Raises:
        McpError: The file of certificates that ``SSL_CERT_FILE`` names cannot be used, or a replay
            refuses the connection.
    """
    try:
        edges.current().before_unrecordable("a language server or an MCP server")
    except ToolError as error:
        raise McpError(str(error)) from error
    origin = _origin(httpx2.URL(server.url))

    async def own_headers(request: httpx2.Request) -> None:
        request.headers["Accept-Encoding"] = "identity"
        if _origin(request.url) == origin:
            _add(request, server.headers)

    async def heed_refusal(response: httpx2.Response) -> None:
        if _origin(response.url) != origin:
            return
        if response.status_code == HTTPStatus.UNAUTHORIZED:
            on_refused("login")
        elif wants_scope(response):
            on_refused("scope")

    # Loading certificates takes 20-100 ms, so a thread does it; plain http needs no certificates.
    is_plain = server.url.lower().startswith("http:") and auth is None
    client = httpx2.AsyncClient(
        verify=False if is_plain else await asyncio.to_thread(_certificates),
        auth=auth,
        follow_redirects=False,
        timeout=httpx2.Timeout(CONNECT_S, read=READ_S),
        trust_env=httpx2.URL(server.url).host not in _LOOPBACK,
        event_hooks={"request": [own_headers], "response": [heed_refusal, _bound]},
    )
    async with client:
        yield client


def _certificates() -> ssl.SSLContext:
    """Load the trusted certificates, of ``SSL_CERT_FILE`` also for a server on this machine."""
    try:
        return httpx2.create_ssl_context()
    except OSError as error:
        raise McpError(
            f"the certificates in {os.environ.get('SSL_CERT_FILE', '')!r} cannot be used "
            f"({reason(error)}); correct the variable SSL_CERT_FILE, or unset it"
        ) from error


async def check_login_host(url: httpx2.URL, own: httpx2.URL) -> None:
    """Check that a login request may go to an address that the server ``own`` chose.

    Raises:
        McpError: The host is on this machine or its network, or the request is not encrypted.
    """
    if url.host == own.host and url.scheme in {"https", own.scheme}:
        return
    place = place_of(url.netloc.decode("ascii", "replace"))
    shown = short_line(str(url.copy_with(query=None, fragment=None)), _WORDS)
    if url.scheme != "https" or place is None:
        raise McpError(f"the server's login leads to {shown}, which is not an https address")
    number = literal(place.host)
    try:
        found = (number,) if number is not None else await resolve(place)
    except OSError as error:
        raise McpError(f"the server's login leads to {shown}; that host is not known") from error
    if not all(is_public(one) and not is_own(one) for one in found):
        raise McpError(
            f"the server's login leads to {shown}, which is on this machine or on a network that "
            "is not the internet, so it was not asked"
        )


def wants_scope(response: httpx2.Response) -> bool:
    """Return whether the server refuses the request because the login lacks permissions."""
    wants = response.headers.get("www-authenticate", "")
    return response.status_code == HTTPStatus.FORBIDDEN and "insufficient_scope" in wants


def _add(request: httpx2.Request, headers: Sequence[tuple[str, str]]) -> None:
    for name, value in headers:
        request.headers[name] = value


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


async def _bound(response: httpx2.Response) -> None:
    """Limit the size of an answer; used as a response hook."""
    if response.headers.get("content-encoding", "identity") not in {"", "identity"}:
        await response.aclose()
        raise CompressedAnswer("the answer is compressed, which was not asked for")
    stream = response.stream
    assert isinstance(stream, httpx2.AsyncByteStream)
    is_stream = response.headers.get("content-type", "").startswith("text/event-stream")
    response.stream = _Bounded(stream, is_stream=is_stream)


class _Bounded(httpx2.AsyncByteStream):
    """A body of at most ``LIMIT_B`` bytes and ``MOST_VALUES`` commas.

    In an endless stream, the limit of commas applies to each event; the SDK limits the bytes.
    """

    def __init__(self, body: httpx2.AsyncByteStream, *, is_stream: bool) -> None:
        self._body = body
        self._is_stream = is_stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        total_b = n_values = 0
        async for part in self._body:
            total_b += len(part)
            n_values += part.count(b",")
            if self._is_stream and (after := _EVENT_END.split(part))[1:]:
                n_values = after[-1].count(b",")
            if n_values > MOST_VALUES:
                raise AnswerTooLarge(f"the answer has more than {MOST_VALUES:,} values")
            if total_b > LIMIT_B and not self._is_stream:
                raise AnswerTooLarge(f"the answer has more than {LIMIT_B >> 20} MB")
            yield part

    async def aclose(self) -> None:
        await self._body.aclose()
