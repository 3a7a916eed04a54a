"""A reply that grows chunk by chunk (H38, H39): text, reasoning, calls, usage, finish reason. Pure.

A chunk is a decoded JSON object of a chat completions stream. Nothing here raises on odd data: a
value of an impossible type counts as missing.

Local servers send reasoning between ``<think>`` and ``</think>`` if they do not know the model's
template. Only tags at the beginning of a reply count.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from indwell.context.tokens import estimate_tokens, request_tokens
from indwell.messages import Finish, Message, Reply, Request, ToolUse, Usage
from indwell.providers.base import CallStarted, StreamEvent, TextDelta, ThinkingDelta
from indwell.providers.chat.dialect import Dialect
from indwell.providers.chat.tool_calls import CallAssembler, GrowingText, delta_of, is_json, mended

_BROKEN = frozenset(  # finish reasons: the model behind the endpoint broke off
    {
        "error",  # OpenRouter, Mistral
        "network_error",  # GLM
        "insufficient_system_resource",  # DeepSeek
        "malformed_function_call",  # Gemini
    }
)
_FINISH: Mapping[str, Finish] = {
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",  # Mistral
    "content_filter": "filtered",
    "safety": "filtered",  # Gemini
    "sensitive": "filtered",  # GLM
}
TEXT_LIMIT = 2_000_000
"""Characters of text and reasoning that are kept: the longest replies of models (128,000 tokens)
have a quarter of it. The editor, the log and the next request each get them once.
"""

CHOICES_LIMIT = 64  # choices of one event that are examined; one was requested
PARTS_LIMIT = 1_000  # pieces of calls, or parts of content, in one event

_REASONING = ("reasoning_content", "reasoning", "thinking", "reasoning_details")


class GrowingReply:
    """What has arrived of one reply.

    Args:
        dialect: The endpoint's dialect.

    Attributes:
        n_chunks: Chunks so far.
        reason: The endpoint's finish reason; empty until it comes.
        is_done: Whether the stream said that it is over; the reader sets this.
        excess: The exceeded limit, for the error message; empty if none.
    """

    def __init__(self, dialect: Dialect | None = None) -> None:
        self.n_chunks = 0
        self.reason = ""
        self.is_done = False
        self.excess = ""
        self._n_said = 0
        self._dialect = dialect or Dialect()
        self._text = _TextPieces()
        self._thinking = _TextPieces()
        self._tags = ThinkTags() if self._dialect.think_tags else None
        self._calls = CallAssembler(id_limit=self._dialect.id_limit)
        self._usage: Mapping[str, Any] = {}

    @property
    def can_be_kept(self) -> bool:
        """Whether any text has arrived, or a tool call has begun (H41)."""
        return self._text.begun or self._calls.begun

    @property
    def n_characters(self) -> int:
        """Characters of text, reasoning and calls so far."""
        return self._n_said + self._calls.n_characters

    @property
    def broke_off(self) -> bool:
        """Whether the endpoint said that the model behind it failed."""
        return self.reason in _BROKEN

    @property
    def ended(self) -> bool:
        """Whether the endpoint said that the reply is complete, and the model did not fail."""
        said_so = self.reason or (self.is_done and self.n_chunks)
        return bool(said_so) and not self.broke_off

    def add(self, chunk: Mapping[str, Any]) -> list[StreamEvent]:
        """Add one chunk; return its events."""
        self.n_chunks += 1
        events: list[StreamEvent] = []
        choices = chunk.get("choices")
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

    def end(self) -> list[StreamEvent]:
        """Return the events of the text held back until the end of the stream."""
        if self._tags is None:
            return []
        events: list[StreamEvent] = []
        self._say(*self._tags.close(), events)
        return events

    def whole(self, request: Request, *, is_cut: bool = False) -> Reply:
        """Return the reply of a stream that came to its end; calls that were cut off are dropped.

        An end without a finish reason counts only if the calls are complete (Ollama and SGLang send
        null with complete answers). An end with a reason counts, but the calls must be complete,
        too, if the connection broke afterwards.

        Args:
            request: The request.
            is_cut: Whether the connection broke after the reply had said that it is over.
        """
        finish: Finish = _FINISH.get(self.reason, "stop")
        if self._calls.problem:
            return self.broken(request, self._calls.problem)
        calls = self._calls.calls(taken=_ids(request.messages) if self._calls.begun else ())
        may_be_cut = is_cut or not self.reason
        if may_be_cut and not all(is_json(call.arguments) for call in calls):
            return self.broken(request, "it ended inside a tool call")
        problem = ""
        if finish != "stop" and calls:
            names = ", ".join(call.name for call in calls)
            why = "reached its limit" if finish == "length" else "was filtered"
            problem = f"the reply {why} inside a tool call, which was dropped: {names}"
            calls = ()
        return Reply(
            text=self._text.joined,
            calls=calls,
            thinking=self._thinking.joined,
            finish="tool_calls" if calls else finish,
            usage=self._used(request),
            problem=problem,
        )

    def broken(self, request: Request, problem: str, finish: Finish = "incomplete") -> Reply:
        """Return what is left of a reply that broke off; its calls are dropped, never run (H41)."""
        return Reply(
            text=self._text.joined,
            thinking=self._thinking.joined,
            finish=finish,
            usage=self._used(request),
            problem=problem,
        )

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

    def _say(self, thinking: str, words: str, events: list[StreamEvent]) -> None:
        self._n_said += len(thinking) + len(words)
        if (over := self._n_said - TEXT_LIMIT) > 0:
            self.excess = f"is over {TEXT_LIMIT:,} characters"
            thinking, words = (text[: max(0, len(text) - over)] for text in (thinking, words))
        if thinking and (whole := self._thinking.add(thinking)):
            events.append(ThinkingDelta(whole))
        if words and (whole := self._text.add(words)):
            events.append(TextDelta(whole))

    def _used(self, request: Request) -> Usage:
        def said() -> tuple[str, ...]:
            calls = "".join(call.name + call.arguments for call in self._calls.calls())
            return (self._text.joined, self._thinking.joined, calls)

        return used(self._usage, request, said, reasoning_apart=self._dialect.reasoning_apart)


_FIRST = (0, None)


class _TextPieces:
    """Joins pieces of text; the first half of a character waits for the second."""

    def __init__(self) -> None:
        self._text = GrowingText()
        self._half = ""

    @property
    def begun(self) -> bool:
        return bool(self._text)

    @property
    def joined(self) -> str:
        return self._text.joined

    def add(self, piece: str) -> str:
        """Return the text that this piece completes, possibly none."""
        words = piece
        if self._half or not piece.isascii():
            words, self._half = self._half + piece, ""
            if "\ud800" <= words[-1] <= "\udbff":
                words, self._half = words[:-1], words[-1]
            words = mended(words)
        if words:
            self._text.add(words)
        return words


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


def _ids(messages: tuple[Message, ...]) -> set[str]:
    """Return the ids of earlier calls."""
    return {
        block.id
        for message in messages
        if message.role == "assistant"
        for block in message.blocks
        if isinstance(block, ToolUse)
    }


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
        """Return what is held with the blanks before it: no tag came, so it is text."""
        return self._blanks.joined + self._held


def _half_tag(text: str) -> int:
    """Return how many characters at the end may begin the closing tag."""
    longest = min(len(text), len(_CLOSE) - 1)
    return next((n for n in range(longest, 0, -1) if _CLOSE.startswith(text[-n:])), 0)


MOST_TOKENS = 100_000_000  # in one number; the largest windows have 10 million
_LONG = 120_000  # characters
_N_PIECES, _PIECE = 61, 487  # of a longer text, together as many as are counted without sampling


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


def used(
    reported: Mapping[str, Any],
    request: Request,
    said: Callable[[], Sequence[str]],
    *,
    reasoning_apart: bool,
) -> Usage:
    """Return the reported tokens; nulls count as 0; impossible ones become a marked estimate.

    Budgets and summaries depend on these numbers, so false ones must not count: the report is
        compared with the request and the reply, with room for every tokenizer.

    Args:
        reported: The newest usage object.
        request: The request, for the estimate.
        said: Returns the reply's text; called only for an estimate.
        reasoning_apart: Whether ``completion_tokens`` excludes reasoning; the total includes it.
    """
    usage = _as_reported(reported, reasoning_apart=reasoning_apart)
    asked = request.tokens or request_tokens(request)
    if usage != Usage() and usage.input <= 4 * asked + 4_000:
        if usage.output <= 2 * request.max_output + 1_000:
            return usage
        answered = _answered(said)
        if usage.output <= 2 * answered + 1_000:
            return usage
        return Usage(input=asked, output=answered, reported=False)
    return Usage(input=asked, output=_answered(said), reported=False)


def _as_reported(reported: Mapping[str, Any], *, reasoning_apart: bool) -> Usage:
    details = reported.get("prompt_tokens_details")
    details = details if isinstance(details, Mapping) else {}
    tokens_in = _count(reported, "prompt_tokens")
    tokens_out = _count(reported, "completion_tokens")
    if reasoning_apart:
        tokens_out = max(tokens_out, _count(reported, "total_tokens") - tokens_in)
    cached = (
        _count(details, "cached_tokens")
        or _count(reported, "prompt_cache_hit_tokens")  # DeepSeek
        or _count(reported, "cached_tokens")  # Moonshot
    )
    cached = min(cached, tokens_in)
    written = min(_count(details, "cache_write_tokens"), tokens_in - cached)  # OpenRouter
    return Usage(input=tokens_in, cached=cached, cache_write=written, output=tokens_out)


def _count(numbers: Mapping[str, Any], name: str) -> int:
    """Return a number of tokens; anything else counts as 0, also a bool, which is an int."""
    value = numbers.get(name)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        return 0
    return min(max(value, 0), MOST_TOKENS)


def _answered(said: Callable[[], Sequence[str]]) -> int:
    return sum(_estimated(part) for part in said())


def _estimated(text: str) -> int:
    """Estimate a text's tokens in 2 ms; of a very long text only some pieces are counted."""
    if len(text) <= _LONG:
        return estimate_tokens(text)
    step = len(text) // _N_PIECES
    sample = "".join(text[at : at + _PIECE] for at in range(0, len(text), step))
    return int(estimate_tokens(sample) * len(text) / len(sample))
