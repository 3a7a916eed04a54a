"""Whether a connection may carry another request: not if bytes came that nobody asked for.

What a server sends behind the end of an answer would be read as the answer to the next request.
Bytes that wait in the system are seen by the HTTP library when it takes the connection again; those
that were read already wait in its parser, in the stream and in TLS, where only this module looks.
Where they wait is no part of what the libraries promise: if it cannot be seen, the connection is
closed, which costs another handshake and nothing else.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, TypeAlias

import httpx2

_Inside: TypeAlias = Any
"""A part of a library that promises nothing of what is looked at here."""


async def keep_only_if_clean(response: httpx2.Response) -> None:
    """Response hook: closes the connection behind an answer that more came after."""
    stream = response.stream
    assert isinstance(stream, httpx2.AsyncByteStream)
    response.stream = _LastLook(stream, response.extensions.get("network_stream"))


class _LastLook(httpx2.AsyncByteStream):
    """An answer's body that looks behind itself in the moment before the connection is free."""

    def __init__(self, body: httpx2.AsyncByteStream, network: _Inside) -> None:
        self._body = body
        self._network = network

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._body.__aiter__()

    async def aclose(self) -> None:
        if self._network is not None and not _is_clean(self._body, self._network):
            await self._network.aclose()  # a closed one is never taken again
        await self._body.aclose()


def _is_clean(body: _Inside, network: _Inside) -> bool:
    """Whether nothing is left that was read and belongs to no answer."""
    try:
        return not (_in_parser(body) or _in_stream(network._stream))  # noqa: SLF001 -- no other way
    except AttributeError:
        return False


def _in_parser(body: _Inside) -> bool:
    """Whether h11 holds bytes behind the end of the body."""
    for name in ("_stream", "_httpcore_stream", "_stream"):  # httpx's wrappers, httpcore's pool
        body = getattr(body, name)
    data, _ = body._connection._h11_state.trailing_data  # noqa: SLF001 -- no other way
    return bool(data)


def _in_stream(stream: _Inside) -> bool:
    """Whether anyio or TLS holds bytes that the parser has not asked for."""
    while (below := getattr(stream, "transport_stream", None)) is not None:  # one or two of TLS
        if stream._read_bio.pending or stream._ssl_object.pending():  # noqa: SLF001 -- no other way
            return True
        stream = below
    return bool(stream._protocol.read_queue)  # noqa: SLF001 -- no other way
