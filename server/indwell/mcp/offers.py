"""Types for the offers of MCP servers: tools, resources, prompts and content blocks. Pure.

The texts in the values come from the server, are untrusted, and are not escaped yet.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from indwell.errors import UserError


class McpError(UserError):
    """An MCP server cannot be started, does not answer, or refused a request."""


class NeedsLogin(McpError):
    """A server requires a login first."""


@dataclass(frozen=True, slots=True)
class TextPiece:
    """A text; ``uri`` is the address of the resource that contains the text."""

    text: str
    uri: str = ""


@dataclass(frozen=True, slots=True)
class DataPiece:
    """A binary content in base64, with its media type; models can read pictures."""

    media_type: str
    data: str
    uri: str = ""


@dataclass(frozen=True, slots=True)
class LinkPiece:
    """A reference to a resource, without the resource's content."""

    uri: str
    name: str
    description: str = ""
    media_type: str = ""


Piece: TypeAlias = TextPiece | DataPiece | LinkPiece


@dataclass(frozen=True, slots=True)
class CallResult:
    """The result of a tool call: content blocks, and perhaps structured content."""

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
        claims: What the server claims about the tool, such as ``read-only``; only people see
            claims.
    """

    name: str
    description: str
    schema: Mapping[str, Any]
    claims: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OfferedResource:
    """A resource of a server; the address of a template contains ``{parameters}``."""

    uri: str
    name: str
    description: str = ""
    media_type: str = ""
    is_template: bool = False


@dataclass(frozen=True, slots=True)
class PromptArgument:
    """One argument of a server's prompt."""

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
        title: The name for people; empty means ``name``.
        description: The server's description.
        options: The values to choose from, each with a name for people.
        default: The value used if the user gives no value, or None if there is no default.
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
    """The user's answer; ``values`` are the values of the form's fields, by name."""

    action: Literal["accept", "decline", "cancel"]
    values: Mapping[str, FieldValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SampleRequest:
    """A server's request for text of the user's model; the request is the server's text."""

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
    """The session for which a server runs a call now."""

    def progress(self, words: str) -> None:
        """Show the progress of the call."""
        ...

    async def answer(self, question: ServerQuestion) -> ServerAnswer:
        """Ask the user the server's question."""
        ...

    async def sample(self, request: SampleRequest) -> Sample:
        """Ask the model to answer; the caller has checked that the definition allows sampling.

        Raises:
            McpError: The model did not answer.
        """
        ...


State: TypeAlias = Literal[
    "idle", "starting", "ready", "waiting", "needs login", "failed", "closed"
]
"""The state of a connection. ``waiting``: the connection broke, and the next attempt comes soon."""
