"""A request as the body of a chat completions call (H11); pure.

The same request gives the same bytes. Layout: one system message; of each user message first its
tool results, one ``tool`` message each, then at most one ``user`` message; assistant words with
their calls. Reasoning is sent back only where the ``Dialect`` says so (H65). How a message is
written depends on the dialect and on whether it carries a cache mark, never on its place.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, assert_never

import msgspec

from indwell.messages import (
    Anchors,
    Block,
    Image,
    Message,
    Request,
    Text,
    Thinking,
    ToolResult,
    ToolSpec,
    ToolUse,
)
from indwell.providers.dialect import Dialect

_MARK = {"type": "ephemeral"}  # the only kind of cache mark; lives 5 minutes
_INVALID_CHARS = 10_000  # of arguments that are no JSON; their beginning shows the mistake
_BLANK_LINE = "\n\n"
_NINE = re.compile(r"[A-Za-z0-9]{9}")
_BRIDGE = "I have the results."  # what the assistant says where its silence is refused
_NO_SIGNATURE = {"google": {"thought_signature": "skip_thought_signature_validator"}}
"""What Gemini takes for a call that it did not make itself (its page on thought signatures)."""


def chat_body(request: Request, dialect: Dialect) -> dict[str, Any]:
    """The JSON object to send; the same request and dialect give the same bytes."""
    marks = marks_of(request, dialect)
    messages = system_entries(request.system, marked=marks.system)
    for index, message in enumerate(request.messages):
        messages += message_entries(message, dialect, marked=index in marks.messages)
    body: dict[str, Any] = {"model": clean(request.model), "messages": messages}
    if request.tools:
        body["tools"] = tool_entries(request.tools, marked=marks.tools)
    return body | options(request, dialect)


def marks_of(request: Request, dialect: Dialect) -> Anchors:
    """The cache marks that are really set."""
    return request.anchors if dialect.cache_marks else Anchors()


def system_entries(system: Sequence[Text], *, marked: bool) -> list[dict[str, Any]]:
    """The one system message, if there are system words."""
    if not system:
        return []
    words = _joined(system)
    return [{"role": "system", "content": [_marked(_text_part(words))] if marked else words}]


def message_entries(message: Message, dialect: Dialect, *, marked: bool) -> list[dict[str, Any]]:
    """What one message becomes on the wire: at least one entry."""
    if message.role == "assistant":
        entries = [_assistant(message.blocks, dialect)]
    else:
        entries = list(_user(message.blocks, dialect))
    if marked:
        _mark_last(entries)
    return entries


def tool_entries(tools: Sequence[ToolSpec], *, marked: bool) -> list[dict[str, Any]]:
    """The schemas of the tools, the last one marked if the cache may end there."""
    entries = [_tool(spec) for spec in tools]
    if marked:
        entries[-1]["cache_control"] = _MARK
    return entries


def options(request: Request, dialect: Dialect) -> dict[str, Any]:
    """Everything behind the messages and tools."""
    body: dict[str, Any] = {}
    if request.tools and request.tool_choice == "none" and dialect.tool_choice:
        body["tool_choice"] = "none"
    body[dialect.output_limit] = request.max_output
    if dialect.cache_key and request.cache_key:
        body["prompt_cache_key"] = clean(request.cache_key)
    body["stream"] = True
    if dialect.usage_option:
        body["stream_options"] = {"include_usage": True}
    return body


def clean(text: str) -> str:
    """``text`` without lone surrogates, which undecodable bytes leave behind and UTF-8 forbids."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _user(blocks: Iterable[Block], dialect: Dialect) -> Iterator[dict[str, Any]]:
    rest: list[Text | Image] = []
    has_results = False
    for block in blocks:
        match block:
            case ToolResult():
                has_results = True
                id_ = _call_id(block.tool_use_id, dialect)
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
    words = _joined(block for block in blocks if isinstance(block, Text))
    uses = [block for block in blocks if isinstance(block, ToolUse)]
    no_words = None if uses and dialect.null_content else ""
    entry: dict[str, Any] = {"role": "assistant", "content": words or no_words}
    thinking = [block.text for block in blocks if isinstance(block, Thinking)]
    if dialect.reasoning_back and thinking:
        entry[dialect.reasoning_back] = clean(_BLANK_LINE.join(thinking))
    if uses:
        entry["tool_calls"] = [_call(use, dialect) for use in uses]
        if dialect.call_extras and not any(use.extra for use in uses):
            entry["tool_calls"][0]["extra_content"] = _NO_SIGNATURE
    return entry


def _call(use: ToolUse, dialect: Dialect) -> dict[str, Any]:
    function = {"name": clean(use.name), "arguments": _arguments(use.arguments)}
    call: dict[str, Any] = {
        "id": _call_id(use.id, dialect),
        "type": "function",
        "function": function,
    }
    if use.extra and dialect.call_extras:
        call["extra_content"] = msgspec.Raw(use.extra.encode())
    return call


def _call_id(id_: str, dialect: Dialect) -> str:
    """The id as this endpoint takes it: the same for the same, whatever endpoint made it."""
    if dialect.nine_ids and not _NINE.fullmatch(id_):
        return hashlib.sha256(id_.encode("utf-8", "replace")).hexdigest()[:9]
    if len(id_) > dialect.id_limit:
        return "call_" + hashlib.sha256(id_.encode("utf-8", "replace")).hexdigest()[:24]
    return clean(id_)


def _arguments(text: str) -> str:
    """The arguments as the model wrote them, unless they are no JSON object.

    Servers that decode them for a prompt template (vLLM, Ollama) would then refuse every further
    request of the session, so a broken text (or one nested too deeply to check) travels inside an
    object, its beginning at least.
    """
    try:
        msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return msgspec.json.encode({"invalid_json": clean(text[:_INVALID_CHARS])}).decode()
    return text


def _content(blocks: Iterable[Text | Image]) -> str | list[dict[str, Any]]:
    blocks = tuple(blocks)
    texts = tuple(block for block in blocks if isinstance(block, Text))
    if len(texts) == len(blocks):
        return _joined(texts)
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


def _mark_last(entries: list[dict[str, Any]]) -> None:
    """Mark the end of a message: its last entry's last part. Calls alone can carry no mark."""
    entry = entries[-1]
    content = entry["content"]
    if isinstance(content, str) and content:
        entry["content"] = [_marked(_text_part(content))]
    elif isinstance(content, list):
        entry["content"] = [*content[:-1], _marked(content[-1])]


def _marked(part: dict[str, Any]) -> dict[str, Any]:
    return {**part, "cache_control": _MARK}


def _text_part(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def _tool(spec: ToolSpec) -> dict[str, Any]:
    parameters = msgspec.json.decode(spec.parameters)
    function = {"name": spec.name, "description": spec.description, "parameters": parameters}
    return {"type": "function", "function": function}


def _joined(blocks: Iterable[Text]) -> str:
    return _BLANK_LINE.join(clean(block.text) for block in blocks)
