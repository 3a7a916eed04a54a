"""A provider that wraps another provider and retries temporary failures (H41).

A retry follows rate limits, server faults, an unreachable endpoint, and a stream that broke before
any tool call had begun. A refused key or an overlong request is not retried.
"""

from __future__ import annotations

import asyncio
import random as random_numbers
import time
from collections.abc import Awaitable, Callable

import msgspec
from tenacity import AsyncRetrying, RetryCallState

from indwell.errors import RateLimited, ServerFault, TooSlow, Unreachable
from indwell.messages import Reply, Request
from indwell.providers.base import (
    CallStarted,
    Discarded,
    Provider,
    RetryWait,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
)
from indwell.providers.http.faults import without_advice

ATTEMPTS = 5  # One request has at most 5 attempts (H41).
WITHIN_S = 60.0  # Attempts may begin within 60 seconds after the first failure (H41).
FIRST_WAIT_S = 1.0  # The wait in seconds is doubled with each attempt: 1, 2, 4, 8.

_PASSING = (RateLimited, ServerFault, Unreachable)


class Retrying:
    """A ``Provider`` that tries another provider, ``provider``, up to five times.

    Retries end 60 seconds after the first failure, not after the first attempt, so a long stream
    that broke is retried, too.

    Args:
        provider: The wrapped provider.
        sleep: Waits for some seconds.
        random: Returns a number from 0 up to 1, for the jitter.
        clock: Returns seconds of a monotonic clock.
    """

    def __init__(
        self,
        provider: Provider,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        random: Callable[[], float] = random_numbers.random,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._provider = provider
        self._sleep = sleep
        self._random = random
        self._clock = clock

    async def complete(self, request: Request, on_event: Callable[[StreamEvent], None]) -> Reply:
        """Answer ``request``; report discarded text and waiting to ``on_event``.

        After the last attempt, the newest incomplete reply is returned with the newest problem, and
        its discarded text is reported again. Without an incomplete reply, the last error is raised.

        Raises:
            ProviderError: The last attempt's error, or at once an error that is not temporary.
        """
        attempt = _Attempt(self._provider, on_event)
        failed_at: list[float] = []

        def wait(state: RetryCallState) -> float:
            failed_at.append(self._clock())
            backoff = FIRST_WAIT_S * 2.0 ** (state.attempt_number - 1)
            return max(_asked_to_wait(state), backoff * (1 + self._random()) / 2)

        def stop(state: RetryCallState) -> bool:
            waited = failed_at[-1] - failed_at[0]
            too_late = waited + state.upcoming_sleep > WITHIN_S
            return too_late or state.attempt_number >= ATTEMPTS

        def last(state: RetryCallState) -> Reply:
            assert state.outcome is not None
            error = state.outcome.exception()
            if attempt.partial is None or error is None:
                return _outcome(state)
            if attempt.partial.text:
                on_event(TextDelta(attempt.partial.text))
            return msgspec.structs.replace(attempt.partial, problem=without_advice(str(error)))

        def before_sleep(state: RetryCallState) -> None:
            if attempt.streamed:
                on_event(Discarded())
            on_event(RetryWait(seconds=state.upcoming_sleep, reason=_reason(state)))

        retrying = AsyncRetrying(
            sleep=self._sleep,
            wait=wait,
            stop=stop,
            retry=lambda state: not attempt.call_begun and _may_pass(state),
            before_sleep=before_sleep,
            retry_error_callback=last,
        )
        reply: Reply = await retrying(attempt.run, request)
        return reply


class _Attempt:
    """The current attempt; its streamed text decides whether another attempt may follow."""

    def __init__(self, provider: Provider, on_event: Callable[[StreamEvent], None]) -> None:
        self._provider = provider
        self._on_event = on_event
        self.streamed = False
        self.call_begun = False
        self.partial: Reply | None = None

    async def run(self, request: Request) -> Reply:
        self.streamed = False
        reply = await self._provider.complete(request, self._hear)
        if reply.finish == "incomplete":
            self.partial = reply
        return reply

    def _hear(self, event: StreamEvent) -> None:
        self.streamed = self.streamed or isinstance(event, TextDelta | ThinkingDelta)
        self.call_begun = self.call_begun or isinstance(event, CallStarted)
        self._on_event(event)


def _may_pass(state: RetryCallState) -> bool:
    assert state.outcome is not None
    error = state.outcome.exception()
    if error is None:
        return _outcome(state).finish == "incomplete"
    return isinstance(error, _PASSING) and not isinstance(error, TooSlow)


def _asked_to_wait(state: RetryCallState) -> float:
    assert state.outcome is not None
    error = state.outcome.exception()
    return (error.retry_after_s or 0.0) if isinstance(error, RateLimited) else 0.0


def _reason(state: RetryCallState) -> str:
    assert state.outcome is not None
    error = state.outcome.exception()
    return without_advice(_outcome(state).problem if error is None else str(error))


def _outcome(state: RetryCallState) -> Reply:
    """Return the attempt's reply, or raise its error."""
    assert state.outcome is not None
    reply: Reply = state.outcome.result()
    return reply
