"""Whether a stream came to its end: the SDK keeps the ``[DONE]`` event to itself.

Without it, and without a finish reason, a stream that a proxy cut short looks like a whole one.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import httpx2

_DONE = re.compile(rb"(?:^|[\r\n])data: ?\[DONE\]")
_TAIL = 16  # bytes kept from part to part; the event's line up to its end mark is shorter


class _WatchedStream(httpx2.AsyncByteStream):
    """A body that remembers whether the event came by; a compressed one does not show it."""

    def __init__(self, body: httpx2.AsyncByteStream) -> None:
        self._body = body
        self._tail = b""
        self.saw_end = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._body:
            window = self._tail + part
            self.saw_end = self.saw_end or _DONE.search(window) is not None
            self._tail = window[-_TAIL:]
            yield part

    async def aclose(self) -> None:
        await self._body.aclose()


async def watch_end(response: httpx2.Response) -> None:
    """Response hook of an ``httpx2.AsyncClient``: watch the body that is about to be read."""
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    response.stream = _WatchedStream(response.stream)


def saw_end(response: httpx2.Response) -> bool:
    """Whether the ``[DONE]`` event was in the body, as far as it was read."""
    return isinstance(response.stream, _WatchedStream) and response.stream.saw_end
