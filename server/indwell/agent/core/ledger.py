"""The ledger of today's spending by all sessions: interface and in-memory implementation."""

from __future__ import annotations

from itertools import count
from typing import Protocol

from indwell.sessions.spending_lines import Reservation


class Ledger(Protocol):
    """Spending by calendar day, for the setting ``budget_day``."""

    def add(self, dollars: float) -> None:
        """Add the cost of a call; returns at once and is durable."""
        ...

    async def hold(self, dollars: float, limit: float) -> Reservation | float:
        """Reserve money for a call, unless today's total would exceed ``limit``.

        Checking and reserving are one atomic step, across processes too. A reservation counts as
        spent until ``release``; if the process dies first, until the end of the day.

        Returns:
            The reservation, or today's total in US dollars if the call does not fit.
        """
        ...

    def release(self, hold: Reservation) -> None:
        """Release a reservation once its call has ended and was added; returns at once."""
        ...

    async def today(self) -> float:
        """US dollars spent or reserved today by all sessions and processes of this user."""
        ...

    async def close(self) -> None:
        """Write pending entries."""
        ...


class MemoryLedger:
    """A ledger of one process and one day; implements ``Ledger``."""

    def __init__(self) -> None:
        self._dollars = 0.0
        self._held: dict[str, float] = {}
        self._ids = count()

    def add(self, dollars: float) -> None:
        """See ``Ledger``."""
        self._dollars += dollars

    async def hold(self, dollars: float, limit: float) -> Reservation | float:
        """See ``Ledger``."""
        known = await self.today()
        if known + dollars > limit:
            return known
        hold = Reservation(str(next(self._ids)), "", dollars)
        self._held[hold.id] = dollars
        return hold

    def release(self, hold: Reservation) -> None:
        """See ``Ledger``."""
        del self._held[hold.id]

    async def today(self) -> float:
        """See ``Ledger``."""
        return self._dollars + sum(self._held.values())

    async def close(self) -> None:
        """See ``Ledger``."""
