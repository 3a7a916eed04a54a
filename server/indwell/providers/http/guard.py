"""Reads one stream into a reply, and limits its bytes, events, noise and silence.

A stream that ends without an end marker was cut off (H41, H42). All events of one network read are
reported together, just before the next read waits, or after 3 ms of work.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import aclosing, suppress

import httpx2

from indwell.errors import BadReply, Unreachable
from indwell.messages import Request
from indwell.providers.base import StreamEvent, TextDelta, ThinkingDelta
from indwell.providers.http.faults import Where, refused
from indwell.providers.http.http_client import MAX_ODD_BODY, Before, ListenerFailed, body_of
from indwell.providers.http.refusals import EndpointError, quote, said_by
from indwell.providers.http.sse import DONE, EVENT_LIMIT, Event, EventReader, decoded
from indwell.providers.wires.reply import GrowingReply

# The unit is unpacked bytes of one stream; each token's event has about 200 bytes.
REPLY_LIMIT = 32_000_000
WHOLE_LIMIT = 4_000_000  # The unit is bytes of a reply that comes as one JSON body.
# The unit is consecutive bytes without an event with content.
NOISE_LIMIT = EVENT_LIMIT + 1_000_000
EMPTY_STALLS = 10  # Empty events may extend the stall time by this factor.
LINGER_S = 5.0  # The unit is seconds to wait for the usage after the finish reason.
# The unit is seconds to wait for the body's end after [DONE], so that the connection can be reused.
DONE_LINGER_S = 0.05
BUSY_S = 0.003  # Other tasks run after this many seconds of work.
_PIECE = (
    4_096  # The clock is checked after this many bytes, which is 1 ms of work for empty events.
)

_JSON = "application/json"
_NO_STREAMS = (_JSON, "text/html")  # Wrong addresses answer with these media types.


class TooLong(BadReply):
    """A reply exceeds a limit; another attempt would probably fail the same way."""


class StreamGuard:
    """Reads one answer within limits.

    Args:
        response: The response, whose head has arrived.
        where: The endpoint, for error messages.
        request: The request.
        timer: The timer that stops the reading; each data event restarts the timer.
    """

    def __init__(
        self, response: httpx2.Response, where: Where, request: Request, timer: asyncio.Timeout
    ) -> None:
        self._response = response
        self._where = where
        self._request = request
        self._timer = timer
        self._batch = EventBatch()
        self._now = asyncio.get_running_loop().time
        self._useful_at = self._now()
        self._has_data = False
        self._n_noise = 0
        self._busy_since = 0.0
        # The flag says that other tasks ran since the clock was last checked.
        self._is_fresh = True

    async def read(self, reply: GrowingReply, on_event: Callable[[StreamEvent], None]) -> None:
        """Read to the end of the stream.

        Raises:
            ProviderError: The answer is not a stream, reports an error, or was cut off.
            ListenerFailed: ``on_event`` raised.
        """
        try:
            if self._kind() in _NO_STREAMS:
                await self._read_whole(reply)
            else:
                await self._read_events(reply, on_event)
        except Exception:
            self._tell(on_event)  # Report the text that came before the error.
            raise
        self._batch.add(reply.end())
        self._tell(on_event)
        if not reply.n_chunks:
            raise BadReply(f"{self._where.address} answered with nothing; try again")
        if not (reply.is_done or reply.reason):
            raise Unreachable(f"{self._where.address} ended the reply too early; try again")

    async def _read_events(
        self, reply: GrowingReply, on_event: Callable[[StreamEvent], None]
    ) -> None:
        def suspending() -> None:
            self._batch.tell(on_event)
            self._let_go(reply)

        reader = EventReader()
        n_bytes = 0
        async with aclosing(self._response.aiter_bytes()) as parts:
            while True:
                try:
                    part = await Before(anext(parts), suspending)
                except StopAsyncIteration:
                    break
                n_bytes += len(part)
                if n_bytes > REPLY_LIMIT:
                    size = f"{REPLY_LIMIT // 1_000_000} MB"
                    raise TooLong(
                        f"the reply from {self._where.address} is over {size} and was cut off there"
                    )
                for piece in _pieces(part):
                    if self._is_fresh:
                        self._busy_since, self._is_fresh = time.perf_counter(), False
                    self._take_all(reader.feed(piece), len(piece), reply)
                    if time.perf_counter() - self._busy_since > BUSY_S:
                        self._tell(on_event)
                        self._let_go(reply)
                        await asyncio.sleep(0)
        for event in reader.close():
            if event.data.endswith((b"}", DONE)):  # An event without this end was cut off.
                self._take(event, reply)

    def _take_all(self, events: Iterable[Event], n_bytes: int, reply: GrowingReply) -> None:
        """Process the events that ``n_bytes`` of the stream completed."""
        n_taken = sum(self._take(event, reply) for event in events)
        self._n_noise = 0 if n_taken else self._n_noise + n_bytes
        if self._n_noise > NOISE_LIMIT:
            raise TooLong(
                f"{self._where.address} sent {NOISE_LIMIT // 1_000_000} MB that are not part of a"
                " reply"
            )

    def _take(self, event: Event, reply: GrowingReply) -> bool:
        """Process one event; return whether it had content."""
        data = event.data
        if reply.is_done or not data or data.isspace():
            return False
        self._has_data = True
        if data.strip() == DONE:
            reply.is_done = True
            return False
        chunk = decoded(data)
        if not isinstance(chunk, Mapping):
            raise BadReply(f"{self._where.address} sent an event that is not an object")
        n_before = reply.n_characters
        events = reply.add(chunk)
        if events:
            self._batch.add(events)
        if events or reply.n_characters > n_before:
            self._useful_at = self._now()
        self._check_length(reply)
        error = reply.error_in(chunk, event.name)
        if error is not None:
            said = said_by(error) or EndpointError("an error without a message")
            raise refused(said.status or 500, said, self._where, self._request)
        return True

    async def _read_whole(self, reply: GrowingReply) -> None:
        """Read an answer that is not a stream: a whole completion, an error, or an HTML page."""
        kind = self._kind()
        body = await body_of(self._response, WHOLE_LIMIT if kind == _JSON else MAX_ODD_BODY)
        value = None
        with suppress(ValueError, RecursionError):
            value = decoded(body) if kind == _JSON else None
        events = reply.add_whole(value) if isinstance(value, Mapping) else None
        if events is not None:
            self._batch.add(events)
            reply.is_done = True
            self._check_length(reply)
            return
        said = said_by(value)
        if said is not None and said.status:
            raise refused(said.status, said, self._where, self._request)
        words = self._where.redacted(body[:MAX_ODD_BODY].decode("utf-8", "replace"))
        portal = " or a network that wants you to log in" if kind == "text/html" else ""
        raise BadReply(
            f"{self._where.address} answered with {kind} instead of a stream; check"
            f" OPENAI_BASE_URL, it often ends in /v1{portal}: {quote(words)}"
        )

    def _check_length(self, reply: GrowingReply) -> None:
        if reply.excess:
            raise TooLong(
                f"the reply from {self._where.address} {reply.excess} and was cut off there"
            )

    def _kind(self) -> str:
        kind: str = self._response.headers.get("content-type", "")
        return kind.partition(";")[0].strip().lower()

    def _tell(self, on_event: Callable[[StreamEvent], None]) -> None:
        try:
            self._batch.tell(on_event)
        except BaseException as error:
            raise ListenerFailed(error) from error

    def _let_go(self, reply: GrowingReply) -> None:
        """Record that other tasks can run now, and restart the timer if data arrived."""
        self._is_fresh = True
        if self._has_data:
            self._has_data = False
            self._set_timer(reply)

    def _set_timer(self, reply: GrowingReply) -> None:
        """Restart the timer after data; after empty data, only for a limited time (H42).

        Before the reply begins, ``first_s`` applies, counted from the request.
        """
        now, stall = self._now(), self._where.timeout_s
        if reply.is_done:
            self._timer.reschedule(now + DONE_LINGER_S)
        elif reply.reason:
            self._timer.reschedule(now + min(stall, LINGER_S))
        elif reply.n_characters:
            self._timer.reschedule(min(now + stall, self._useful_at + EMPTY_STALLS * stall))


def _pieces(part: bytes) -> Iterable[bytes]:
    """Split a part into pieces small enough to process without a pause."""
    if len(part) <= _PIECE:
        return (part,)
    return (part[at : at + _PIECE] for at in range(0, len(part), _PIECE))


class EventBatch:
    """Collects events until they are reported, in order."""

    def __init__(self) -> None:
        self._events: list[StreamEvent] = []
        self._kind: type[TextDelta | ThinkingDelta] | None = None
        self._words: list[str] = []

    def add(self, events: Iterable[StreamEvent]) -> None:
        """Add the events of one chunk."""
        for event in events:
            if isinstance(event, TextDelta | ThinkingDelta):
                if type(event) is not self._kind:
                    self._close()
                    self._kind = type(event)
                self._words.append(event.text)
            else:
                self._close()
                self._events.append(event)

    def tell(self, on_event: Callable[[StreamEvent], None]) -> None:
        """Report all events since the last call."""
        if not self._words and not self._events:
            return
        self._close()
        events, self._events = self._events, []
        for event in events:
            on_event(event)

    def _close(self) -> None:
        if self._kind is not None:
            self._events.append(self._kind("".join(self._words)))
            self._words.clear()
            self._kind = None
