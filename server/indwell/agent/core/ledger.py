"""What was spent today, by all sessions: the interface, and one that holds it in memory."""

from __future__ import annotations

from itertools import count
from typing import Protocol

from indwell.sessions.spending_lines import Reservation


class Ledger(Protocol):
    """Money by calendar day, for ``budget_day``."""

    def add(self, dollars: float) -> None:
        """Count a call; returns at once, and survives the end of the process."""
        ...

    async def hold(self, dollars: float, limit: float) -> Reservation | float:
        """Keep money for a call, unless the day's spent and held money would pass ``limit``.

        Looking and keeping are one step, also among processes. What is held counts as spent until
        ``release``; if the process dies before that, to the end of the day.

        Returns:
            The hold; or US dollars that are spent or held today, if it does not fit.
        """
        ...

    def release(self, hold: Reservation) -> None:
        """Let go of a hold when its call is over and counted; returns at once."""
        ...

    async def today(self) -> float:
        """US dollars spent or held today, by every session and process of this user."""
        ...

    async def close(self) -> None:
        """Write what is not written yet."""
        ...


class MemoryLedger:
    """A ledger of one process that knows one day; implements ``Ledger``."""

    def __init__(self) -> None:
        self._dollars = 0.0
        self._held: dict[str, float] = {}
        self._ids = count()

    def add(self, dollars: float) -> None:
        """Count a call."""
        self._dollars += dollars

    async def hold(self, dollars: float, limit: float) -> Reservation | float:
        """Keep money, or give the sum."""
        known = await self.today()
        if known + dollars > limit:
            return known
        hold = Reservation(str(next(self._ids)), "", dollars)
        self._held[hold.id] = dollars
        return hold

    def release(self, hold: Reservation) -> None:
        """Let go of it."""
        del self._held[hold.id]

    async def today(self) -> float:
        """The sum."""
        return self._dollars + sum(self._held.values())

    async def close(self) -> None:
        """Nothing is open."""
