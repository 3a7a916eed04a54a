"""The interface to a model, and the events of its stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

import msgspec

from indwell.messages import Reply, Request


class Sending(msgspec.Struct, frozen=True):
    """An attempt goes out.

    Attributes:
        dialect: The ways in which the request was written, as JSON.
        digest: Of the body, as ``request_bytes.digest_of`` makes it; empty if it is not known.
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
    """Nothing comes for ``seconds``: the next attempt waits."""

    seconds: float
    reason: str


StreamEvent: TypeAlias = Sending | TextDelta | ThinkingDelta | CallStarted | Discarded | RetryWait


class Provider(Protocol):
    """A model that answers."""

    async def complete(self, request: Request, on_event: Callable[[StreamEvent], None]) -> Reply:
        """Answer ``request``; ``on_event`` hears each delta as it arrives, on the event loop.

        A stream that breaks after text had come, or after a tool call had begun, is a ``Reply``
        with ``finish="incomplete"`` and without calls.

        Raises:
            ProviderError: The endpoint did not do its part; nothing of the reply may be used.
        """
        ...
