"""Reads the stream of chat completions into a reply (H38, H39). Pure.

An event is a chunk: a decoded JSON object. Local servers send reasoning between ``<think>`` and
``</think>`` if they do not know the model's template. Only tags at the beginning of a reply count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal

from indwell.messages import Finish, ToolSpec, Usage
from indwell.providers.base import CallStarted, PromptProgress, StreamEvent
from indwell.providers.wires.dialect import Dialect
from indwell.providers.wires.reply import GrowingReply, count, thinking_tokens
from indwell.providers.wires.tool_calls import GrowingText, delta_of

CHOICES_LIMIT = 64  # choices of one event that are examined; one was requested
PARTS_LIMIT = 1_000  # pieces of calls, or parts of content, in one event

_REASONING = ("reasoning_content", "reasoning", "thinking", "reasoning_details")


class ChatReply(GrowingReply):
    """The received part of one reply.

    Args:
        dialect: The endpoint's dialect.
        tools: The tools that the model may call.
    """

    broken: ClassVar[frozenset[str]] = frozenset(
        {
            "error",  # OpenRouter, Mistral
            "network_error",  # GLM
            "insufficient_system_resource",  # DeepSeek
            "malformed_function_call",  # Gemini
        }
    )
    finishes: ClassVar[Mapping[str, Finish]] = {
        "length": "length",
        "max_tokens": "length",
        "model_length": "length",  # Mistral
        "content_filter": "filtered",
        "safety": "filtered",  # Gemini
        "sensitive": "filtered",  # GLM
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
                self._delta(message, events)  # a whole message in place of a delta
        return events

    def add_whole(self, value: Mapping[str, Any]) -> list[StreamEvent] | None:
        """Take a whole completion; None if the body is not a completion."""
        return self.add(value) if isinstance(value.get("choices"), list) else None

    def end(self) -> list[StreamEvent]:
        """Return the events of text that was held back until the end of the stream."""
        events: list[StreamEvent] = []
        if self._tags is not None:
            self._say(*self._tags.close(), events)
        return events + super().end()

    def _delta(self, delta: Mapping[str, Any], events: list[StreamEvent]) -> None:
        content = delta.get("content")
        if type(content) is str and len(delta) == 1:  # nine chunks of ten
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
        if isinstance(legacy := delta.get("function_call"), Mapping):  # before tool_calls
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
            or count(usage, "prompt_cache_hit_tokens")  # DeepSeek
            or count(usage, "cached_tokens")  # Moonshot
        )
        cached = min(cached, tokens_in)
        written = min(count(details, "cache_write_tokens"), tokens_in - cached)  # OpenRouter
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
    """Yield llama.cpp's progress, without cached tokens, because they took no time."""
    cached = count(progress, "cache")
    total, done = (count(progress, name) - cached for name in ("total", "processed"))
    if 0 <= done <= total and total:
        yield PromptProgress(done / total)


_FIRST = (0, None)


def _words_of(content: object) -> str:
    """Return plain content, or the text parts of content (Mistral's reasoning models)."""
    if isinstance(content, str):
        return content
    texts = (part.get("text") for part in _objects(content) if part.get("type") == "text")
    return "".join(text for text in texts if isinstance(text, str))


def _reasoning(value: object) -> str:
    """Return reasoning given as text, as an object that holds it, or as a list of either."""
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
    """Separates the reasoning of one reply from its text, piece by piece."""

    def __init__(self) -> None:
        self._state: Literal["start", "thinking", "gap", "words"] = "start"
        self._held = ""
        self._blanks = GrowingText()  # before the first word or tag

    def feed(self, piece: str) -> tuple[str, str]:
        """Return the reasoning and text of this piece; half of a possible tag is held back."""
        if self._state == "words":
            return "", piece
        thinking = ""
        if self._state == "start":
            if not self._held:  # blank text is examined only once
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
        """Return the reasoning and text held back, at the end of the reply."""
        if self._state == "start":
            self._held = self._before()
        held, self._held = self._held, ""
        return (held, "") if self._state == "thinking" else ("", held)

    def _before(self) -> str:
        """Return the held characters with the blanks before them: no tag came, so they are text."""
        return self._blanks.joined + self._held


def _half_tag(text: str) -> int:
    """Return how many characters at the end may begin the closing tag."""
    longest = min(len(text), len(_CLOSE) - 1)
    return next((n for n in range(longest, 0, -1) if _CLOSE.startswith(text[-n:])), 0)


def usage_of(chunk: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a chunk's usage: beside the choices, inside one (Moonshot), or Groq's field."""
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
