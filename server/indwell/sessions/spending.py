"""What was spent, by day: a small file a day that all sessions and processes append to.

    <state>/spending/2026-11-21.log      one line a call: dollars

A line is one write, so a kill loses at most the call whose cost was not written yet, and no two
processes mix theirs. Days are the user's, not UTC's; the last 31 are kept.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

from indwell.files.shared_log import append_line, read_from, remove_all_but

KEPT_DAYS = 31
_CHUNK_B = 1 << 20

_log = logging.getLogger(__name__)


def local_day(now: datetime) -> str:
    """The user's date, such as ``2026-11-21``; UTC's where TZ is beyond what a day can be off."""
    try:
        return now.astimezone().date().isoformat()
    except (ValueError, OverflowError, OSError):
        return now.astimezone(UTC).date().isoformat()


class SpendingLedger:
    """The ledger of one user; implements ``agent.ledger.Ledger``.

    One thread does all reading and writing, so nothing waits for the disk but ``today``.

    Args:
        state_folder: Indwell's.
        now: The time, aware.
    """

    def __init__(self, state_folder: Path, now: Callable[[], datetime]) -> None:
        self._folder = state_folder / "spending"
        self._now = now
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="indwell-spending")
        # These belong to the thread: the day that is being read, how far, and its sum.
        self._day = ""
        self._offset = 0
        self._sum = 0.0

    def add(self, dollars: float) -> None:
        """Count a call; nothing waits for it, and a disk that fails is logged."""
        self._thread.submit(self._append, self._today(), dollars)

    async def today(self) -> float:
        """US dollars spent today by every process; own calls are in it at once."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._total, self._today())

    async def close(self) -> None:
        """Wait until all is written."""
        await asyncio.to_thread(self._thread.shutdown)

    def _today(self) -> str:
        return local_day(self._now())

    def _append(self, day: str, dollars: float) -> None:
        path = self._path(day)
        try:
            is_new = not path.exists()
            append_line(path, f"{dollars:.8f}".encode())
            if is_new:
                remove_all_but(self._folder, KEPT_DAYS)
        except OSError as error:
            _log.warning("the spending of today is not written down: %s", error)

    def _total(self, day: str) -> float:
        if day != self._day:
            self._day, self._offset, self._sum = day, 0, 0.0
        try:
            while data := read_from(self._path(day), self._offset, _CHUNK_B):
                whole = data[: data.rfind(b"\n") + 1]
                if not whole:
                    break  # another process is in the middle of its line
                self._offset += len(whole)
                self._sum += sum(map(_dollars, whole.split(b"\n")))
        except OSError as error:
            _log.warning("the spending of today cannot be read: %s", error)
        return self._sum

    def _path(self, day: str) -> Path:
        return self._folder / f"{day}.log"


def _dollars(line: bytes) -> float:
    """The cost on a line; a torn or foreign line counts as nothing."""
    try:
        dollars = float(line)
    except ValueError:
        return 0.0
    return dollars if 0 <= dollars < float("inf") else 0.0
