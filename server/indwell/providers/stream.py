"""A reply that grows chunk by chunk (H38, H39): words, reasoning, calls, usage, why it ended; pure.

A chunk is a decoded JSON object of a chat completions stream. Nothing here raises on odd data:
what has an impossible type counts as left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from indwell.context.tokens import estimate_tokens, request_tokens
from indwell.messages import Finish, Reply, Request, Usage
from indwell.providers.base import CallStarted, StreamEvent, TextDelta, ThinkingDelta
from indwell.providers.tool_calls import CallAssembler, delta_of, mended

BROKEN = "error"  # OpenRouter's finish reason when the model behind it broke off

_FINISH: Mapping[str, Finish] = {
    "length": "length",
    "max_tokens": "length",
    "content_filter": "filtered",
}


class GrowingReply:
    """What has come of one reply so far."""

    def __init__(self) -> None:
        self.n_chunks = 0
        self.reason = ""
        self._text = _Words()
        self._thinking = _Words()
        self._calls = CallAssembler()
        self._usage: Mapping[str, Any] = {}

    @property
    def can_be_kept(self) -> bool:
        """Whether there is something for the user to see or a call had begun (H41)."""
        return self._text.begun or self._calls.begun

    def add(self, chunk: Mapping[str, Any]) -> Iterator[StreamEvent]:
        """Take one chunk and give what happened in it."""
        self.n_chunks += 1
        usage = chunk.get("usage")
        if isinstance(usage, Mapping):
            self._usage = usage
        for choice in _objects(chunk.get("choices")):
            if choice.get("index") not in {0, None}:
                continue
            if isinstance(choice.get("finish_reason"), str):
                self.reason = choice["finish_reason"].lower()
            delta = choice.get("delta")
            if isinstance(delta, Mapping):
                yield from self._delta(delta)

    def whole(self, request: Request) -> Reply:
        """The reply, if the stream came to its end; calls that were cut off are dropped."""
        finish: Finish = _FINISH.get(self.reason, "stop")
        if self._calls.problem:
            return self.broken(request, self._calls.problem)
        calls = self._calls.calls()
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

    def broken(self, request: Request, problem: str) -> Reply:
        """What is left of a reply that broke off; its calls are dropped, never run (H41)."""
        return Reply(
            text=self._text.joined,
            thinking=self._thinking.joined,
            finish="incomplete",
            usage=self._used(request),
            problem=problem,
        )

    def _delta(self, delta: Mapping[str, Any]) -> Iterator[StreamEvent]:
        thinking = delta.get("reasoning_content") or delta.get("reasoning")
        if isinstance(thinking, str) and (words := self._thinking.add(thinking)):
            yield ThinkingDelta(words)
        content = delta.get("content") or delta.get("refusal")
        if words := self._text.add(_words_of(content)):
            yield TextDelta(words)
        for piece in _objects(delta.get("tool_calls")):
            if name := self._calls.add(delta_of(piece)):
                yield CallStarted(name)

    def _used(self, request: Request) -> Usage:
        """Reported tokens; nulls count as 0; an estimate if nothing was reported (H39)."""
        details = self._usage.get("prompt_tokens_details")
        details = details if isinstance(details, Mapping) else {}
        cached = _count(details, "cached_tokens")
        usage = Usage(
            input=_count(self._usage, "prompt_tokens"),
            cached=cached or _count(self._usage, "prompt_cache_hit_tokens"),  # DeepSeek's name
            cache_write=_count(details, "cache_write_tokens"),  # OpenRouter's name
            output=_count(self._usage, "completion_tokens"),
        )
        if usage != Usage():
            return usage
        arguments = "".join(call.name + call.arguments for call in self._calls.calls())
        said = (self._text.joined, self._thinking.joined, arguments)
        return Usage(
            input=request_tokens(request),
            output=sum(estimate_tokens(part) for part in said),
            reported=False,
        )


class _Words:
    """Text from pieces; the first half of a character waits for the second."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._half = ""

    @property
    def begun(self) -> bool:
        return bool(self._pieces)

    @property
    def joined(self) -> str:
        return "".join(self._pieces)

    def add(self, piece: str) -> str:
        """The words that this piece makes whole, possibly none."""
        if not piece:
            return ""
        words, self._half = self._half + piece, ""
        if not words.isascii():
            if "\ud800" <= words[-1] <= "\udbff":
                words, self._half = words[:-1], words[-1]
            words = mended(words)
        if words:
            self._pieces.append(words)
        return words


def _words_of(content: object) -> str:
    """Plain content, or the text parts of content in parts (Mistral's reasoning models)."""
    if isinstance(content, str):
        return content
    texts = (part.get("text") for part in _objects(content) if part.get("type") == "text")
    return "".join(text for text in texts if isinstance(text, str))


def _objects(value: object) -> tuple[Mapping[str, Any], ...]:
    if not isinstance(value, list):
        return ()
    return tuple(item for item in value if isinstance(item, Mapping))


def _count(numbers: Mapping[str, Any], name: str) -> int:
    value = numbers.get(name)
    return value if isinstance(value, int) and value > 0 else 0
