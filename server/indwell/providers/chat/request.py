"""Builds the body of a chat completions request (H11), and encodes each part once. Pure.

Only the parts of the last request are kept, and they are sent without being joined. The bytes
equal those of encoding the whole body, whatever was encoded before. Thread-safe: the kept parts are
replaced in one step.

The same request gives the same bytes. Layout: one system message; for each user message first its
    tool results, one ``tool`` message each, then at most one ``user`` message; assistant text with
    its calls. Reasoning is sent back only if the ``Dialect`` says so (H65). The bytes of a message
    depend on the dialect and its cache mark, never on its position.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from typing import Any, TypeAlias, assert_never

import msgspec

from indwell.lazy_pattern import lazy_pattern
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
from indwell.providers.chat.dialect import Dialect

SENT_B = 65_536  # bytes handed to the network at once, if the parts are smaller
_POINT_B = 65_536  # bytes of a body between two kept states of its digest

_Hash: TypeAlias = "hashlib.blake2b"
_Point: TypeAlias = tuple[int, _Hash]
"""The number of hashed parts, and the state after them, which never changes again."""


def digest_of(body: bytes) -> str:
    """Return the digest of a request's bytes, for the log; 1 ms per megabyte."""
    return _hash(body).hexdigest()


class RequestBody(msgspec.Struct, frozen=True):
    """The body of a request, in parts that it shares with the requests before and after it.

    Attributes:
        parts: Its bytes, in order.
        n_bytes: Their length.
        digest: The digest of the joined bytes, by ``digest_of``.
    """

    parts: tuple[bytes, ...]
    n_bytes: int
    digest: str

    def joined(self) -> bytes:
        """Return all bytes in one piece."""
        return b"".join(self.parts)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield what is sent, in pieces; another attempt may iterate again."""
        group: list[bytes] = []
        n_bytes = 0
        for part in self.parts:
            group.append(part)
            n_bytes += len(part)
            if n_bytes >= SENT_B:
                yield group[0] if len(group) == 1 else b"".join(group)
                group, n_bytes = [], 0
        if group:
            yield b"".join(group)


class _KeptParts(msgspec.Struct, frozen=True):
    """The parts of one request: the beginning with the system message, the messages, the tools."""

    dialect: Dialect = Dialect()
    system: Sequence[Text] = ()
    system_marked: bool = False
    system_bytes: bytes = b""
    tools: Sequence[ToolSpec] = ()
    tools_marked: bool = False
    tools_bytes: bytes = b""
    head: bytes = b""
    messages: tuple[Message, ...] = ()
    marked: frozenset[int] = frozenset()
    parts: tuple[bytes, ...] = ()
    points: tuple[_Point, ...] = ()
    n_bytes: int = 0


class RequestEncoder:
    """Encodes the requests of one endpoint, one after the other."""

    def __init__(self) -> None:
        self._kept = _KeptParts()
        self._encode = msgspec.json.Encoder().encode

    @property
    def n_bytes(self) -> int:
        """The length of the last body."""
        return self._kept.n_bytes

    def n_new(self, request: Request, dialect: Dialect) -> int:
        """Estimate how many characters ``body`` would have to encode, not counting the marks."""
        kept = self._kept.messages if dialect == self._kept.dialect else ()
        n_same = _n_same(kept, request.messages)
        return sum(_n_chars(message) for message in request.messages[n_same:])

    def encode(self, request: Request, dialect: Dialect) -> bytes:
        """Return the body of the request: ``chat_body`` as JSON."""
        return self.body(request, dialect).joined()

    def body(self, request: Request, dialect: Dialect) -> RequestBody:
        """Return the body in parts; the work is proportional to what the last request lacked."""
        last = self._kept if self._kept.dialect == dialect else _KeptParts(dialect)
        marks = marks_of(request, dialect)
        system = last.system_bytes
        if (request.system, marks.system) != (last.system, last.system_marked):
            system = self._encode(system_entries(request.system, marked=marks.system))[1:-1]
        tools = last.tools_bytes
        if (request.tools, marks.tools) != (last.tools, last.tools_marked):
            tools = self._encode(tool_entries(request.tools, marked=marks.tools))
        marked = frozenset(marks.messages)
        n_same = _n_same(last.messages, request.messages)
        other = sorted(one for one in marked ^ last.marked if one < n_same)
        parts = list(last.parts[:n_same])
        for index in (*other, *range(n_same, len(request.messages))):
            part = self._part(request, dialect, index, is_marked=index in marked)
            parts[index : index + 1] = (part,)
        between = b"," if system and parts else b""
        head = b"".join((b'{"model":', self._encode(clean(request.model)), b',"messages":['))
        head = b"".join((head, system, between))
        n_stable = min(other, default=n_same) if head == last.head else -1
        points, digest = _hashed(head, parts, [one for one in last.points if one[0] <= n_stable])
        end = self._end(request, dialect, tools)
        digest.update(end)
        whole = (head, *parts, end)
        n_bytes = sum(map(len, whole))
        self._kept = _KeptParts(
            dialect=dialect,
            system=request.system,
            system_marked=marks.system,
            system_bytes=system,
            tools=request.tools,
            tools_marked=marks.tools,
            tools_bytes=tools,
            head=head,
            messages=request.messages,
            marked=marked,
            parts=tuple(parts),
            points=points,
            n_bytes=n_bytes,
        )
        return RequestBody(whole, n_bytes, digest.hexdigest())

    def _part(self, request: Request, dialect: Dialect, index: int, *, is_marked: bool) -> bytes:
        """Return the entries of a message, behind a comma if it is not the first."""
        entries = message_entries(request.messages[index], dialect, marked=is_marked)
        encoded = self._encode(entries)
        return b"".join((b"," if index else b"", memoryview(encoded)[1:-1]))

    def _end(self, request: Request, dialect: Dialect, tools: bytes) -> bytes:
        """Return what follows the messages."""
        before = (b'],"tools":', tools) if request.tools else (b"]",)
        return b"".join((*before, b",", self._encode(options(request, dialect))[1:]))


def _hash(data: bytes) -> _Hash:
    return hashlib.blake2b(data, digest_size=16)


def _hashed(
    head: bytes, parts: Sequence[bytes], points: list[_Point]
) -> tuple[tuple[_Point, ...], _Hash]:
    """Return the digest's state after the parts, from the last kept state on."""
    begun, digest = (points[-1][0], points[-1][1].copy()) if points else (0, _hash(head))
    n_bytes = 0
    for number, part in enumerate(parts[begun:], begun + 1):
        digest.update(part)
        n_bytes += len(part)
        if n_bytes >= _POINT_B:
            points.append((number, digest.copy()))
            n_bytes = 0
    return tuple(points), digest


def _n_same(kept: Sequence[Message], messages: Sequence[Message]) -> int:
    """Count the leading messages that equal the kept ones."""
    low, high = 0, min(len(kept), len(messages))
    if kept[:high] == messages[:high]:  # mostly so; it takes 10 ns a message
        return high
    while low < high - 1:
        middle = (low + high) // 2
        if kept[low:middle] == messages[low:middle]:
            low = middle
        else:
            high = middle
    return low


def _n_chars(message: Message) -> int:
    n_chars = 0
    for block in message.blocks:
        text = block.data if isinstance(block, Image) else getattr(block, "text", "")
        n_chars += len(text) + len(getattr(block, "arguments", ""))
    return n_chars


_MARK = {"type": "ephemeral"}  # the only kind of cache mark; lives 5 minutes
_INVALID_CHARS = 10_000  # characters of arguments that are no JSON; the start shows the mistake
_BLANK_LINE = "\n\n"
_NINE = lazy_pattern(r"[A-Za-z0-9]{9}")
_BRIDGE = "I have the results."  # an assistant message for endpoints that require one
_NO_SIGNATURE = {"google": {"thought_signature": "skip_thought_signature_validator"}}
"""The signature that Gemini accepts for a call that it did not make (its documentation)."""


def chat_body(request: Request, dialect: Dialect) -> dict[str, Any]:
    """Return the JSON object to send; the same request and dialect give the same bytes."""
    marks = marks_of(request, dialect)
    messages = system_entries(request.system, marked=marks.system)
    for index, message in enumerate(request.messages):
        messages += message_entries(message, dialect, marked=index in marks.messages)
    body: dict[str, Any] = {"model": clean(request.model), "messages": messages}
    if request.tools:
        body["tools"] = tool_entries(request.tools, marked=marks.tools)
    return body | options(request, dialect)


def marks_of(request: Request, dialect: Dialect) -> Anchors:
    """Return the cache marks that the dialect allows."""
    return request.anchors if dialect.cache_marks else Anchors()


def system_entries(system: Sequence[Text], *, marked: bool) -> list[dict[str, Any]]:
    """Return the one system message, if there is a system prompt."""
    if not system:
        return []
    words = _joined(system)
    return [{"role": "system", "content": [_marked(_text_part(words))] if marked else words}]


def message_entries(message: Message, dialect: Dialect, *, marked: bool) -> list[dict[str, Any]]:
    """Return what one message becomes on the wire: at least one entry."""
    if message.role == "assistant":
        entries = [_assistant(message.blocks, dialect)]
    else:
        entries = list(_user(message.blocks, dialect))
    if marked:
        _mark_last(entries)
    return entries


def tool_entries(tools: Sequence[ToolSpec], *, marked: bool) -> list[dict[str, Any]]:
    """Return the schemas of the tools; ``marked`` puts a cache mark on the last one."""
    entries = [_tool(spec) for spec in tools]
    if marked:
        entries[-1]["cache_control"] = _MARK
    return entries


def options(request: Request, dialect: Dialect) -> dict[str, Any]:
    """Return the fields after the messages and tools."""
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
    """Return ``text`` without lone surrogates, which undecodable bytes leave and UTF-8 forbids."""
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
    """Return an id in this endpoint's form, always the same, whichever endpoint made it."""
    if dialect.nine_ids and not _NINE.fullmatch(id_):
        return hashlib.sha256(id_.encode("utf-8", "replace")).hexdigest()[:9]
    if len(id_) > dialect.id_limit:
        return "call_" + hashlib.sha256(id_.encode("utf-8", "replace")).hexdigest()[:24]
    return clean(id_)


def _arguments(text: str) -> str:
    """Return the arguments as the model wrote them, unless they are no JSON object.

    Servers that decode them for a prompt template (vLLM, Ollama) would refuse every further request
    of the session, so broken arguments (or too deeply nested ones) are sent inside an object, with
    their beginning at least.
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
    """Mark the last part of a message's last entry; calls alone can carry no mark."""
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
