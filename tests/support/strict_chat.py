"""Validates the order of messages in chat completions requests, as the strictest endpoint does.

    async with LoopbackEndpoint(strictly([say("hello")])) as endpoint: …

A request that OpenAI's, Anthropic's or Mistral's endpoint refuses for its order receives the status
400 and a description of the fault.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from support.loopback_endpoint import Answer, Seen, refuse


def complaints(body: dict[str, Any]) -> tuple[str, ...]:
    """Return the faults in a request's messages; none if the endpoint accepts them."""
    messages = body["messages"]
    if not messages:
        return ("no messages",)
    found = list(_order(messages))
    for at, message in enumerate(messages):
        found += [f"messages[{at}]: {what}" for what in _content(message)]
    if messages[-1]["role"] not in {"user", "tool"}:
        found.append(f"the last message is the {messages[-1]['role']}'s")
    return tuple(found)


def strictly(script: Sequence[Answer] | Callable[[Seen], Answer]) -> Callable[[Seen], Answer]:
    """Play ``script``, but refuse a request whose messages are out of order."""
    left = iter(()) if callable(script) else iter(script)

    def answer(seen: Seen) -> Answer:
        wrong = complaints(seen.body)
        if wrong:
            return refuse(400, "; ".join(wrong), code="invalid_request_error")
        if callable(script):
            return script(seen)
        return next(left, refuse(400, "the script is over"))

    return answer


def _order(messages: list[dict[str, Any]]) -> Iterator[str]:
    """Yield faults: roles alternate; the one result of each call follows the call's message."""
    unanswered: list[str] = []
    before = ""
    for at, message in enumerate(messages):
        role, where = message["role"], f"messages[{at}]"
        if role == "tool":
            identifier = message.get("tool_call_id")
            if identifier not in unanswered:
                yield f"{where}: no call {identifier!r} waits for a result"
            else:
                unanswered.remove(identifier)
            before = "tool"
            continue
        if unanswered:
            yield f"{where}: the calls {unanswered} have no results"
            unanswered = []
        if role == "system" and at:
            yield f"{where}: a system message after the beginning"
        if role == before or (role == "assistant" and before not in {"user", "tool"}):
            yield f"{where}: {role} after {before or 'nothing'}"
        unanswered = [call["id"] for call in message.get("tool_calls", ())]
        if len(set(unanswered)) != len(unanswered):
            yield f"{where}: an id twice among {unanswered}"
        before = role
    if unanswered:
        yield f"the last calls {unanswered} have no results"


def _content(message: dict[str, Any]) -> Iterator[str]:
    content, calls = message.get("content"), message.get("tool_calls")
    if calls is not None and (message["role"] != "assistant" or not calls):
        yield "tool_calls are empty, or not the assistant's"
    if content is None and not calls:
        yield "no content"
    if isinstance(content, str) and not content.strip() and not calls:
        yield "empty content"
    for call in calls or ():
        function = call["function"]
        if not call["id"] or not function["name"] or not isinstance(function["arguments"], str):
            yield f"a call that is not whole: {call}"
