"""What commands that run on made although they may not: looked at before another one runs.

Else what such a command plants would be in force for all that runs until it ends.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

log = logging.getLogger(__name__)

MOST_NOTES = 20  # a command can make thousands of such files, and a person reads few
_MOST_LOGGED = 5


def few(notes: Sequence[str], where: str = "") -> tuple[str, ...]:
    """The first of these sentences, and how many more there are.

    Args:
        notes: All of them.
        where: The folder that holds what was moved away.
    """
    if len(notes) <= MOST_NOTES:
        return tuple(notes)
    more = f"and {len(notes) - MOST_NOTES:,} more of this kind"
    if where:
        more += f"; what was moved away is in {where!r}"
    return (*notes[:MOST_NOTES], more)


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
        self._said: dict[str, None] = {}

    async def look(self) -> None:
        """Put aside what is there by now."""
        async with self._looking:
            notes = await asyncio.to_thread(self._look)
        self.heard(notes)

    def heard(self, notes: Sequence[str]) -> None:
        """Say what was put aside already."""
        for note in notes:
            if note in self._said:
                continue
            self._said[note] = None
            if len(self._said) <= MOST_NOTES:
                self._hear(note)
            if len(self._said) <= _MOST_LOGGED:
                log.warning("%s", note)

    def said_with(self, notes: Sequence[str]) -> tuple[str, ...]:
        """All that was said of it, what is said at its end first; it is logged, too."""
        every = tuple(dict.fromkeys((*notes, *self._said)))
        n_logged = min(len(self._said), _MOST_LOGGED)
        new = [one for one in notes if one not in self._said][: _MOST_LOGGED - n_logged]
        for one in new:
            log.warning("%s", one)
        if n_more := len(every) - n_logged - len(new):
            log.warning("and %s more of this kind", f"{n_more:,}")
        return every


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
