"""Converts the SDK's values to those of ``offers``, and the user's answers back. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from indwell.mcp.offers import (
    CallResult,
    DataPiece,
    FieldKind,
    FieldValue,
    FormField,
    LinkPiece,
    McpError,
    OfferedPrompt,
    OfferedResource,
    OfferedTool,
    Piece,
    PromptArgument,
    PromptMessage,
    SampleRequest,
    ServerQuestion,
    TextPiece,
)
from mcp import types

MOST_FIELDS = 20  # the limit of fields in a form
MOST_SAMPLE_TOKENS = 8_000


def offered_tool(tool: types.Tool) -> OfferedTool:
    """Convert a tool."""
    return OfferedTool(
        name=tool.name,
        description=tool.description or tool.title or "",
        schema=tool.input_schema,
        claims=_claims(tool.annotations),
    )


def _claims(hints: types.ToolAnnotations | None) -> tuple[str, ...]:
    if hints is None:
        return ()
    found = (
        ("read-only", hints.read_only_hint is True),
        ("destructive", hints.destructive_hint is True and hints.read_only_hint is not True),
        ("reaches other systems", hints.open_world_hint is True),
    )
    return tuple(words for words, is_claimed in found if is_claimed)


def offered_resource(resource: types.Resource | types.ResourceTemplate) -> OfferedResource:
    """Convert a resource or a template."""
    is_template = isinstance(resource, types.ResourceTemplate)
    uri = resource.uri_template if isinstance(resource, types.ResourceTemplate) else resource.uri
    return OfferedResource(
        uri=str(uri),
        name=resource.title or resource.name,
        description=resource.description or "",
        media_type=resource.mime_type or "",
        is_template=is_template,
    )


def offered_prompt(prompt: types.Prompt) -> OfferedPrompt:
    """Convert a prompt."""
    arguments = tuple(
        PromptArgument(one.name, one.description or "", one.required is True)
        for one in prompt.arguments or ()
    )
    return OfferedPrompt(prompt.name, prompt.description or prompt.title or "", arguments)


def call_result(result: types.CallToolResult) -> CallResult:
    """Convert the result of a call."""
    return CallResult(
        pieces=tuple(map(piece, result.content)),
        structured=result.structured_content,
        is_error=result.is_error is True,
    )


def resource_pieces(
    contents: Iterable[types.TextResourceContents | types.BlobResourceContents],
) -> tuple[Piece, ...]:
    """Convert the contents of a resource."""
    return tuple(map(_resource_piece, contents))


def _resource_piece(content: types.TextResourceContents | types.BlobResourceContents) -> Piece:
    uri = str(content.uri)
    if isinstance(content, types.TextResourceContents):
        return TextPiece(content.text, uri)
    return DataPiece(content.mime_type or "application/octet-stream", content.blob, uri)


def piece(block: types.ContentBlock) -> Piece:
    """Convert a block of content."""
    match block:
        case types.TextContent(text=text):
            return TextPiece(text)
        case types.ImageContent(data=data, mime_type=kind):
            return DataPiece(kind, data)
        case types.AudioContent(data=data, mime_type=kind):
            return DataPiece(kind, data)
        case types.EmbeddedResource(resource=resource):
            return _resource_piece(resource)
        case types.ResourceLink():
            return LinkPiece(
                str(block.uri), block.name, block.description or "", block.mime_type or ""
            )


def prompt_messages(result: types.GetPromptResult) -> tuple[PromptMessage, ...]:
    """Convert the messages of a prompt."""
    return tuple(PromptMessage(one.role, piece(one.content)) for one in result.messages)


def server_question(server: str, asked: types.ElicitRequestParams) -> ServerQuestion:
    """Convert a server's question to the user.

    Raises:
        McpError: The form is one that people cannot fill in.
    """
    if isinstance(asked, types.ElicitRequestURLParams):
        return ServerQuestion(server, asked.message, url=str(asked.url))
    schema = asked.requested_schema
    properties = schema.get("properties", {})
    required = schema.get("required", [])
    if not isinstance(properties, dict) or len(properties) > MOST_FIELDS:
        raise McpError(f"the form of the MCP server {server!r} cannot be shown")
    fields = tuple(
        _field(name, node, is_required=isinstance(required, list) and name in required)
        for name, node in properties.items()
        if isinstance(node, dict)
    )
    return ServerQuestion(server, asked.message, fields)


_KINDS: Mapping[str, FieldKind] = {
    "number": "number",
    "integer": "integer",
    "boolean": "yes or no",
}


def _field(name: str, node: Mapping[str, Any], *, is_required: bool) -> FormField:
    items = node.get("items")
    many = isinstance(items, dict)
    options = _options(items if isinstance(items, dict) else node)
    kind: FieldKind = _KINDS.get(str(node.get("type")), "text")
    if many or options:
        kind = "choices" if many else "choice"
    return FormField(
        name=name,
        kind=kind,
        title=_text(node, "title"),
        description=_text(node, "description"),
        options=options,
        default=_default(node),
        is_required=is_required,
    )


def _options(node: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return the values and titles of a choice, from ``enum`` or titled constants."""
    titled = node.get("oneOf", node.get("anyOf"))
    if isinstance(titled, list):
        pairs = (one for one in titled if isinstance(one, dict) and "const" in one)
        return tuple((str(one["const"]), str(one.get("title", one["const"]))) for one in pairs)
    values = node.get("enum")
    if not isinstance(values, list):
        return ()
    names = node.get("enumNames")
    shown = names if isinstance(names, list) and len(names) == len(values) else values
    return tuple(zip(map(str, values), map(str, shown), strict=True))


def _text(node: Mapping[str, Any], name: str) -> str:
    value = node.get(name)
    return value if isinstance(value, str) else ""


def _default(node: Mapping[str, Any]) -> FieldValue:
    value = node.get("default")
    if isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return value
    return None


def sample_request(server: str, asked: types.CreateMessageRequestParams) -> SampleRequest:
    """Convert a server's request for text of the model.

    Raises:
        McpError: The request asks for more than text.
    """
    if asked.tools:
        raise McpError("a sample with tools is not supported")
    messages = tuple((one.role, _sample_text(one.content)) for one in asked.messages)
    most = max(1, min(asked.max_tokens, MOST_SAMPLE_TOKENS))
    return SampleRequest(server, asked.system_prompt or "", messages, most)


def _sample_text(content: object) -> str:
    blocks = content if isinstance(content, Sequence) else (content,)
    if not all(isinstance(one, types.TextContent) for one in blocks):
        raise McpError("a sample of anything but text is not supported")
    return "\n".join(one.text for one in blocks if isinstance(one, types.TextContent))
