"""A model that answers from a script: for tests, the demo and replays.

It is as strict as the strictest endpoint: a request that one of them would refuse fails the test.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias, assert_never

import msgspec

from indwell.context.tokens import estimate_tokens, request_tokens
from indwell.errors import ProviderError
from indwell.lazy_pattern import lazy_pattern
from indwell.messages import (
    Image,
    Message,
    Reply,
    Request,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    Usage,
)
from indwell.providers.base import CallStarted, StreamEvent, TextDelta, ThinkingDelta

_WORD = lazy_pattern(r"\s*\S+\s*|\s+")


@dataclass(frozen=True, slots=True)
class Hang:
    """A step that streams ``text`` and then nothing until it is cancelled."""

    text: str = ""


Answer: TypeAlias = Reply | ProviderError | Hang
Step: TypeAlias = Answer | Callable[[Request], Answer]


class ScriptedProvider:
    """A ``Provider`` that plays ``steps`` in order, one per call, or calls one function each time.

    Args:
        steps: Replies, errors to raise, hangs, or functions that take the request and return one.
        pace_s: Seconds between two deltas, for a lifelike demo.
        sleep: Waits between them; with 0 it only lets other tasks run.

    Attributes:
        requests: All requests, in order.
    """

    def __init__(
        self,
        steps: Sequence[Step] | Callable[[Request], Answer],
        *,
        pace_s: float = 0.0,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.requests: list[Request] = []
        self._steps = steps
        self._pace_s = pace_s
        self._sleep = sleep

    async def complete(self, request: Request, on_event: Callable[[StreamEvent], None]) -> Reply:
        """Play the next step.

        Raises:
            ProviderError: The step is this error.
            AssertionError: An endpoint would refuse the request, or the script has ended.
        """
        check_legal(request)
        self.requests.append(request)
        answer = self._answer(request)
        if isinstance(answer, ProviderError):
            raise answer
        for event in _events(answer):
            on_event(event)
            await self._sleep(self._pace_s)
        match answer:
            case Hang():
                await asyncio.Event().wait()
                raise AssertionError("a hang ends only by being cancelled")
            case Reply() if answer.usage == Usage():
                return msgspec.structs.replace(answer, usage=_estimate(request, answer))
            case Reply():
                return answer
            case _:
                assert_never(answer)

    def _answer(self, request: Request) -> Answer:
        number = len(self.requests)
        if callable(self._steps):
            return self._steps(request)
        assert number <= len(self._steps), (
            f"the script has {len(self._steps)} steps, and call {number} asks for one more;"
            f" its last message: {request.messages[-1]!r}"
        )
        step = self._steps[number - 1]
        return step(request) if callable(step) else step


def hang(text: str = "") -> Hang:
    """Return a step that streams ``text`` and then waits until it is cancelled."""
    return Hang(text)


def check_legal(request: Request) -> None:
    """Fail if some endpoint would refuse the request: check roles, pairs and empty content.

    Raises:
        AssertionError: The message names the place and the reason.
    """
    assert request.messages, "no messages"
    assert request.messages[-1].role == "user", "the last message is not the user's"
    for block in request.system:
        assert block.text.strip(), "an empty system block"
    names = [tool.name for tool in request.tools]
    assert len(set(names)) == len(names), f"a tool stands twice in {names}"
    expected: list[str] = []
    for index, message in enumerate(request.messages):
        where = f"message {index}"
        role = "assistant" if index % 2 else "user"
        assert message.role == role, f"{where} is the {message.role}'s, not the {role}'s"
        _check_content(message, where)
        answered = [b.tool_use_id for b in message.blocks if isinstance(b, ToolResult)]
        assert sorted(answered) == sorted(expected), (
            f"{where} answers the calls {answered}, made were {expected}"
        )
        expected = [block.id for block in message.blocks if isinstance(block, ToolUse)]
        assert len(set(expected)) == len(expected), f"{where} has a call id twice: {expected}"


def _check_content(message: Message, where: str) -> None:
    sent = [block for block in message.blocks if not isinstance(block, Thinking)]
    assert sent, f"{where} holds nothing that is sent"
    allowed = Text | ToolUse if message.role == "assistant" else Text | Image | ToolResult
    for block in sent:
        kind = type(block).__name__
        assert isinstance(block, allowed), f"{where}: the {message.role} cannot send {kind}"
        if isinstance(block, Text | ToolResult):
            assert block.text.strip(), f"{where}: an empty {kind}"
        if isinstance(block, ToolUse):
            assert block.id, f"{where}: a tool use without an id"
            assert block.name, f"{where}: a tool use without a name"
    results_first = sorted(sent, key=lambda block: not isinstance(block, ToolResult))
    assert sent == results_first, f"{where}: a tool result after other blocks"


def _events(answer: Reply | Hang) -> Iterator[StreamEvent]:
    if isinstance(answer, Reply):
        yield from (ThinkingDelta(word) for word in _WORD.findall(answer.thinking))
    yield from (TextDelta(word) for word in _WORD.findall(answer.text))
    if isinstance(answer, Reply):
        yield from (CallStarted(call.name) for call in answer.calls)


def _estimate(request: Request, reply: Reply) -> Usage:
    said = reply.text + reply.thinking + "".join(c.name + c.arguments for c in reply.calls)
    return Usage(input=request_tokens(request), output=estimate_tokens(said), reported=False)
