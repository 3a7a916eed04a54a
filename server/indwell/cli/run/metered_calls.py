"""Asks the program that started a run before each model call (``indwell run --metered``).

The run writes a line on stdout, and the other program answers with a line on stdin:

    {"type": "callAsked", "call": 1, "tokens": 9000, "cost": 0.02}
    {"call": 1, "granted": true}
    {"type": "callSettled", "call": 1, "tokens": 4100, "cost": 0.007}

The end of stdin means that the other program is gone, and stops the run.
"""

from __future__ import annotations

import asyncio
import sys

import msgspec

from indwell.cli.terminal.json_line import json_line
from indwell.cli.terminal.stdin import stdin_lines
from indwell.errors import ProviderError
from indwell.prepared_types import prepared


class CallAsked(msgspec.Struct, frozen=True, tag_field="type", tag="callAsked"):
    """The run asks for a model call of at most so many tokens and US dollars."""

    call: int
    tokens: int
    cost: float | None


class CallSettled(msgspec.Struct, frozen=True, tag_field="type", tag="callSettled"):
    """What a call used."""

    call: int
    tokens: int
    cost: float | None


class CallAnswer(msgspec.Struct, frozen=True):
    """The answer to a question, with the reason for a refusal."""

    call: int
    granted: bool
    why: str = ""


class MeteredCalls:
    """Asks on stdout, and reads answers from stdin; implements ``CallMeter``."""

    def __init__(self) -> None:
        self._next = 0
        self._waiting: dict[int, asyncio.Future[CallAnswer]] = {}
        self._reading: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Read answers from now on; the end of stdin cancels the current task."""
        owner = asyncio.current_task()
        assert owner is not None
        self._reading = asyncio.create_task(self._read(owner))

    async def ask(self, tokens: int, cost: float | None) -> int:
        """Wait for the grant of a call.

        Raises:
            ProviderError: The other program refuses the call.
        """
        self._next += 1
        number = self._next
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        _write(CallAsked(number, tokens, cost))
        try:
            said = await answer
        finally:
            del self._waiting[number]
        if not said.granted:
            raise ProviderError(
                said.why or "the program that started this run allows no more calls"
            )
        return number

    def settle(self, grant: int, tokens: int, cost: float | None) -> None:
        """Tell the batch how many tokens and dollars a finished call has taken."""
        _write(CallSettled(grant, tokens, cost))

    async def _read(self, owner: asyncio.Task[object]) -> None:
        try:
            async for line in stdin_lines():
                answer = msgspec.json.decode(line, type=prepared(CallAnswer))
                waiting = self._waiting.get(answer.call)
                if waiting is not None and not waiting.done():
                    waiting.set_result(answer)
        finally:
            owner.cancel()


def _write(line: CallAsked | CallSettled) -> None:
    sys.stdout.write(json_line(line) + "\n")
    sys.stdout.flush()
