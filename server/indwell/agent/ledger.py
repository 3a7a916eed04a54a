"""What was spent today, by all sessions: the interface, and one that holds it in memory."""

from __future__ import annotations

from typing import Protocol


class Ledger(Protocol):
    """Money by calendar day, for ``budget_day``."""

    def add(self, dollars: float) -> None:
        """Count a call; returns at once, and survives the end of the process."""
        ...

    async def today(self) -> float:
        """US dollars spent today, by every session and process of this user."""
        ...

    async def close(self) -> None:
        """Write what is not written yet."""
        ...


class MemoryLedger:
    """A ledger of one process that knows one day; implements ``Ledger``."""

    def __init__(self) -> None:
        self._dollars = 0.0

    def add(self, dollars: float) -> None:
        """Count a call."""
        self._dollars += dollars

    async def today(self) -> float:
        """The sum."""
        return self._dollars

    async def close(self) -> None:
        """Nothing is open."""
