"""Chat completions: writes requests (H11), and reads the stream into a reply (H38, H39). Pure.

A request has one system message. A message of the user becomes one ``tool`` message for each tool
result, then at most one ``user`` message. An assistant message has text and calls. Reasoning is
sent back only if the ``Dialect`` says so (H65).

An event of the stream is a chunk: a decoded JSON object. Local servers that do not know the model's
template send reasoning between ``<think>`` and ``</think>``. Only tags at the beginning of a reply
are recognised.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal, assert_never

import msgspec

from indwell.messages import (
    Block,
    CacheLife,
    Finish,
    Image,
    Message,
    Request,
    Text,
    Thinking,
    ToolResult,
    ToolSpec,
    ToolUse,
    Usage,
)
from indwell.providers.base import CallStarted, PromptProgress, StreamEvent
from indwell.providers.wires.dialect import Dialect
from indwell.providers.wires.layout import (
    BLANK_LINE,
    arguments_text,
    call_id,
    clean,
    joined,
    marked_part,
)
from indwell.providers.wires.reply import GrowingReply, count, thinking_tokens
from indwell.providers.wires.tool_calls import GrowingText, delta_of

# Some endpoints require an assistant message with this text before the user's message.
_BRIDGE = "I have the results."
_NO_SIGNATURE = {"google": {"thought_signature": "skip_thought_signature_validator"}}
"""The signature that Gemini accepts for calls of other models, by Gemini's documentation."""


PATH = "/chat/completions"


def opening(first: bytes, system: bytes, *, has_messages: bool) -> bytes:
    """Return the JSON before the messages; the system prompt is the first message."""
    between = b"," if system and has_messages else b""
    return b"".join((b"{", first, b',"messages":[', system[1:-1], between))


def system_entries(
    system: Sequence[Text], *, marked: bool, life: CacheLife = ""
) -> list[dict[str, Any]]:
    """Return the system message as a list, or an empty list if there is no system prompt."""
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
    """Return the entries of one message in the request, at least one entry."""
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
    """Return the schemas of the tools; ``marked`` adds ``cache_control`` to the last schema."""
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
    """Add ``cache_control`` to the last part of a message's last entry, if it is not a call."""
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


CHOICES_LIMIT = 64  # At most 64 choices of one event are examined; the request asks for one choice.
PARTS_LIMIT = 1_000  # One event has at most 1,000 parts of calls or of content.

_REASONING = ("reasoning_content", "reasoning", "thinking", "reasoning_details")


class ChatReply(GrowingReply):
    """The received part of one reply.

    Args:
        dialect: The endpoint's dialect.
        tools: The tools that the model may call.
    """

    broken: ClassVar[frozenset[str]] = frozenset(
        {
            "error",  # OpenRouter and Mistral send this reason.
            "network_error",  # GLM sends this reason.
            "insufficient_system_resource",  # DeepSeek sends this reason.
            "malformed_function_call",  # Gemini sends this reason.
        }
    )
    finishes: ClassVar[Mapping[str, Finish]] = {
        "length": "length",
        "max_tokens": "length",
        "model_length": "length",  # Mistral sends this reason.
        "content_filter": "filtered",
        "safety": "filtered",  # Gemini sends this reason.
        "sensitive": "filtered",  # GLM sends this reason.
    }

    def __init__(self, dialect: Dialect | None = None, tools: Sequence[ToolSpec] = ()) -> None:
        super().__init__(dialect, tools)
        self._tags = ThinkTags() if self._dialect.think_tags else None

    def add(self, chunk: Mapping[str, Any]) -> list[StreamEvent]:
        """Add one chunk; return its events."""
        self.n_chunks += 1
        events: list[StreamEvent] = []
        choices = chunk.get("choices")
        if isinstance(read := chunk.get("prompt_progress"), Mapping) and not self.n_characters:
            events += _prompt_read(read)
        self._usage = usage_of(chunk) or self._usage
        if not isinstance(choices, list):
            return events
        for choice in choices[:CHOICES_LIMIT]:
            if not isinstance(choice, Mapping) or choice.get("index") not in _FIRST:
                continue
            reason = choice.get("finish_reason")
            if reason and isinstance(reason, str):
                self.reason = reason.lower()
            delta = choice.get("delta")
            if isinstance(delta, Mapping):
                self._delta(delta, events)
            elif isinstance(message := choice.get("message"), Mapping) and not self.can_be_kept:
                # Some endpoints send a whole message in place of a delta.
                self._delta(message, events)
        return events

    def add_whole(self, value: Mapping[str, Any]) -> list[StreamEvent] | None:
        """Take a whole completion; return None if the body is not a completion."""
        return self.add(value) if isinstance(value.get("choices"), list) else None

    def end(self) -> list[StreamEvent]:
        """Return the events for text that was held back until the end of the stream."""
        events: list[StreamEvent] = []
        if self._tags is not None:
            self._say(*self._tags.close(), events)
        return events + super().end()

    def _delta(self, delta: Mapping[str, Any], events: list[StreamEvent]) -> None:
        content = delta.get("content")
        # This is the usual case, for nine chunks of ten.
        if type(content) is str and len(delta) == 1:
            self._words(content, events)
            return
        thinking = next((text for name in _REASONING if (text := _reasoning(delta.get(name)))), "")
        if isinstance(content, list):
            thinking += _reasoning(
                [part.get("thinking") for part in _objects(content) if part.get("type") != "text"]
            )
        self._say(thinking, "", events)
        self._words(_words_of(content or delta.get("refusal")), events)
        if _is_too_long(content) or _is_too_long(delta.get("tool_calls")):
            self.excess = f"has over {PARTS_LIMIT:,} parts in one event"
        pieces = _objects(delta.get("tool_calls"))
        # Some endpoints still use this field, which preceded ``tool_calls``.
        if isinstance(legacy := delta.get("function_call"), Mapping):
            pieces = (*pieces, {"index": 0, "function": legacy})
        named = [self._calls.add(delta_of(piece)) for piece in pieces]
        events += [CallStarted(name) for name in named if name]

    def _words(self, words: str, events: list[StreamEvent]) -> None:
        if not words:
            return
        if self._tags is None:
            self._say("", words, events)
        else:
            self._say(*self._tags.feed(words), events)

    def _reported(self, usage: Mapping[str, Any]) -> Usage:
        details = usage.get("prompt_tokens_details")
        details = details if isinstance(details, Mapping) else {}
        tokens_in = count(usage, "prompt_tokens")
        tokens_out = count(usage, "completion_tokens")
        if self._dialect.reasoning_apart:
            tokens_out = max(tokens_out, count(usage, "total_tokens") - tokens_in)
        cached = (
            count(details, "cached_tokens")
            or count(usage, "prompt_cache_hit_tokens")  # DeepSeek uses this name.
            or count(usage, "cached_tokens")  # Moonshot uses this name.
        )
        cached = min(cached, tokens_in)
        # OpenRouter reports written tokens.
        written = min(count(details, "cache_write_tokens"), tokens_in - cached)
        thinking = thinking_tokens(usage, "completion_tokens_details")
        return Usage(
            tokens_in,
            cached,
            written,
            tokens_out,
            thinking=min(thinking, tokens_out),
            cache_hour=written if self._dialect.life else 0,
        )


def _prompt_read(progress: Mapping[str, Any]) -> Iterator[PromptProgress]:
    """Yield llama.cpp's progress, without cached tokens, because cached tokens took no time."""
    cached = count(progress, "cache")
    total, done = (count(progress, name) - cached for name in ("total", "processed"))
    if 0 <= done <= total and total:
        yield PromptProgress(done / total)


_FIRST = (0, None)


def _words_of(content: object) -> str:
    """Return content as text; Mistral's reasoning models send a list of parts."""
    if isinstance(content, str):
        return content
    texts = (part.get("text") for part in _objects(content) if part.get("type") == "text")
    return "".join(text for text in texts if isinstance(text, str))


def _reasoning(value: object) -> str:
    """Return reasoning from a text, an object with a text, or a list of texts and objects."""
    texts: list[str] = []
    waiting = [value]
    for _ in range(PARTS_LIMIT):
        if not waiting:
            break
        match waiting.pop():
            case str(text):
                texts.append(text)
            case list(items):
                waiting.extend(reversed(items[:PARTS_LIMIT]))
            case Mapping() as holder:
                inner = (holder.get(name) for name in ("text", "content", "thinking", "summary"))
                waiting.append(next((one for one in inner if one), None))
    return "".join(texts)


def _is_too_long(value: object) -> bool:
    return isinstance(value, list) and len(value) > PARTS_LIMIT


def _objects(value: object) -> tuple[Mapping[str, Any], ...]:
    if not isinstance(value, list):
        return ()
    return tuple(item for item in value[:PARTS_LIMIT] if isinstance(item, Mapping))


_OPEN = "<think>"
_CLOSE = "</think>"


class ThinkTags:
    """Separates the reasoning of one reply from its text, part by part."""

    def __init__(self) -> None:
        self._state: Literal["start", "thinking", "gap", "words"] = "start"
        self._held = ""
        self._blanks = GrowingText()  # The blanks come before the first word or tag.

    def feed(self, piece: str) -> tuple[str, str]:
        """Return the reasoning and text of a part; the beginning of a possible tag is held back."""
        if self._state == "words":
            return "", piece
        thinking = ""
        if self._state == "start":
            if not self._held:  # Blank text is examined only once.
                begun = piece.lstrip()
                self._blanks.add(piece[: len(piece) - len(begun)])
                piece = begun
            self._held += piece
            if self._held.startswith(_OPEN):
                self._held, self._state = self._held[len(_OPEN) :].lstrip("\n"), "thinking"
            elif _OPEN.startswith(self._held):
                return "", ""
            else:
                self._held, self._state = self._before(), "words"
        else:
            self._held += piece
        if self._state == "thinking":
            thinking, close, rest = self._held.partition(_CLOSE)
            if close:
                self._held, self._state = rest, "gap"
            else:
                n_held = _half_tag(thinking)
                self._held = thinking[len(thinking) - n_held :]
                return thinking[: len(thinking) - n_held], ""
        if self._state == "gap":
            self._held = self._held.lstrip()
            if not self._held:
                return thinking, ""
            self._state = "words"
        words, self._held = self._held, ""
        return thinking, words

    def close(self) -> tuple[str, str]:
        """Return the reasoning and text that were held back, at the end of the reply."""
        if self._state == "start":
            self._held = self._before()
        held, self._held = self._held, ""
        return (held, "") if self._state == "thinking" else ("", held)

    def _before(self) -> str:
        """Return the characters that were held back, because no tag came."""
        return self._blanks.joined + self._held


def _half_tag(text: str) -> int:
    """Return how many characters at the end may begin the closing tag."""
    longest = min(len(text), len(_CLOSE) - 1)
    return next((n for n in range(longest, 0, -1) if _CLOSE.startswith(text[-n:])), 0)


def usage_of(chunk: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a chunk's usage, from beside the choices, a choice (Moonshot), or Groq's field."""
    usage = chunk.get("usage")
    if isinstance(usage, Mapping):
        return usage
    groq = chunk.get("x_groq")
    if isinstance(groq, Mapping) and isinstance(usage := groq.get("usage"), Mapping):
        return usage
    choices = chunk.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], Mapping):
        usage = choices[0].get("usage")
        if isinstance(usage, Mapping):
            return usage
    return {}
