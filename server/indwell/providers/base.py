"""The interface to a model, and the events of its stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

import msgspec

from indwell.messages import Reply, Request


class Sending(msgspec.Struct, frozen=True):
    """An attempt is sent.

    Attributes:
        dialect: How the request was written, as JSON.
        digest: The digest of the body, by ``request_bytes.digest_of``; empty if unknown.
    """

    dialect: str
    digest: str


class TextDelta(msgspec.Struct, frozen=True):
    """More of the assistant's words."""

    text: str


class ThinkingDelta(msgspec.Struct, frozen=True):
    """More of the model's reasoning."""

    text: str


class CallStarted(msgspec.Struct, frozen=True):
    """The model began to write a tool call; its arguments are still on the way."""

    name: str


class Discarded(msgspec.Struct, frozen=True):
    """Forget the text streamed for this call so far: the request is sent again."""


class RetryWait(msgspec.Struct, frozen=True):
    """Nothing comes for ``seconds``, until the next attempt."""

    seconds: float
    reason: str


StreamEvent: TypeAlias = Sending | TextDelta | ThinkingDelta | CallStarted | Discarded | RetryWait


class Provider(Protocol):
    """A model that answers."""

    async def complete(self, request: Request, on_event: Callable[[StreamEvent], None]) -> Reply:
        """Answer ``request``; ``on_event`` receives each delta as it arrives, on the event loop.

        A stream that breaks after text, or after the start of a tool call, is a ``Reply`` with
        ``finish="incomplete"`` and without calls.

        Raises:
            ProviderError: The endpoint failed; nothing of the reply may be used.
        """
        ...
