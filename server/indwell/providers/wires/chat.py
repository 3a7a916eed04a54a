"""Writes requests in the format of chat completions (H11). Pure.

One system message; for each user message first its tool results, one ``tool`` message each, then at
most one ``user`` message; assistant text with its calls. Reasoning is sent back only if the
``Dialect`` says so (H65).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, assert_never

import msgspec

from indwell.messages import (
    Block,
    CacheLife,
    Image,
    Message,
    Request,
    Text,
    Thinking,
    ToolResult,
    ToolSpec,
    ToolUse,
)
from indwell.providers.wires.dialect import Dialect
from indwell.providers.wires.layout import (
    BLANK_LINE,
    arguments_text,
    call_id,
    clean,
    joined,
    marked_part,
)

_BRIDGE = "I have the results."  # an assistant message for endpoints that require one
_NO_SIGNATURE = {"google": {"thought_signature": "skip_thought_signature_validator"}}
"""The signature that Gemini accepts for a call that it did not make (its documentation)."""


PATH = "/chat/completions"


def opening(first: bytes, system: bytes, *, has_messages: bool) -> bytes:
    """Return the JSON in front of the messages; the system prompt is the first of them."""
    between = b"," if system and has_messages else b""
    return b"".join((b"{", first, b',"messages":[', system[1:-1], between))


def system_entries(
    system: Sequence[Text], *, marked: bool, life: CacheLife = ""
) -> list[dict[str, Any]]:
    """Return the one system message, if there is a system prompt."""
    if not system:
        return []
    words = joined(system)
    content = [marked_part(_text_part(words), life)] if marked else words
    return [{"role": "system", "content": content}]


def message_entries(
    message: Message,
    dialect: Dialect,
    *,
    marked: bool,
    model: str = "",  # noqa: ARG001 - see Layout
) -> list[dict[str, Any]]:
    """Return the entries of one message on the wire, at least one."""
    if message.role == "assistant":
        entries = [_assistant(message.blocks, dialect)]
    else:
        entries = list(_user(message.blocks, dialect))
    if marked:
        _mark_last(entries, dialect.life)
    return entries


def tool_entries(
    tools: Sequence[ToolSpec], *, marked: bool, life: CacheLife = ""
) -> list[dict[str, Any]]:
    """Return the schemas of the tools; ``marked`` puts a cache mark on the last one."""
    entries = [_tool(spec) for spec in tools]
    if marked:
        entries[-1] = marked_part(entries[-1], life)
    return entries


def options(request: Request, dialect: Dialect) -> dict[str, Any]:
    """Return the fields after the messages and tools."""
    body: dict[str, Any] = {}
    if request.tools and request.tool_choice == "none" and dialect.tool_choice:
        body["tool_choice"] = "none"
    body[dialect.output_limit] = request.max_output
    if dialect.cache_key and request.cache_key:
        body["prompt_cache_key"] = clean(request.cache_key)
    effort = dialect.effort(request.effort)
    if effort and dialect.effort_field == "reasoning_effort":
        body["reasoning_effort"] = effort
    elif effort and dialect.effort_field:
        body["reasoning"] = {"effort": effort}
    if request.verbosity and dialect.verbosity:
        body["verbosity"] = request.verbosity
    body["stream"] = True
    if dialect.progress:
        body["return_progress"] = True
    if dialect.usage_option:
        body["stream_options"] = {"include_usage": True}
    return body


def _user(blocks: Iterable[Block], dialect: Dialect) -> Iterator[dict[str, Any]]:
    rest: list[Text | Image] = []
    has_results = False
    for block in blocks:
        match block:
            case ToolResult():
                has_results = True
                id_ = call_id(block.tool_use_id, dialect)
                yield {"role": "tool", "tool_call_id": id_, "content": clean(block.text)}
            case Text() | Image():
                rest.append(block)
            case ToolUse() | Thinking():
                raise AssertionError(f"a user message cannot hold {type(block).__name__}")
            case _:
                assert_never(block)
    if rest and has_results and dialect.bridge:
        yield {"role": "assistant", "content": _BRIDGE}
    if rest:
        yield {"role": "user", "content": _content(rest)}


def _assistant(blocks: Sequence[Block], dialect: Dialect) -> dict[str, Any]:
    words = joined(block for block in blocks if isinstance(block, Text))
    uses = [block for block in blocks if isinstance(block, ToolUse)]
    no_words = None if uses and dialect.null_content else ""
    entry: dict[str, Any] = {"role": "assistant", "content": words or no_words}
    thinking = [block.text for block in blocks if isinstance(block, Thinking)]
    if dialect.reasoning_back and thinking:
        entry[dialect.reasoning_back] = clean(BLANK_LINE.join(thinking))
    if uses:
        entry["tool_calls"] = [_call(use, dialect) for use in uses]
        if dialect.call_extras and not any(use.extra for use in uses):
            entry["tool_calls"][0]["extra_content"] = _NO_SIGNATURE
    return entry


def _call(use: ToolUse, dialect: Dialect) -> dict[str, Any]:
    function = {"name": clean(use.name), "arguments": arguments_text(use.arguments)}
    call: dict[str, Any] = {
        "id": call_id(use.id, dialect),
        "type": "function",
        "function": function,
    }
    if use.extra and dialect.call_extras:
        call["extra_content"] = msgspec.Raw(use.extra.encode())
    return call


def _content(blocks: Iterable[Text | Image]) -> str | list[dict[str, Any]]:
    blocks = tuple(blocks)
    texts = tuple(block for block in blocks if isinstance(block, Text))
    if len(texts) == len(blocks):
        return joined(texts)
    return [_part(block) for block in blocks]


def _part(block: Text | Image) -> dict[str, Any]:
    match block:
        case Text():
            return _text_part(clean(block.text))
        case Image():
            url = f"data:{block.media_type};base64,{block.data}"
            return {"type": "image_url", "image_url": {"url": url}}
        case _:
            assert_never(block)


def _mark_last(entries: list[dict[str, Any]], life: CacheLife) -> None:
    """Mark the last part of a message's last entry; calls alone can carry no mark."""
    entry = entries[-1]
    content = entry["content"]
    if isinstance(content, str) and content:
        entry["content"] = [marked_part(_text_part(content), life)]
    elif isinstance(content, list):
        entry["content"] = [*content[:-1], marked_part(content[-1], life)]


def _text_part(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def _tool(spec: ToolSpec) -> dict[str, Any]:
    parameters = msgspec.json.decode(spec.parameters)
    function = {"name": spec.name, "description": spec.description, "parameters": parameters}
    return {"type": "function", "function": function}
