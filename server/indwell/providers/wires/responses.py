"""OpenAI's Responses API: writes requests, and reads the stream into a reply. Pure.

Nothing is stored at the endpoint (``store`` is false): reasoning arrives encrypted, and is sent
back unchanged before the output that followed it. The format follows the official SDK's types
(``openai.types.responses``, 3.52).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, assert_never

import msgspec

from indwell.messages import (
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
from indwell.providers.base import CallStarted, StreamEvent
from indwell.providers.wires.dialect import Dialect
from indwell.providers.wires.layout import (
    BLANK_LINE,
    arguments_text,
    call_id,
    clean,
    joined,
    kept_reasoning,
)
from indwell.providers.wires.reply import GrowingReply, count, place_of, thinking_tokens
from indwell.providers.wires.tool_calls import NAME_LIMIT, CallDelta, joined_surrogates

PATH = "/responses"
LEAST_OUTPUT = 16  # The unit is tokens; the endpoint refuses a lower limit.
_ITEMS_LIMIT = 1_000  # One reply has at most 1,000 items, and one item at most 1,000 parts.


def opening(first: bytes, system: bytes, *, has_messages: bool) -> bytes:  # noqa: ARG001 - see Layout
    """Return the JSON before the messages."""
    instructions = (b',"instructions":', system) if system else ()
    return b"".join((b"{", first, *instructions, b',"input":['))


def system_entries(system: Sequence[Text], *, marked: bool, life: CacheLife = "") -> str:  # noqa: ARG001 - see Layout
    """Return the system prompt for its separate field."""
    return joined(system)


def message_entries(
    message: Message, dialect: Dialect, *, marked: bool, model: str
) -> list[dict[str, Any]]:
    """Return the items of one message, at least one item.

    The endpoint caches without cache marks.
    """
    del marked
    if message.role == "assistant":
        return list(_assistant(message, dialect, model))
    return list(_user(message, dialect))


def tool_entries(
    tools: Sequence[ToolSpec],
    *,
    marked: bool,  # noqa: ARG001 - see Layout
    life: CacheLife = "",  # noqa: ARG001 - see Layout
) -> list[dict[str, Any]]:
    """Return the schemas of the tools, without strict mode."""
    return [
        {
            "type": "function",
            "name": spec.name,
            "description": spec.description,
            "parameters": msgspec.json.decode(spec.parameters),
            "strict": False,
        }
        for spec in tools
    ]


def options(request: Request, dialect: Dialect) -> dict[str, Any]:
    """Return the fields after the messages and tools."""
    body: dict[str, Any] = {}
    if request.tools and request.tool_choice == "none" and dialect.tool_choice:
        body["tool_choice"] = "none"
    body["max_output_tokens"] = max(LEAST_OUTPUT, request.max_output)
    if dialect.cache_key and request.cache_key:
        body["prompt_cache_key"] = clean(request.cache_key)
    if dialect.reasoning:
        effort = dialect.effort(request.effort)
        reasoning: dict[str, str] = {"effort": effort} if effort else {}
        if dialect.summaries:
            reasoning["summary"] = "auto"
        if reasoning:
            body["reasoning"] = reasoning
        body["include"] = ["reasoning.encrypted_content"]
    if request.verbosity and dialect.verbosity:
        body["text"] = {"verbosity": request.verbosity}
    return body | {"store": False, "stream": True}


def _user(message: Message, dialect: Dialect) -> Iterator[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    for block in message.blocks:
        match block:
            case ToolResult():
                id_ = call_id(block.tool_use_id, dialect)
                output = clean(block.text)
                yield {"type": "function_call_output", "call_id": id_, "output": output}
            case Text():
                parts.append({"type": "input_text", "text": clean(block.text)})
            case Image():
                url = f"data:{block.media_type};base64,{block.data}"
                parts.append({"type": "input_image", "image_url": url, "detail": "auto"})
            case ToolUse() | Thinking():
                raise AssertionError(f"a user message cannot hold {type(block).__name__}")
            case _:
                assert_never(block)
    if parts:
        yield {"type": "message", "role": "user", "content": parts}


def _assistant(message: Message, dialect: Dialect, model: str) -> Iterator[dict[str, Any]]:
    """Yield reasoning, text and calls in order; an item must follow each reasoning."""
    # Newer models must be told which text was the answer, and which text came with calls.
    has_calls = any(isinstance(block, ToolUse) for block in message.blocks)
    waiting: list[dict[str, Any]] = []
    for block in message.blocks:
        match block:
            case Thinking():
                item = kept_reasoning(block, dialect, model)
                if item is not None:
                    waiting.append({"type": "reasoning", "summary": [], **item})
                continue
            case Text():
                content = [{"type": "output_text", "text": clean(block.text)}]
                item = {"type": "message", "role": "assistant", "content": content}
                if dialect.phases:
                    item["phase"] = "commentary" if has_calls else "final_answer"
            case ToolUse():
                item = {
                    "type": "function_call",
                    "call_id": call_id(block.id, dialect),
                    "name": clean(block.name),
                    "arguments": arguments_text(block.arguments),
                }
            case _:
                raise AssertionError(f"an assistant cannot say {type(block).__name__}")
        yield from waiting
        waiting.clear()
        yield item


class ResponsesReply(GrowingReply):
    """The received part of one reply.

    Args:
        dialect: The endpoint's dialect.
    """

    broken: ClassVar[frozenset[str]] = frozenset({"cancelled"})
    finishes: ClassVar[Mapping[str, Finish]] = {
        "max_output_tokens": "length",
        "content_filter": "filtered",
    }

    def __init__(self, dialect: Dialect | None = None, tools: Sequence[ToolSpec] = ()) -> None:
        super().__init__(dialect, tools)
        # The set has the index and kind of each item that came in deltas.
        self._streamed: set[tuple[int, str]] = set()
        self._part: tuple[int, object] | None = None  # The last part of a message that arrived.

    def add(self, chunk: Mapping[str, Any]) -> list[StreamEvent]:
        """Add the data of one event."""
        self.n_chunks += 1
        events: list[StreamEvent] = []
        delta = chunk.get("delta")
        place = place_of(chunk.get("output_index"))
        match chunk.get("type"):
            case "response.output_text.delta" | "response.refusal.delta" if isinstance(delta, str):
                self._words(place, chunk.get("content_index"), delta, events)
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" if (
                isinstance(delta, str)
            ):
                self._streamed.add((place, "reasoning"))
                self._say(delta, "", events)
            case "response.reasoning_summary_part.added" if chunk.get("summary_index"):
                self._say("\n\n", "", events)
            case "response.function_call_arguments.delta" if delta and isinstance(delta, str):
                self._streamed.add((place, "function_call"))
                self._call(place, {"arguments": delta}, events)
            case "response.output_item.added":
                item = _mapping(chunk.get("item"))
                if item.get("type") == "function_call":
                    self._call(place, {**item, "arguments": ""}, events)
            case "response.output_item.done":
                self._finished(place, _mapping(chunk.get("item")), events)
            case "response.completed" | "response.incomplete":
                self._end(_mapping(chunk.get("response")), events)
            case _:
                pass
        return events

    def add_whole(self, value: Mapping[str, Any]) -> list[StreamEvent] | None:
        """Add a whole response; return None if the body is not a response."""
        if value.get("object") != "response" or not isinstance(value.get("output"), list):
            return None
        self.n_chunks += 1
        events: list[StreamEvent] = []
        self._end(value, events)
        return events

    def error_in(self, chunk: Mapping[str, Any], name: bytes) -> object | None:
        """Return the error of the event ``error``, or of a response that failed."""
        if chunk.get("type") == "response.failed":
            return _mapping(chunk.get("response")).get("error") or {"message": "it failed"}
        return chunk if chunk.get("type") == "error" else super().error_in(chunk, name)

    def _call(self, place: int, item: Mapping[str, Any], events: list[StreamEvent]) -> None:
        id_, name, arguments = (item.get(one) for one in ("call_id", "name", "arguments"))
        named = self._calls.add(
            CallDelta(
                index=place if place >= 0 else None,
                id=id_ if isinstance(id_, str) else "",
                name=joined_surrogates(name[:NAME_LIMIT]) if isinstance(name, str) else "",
                arguments=arguments if isinstance(arguments, str) else "",
            )
        )
        if named:
            events.append(CallStarted(named))

    def _finished(self, place: int, item: Mapping[str, Any], events: list[StreamEvent]) -> None:
        """Process a whole item: parts that came without deltas, and reasoning to send back.

        Some gateways only send whole items.
        """
        kind = str(item.get("type"))
        is_new = (place, kind) not in self._streamed
        if kind == "function_call" and is_new:
            self._call(place, item, events)
        elif kind == "message" and is_new:
            self._words(place, None, _texts(item.get("content")), events)
        elif kind == "reasoning":
            thinking = _texts(item.get("summary")) or _texts(item.get("content"))
            if is_new:
                self._say(thinking, "", events)
            if item.get("encrypted_content"):
                back = {name: item[name] for name in _BACK if name in item}
                self._keep(thinking, back, place)

    def _words(self, place: int, part: object, words: str, events: list[StreamEvent]) -> None:
        """Add text of a part of a message; a blank line separates the parts."""
        if not words:
            return
        if (place, part) != self._part:
            self._streamed.add((place, "message"))
            words = f"{BLANK_LINE}{words}" if self._text.begun else words
            self._part = place, part
        self._say("", words, events, at=place)

    def _end(self, response: Mapping[str, Any], events: list[StreamEvent]) -> None:
        output = response.get("output")
        # Some gateways send only this event.
        if not self.n_characters and isinstance(output, list):
            for place, item in enumerate(map(_mapping, output[:_ITEMS_LIMIT])):
                self._finished(place, item, events)
        details = _mapping(response.get("incomplete_details"))
        self.reason = str(details.get("reason") or response.get("status") or "completed")
        self._usage = _mapping(response.get("usage"))
        self.is_done = True

    def _reported(self, usage: Mapping[str, Any]) -> Usage:
        details = _mapping(usage.get("input_tokens_details"))
        tokens = count(usage, "input_tokens")
        cached = min(count(details, "cached_tokens"), tokens)
        return Usage(
            input=tokens,
            cached=cached,
            cache_write=min(count(details, "cache_write_tokens"), tokens - cached),
            output=count(usage, "output_tokens"),
            thinking=thinking_tokens(usage, "output_tokens_details"),
        )


_BACK = ("id", "summary", "encrypted_content")  # These fields of reasoning are sent back.


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _texts(parts: object) -> str:
    """Return the texts of the parts of an item; a refusal counts as text."""
    if not isinstance(parts, list):
        return ""
    found = (_mapping(part) for part in parts[:_ITEMS_LIMIT])
    texts = (part.get("text") or part.get("refusal") for part in found)
    return "\n\n".join(text for text in texts if isinstance(text, str))
