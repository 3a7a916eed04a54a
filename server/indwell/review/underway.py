"""Which files the agent is changing right now; whoever wants one of them waits."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

import msgspec

BUSY_S = 10.0  # to wait for the agent's own edit of the same file; an editor answers in less


class Pending(msgspec.Struct, frozen=True):
    """A change of the agent that is underway.

    Attributes:
        id: Of its record.
        path: Absolute.
        before: What it was made from.
        proposed: What it should become.
    """

    id: str
    path: Path
    before: str | None
    proposed: str


class Underway:
    """Files by name, each with the number of changes that have begun and not ended."""

    def __init__(self) -> None:
        self._names: dict[str, int] = {}
        self._ended = asyncio.Event()

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def __len__(self) -> int:
        return len(self._names)

    def begin(self, name: str) -> None:
        """A change of a file begins."""
        self._names[name] = self._names.get(name, 0) + 1

    def end(self, name: str) -> None:
        """One that began has ended."""
        left = self._names.pop(name) - 1
        if left:
            self._names[name] = left
        ended, self._ended = self._ended, asyncio.Event()
        ended.set()

    async def free(self, name: str) -> None:
        """Wait until nothing is underway in a file, for some time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(BUSY_S):
                while name in self:
                    await self._ended.wait()
