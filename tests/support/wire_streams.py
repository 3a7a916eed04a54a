"""Creates the same reply as a stream of each API: chat completions, responses, messages."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from indwell.providers.wires.dialect import WireName

INPUT, CACHED, WRITTEN, OUTPUT = 100, 60, 20, 9  # Each reply reports these numbers of tokens.


class Said(NamedTuple):
    """A text, in the parts that the stream sends."""

    pieces: tuple[str, ...]


class Thought(NamedTuple):
    """Reasoning that the client must send back."""

    pieces: tuple[str, ...]
    seal: str


class Called(NamedTuple):
    """A call, whose arguments the stream sends in parts."""

    id: str
    name: str
    pieces: tuple[str, ...]


Part: TypeAlias = Said | Thought | Called


def event(data: Mapping[str, Any], name: str = "") -> bytes:
    """Return the bytes of one event."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data)}\n\n".encode()


def chat(parts: Sequence[Part], finish: str = "") -> list[bytes]:
    """Return the reply as chat completions send it; they have no sealed reasoning."""
    events: list[bytes] = []
    n_calls = 0

    def add(delta: Mapping[str, Any], reason: str | None = None) -> None:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        events.append(event({"object": "chat.completion.chunk", "choices": [choice]}))

    for part in parts:
        match part:
            case Said(pieces):
                for piece in pieces:
                    add({"content": piece})
            case Thought(pieces):
                for piece in pieces:
                    add({"reasoning_content": piece})
            case Called(id_, name, pieces):
                function = {"name": name, "arguments": ""}
                add({"tool_calls": [{"index": n_calls, "id": id_, "function": function}]})
                for piece in pieces:
                    call = {"index": n_calls, "function": {"arguments": piece}}
                    add({"tool_calls": [call]})
                n_calls += 1
    add({}, finish or ("tool_calls" if n_calls else "stop"))
    usage = {
        "prompt_tokens": INPUT,
        "prompt_tokens_details": {"cached_tokens": CACHED, "cache_write_tokens": WRITTEN},
        "completion_tokens": OUTPUT,
    }
    events.append(event({"choices": [], "usage": usage}))
    return [*events, b"data: [DONE]\n\n"]


def responses(parts: Sequence[Part], finish: str = "") -> list[bytes]:
    """Return the reply as the SDK's types describe it (``openai.types.responses``)."""
    events: list[bytes] = []
    output: list[Mapping[str, Any]] = []

    def add(kind: str, **fields: Any) -> None:
        data = {"type": kind, "sequence_number": len(events), **fields}
        events.append(event(data, kind))

    add("response.created", response={"object": "response", "status": "in_progress", "output": []})
    for place, part in enumerate(parts):
        whole = "".join(part.pieces)
        match part:
            case Said(pieces):
                item = {"type": "message", "id": f"msg_{place}", "role": "assistant"}
                kind, key = "response.output_text.delta", {"content_index": 0}
                content = [{"type": "output_text", "text": whole, "annotations": []}]
                done: dict[str, Any] = {**item, "status": "completed", "content": content}
            case Thought(pieces, seal):
                item = {"type": "reasoning", "id": f"rs_{place}", "summary": []}
                kind, key = "response.reasoning_summary_text.delta", {"summary_index": 0}
                summary = [{"type": "summary_text", "text": whole}] if whole else []
                done = {**item, "summary": summary, "encrypted_content": seal}
            case Called(id_, name, pieces):
                item = {"type": "function_call", "id": f"fc_{place}", "call_id": id_, "name": name}
                kind, key = "response.function_call_arguments.delta", {}
                done = {**item, "status": "completed", "arguments": whole}
        started = {**item, "status": "in_progress", "arguments": ""}
        add("response.output_item.added", output_index=place, item=started)
        for piece in pieces:
            add(kind, item_id=item["id"], output_index=place, delta=piece, **key)
        add("response.output_item.done", output_index=place, item=done)
        output.append(done)
    usage = {
        "input_tokens": INPUT,
        "input_tokens_details": {"cached_tokens": CACHED, "cache_write_tokens": WRITTEN},
        "output_tokens": OUTPUT,
        "output_tokens_details": {"reasoning_tokens": 3},
        "total_tokens": INPUT + OUTPUT,
    }
    response: dict[str, Any] = {"object": "response", "output": output, "usage": usage}
    if finish:
        details = {"reason": finish}
        response |= {"status": "incomplete", "incomplete_details": details}
        add("response.incomplete", response=response)
    else:
        add("response.completed", response={**response, "status": "completed"})
    return events


def messages(parts: Sequence[Part], finish: str = "") -> list[bytes]:
    """Return the reply as Anthropic's page on streaming describes it."""
    events: list[bytes] = []

    def add(kind: str, **fields: Any) -> None:
        events.append(event({"type": kind, **fields}, kind))

    usage = {
        "input_tokens": INPUT - CACHED - WRITTEN,
        "cache_read_input_tokens": CACHED,
        "cache_creation_input_tokens": WRITTEN,
        "output_tokens": 1,
    }
    message = {"id": "msg_1", "type": "message", "role": "assistant", "content": []}
    add("message_start", message={**message, "stop_reason": None, "usage": usage})
    add("ping")
    for place, part in enumerate(parts):
        match part:
            case Said(pieces):
                block: dict[str, Any] = {"type": "text", "text": ""}
                deltas = [{"type": "text_delta", "text": piece} for piece in pieces]
            case Thought(pieces, seal):
                block = {"type": "thinking", "thinking": "", "signature": ""}
                deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces]
                deltas.append({"type": "signature_delta", "signature": seal})
            case Called(id_, name, pieces):
                block = {"type": "tool_use", "id": id_, "name": name, "input": {}}
                deltas = [{"type": "input_json_delta", "partial_json": one} for one in pieces]
        add("content_block_start", index=place, content_block=block)
        for delta in deltas:
            add("content_block_delta", index=place, delta=delta)
        add("content_block_stop", index=place)
    has_calls = any(isinstance(part, Called) for part in parts)
    reason = finish or ("tool_use" if has_calls else "end_turn")
    add("message_delta", delta={"stop_reason": reason}, usage={"output_tokens": OUTPUT})
    add("message_stop")
    return events


STREAMS: Mapping[WireName, Callable[[Sequence[Part], str], list[bytes]]] = {
    "chat": chat,
    "responses": responses,
    "messages": messages,
}
LIMITS: Mapping[WireName, str] = {
    "chat": "length",
    "responses": "max_output_tokens",
    "messages": "max_tokens",
}
"""What each wire calls the end at the reply's limit."""

WIRES: tuple[WireName, ...] = ("chat", "responses", "messages")


def words_event(wire: WireName, text: str, *, reasoning: bool = False) -> bytes:
    """Return an event with a part of text or reasoning."""
    match wire:
        case "chat":
            delta = {"reasoning_content" if reasoning else "content": text}
            return event({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
        case "responses":
            kind = "reasoning_summary_text" if reasoning else "output_text"
            return event({"type": f"response.{kind}.delta", "output_index": 0, "delta": text})
        case "messages":
            name = "thinking" if reasoning else "text"
            part = {"type": f"{name}_delta", name: text}
            return event({"type": "content_block_delta", "index": 0, "delta": part})


def call_events(wire: WireName, index: int, id_: Any, name: Any, *pieces: Any) -> list[bytes]:
    """Return the events of one call: the beginning, and each part of the arguments."""
    match wire:
        case "chat":
            function = {"name": name, "arguments": ""}
            deltas: list[Mapping[str, Any]] = [{"index": index, "id": id_, "function": function}]
            deltas += [{"index": index, "function": {"arguments": one}} for one in pieces]
            return [
                event({"choices": [{"index": 0, "delta": {"tool_calls": [delta]}}]})
                for delta in deltas
            ]
        case "responses":
            item = {"type": "function_call", "call_id": id_, "name": name, "arguments": ""}
            begun = {"type": "response.output_item.added", "output_index": index, "item": item}
            kind = "response.function_call_arguments.delta"
            return [
                event(begun),
                *(event({"type": kind, "output_index": index, "delta": one}) for one in pieces),
            ]
        case "messages":
            block = {"type": "tool_use", "id": id_, "name": name, "input": {}}
            begun = {"type": "content_block_start", "index": index, "content_block": block}
            deltas = [{"type": "input_json_delta", "partial_json": one} for one in pieces]
            kind = "content_block_delta"
            return [
                event(begun),
                *(event({"type": kind, "index": index, "delta": one}) for one in deltas),
            ]


def end_events(
    wire: WireName, finish: str = "", usage: tuple[Any, Any] | None = None
) -> list[bytes]:
    """Return the last events of a stream: the reason, the token usage, and the end."""
    match wire:
        case "chat":
            end: dict[str, Any] = {"choices": [{"delta": {}, "finish_reason": finish or "stop"}]}
            if usage:
                end["usage"] = dict(zip(("prompt_tokens", "completion_tokens"), usage, strict=True))
            return [event(end), b"data: [DONE]\n\n"]
        case "responses":
            status = "incomplete" if finish else "completed"
            response: dict[str, Any] = {"object": "response", "status": status, "output": []}
            if finish:
                response["incomplete_details"] = {"reason": finish}
            if usage:
                response["usage"] = dict(zip(("input_tokens", "output_tokens"), usage, strict=True))
            return [event({"type": f"response.{status}", "response": response})]
        case "messages":
            delta = {"type": "message_delta", "delta": {"stop_reason": finish or "end_turn"}}
            if usage:
                delta["usage"] = dict(zip(("input_tokens", "output_tokens"), usage, strict=True))
            return [event(delta), event({"type": "message_stop"})]


EMPTY: Mapping[WireName, bytes] = {
    "chat": event({"choices": []}),
    "responses": event({"type": "response.in_progress", "response": {"output": []}}),
    "messages": event({"type": "ping"}),
}
"""Data that brings nothing."""

FILTERED: Mapping[WireName, str] = {
    "chat": "content_filter",
    "responses": "content_filter",
    "messages": "refusal",
}


def error_event(wire: WireName, message: str, *, status: int = 502) -> bytes:
    """Return an error in the middle of a stream; chat completions add a status."""
    match wire:
        case "chat":
            return event({"error": {"message": message, "code": status}})
        case "responses":
            return event({"type": "error", "code": "server_error", "message": message}, "error")
        case "messages":
            error = {"type": "api_error", "message": message}
            return event({"type": "error", "error": error}, "error")
