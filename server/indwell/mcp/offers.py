"""The values of MCP servers: tools, resources, prompts and pieces of content. Pure.

The texts in these values come from the server: data of tier 3 that is not neutralised yet.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from indwell.errors import UserError


class McpError(UserError):
    """A server cannot be started, does not answer, or refused a request; worded for people."""


class NeedsLogin(McpError):
    """A server requires a login first."""


@dataclass(frozen=True, slots=True)
class TextPiece:
    """A text; for the text of a resource, ``uri`` is the resource's address."""

    text: str
    uri: str = ""


@dataclass(frozen=True, slots=True)
class DataPiece:
    """Bytes of a media type, in base64; models can read pictures."""

    media_type: str
    data: str
    uri: str = ""


@dataclass(frozen=True, slots=True)
class LinkPiece:
    """A resource that the server names without its content."""

    uri: str
    name: str
    description: str = ""
    media_type: str = ""


Piece: TypeAlias = TextPiece | DataPiece | LinkPiece


@dataclass(frozen=True, slots=True)
class CallResult:
    """The result of a tool call: pieces, and perhaps structured content."""

    pieces: tuple[Piece, ...]
    structured: object = None
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool of a server.

    Attributes:
        name: The name as the server spells it.
        description: The server's description.
        schema: The JSON Schema of the arguments.
        claims: The server's claims, such as ``read-only``, which are only shown to people.
    """

    name: str
    description: str
    schema: Mapping[str, Any]
    claims: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OfferedResource:
    """A resource of a server; a template (``is_template``) has ``{parameters}`` in the address."""

    uri: str
    name: str
    description: str = ""
    media_type: str = ""
    is_template: bool = False


@dataclass(frozen=True, slots=True)
class PromptArgument:
    """One argument of a prompt."""

    name: str
    description: str = ""
    is_required: bool = False


@dataclass(frozen=True, slots=True)
class OfferedPrompt:
    """A prompt of a server."""

    name: str
    description: str = ""
    arguments: tuple[PromptArgument, ...] = ()


@dataclass(frozen=True, slots=True)
class PromptMessage:
    """One message of a prompt that the server filled in."""

    role: Literal["user", "assistant"]
    piece: Piece


FieldKind: TypeAlias = Literal["text", "number", "integer", "yes or no", "choice", "choices"]
FieldValue: TypeAlias = str | int | float | bool | list[str] | None


@dataclass(frozen=True, slots=True)
class FormField:
    """A field of a form that a server asks the user to fill in.

    Attributes:
        name: The name as the server spells it.
        kind: The type of the value.
        title: The name for people; empty for ``name``.
        description: The server's description.
        options: The values to choose from, each with a name for people.
        default: The value if the user gives none; None without a default.
        is_required: Whether the form needs a value.
    """

    name: str
    kind: FieldKind
    title: str = ""
    description: str = ""
    options: tuple[tuple[str, str], ...] = ()
    default: FieldValue = None
    is_required: bool = False


@dataclass(frozen=True, slots=True)
class ServerQuestion:
    """A question of a server to the user: a form, or an address to open."""

    server: str
    message: str
    fields: tuple[FormField, ...] = ()
    url: str = ""


@dataclass(frozen=True, slots=True)
class ServerAnswer:
    """The user's answer; ``values`` are the values of the form's fields."""

    action: Literal["accept", "decline", "cancel"]
    values: Mapping[str, FieldValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SampleRequest:
    """A request of a server for text of the user's model; the request is data of the server."""

    server: str
    system: str
    messages: tuple[tuple[Literal["user", "assistant"], str], ...]
    max_tokens: int


@dataclass(frozen=True, slots=True)
class Sample:
    """The text that the model wrote for a server, and the model's name."""

    text: str
    model: str


class Caller(Protocol):
    """The session for which a server works at the moment."""

    def progress(self, words: str) -> None:
        """Receive the progress of the call."""
        ...

    async def answer(self, question: ServerQuestion) -> ServerAnswer:
        """Ask the user."""
        ...

    async def sample(self, request: SampleRequest) -> Sample:
        """Let the model answer; callers have checked that the definition allows this.

        Raises:
            McpError: The model did not answer.
        """
        ...


State: TypeAlias = Literal[
    "idle", "starting", "ready", "waiting", "needs login", "failed", "closed"
]
"""The state of a connection. ``waiting``: the connection broke, and the next attempt comes soon."""
