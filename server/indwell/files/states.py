"""What tells two states of a file apart without reading it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import msgspec

RACY_NS = 2_000_000_000  # FAT counts in steps of 2 s; within one, a second change may look the same


class State(msgspec.Struct, frozen=True):
    """A file as ``stat`` sees it.

    Attributes:
        seen: Times of change, size, which file it is.
        is_certain: A file that looks the same later is the same: its last change was not so
            short before the look that another could hide in the same tick of the clock.
    """

    seen: tuple[int, int, int, int]
    is_certain: bool


def state_of(path: Path, clock: Callable[[], int] = time.time_ns) -> State | None:
    """The state of the file at ``path``, links followed; None if it cannot be seen.

    Args:
        path: Of the file.
        clock: Nanoseconds since 1970.
    """
    try:
        stat = path.stat()
    except OSError:
        return None
    changed = max(stat.st_mtime_ns, stat.st_ctime_ns)
    return State(
        seen=(stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size, stat.st_ino),
        is_certain=not 0 <= clock() - changed < RACY_NS,
    )
