"""Validates the order of items in requests to all three APIs, as the strictest endpoint does.

``complaints(wire, body)`` returns what an endpoint would refuse. ``strict_chat`` has the rules for
chat completions. The rules come from the APIs' documentation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from indwell.providers.wires.dialect import WireName
from support import strict_chat

_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_THOUGHT = frozenset({"thinking", "redacted_thinking"})
_MARKS = 4


def complaints(wire: WireName, body: dict[str, Any]) -> tuple[str, ...]:
    """Return the faults of a request's body; none if the endpoint accepts it."""
    match wire:
        case "chat":
            return strict_chat.complaints(body)
        case "responses":
            return tuple(_responses(body))
        case "messages":
            return tuple(_messages(body))


def _responses(body: dict[str, Any]) -> Iterator[str]:
    """Yield faults: one output follows each call; sealed reasoning precedes its text or call."""
    items = body["input"]
    if body.get("store") is not False or body.get("previous_response_id"):
        yield "something is stored"
    if not items or items[-1].get("role") == "assistant":
        yield "the last item is the assistant's"
    unanswered: list[str] = []
    for at, item in enumerate(items):
        found: Iterator[str]
        match item["type"]:
            case "reasoning":
                found = _sealed(item, items[at + 1] if at + 1 < len(items) else {})
            case "function_call":
                found = _called(item, items[:at])
                unanswered.append(item["call_id"])
            case "function_call_output":
                found = _answered(item["call_id"], unanswered)
            case _:
                found = _said(item, unanswered)
        yield from (f"input[{at}]: {one}" for one in found)
    if unanswered:
        yield f"the last calls {unanswered} have no outputs"


def _sealed(item: dict[str, Any], after: dict[str, Any]) -> Iterator[str]:
    is_led = after.get("type") in {"reasoning", "function_call"}
    if not is_led and after.get("role") != "assistant":
        yield "reasoning without the item that follows it"
    if not item.get("encrypted_content") or not isinstance(item.get("summary"), list):
        yield "reasoning that nobody stored and nobody sealed"


def _called(item: dict[str, Any], before: list[dict[str, Any]]) -> Iterator[str]:
    if any(item["call_id"] == one.get("call_id") for one in before):
        yield f"the id {item['call_id']!r} twice"
    if not isinstance(json.loads(item["arguments"]), dict):
        yield "arguments that are no object"


def _answered(call_id: str, unanswered: list[str]) -> Iterator[str]:
    if call_id in unanswered:
        unanswered.remove(call_id)
    else:
        yield f"no call {call_id!r} waits for an output"


def _said(item: dict[str, Any], unanswered: list[str]) -> Iterator[str]:
    if item["role"] == "user" and unanswered:
        yield f"the calls {unanswered} have no outputs"
    kinds = {"user": {"input_text", "input_image"}, "assistant": {"output_text", "refusal"}}
    if not item["content"]:
        yield "no content"
    for part in item["content"]:
        if part["type"] not in kinds[item["role"]]:
            yield f"{part['type']} of the {item['role']}"


def _messages(body: dict[str, Any]) -> Iterator[str]:
    """Yield faults: roles alternate, results come first, and thinking is never last."""
    messages = body["messages"]
    marks = json.dumps(body).count('"cache_control"')
    if marks > _MARKS:
        yield f"{marks} cache marks"
    if not messages or messages[-1]["role"] != "user":
        yield "the last message is not the user's"
    uses: list[str] = []
    for at, message in enumerate(messages):
        where, content = f"messages[{at}]", message["content"]
        if message["role"] != ("assistant" if at % 2 else "user"):
            yield f"{where}: roles do not alternate"
        if not content:
            yield f"{where}: no content"
        kinds = [part["type"] for part in content]
        n_results = kinds.count("tool_result")
        if kinds[:n_results] != ["tool_result"] * n_results:
            yield f"{where}: results behind something else"
        results = [part["tool_use_id"] for part in content[:n_results]]
        if message["role"] == "user" and sorted(results) != sorted(uses):
            yield f"{where}: results {results} of the calls {uses}"
        uses = [part["id"] for part in content if part["type"] == "tool_use"]
        yield from (f"{where}: {one}" for one in _blocks(content))
        if len(set(uses)) != len(uses) or not all(map(_ID.fullmatch, uses)):
            yield f"{where}: ids {uses}"
    budget = body.get("thinking", {}).get("budget_tokens", 0)
    if budget >= body["max_tokens"]:
        yield "the budget of thinking is not below the limit"


def _blocks(content: list[dict[str, Any]]) -> Iterator[str]:
    for part in content:
        if part["type"] == "text" and not part["text"].strip():
            yield "blank text"
        if part["type"] == "thinking" and not part["signature"]:
            yield "thinking without a signature"
        if part["type"] in _THOUGHT and "cache_control" in part:
            yield "a mark on thinking"
    if content and content[-1]["type"] in _THOUGHT:
        yield "thinking at the end"
