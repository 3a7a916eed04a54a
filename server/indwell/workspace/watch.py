"""Which followed files may read differently now: the interface, and the fake that ships.

A watch only says where to look. Whether a text has changed is for its digest to say, so events of
our own writes cost a look and mean nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol


class Watch(Protocol):
    """Hears of changes to some files, whoever makes them."""

    def follow(self, path: Path) -> None:
        """Hear of this file (absolute, resolved) from now on; returns at once."""
        ...

    def changed(self) -> frozenset[Path]:
        """Followed files that may have changed since the last call; returns at once."""
        ...

    def close(self) -> None:
        """Follow nothing any more; closing twice is nothing."""
        ...


class MemoryWatch:
    """A watch that is told by hand: for tests and replays. Implements ``Watch``."""

    def __init__(self) -> None:
        self.followed: set[Path] = set()
        self._changed: set[Path] = set()

    def follow(self, path: Path) -> None:
        """Remember it."""
        self.followed.add(path)

    def note(self, path: Path) -> None:
        """Somebody changed this file."""
        if path in self.followed:
            self._changed.add(path)

    def changed(self) -> frozenset[Path]:
        """What was noted."""
        changed, self._changed = frozenset(self._changed), set()
        return changed

    def close(self) -> None:
        """Forget all."""
        self.followed.clear()
