"""Anthropic's Messages API: writes requests, and reads the stream into a reply. Pure.

The format follows Anthropic's documentation of November 2026 (Messages API 2023-06-01, streaming,
extended and adaptive thinking, prompt caching). Thinking is sent back unchanged with its signature.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal, TypeAlias, assert_never

import msgspec

from indwell.lazy_pattern import lazy_pattern
from indwell.messages import (
    Block,
    CacheLife,
    Effort,
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
from indwell.providers.base import CallStarted, StreamEvent
from indwell.providers.wires.dialect import Dialect
from indwell.providers.wires.layout import (
    BLANK_LINE,
    arguments_text,
    clean,
    joined,
    kept_reasoning,
    marked_part,
)
from indwell.providers.wires.reply import GrowingReply, count, place_of, thinking_tokens
from indwell.providers.wires.tool_calls import NAME_LIMIT, CallDelta, GrowingText, joined_surrogates

PATH = "/messages"
VERSION = "2023-06-01"  # The value belongs to the header `anthropic-version`.
_BLOCKS_LIMIT = 1_000  # One reply has at most 1,000 blocks.
_ID = lazy_pattern(r"[a-zA-Z0-9_-]{1,64}")


def opening(first: bytes, system: bytes, *, has_messages: bool) -> bytes:  # noqa: ARG001 - see Layout
    """Return the JSON before the messages."""
    prompt = (b',"system":', system) if system else ()
    return b"".join((b"{", first, *prompt, b',"messages":['))


def system_entries(
    system: Sequence[Text], *, marked: bool, life: CacheLife = ""
) -> list[dict[str, Any]]:
    """Return the system prompt as a list of one block, or empty if there is no system prompt."""
    if not system:
        return []
    block = {"type": "text", "text": joined(system)}
    return [marked_part(block, life) if marked else block]


def message_entries(
    message: Message, dialect: Dialect, *, marked: bool, model: str
) -> list[dict[str, Any]]:
    """Return one message in Anthropic's format; thinking cannot have a cache mark."""
    content = list(_content(message, dialect, model))
    if not content:  # The message has only thinking of another model, which this model cannot read.
        content = [{"type": "text", "text": "[no answer]"}]
    if marked:
        places = (at for at, one in enumerate(content) if "thinking" not in one["type"])
        last = max(places, default=None)
        if last is not None:
            content[last] = marked_part(content[last], dialect.life)
    return [{"role": message.role, "content": content}]


def tool_entries(
    tools: Sequence[ToolSpec], *, marked: bool, life: CacheLife = ""
) -> list[dict[str, Any]]:
    """Return the schemas of the tools; ``marked`` adds ``cache_control`` to the last schema."""
    entries: list[dict[str, Any]] = [
        {
            "name": spec.name,
            "description": spec.description,
            "input_schema": msgspec.json.decode(spec.parameters),
        }
        for spec in tools
    ]
    if marked:
        entries[-1] = marked_part(entries[-1], life)
    return entries


def options(request: Request, dialect: Dialect) -> dict[str, Any]:
    """Return the fields after the messages and tools."""
    body: dict[str, Any] = {}
    if request.tools and request.tool_choice == "none" and dialect.tool_choice:
        body["tool_choice"] = {"type": "none"}
    body["max_tokens"] = request.max_output
    if dialect.reasoning:
        body |= thinking_options(request, dialect)
    body["stream"] = True
    return body


Thinks: TypeAlias = Literal["adaptive", "budget", ""]
_ADAPTIVE = lazy_pattern(
    r"claude-(?:opus|sonnet|haiku|fable|mythos)-(?:4[-.](?:[6-9]|\d\d)(?!\d)|(?:[5-9]|\d\d)(?!\d))"
    r"|claude-mythos"
)
_BUDGET = lazy_pattern(r"claude-(?:3[-.]7|(?:opus|sonnet|haiku)-4)")
# A model may use this fraction of the reply's limit for thinking, by effort.
_BUDGETS: Mapping[Effort, float] = {"low": 0.2, "medium": 0.4, "high": 0.6}
_LEAST_BUDGET = 1_024  # The unit is tokens; Anthropic allows no smaller thinking budget.
_MOST_BUDGET = 32_000  # The unit is tokens; for larger budgets, Anthropic recommends the batch API.


def thinks(model: str) -> Thinks:
    """Say how a model thinks: as much as it decides, up to a budget, or not at all."""
    if _ADAPTIVE.search(model):
        return "adaptive"
    return "budget" if _BUDGET.search(model) else ""


def thinking_options(request: Request, dialect: Dialect) -> dict[str, Any]:
    """Return the fields that set the model's effort of thinking.

    Newer models decide by themselves, guided by the effort. Older models get a budget, if an effort
    is set. Other makers' models with this API get only the effort.
    """
    effort = dialect.effort(request.effort)
    kind = thinks(dialect.counts_as or request.model)
    if kind == "budget":
        if not effort or effort in {"none", "minimal"}:
            return {}
        share = _BUDGETS.get(effort, 0.8)
        budget = min(_MOST_BUDGET, int(request.max_output * share))
        if budget < _LEAST_BUDGET or not _may_think(request, dialect):
            return {}
        return {"thinking": {"type": "enabled", "budget_tokens": budget}}
    fields: dict[str, Any] = {}
    if kind == "adaptive":
        if effort == "none":
            return {"thinking": {"type": "disabled"}}
        fields["thinking"] = {"type": "adaptive"}
        if dialect.summaries:
            fields["thinking"]["display"] = "summarized"
    if effort and effort != "none":
        fields["output_config"] = {"effort": "low" if effort == "minimal" else effort}
    return fields


def _may_think(request: Request, dialect: Dialect) -> bool:
    """Return whether a model with a thinking budget may think now.

    Between its calls, a model may think only if the turn began with thinking that the model can
    read. If not, the endpoint refuses the request. A different model, wire or setting may have
    begun the turn.
    """
    first: Message | None = None
    for message in reversed(request.messages):
        if message.role == "assistant":
            first = message
        elif not any(isinstance(block, ToolResult) for block in message.blocks):
            break
    if first is None:
        return True
    block = first.blocks[0]
    return isinstance(block, Thinking) and kept_reasoning(block, dialect, request.model) is not None


def _content(message: Message, dialect: Dialect, model: str) -> Iterator[dict[str, Any]]:
    """Yield the blocks of a message; tool results already come first in a user's message."""
    last = max((at for at, one in enumerate(message.blocks) if _is_said(one)), default=-1)
    for at, block in enumerate(message.blocks):
        match block:
            case Text():
                if block.text.strip():
                    yield {"type": "text", "text": clean(block.text)}
            case Image():
                source = {"type": "base64", "media_type": block.media_type, "data": block.data}
                yield {"type": "image", "source": source}
            case ToolResult():
                result: dict[str, Any] = {
                    "type": "tool_result",
                    "tool_use_id": _call_id(block.tool_use_id),
                    "content": clean(block.text),
                }
                yield {**result, "is_error": True} if block.is_error else result
            case ToolUse():
                yield {
                    "type": "tool_use",
                    "id": _call_id(block.id),
                    "name": clean(block.name),
                    "input": msgspec.Raw(arguments_text(block.arguments).encode()),
                }
            case Thinking():
                item = kept_reasoning(block, dialect, model)
                # Thinking must not be the last block of a message.
                if item is not None and at < last:
                    if item.get("type") == "thinking":
                        item["thinking"] = block.text
                    yield item
            case _:
                assert_never(block)


def _is_said(block: Block) -> bool:
    return not isinstance(block, Thinking)


def _call_id(id_: str) -> str:
    """Convert a call id to the form that this API accepts, always with the same result."""
    if _ID.fullmatch(id_):
        return id_
    return "call_" + hashlib.sha256(id_.encode("utf-8", "replace")).hexdigest()[:24]


class MessagesReply(GrowingReply):
    """The received part of one reply.

    Args:
        dialect: The endpoint's dialect.
    """

    finishes: ClassVar[Mapping[str, Finish]] = {
        "max_tokens": "length",
        "model_context_window_exceeded": "length",
        "refusal": "filtered",
    }
    paused: ClassVar[frozenset[str]] = frozenset({"pause_turn"})

    def __init__(self, dialect: Dialect | None = None, tools: Sequence[ToolSpec] = ()) -> None:
        super().__init__(dialect, tools)
        self._open: dict[int, _OpenThinking] = {}
        # These are indexes of calls of Indwell's tools; other calls are of the endpoint's own
        # tools.
        self._uses: set[int] = set()
        self._last_text = -1  # The number is the index of the last text block.
        self._counted: dict[str, Any] = {}

    def add(self, chunk: Mapping[str, Any]) -> list[StreamEvent]:
        """Add the data of one event."""
        self.n_chunks += 1
        events: list[StreamEvent] = []
        place = place_of(chunk.get("index"))
        match chunk.get("type"):
            case "content_block_delta":
                self._delta(place, _mapping(chunk.get("delta")), events)
            case "content_block_start":
                self._begin(place, _mapping(chunk.get("content_block")), events)
            case "content_block_stop":
                self._stop(place)
            case "message_start":
                self._count(_mapping(_mapping(chunk.get("message")).get("usage")))
            case "message_delta":
                reason = _mapping(chunk.get("delta")).get("stop_reason")
                self.reason = reason if isinstance(reason, str) else self.reason
                self._count(_mapping(chunk.get("usage")))
            case "message_stop":
                self.is_done = True
            case "ping":
                self.n_chunks -= 1  # The event only says that the connection is alive.
            case _:
                pass
        return events

    def add_whole(self, value: Mapping[str, Any]) -> list[StreamEvent] | None:
        """Take a whole message; return None if the body is not a message."""
        content = value.get("content")
        if value.get("type") != "message" or not isinstance(content, list):
            return None
        self.n_chunks += 1
        events: list[StreamEvent] = []
        for place, block in enumerate(content[:_BLOCKS_LIMIT]):
            self._begin(place, _mapping(block), events)
            self._stop(place)
        self._count(_mapping(value.get("usage")))
        self.reason = str(value.get("stop_reason") or "")
        return events

    def _begin(self, place: int, block: Mapping[str, Any], events: list[StreamEvent]) -> None:
        """Process the beginning of a block, which may be the whole block."""
        match block.get("type"):
            case "text":
                self._words(place, _text(block, "text"), events)
            case "thinking":
                if len(self._open) < _BLOCKS_LIMIT:
                    self._open[place] = _OpenThinking()
                self._think(place, _text(block, "thinking"), events)
                self._sign(place, _text(block, "signature"))
            case "redacted_thinking":
                item = {"type": "redacted_thinking", "data": _text(block, "data")}
                self._keep("", item, place)
            case "tool_use":
                self._uses.add(place)
                given = block.get("input")
                arguments = msgspec.json.encode(given).decode() if given else ""
                self._call(place, _text(block, "id"), _text(block, "name"), arguments, events)
            case _:
                pass

    def _delta(self, place: int, delta: Mapping[str, Any], events: list[StreamEvent]) -> None:
        match delta.get("type"):
            case "text_delta":
                self._words(place, _text(delta, "text"), events)
            case "thinking_delta":
                self._think(place, _text(delta, "thinking"), events)
            case "signature_delta":
                self._sign(place, _text(delta, "signature"))
            case "input_json_delta" if place in self._uses:
                self._call(place, "", "", _text(delta, "partial_json"), events)
            case _:
                pass

    def _stop(self, place: int) -> None:
        thought = self._open.pop(place, None)
        if thought is not None and thought.signature:
            item = {"type": "thinking", "signature": thought.signature}
            self._keep(joined_surrogates(thought.text.joined), item, place)

    def _words(self, place: int, words: str, events: list[StreamEvent]) -> None:
        """Add text; a blank line separates the text from text before thinking or a call."""
        if not words:
            return
        if place != self._last_text:
            if self._text.begun and place != self._last_text + 1:
                words = f"{BLANK_LINE}{words}"
            self._last_text = place
        self._say("", words, events, at=place)

    def _think(self, place: int, text: str, events: list[StreamEvent]) -> None:
        thought = self._open.get(place)
        if thought is not None and text and not self.excess:
            thought.text.add(text)
        self._say(text, "", events)

    def _sign(self, place: int, signature: str) -> None:
        thought = self._open.get(place)
        if thought is not None:
            thought.signature += signature

    def _call(
        self, place: int, id_: str, name: str, arguments: str, events: list[StreamEvent]
    ) -> None:
        index = place if place >= 0 else None
        named = self._calls.add(
            CallDelta(index, id_, joined_surrogates(name[:NAME_LIMIT]), arguments)
        )
        if named:
            events.append(CallStarted(named))

    def _count(self, usage: Mapping[str, Any]) -> None:
        """Add the usage of an event: later numbers replace earlier numbers."""
        self._counted |= {name: one for name, one in usage.items() if one is not None}
        self._usage = self._counted

    def _reported(self, usage: Mapping[str, Any]) -> Usage:
        cached = count(usage, "cache_read_input_tokens")
        written = count(usage, "cache_creation_input_tokens")
        details = usage.get("cache_creation")
        if isinstance(details, Mapping):
            for_an_hour = min(written, count(details, "ephemeral_1h_input_tokens"))
        else:
            for_an_hour = written if self._dialect.life else 0
        return Usage(
            input=count(usage, "input_tokens") + cached + written,
            cached=cached,
            cache_write=written,
            output=count(usage, "output_tokens"),
            thinking=thinking_tokens(usage, "output_tokens_details"),
            cache_hour=for_an_hour,
        )


class _OpenThinking:
    """A block of thinking that has begun."""

    def __init__(self) -> None:
        self.text = GrowingText()
        self.signature = ""


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(holder: Mapping[str, Any], name: str) -> str:
    value = holder.get(name)
    return value if isinstance(value, str) else ""
