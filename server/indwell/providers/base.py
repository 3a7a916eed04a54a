"""The interface to a model, and the events of its stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

import msgspec

from indwell.messages import Reply, Request


class Sending(msgspec.Struct, frozen=True):
    """An attempt is about to be sent.

    Attributes:
        dialect: How the request was written, as JSON.
        digest: The body's digest (``chat.request.digest_of``); empty if unknown.
    """

    dialect: str
    digest: str


class TextDelta(msgspec.Struct, frozen=True):
    """More of the assistant's words."""

    text: str


class ThinkingDelta(msgspec.Struct, frozen=True):
    """More of the model's reasoning."""

    text: str


class PromptProgress(msgspec.Struct, frozen=True):
    """How much of the prompt the endpoint has read, from 0 to 1; the reply begins afterwards."""

    share: float


class CallStarted(msgspec.Struct, frozen=True):
    """The model began a tool call; its arguments are still arriving."""

    name: str


class Discarded(msgspec.Struct, frozen=True):
    """Discard the text streamed for this request so far: the request is sent again."""


class RetryWait(msgspec.Struct, frozen=True):
    """The next attempt starts after ``seconds``."""

    seconds: float
    reason: str


StreamEvent: TypeAlias = (
    Sending | PromptProgress | TextDelta | ThinkingDelta | CallStarted | Discarded | RetryWait
)


class Provider(Protocol):
    """A model that answers."""

    async def complete(self, request: Request, on_event: Callable[[StreamEvent], None]) -> Reply:
        """Answer ``request``; ``on_event`` receives each delta as it arrives, on the event loop.

        A stream that breaks after text, or after the start of a tool call, is a ``Reply`` with
        ``finish="incomplete"`` and without calls.

        Raises:
            ProviderError: The endpoint failed; no part of the reply may be used.
        """
        ...
