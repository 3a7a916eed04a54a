"""The interfaces to a model and to an editor's own models, and the events of a stream."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import msgspec

from indwell.messages import Reply, Request


class Sending(msgspec.Struct, frozen=True):
    """The event that an attempt is about to be sent.

    Attributes:
        dialect: The dialect in which the request was written, as JSON.
        digest: The digest of the request's body (``encoder.digest_of``), or empty if unknown.
    """

    dialect: str
    digest: str


class TextDelta(msgspec.Struct, frozen=True):
    """A part of the assistant's text."""

    text: str


class ThinkingDelta(msgspec.Struct, frozen=True):
    """A part of the model's reasoning."""

    text: str


class PromptProgress(msgspec.Struct, frozen=True):
    """The fraction of the prompt that the endpoint has read, from 0 to 1."""

    share: float


class CallStarted(msgspec.Struct, frozen=True):
    """The event that the model began a tool call; the arguments are still arriving."""

    name: str


class Discarded(msgspec.Struct, frozen=True):
    """The event that all text streamed for this request is void, because a new attempt follows."""


class RetryWait(msgspec.Struct, frozen=True):
    """The event that the next attempt starts after ``seconds``."""

    seconds: float
    reason: str


StreamEvent: TypeAlias = (
    Sending | PromptProgress | TextDelta | ThinkingDelta | CallStarted | Discarded | RetryWait
)


class Provider(Protocol):
    """Answers requests with a model."""

    async def complete(self, request: Request, on_event: Callable[[StreamEvent], None]) -> Reply:
        """Answer ``request``; ``on_event`` receives each delta as it arrives, on the event loop.

        A stream that breaks after text, or after the start of a tool call, is a ``Reply`` with
        ``finish="incomplete"`` and without calls.

        Raises:
            ProviderError: The endpoint failed; no part of the reply may be used.
        """
        ...


class EditorModel(msgspec.Struct, frozen=True):
    """A model of the editor.

    Attributes:
        name: The model's name in Indwell, such as ``copilot/gpt-5@vscode``.
        window: The most tokens of a prompt, or None if the editor does not say.
        pictures: Whether the model accepts pictures, or None if the editor does not say.
        tools: Whether the model accepts tools, or None if the editor does not say.
    """

    name: str
    window: int | None = None
    pictures: bool | None = None
    tools: bool | None = None


class EditorRefusal(Exception):
    """The editor could not answer with its model.

    Args:
        code: The editor's code for the error; may be empty.
        words: The editor's message.
    """

    def __init__(self, code: str, words: str) -> None:
        super().__init__(words)
        self.code = code


class ModelConnection(Protocol):
    """The connection to the editor's models."""

    async def models(self) -> tuple[EditorModel, ...] | None:
        """Ask for the list of models; return None if the editor does not answer in time."""
        ...

    def answer(self, request: bytes) -> AsyncGenerator[Sequence[Mapping[str, Any]], None]:
        """Send a request; yield the pieces of the reply until the reply is complete.

        Closing the generator cancels the request. There is no time limit.

        Raises:
            EditorRefusal: The editor refused the request, or the reply broke off.
        """
        ...
