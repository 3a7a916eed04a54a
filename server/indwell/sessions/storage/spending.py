"""Keeps the spending of each day in a small file, which all sessions and processes append to."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

from indwell.files.append_log import append_line, make_private_folder, read_from, remove_all_but
from indwell.files.locks import locked
from indwell.sessions.spending_lines import MOST_A_CALL, DaySum, Reservation, is_plausible

KEPT_DAYS = 31
LOCK_S = 5.0  # A writer waits 5 s for the lock; a read and a line take a millisecond.
_CHUNK_B = 1 << 20

_log = logging.getLogger(__name__)


def local_day(now: datetime) -> str:
    """Return the user's date, such as ``2026-11-21``, or the date in UTC if TZ is invalid."""
    try:
        return now.astimezone().date().isoformat()
    except (ValueError, OverflowError, OSError):
        return now.astimezone(UTC).date().isoformat()


class SpendingLedger:
    """The spending ledger of one user; implements ``agent.core.budget.Ledger``.

    One thread reads and writes, so only ``hold`` and ``today`` wait for the disk.

    Args:
        state_folder: Indwell's state folder.
        now: Returns the time, with its time zone.
    """

    def __init__(self, state_folder: Path, now: Callable[[], datetime]) -> None:
        self._folder = state_folder / "spending"
        self._now = now
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="indwell-spending")
        # Only the thread uses these fields: the day that is being read, the offset, and the day's
        # sum.
        self._day = ""
        self._offset = 0
        self._sum = DaySum()

    def add(self, dollars: float) -> None:
        """Add the cost of a call without waiting; a disk error is logged."""
        if not is_plausible(dollars):
            _log.warning(
                "a call seems to cost $%g, which is impossible; it is not counted for the day",
                dollars,
            )
            return
        self._thread.submit(self._append, self._today(), f"{dollars:.8f}")

    async def hold(self, dollars: float, limit: float) -> Reservation | float:
        """Reserve money until ``release``, or return the day's sum if there is too little left.

        Check and reservation are atomic, even between processes.
        """
        holding = self._thread.submit(self._hold, self._today(), dollars, limit)
        try:
            return await asyncio.wrap_future(holding)
        except asyncio.CancelledError:
            # The undo runs after the write, because the thread keeps the order.
            self._thread.submit(self._undo, holding)
            raise

    def release(self, hold: Reservation) -> None:
        """Release a reservation, without waiting."""
        self._thread.submit(self._append, hold.day, f"free {hold.id}")

    async def today(self) -> float:
        """Return US dollars spent or reserved today by all processes, including this process."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._total, self._today())

    async def close(self) -> None:
        """Wait until all entries are written."""
        await asyncio.to_thread(self._thread.shutdown)

    def _today(self) -> str:
        return local_day(self._now())

    def _hold(self, day: str, dollars: float, limit: float) -> Reservation | float:
        path = self._path(day)
        with ExitStack() as stack:
            try:
                make_private_folder(path.parent)
                stack.enter_context(locked(path, timeout_s=LOCK_S))
            except OSError as error:
                _log.warning("the spending of today cannot be locked: %s", error)
            spent = self._total(day)
            if spent + dollars > limit:
                return spent
            hold = Reservation(secrets.token_hex(8), day, dollars)
            self._append(day, f"hold {hold.id} {dollars:.8f}")
            return hold

    def _undo(self, holding: Future[Reservation | float]) -> None:
        held = None if holding.cancelled() else holding.result()
        if isinstance(held, Reservation):
            self._append(held.day, f"free {held.id}")

    def _append(self, day: str, line: str) -> None:
        path = self._path(day)
        try:
            is_new = not path.exists() or path.stat().st_size == 0
            append_line(path, line.encode())
            if is_new:
                remove_all_but(self._folder, KEPT_DAYS)
        except OSError as error:
            _log.warning("today's spending cannot be written: %s", error)

    def _total(self, day: str) -> float:
        if day != self._day:
            self._day, self._offset, self._sum = day, 0, DaySum()
        n_absurd = self._sum.n_absurd
        try:
            while data := read_from(self._path(day), self._offset, _CHUNK_B):
                whole = data[: data.rfind(b"\n") + 1]
                if not whole:
                    break  # Another process is writing its line.
                self._offset += len(whole)
                for line in whole.split(b"\n"):
                    self._sum.take(line)
        except OSError as error:
            _log.warning("the spending of today cannot be read: %s", error)
        if self._sum.n_absurd > n_absurd:
            _log.warning(
                "%s has %d lines that are not the cost of a call (under 0, over $%g); they do "
                "not count",
                self._path(day),
                self._sum.n_absurd,
                MOST_A_CALL,
            )
        return self._sum.dollars

    def _path(self, day: str) -> Path:
        return self._folder / f"{day}.log"
