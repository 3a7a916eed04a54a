"""The HTTP client below the SDK: redirects, compression, limits, and reuse of connections.

Redirects are never followed, so that the prompt and the key only go to the endpoint's address.
Compression is not requested. Compressed data is counted after unpacking, at most a megabyte at a
time (httpx2), so that a small answer cannot fill the memory.

Bytes that a server sends after the end of an answer would be read as the answer to the next
request. The HTTP library notices bytes that wait in the system. Bytes that were already read may
wait in the parser, in the stream, in TLS or in Windows' event loop, so this module checks these
four buffers. The buffers are private parts of libraries. If a buffer cannot be read, the connection
is closed, which costs one more handshake.
"""

from __future__ import annotations

import os
import ssl
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Generator, Mapping
from contextlib import aclosing
from functools import cache, partial
from typing import Any, Generic, TypeAlias, TypeVar

import httpx2

from indwell import edges
from indwell.errors import SettingsError, reason

MAX_ODD_BODY = 65_536  # The unit is bytes that are read from an answer that is not a stream.
# The unit is seconds that an idle connection is kept; routers drop connections after 300.
KEEP_ALIVE_S = 120.0

_FOREIGN_HEADERS = frozenset(  # Endpoints of other companies than OpenAI get only these headers.
    {
        "accept",
        "accept-encoding",
        "anthropic-version",
        "authorization",
        "connection",
        "content-length",
        "content-type",
        "host",
        "transfer-encoding",
        "user-agent",
        "x-api-key",
    }
)

T = TypeVar("T")


class RefusedAnswer(Exception):
    """An answer with an error status, and the beginning of its body."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        super().__init__(f"status {status}")
        self.status = status
        self.headers = headers
        self.body = body


class ListenerFailed(Exception):
    """A listener raised an error, which is a bug of Indwell and not the endpoint's failure."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(repr(error))
        self.error = error


def http_client(
    *,
    connect_s: float,
    trust_env: bool,
    is_openai: bool,
    headers: Collection[str] = (),
    proxy: str = "",
) -> httpx2.AsyncClient:
    """Create the client below the SDK.

    Args:
        connect_s: Seconds to reach the endpoint.
        trust_env: Whether the environment's proxies are used.
        is_openai: Whether headers from the environment may be sent; only OpenAI gets them.
        headers: Lower-case names of the user's own headers, which may be sent, too.
        proxy: The address of a proxy, or empty for the environment's proxy.
    """
    hooks: dict[str, list[Callable[..., Any]]] = {"response": [keep_only_if_clean, _refuse]}
    if not is_openai:
        hooks["request"] = [partial(_keep_to_ourselves, _FOREIGN_HEADERS.union(headers))]
    limits = httpx2.Limits(keepalive_expiry=KEEP_ALIVE_S)
    transport = edges.current().transport(
        lambda: httpx2.AsyncHTTPTransport(verify=certificates(), proxy=proxy or None, limits=limits)
    )
    return httpx2.AsyncClient(
        transport=transport,
        verify=certificates(),
        timeout=httpx2.Timeout(None, connect=connect_s),
        follow_redirects=False,
        trust_env=trust_env,
        # A proxy of the client would bypass the cassette.
        proxy=None if transport else proxy or None,
        event_hooks=hooks,
        headers={"Accept-Encoding": "identity"},
        limits=limits,
    )


@cache
def certificates() -> ssl.SSLContext:
    """Load the trusted certificates once: 20-100 ms and nearly a megabyte.

    They are those of ``SSL_CERT_FILE`` or ``SSL_CERT_DIR``, also for this machine, or the system's.

    Raises:
        SettingsError: The file that the variable names cannot be used.
    """
    try:
        return httpx2.create_ssl_context()
    except OSError as error:
        raise SettingsError(
            f"the certificates in {os.environ.get('SSL_CERT_FILE', '')!r} cannot be used "
            f"({reason(error)}); correct the variable SSL_CERT_FILE, or unset it"
        ) from error


async def body_of(response: httpx2.Response, limit: int) -> bytes:
    """Return the beginning of a body, at most ``limit`` bytes."""
    body = bytearray()
    async with aclosing(response.aiter_bytes()) as parts:
        async for part in parts:
            body += part
            if len(body) >= limit:
                break
    return bytes(body[:limit])


async def _refuse(response: httpx2.Response) -> None:
    """Response hook: refuses an error status before anything reads the whole body."""
    if not response.is_success:
        body = await body_of(response, MAX_ODD_BODY)
        raise RefusedAnswer(response.status_code, response.headers, body)


async def _keep_to_ourselves(known: Collection[str], request: httpx2.Request) -> None:
    """Request hook: removes headers that the SDK took from the environment."""
    for name in [name for name in request.headers if name.lower() not in known]:
        del request.headers[name]


class Before(Generic[T]):
    """Awaits ``step``, and calls ``suspending`` just before each suspension.

    The events of one network read are handled without a suspension, so a batch of events ends with
    a suspension.
    """

    def __init__(self, step: Awaitable[T], suspending: Callable[[], None]) -> None:
        self._step = step
        self._suspending = suspending

    def __await__(self) -> Generator[Any, Any, T]:
        """Run the step as ``yield from`` would."""
        step = self._step.__await__()
        try:
            waited_for = step.send(None)
            try:
                self._suspending()
            except BaseException as error:  # noqa: BLE001 -- travels: the step is ended with it
                waited_for = step.throw(ListenerFailed(error))
            while True:
                try:
                    sent = yield waited_for
                except GeneratorExit:
                    step.close()
                    raise
                except BaseException as error:  # noqa: BLE001 -- thrown on into the step
                    waited_for = step.throw(error)
                else:
                    waited_for = step.send(sent)
        except StopIteration as done:
            result: T = done.value
            return result


_Inside: TypeAlias = Any
"""A private part of a library, which may change in any release."""


async def keep_only_if_clean(response: httpx2.Response) -> None:
    """Response hook: closes the connection if more data follows the answer."""
    stream = response.stream
    assert isinstance(stream, httpx2.AsyncByteStream)
    response.stream = _LastLook(stream, response.extensions.get("network_stream"))


class _LastLook(httpx2.AsyncByteStream):
    """A response body that checks for bytes after the end before the connection is reused."""

    def __init__(self, body: httpx2.AsyncByteStream, network: _Inside) -> None:
        self._body = body
        self._network = network

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._body.__aiter__()

    async def aclose(self) -> None:
        if self._network is not None:
            if not _is_clean(self._body, self._network):
                await self._network.aclose()  # A closed connection is never reused.
            elif sys.platform == "win32":
                _show_later_bytes(self._network)
        await self._body.aclose()


def _is_clean(body: _Inside, network: _Inside) -> bool:
    """Return whether every byte that was read belongs to a response."""
    try:
        return not (_in_parser(body) or _in_stream(network._stream))  # noqa: SLF001 -- no other way
    except AttributeError:
        return False


def _in_parser(body: _Inside) -> bool:
    """Return whether h11 has bytes after the end of the body."""
    # These attributes lead through the wrappers of httpx and the pool of httpcore.
    for name in ("_stream", "_httpcore_stream", "_stream"):
        body = getattr(body, name)
    data, _ = body._connection._h11_state.trailing_data  # noqa: SLF001 -- no other way
    return bool(data)


def _in_stream(stream: _Inside) -> bool:
    """Return whether anyio or TLS has bytes that the parser has not requested."""
    # Follow the layers of TLS.
    while (below := getattr(stream, "transport_stream", None)) is not None:
        if stream._read_bio.pending or stream._ssl_object.pending():  # noqa: SLF001 -- no other way
            return True
        stream = below
    return bool(stream._protocol.read_queue)  # noqa: SLF001 -- no other way


def _show_later_bytes(network: _Inside) -> None:
    """On Windows, let the connection pool see bytes that arrive after a reply.

    The pool asks the system for waiting bytes before it uses a connection again. Windows' event
    loop always has a read in progress, so later bytes are already in the loop's buffer, and the
    system reports no bytes.
    """
    if "get_extra_info" in vars(network):
        return
    ask = network.get_extra_info

    def get_extra_info(info: str) -> object:
        return (info == "is_readable" and _in_event_loop(network)) or ask(info)

    network.get_extra_info = get_extra_info


def _in_event_loop(network: _Inside) -> bool:
    """Return whether a read that Windows' event loop began has ended with bytes."""
    try:
        stream = network._stream  # noqa: SLF001 -- no other way
        while (below := getattr(stream, "transport_stream", None)) is not None:
            stream = below
        if stream._protocol.read_queue:  # noqa: SLF001 -- no other way
            return True
        transport = stream._transport  # noqa: SLF001 -- no other way
        read = transport._read_fut  # noqa: SLF001 -- no other way
        ended = read is not None and (read.done() or not read._ov.pending)  # noqa: SLF001 -- as above
        return bool(ended or transport._pending_data_length >= 0)  # noqa: SLF001 -- as above
    except AttributeError:
        return True  # The buffer is unreadable, so close the connection.
