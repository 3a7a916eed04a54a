"""The lines of a day's spending: what was paid, held and let go of, and their sum. Pure.

0.00012500              a call was made and cost this
hold 5f0c… 0.13120000   a call is to be made that may cost this
free 5f0c…              that call is over; what it cost stands on a line of its own
"""

from __future__ import annotations

import math

import msgspec

MOST_A_CALL = 10_000.0  # US dollars; no call of any model costs a hundredth of it


class Reservation(msgspec.Struct, frozen=True):
    """Money that is kept for a call under way.

    Attributes:
        id: Unique in the ledger.
        day: In which it counts, as the ledger names days.
        dollars: How much.
    """

    id: str
    day: str
    dollars: float


def is_plausible(dollars: float) -> bool:
    """Can a call cost this? Not if it is negative, no number, or absurd."""
    return math.isfinite(dollars) and 0 <= dollars <= MOST_A_CALL


class DaySum:
    """What the lines read so far come to; ``n_absurd`` lines were left out for their size."""

    def __init__(self) -> None:
        self._paid = 0.0
        self._held: dict[bytes, float] = {}
        self.n_absurd = 0

    @property
    def dollars(self) -> float:
        """Spent or held."""
        return self._paid + sum(self._held.values())

    def take(self, line: bytes) -> None:
        """Count a line; a torn or foreign one counts as nothing."""
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
