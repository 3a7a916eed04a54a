"""The newest of very many files, without keeping them all."""

from __future__ import annotations

import heapq
import os
from collections.abc import Callable, Sequence
from pathlib import Path


class Newest:
    """Takes names of files in a folder, piece by piece, and keeps the newest.

    Args:
        folder: Where the names lie.
        limit: How many are kept.
        is_hidden: Is this one left out? Asked only of those that would be kept.
    """

    def __init__(self, folder: Path, limit: int, is_hidden: Callable[[str], bool]) -> None:
        self.n_files = 0  # without those that are known to be hidden
        self._folder = os.fsencode(folder) + b"/"
        self._limit = limit
        self._is_hidden = is_hidden
        self._kept: list[tuple[int, bytes]] = []  # minus nanoseconds, name

    @property
    def names(self) -> tuple[tuple[int, str], ...]:
        """Nanoseconds of the last change and name; the newest first, then by name."""
        return tuple((-age, os.fsdecode(name)) for age, name in self._kept)

    def add(self, names: Sequence[bytes]) -> None:
        """Take more names. Blocks: looks each of them up, about 2 µs a file; follows no link."""
        last = self._kept[-1] if len(self._kept) == self._limit else None
        new = []
        folder, look = self._folder, os.lstat
        for name in names:
            try:
                one = (-look(folder + name).st_mtime_ns, name)
            except OSError:  # gone meanwhile
                continue
            self.n_files += 1
            if last is None or one < last:
                new.append(one)
        heapq.heapify(new)
        room = self._limit
        kept = []
        while new and room:
            one = heapq.heappop(new)
            if self._is_hidden(os.fsdecode(one[1])):
                self.n_files -= 1
                continue
            kept.append(one)
            room -= 1
        self._kept = sorted(self._kept + kept)[: self._limit]
