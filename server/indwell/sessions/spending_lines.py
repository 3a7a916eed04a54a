"""The line format of a day's spending ledger: costs, reservations and releases. Pure.

0.00012500              the cost of a finished call
hold 5f0c… 0.13120000   reserves the most that a call may cost
free 5f0c…              releases the reservation; the actual cost has a line of its own
"""

from __future__ import annotations

import math

import msgspec

MOST_A_CALL = 10_000.0  # No call of any model costs a hundredth of this amount in US dollars.


class Reservation(msgspec.Struct, frozen=True):
    """Money reserved for a call in progress.

    Attributes:
        id: The reservation's id, unique in the ledger.
        day: The day of the reservation, as the ledger names days.
        dollars: The reserved amount.
    """

    id: str
    day: str
    dollars: float


def is_plausible(dollars: float) -> bool:
    """Return whether a call can cost this amount: a finite number from 0 to ``MOST_A_CALL``."""
    return math.isfinite(dollars) and 0 <= dollars <= MOST_A_CALL


class DaySum:
    """The running sum of a day's lines; ``n_absurd`` counts skipped lines with impossible costs."""

    def __init__(self) -> None:
        self._paid = 0.0
        self._held: dict[bytes, float] = {}
        self.n_absurd = 0

    @property
    def dollars(self) -> float:
        """US dollars spent or reserved on the day."""
        return self._paid + sum(self._held.values())

    def take(self, line: bytes) -> None:
        """Add a line of the ledger; an incomplete or unknown line is ignored."""
        match line.split():
            case [cost]:
                self._paid += self._amount(cost)
            case [b"hold", name, cost]:
                self._held[name] = self._amount(cost)
            case [b"free", name]:
                self._held.pop(name, None)
            case _:
                pass

    def _amount(self, text: bytes) -> float:
        try:
            dollars = float(text)
        except ValueError:
            return 0.0
        if is_plausible(dollars):
            return dollars
        self.n_absurd += 1
        return 0.0
