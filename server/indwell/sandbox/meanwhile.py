"""What commands that run on made although they may not: looked at before another one runs.

Else what such a command plants would be in force for all that runs until it ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager


class Meanwhile:
    """One command that runs on, and what was said of it.

    Args:
        look: Puts aside what it made so far, and says so, a sentence each; blocks.
        hear: Hears each sentence, once.
    """

    def __init__(self, look: Callable[[], Sequence[str]], hear: Callable[[str], None]) -> None:
        self._look = look
        self._hear = hear
        self._looking = asyncio.Lock()
        self._said: list[str] = []

    async def look(self) -> None:
        """Put aside what is there by now."""
        async with self._looking:
            notes = await asyncio.to_thread(self._look)
        self.heard(notes)

    def heard(self, notes: Sequence[str]) -> None:
        """Say what was put aside already."""
        for note in notes:
            if note not in self._said:
                self._said.append(note)
                self._hear(note)

    def said_with(self, notes: Sequence[str]) -> tuple[str, ...]:
        """All that was said of it, with what is said at its end."""
        return tuple(dict.fromkeys((*self._said, *notes)))


_running: list[Meanwhile] = []


@contextmanager
def looked_at(one: Meanwhile) -> Iterator[None]:
    """While it runs, ``look_again`` looks at it."""
    _running.append(one)
    try:
        yield
    finally:
        _running.remove(one)


def any_runs_on() -> bool:
    """Does a command run that began before now?"""
    return bool(_running)


async def look_again() -> None:
    """Put aside what commands that run on have made, before anything could obey it."""
    for one in tuple(_running):
        await one.look()
