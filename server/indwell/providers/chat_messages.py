"""A request as the body of a chat completions call (H11); pure.

The same request gives the same bytes. Layout: one system message; of each user message first its
tool results, one ``tool`` message each, then at most one ``user`` message; assistant words with
their calls. Reasoning is not sent back (H65). What an endpoint takes beyond the common core is its
``Dialect``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal, assert_never

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
from indwell.providers.endpoint import OPENAI_URL, host_of, is_openai

_MARK = {"type": "ephemeral"}  # the only kind of cache mark; lives 5 minutes
_INVALID_CHARS = 10_000  # of arguments that are no JSON; their beginning shows the mistake
_BLANK_LINE = "\n\n"


class Dialect(msgspec.Struct, frozen=True):
    """What one endpoint understands beyond the common core of chat completions.

    Attributes:
        cache_marks: Takes ``cache_control`` on content parts and tools.
        cache_key: Takes ``prompt_cache_key``; others may refuse fields that they do not know.
        output_limit: The field that bounds the reply.
        usage_option: Takes ``stream_options``; found out at the first refusal (H39).
    """

    cache_marks: bool = False
    cache_key: bool = False
    output_limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    usage_option: bool = True


def dialect_for(base_url: str | None, model: str = "") -> Dialect:
    """The dialect of a well-known endpoint, else the common core; None is OpenAI itself.

    OpenRouter hands ``cache_control`` on to Anthropic's models; OpenAI's own endpoint wants
    ``max_completion_tokens``, which older compatible servers do not know.
    """
    url = base_url or OPENAI_URL
    if is_openai(url):
        return Dialect(cache_key=True, output_limit="max_completion_tokens")
    return Dialect(cache_marks=host_of(url) == "openrouter.ai" and model.startswith("anthropic/"))


def chat_body(request: Request, dialect: Dialect) -> dict[str, Any]:
    """The JSON object to send; the same request and dialect give the same bytes."""
    marks = request.anchors if dialect.cache_marks else Anchors()
    body: dict[str, Any] = {"model": _clean(request.model)}
    body["messages"] = list(_messages(request, marks))
    if request.tools:
        body["tools"] = [_tool(spec) for spec in request.tools]
        if marks.tools:
            body["tools"][-1]["cache_control"] = _MARK
        if request.tool_choice == "none":
            body["tool_choice"] = "none"
    body[dialect.output_limit] = request.max_output
    if dialect.cache_key and request.cache_key:
        body["prompt_cache_key"] = _clean(request.cache_key)
    body["stream"] = True
    if dialect.usage_option:
        body["stream_options"] = {"include_usage": True}
    return body


def _messages(request: Request, marks: Anchors) -> Iterator[dict[str, Any]]:
    if request.system:
        words = _joined(request.system)
        content = [_marked(_text_part(words))] if marks.system else words
        yield {"role": "system", "content": content}
    for index, message in enumerate(request.messages):
        entries = list(_entries(message))
        if index in marks.messages:
            _mark_last(entries)
        yield from entries


def _entries(message: Message) -> Iterator[dict[str, Any]]:
    if message.role == "assistant":
        yield _assistant(message.blocks)
        return
    rest: list[Text | Image] = []
    for block in message.blocks:
        match block:
            case ToolResult():
                text = _clean(block.text)
                yield {"role": "tool", "tool_call_id": block.tool_use_id, "content": text}
            case Text() | Image():
                rest.append(block)
            case ToolUse() | Thinking():
                raise AssertionError(f"a user message cannot hold {type(block).__name__}")
            case _:
                assert_never(block)
    if rest:
        yield {"role": "user", "content": _content(rest)}


def _assistant(blocks: Iterable[Block]) -> dict[str, Any]:
    blocks = tuple(blocks)
    words = _joined(block for block in blocks if isinstance(block, Text))
    calls = [_call(block) for block in blocks if isinstance(block, ToolUse)]
    if not calls:
        return {"role": "assistant", "content": words}
    return {"role": "assistant", "content": words or None, "tool_calls": calls}


def _call(use: ToolUse) -> dict[str, Any]:
    function = {"name": _clean(use.name), "arguments": _arguments(use.arguments)}
    return {"id": use.id, "type": "function", "function": function}


def _arguments(text: str) -> str:
    """The arguments as the model wrote them, unless they are no JSON object.

    Servers that decode them for a prompt template (vLLM, Ollama) would then refuse every further
    request of the session, so a broken text (or one nested too deeply to check) travels inside an
    object, its beginning at least.
    """
    try:
        msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return msgspec.json.encode({"invalid_json": _clean(text[:_INVALID_CHARS])}).decode()
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
            return _text_part(_clean(block.text))
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
    return _BLANK_LINE.join(_clean(block.text) for block in blocks)


def _clean(text: str) -> str:
    """``text`` without lone surrogates, which undecodable bytes leave behind and UTF-8 forbids."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
