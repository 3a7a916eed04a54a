"""The editor's language models: writes requests, and reads the parts of replies. Pure.

The format is Indwell's own: ``indwell/complete`` in ``docs/protocol.md``. The editor knows two
roles, so the system prompt is sent as the user's first message. Replies have no usage and no finish
reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, assert_never

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
    Usage,
)
from indwell.providers.base import CallStarted, StreamEvent
from indwell.providers.wires.dialect import Dialect
from indwell.providers.wires.layout import arguments_text, call_id, clean, joined
from indwell.providers.wires.reply import GrowingReply
from indwell.providers.wires.tool_calls import NAME_LIMIT, CallDelta, joined_surrogates

PATH = ""  # The path is empty, because requests go to the editor, not to an address.
NO_ANSWER = "[no answer]"
JUSTIFICATION = "Indwell answers your prompts with the model that you chose."
"""The text that the editor shows when it asks the user for consent."""


def opening(first: bytes, system: bytes, *, has_messages: bool) -> bytes:
    """Return the JSON before the messages."""
    comma = b"," if system and has_messages else b""
    return b"".join((b"{", first, b',"messages":[', system, comma))


def system_entries(
    system: Sequence[Text],
    *,
    marked: bool,  # noqa: ARG001 - see Layout
    life: CacheLife = "",  # noqa: ARG001 - see Layout
) -> dict[str, Any]:
    """Return the system prompt as a message of the user."""
    return {"role": "user", "parts": [{"kind": "text", "text": joined(system)}]}


def message_entries(
    message: Message, dialect: Dialect, *, marked: bool, model: str
) -> list[dict[str, Any]]:
    """Return the editor's messages for one message; tool results have a separate message."""
    del marked, model
    results: list[dict[str, Any]] = []
    others: list[dict[str, Any]] = []
    for part in _parts(message.blocks, dialect):
        (results if part["kind"] == "result" else others).append(part)
    # The message has only thinking, which the editor's API cannot take back.
    if not results and not others:
        others.append({"kind": "text", "text": NO_ANSWER})
    return [{"role": message.role, "parts": parts} for parts in (results, others) if parts]


def tool_entries(
    tools: Sequence[ToolSpec],
    *,
    marked: bool,  # noqa: ARG001 - see Layout
    life: CacheLife = "",  # noqa: ARG001 - see Layout
) -> list[dict[str, Any]]:
    """Return the tools; a schema stays text, so that neither side has to parse the schema."""
    return [
        {"name": spec.name, "description": spec.description, "schema": spec.parameters}
        for spec in tools
    ]


def options(request: Request, dialect: Dialect) -> dict[str, Any]:
    """Return the fields after the messages and tools."""
    del dialect  # The editor's API has no other field that all models accept.
    none: dict[str, Any] = {} if request.tools else {"tools": []}
    return {**none, "justification": JUSTIFICATION}


def _parts(blocks: Sequence[Block], dialect: Dialect) -> Iterator[dict[str, Any]]:
    for block in blocks:
        match block:
            case Text():
                if block.text.strip():
                    yield {"kind": "text", "text": clean(block.text)}
            case Image():
                yield {"kind": "picture", "mime": block.media_type, "data": block.data}
            case ToolResult():
                id_ = call_id(block.tool_use_id, dialect)
                yield {"kind": "result", "id": id_, "text": clean(block.text)}
            case ToolUse():
                yield {
                    "kind": "call",
                    "id": call_id(block.id, dialect),
                    "name": clean(block.name),
                    "arguments": arguments_text(block.arguments),
                }
            case Thinking():
                continue  # The editor's API does not accept thinking.
            case _:
                assert_never(block)


class EditorReply(GrowingReply):
    """The received part of one reply; each call comes in one piece."""

    _n_calls = 0

    def add(self, chunk: Mapping[str, Any]) -> list[StreamEvent]:
        """Add one piece."""
        self.n_chunks += 1
        events: list[StreamEvent] = []
        match chunk.get("kind"):
            case "text":
                self._say("", _text(chunk, "text"), events)
            case "thinking":
                self._say(_text(chunk, "text"), "", events)
            case "call":
                self._call(chunk, events)
            case _:
                pass
        return events

    def add_whole(self, value: Mapping[str, Any]) -> None:
        """Return None, because a reply always comes in pieces."""
        del value

    def finish(self) -> None:
        """Record that the editor has said that the reply is complete."""
        self.is_done, self.reason = True, "stop"

    def _call(self, chunk: Mapping[str, Any], events: list[StreamEvent]) -> None:
        name = joined_surrogates(_text(chunk, "name")[:NAME_LIMIT])
        delta = CallDelta(self._n_calls, _text(chunk, "id"), name, _text(chunk, "arguments"))
        self._n_calls += 1
        if named := self._calls.add(delta):
            events.append(CallStarted(named))

    def _reported(self, usage: Mapping[str, Any]) -> Usage:
        del usage
        return Usage()


def _text(holder: Mapping[str, Any], name: str) -> str:
    value = holder.get(name)
    return value if isinstance(value, str) else ""
