"""An HTTP transport that puts exchanges with an endpoint into a cassette, or reads them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from typing import Any, NamedTuple, Protocol

import httpx2

from indwell.secrets import is_secret

_KEPT = frozenset({"content-type", "retry-after"})
"""The headers of an answer that are kept; others may name the user's account."""

_AUTHENTICATING = frozenset({"authorization", "proxy-authorization", "cookie"})


class HttpAnswer(NamedTuple):
    """The answer of an endpoint; ``extensions`` belong to the real connection."""

    status: int
    headers: Mapping[str, str]
    parts: AsyncIterator[bytes]
    extensions: Mapping[str, Any] = {}


class HttpBroken(Exception):
    """A recorded exchange broke off with this kind of error of the HTTP library."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class HttpCassette(Protocol):
    """Keeps exchanges, or gives them back."""

    async def exchange(
        self,
        method: str,
        url: str,
        body: bytes,
        send: Callable[[], Awaitable[HttpAnswer]],
    ) -> HttpAnswer:
        """Return the answer to a request; ``send`` sends the request to the real endpoint.

        Raises:
            HttpBroken: The recorded exchange broke off.
        """
        ...

    def learn(self, keys: Iterable[str]) -> None:
        """Hide keys that a request carries in its headers; an answer may repeat them."""
        ...


class CassetteTransport(httpx2.AsyncBaseTransport):
    """Sends requests through a cassette.

    Args:
        cassette: Keeps the exchanges, or gives them back.
        make: Creates the transport to the real endpoint, with the first request that needs it.
    """

    def __init__(
        self, cassette: HttpCassette, make: Callable[[], httpx2.AsyncBaseTransport]
    ) -> None:
        self._cassette = cassette
        self._make = make
        self._real: httpx2.AsyncBaseTransport | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Return the answer from the endpoint, or from the cassette."""
        body = await request.aread()
        self._cassette.learn(
            word
            for name, value in request.headers.items()
            if name in _AUTHENTICATING or is_secret(name.replace("-", "_"))
            for word in (value, *value.split()[1:])
        )

        async def send() -> HttpAnswer:
            if self._real is None:
                self._real = self._make()
            response = await self._real.handle_async_request(request)
            stream = response.stream
            assert isinstance(stream, httpx2.AsyncByteStream)
            headers = {name: value for name, value in response.headers.items() if name in _KEPT}
            return HttpAnswer(response.status_code, headers, _closing(stream), response.extensions)

        try:
            answer = await self._cassette.exchange(request.method, str(request.url), body, send)
        except HttpBroken as broken:
            raise _error_of(broken, request) from None
        return httpx2.Response(
            answer.status,
            headers=answer.headers,
            stream=_Parts(answer.parts, request),
            extensions=dict(answer.extensions),
        )

    async def aclose(self) -> None:
        """Close the connections to the real endpoint."""
        if self._real is not None:
            await self._real.aclose()


class _Parts(httpx2.AsyncByteStream):
    """The body of an answer."""

    def __init__(self, parts: AsyncIterator[bytes], request: httpx2.Request) -> None:
        self._parts = parts
        self._request = request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for part in self._parts:
                yield part
        except HttpBroken as broken:
            raise _error_of(broken, self._request) from None

    async def aclose(self) -> None:
        close = getattr(self._parts, "aclose", None)
        if close is not None:
            await close()


async def _closing(stream: httpx2.AsyncByteStream) -> AsyncIterator[bytes]:
    try:
        async for part in stream:
            yield part
    finally:
        await stream.aclose()


def _error_of(broken: HttpBroken, request: httpx2.Request) -> Exception:
    kind = getattr(httpx2, broken.kind, httpx2.ReadError)
    is_ours = isinstance(kind, type) and issubclass(kind, httpx2.RequestError)
    return (kind if is_ours else httpx2.ReadError)(str(broken), request=request)
