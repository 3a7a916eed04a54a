"""Sums of model calls and compactions, for a turn, a session or a day (H37). Pure.

An unknown price stays unknown: a sum with one unpriced call has no cost, only the known part and
    the number of calls that it leaves out.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from indwell.messages import Usage


class Compactions(msgspec.Struct, frozen=True):
    """The effect of one layer of compaction: how often it ran, and the tokens that it removed."""

    count: int = 0
    saved: int = 0


class UsageFigures(msgspec.Struct, frozen=True):
    """Usage of some model calls, and the compactions between them.

    Attributes:
        requests: Calls made.
        estimated: Calls whose tokens are our estimate, because the endpoint did not count them.
        unpriced: Calls of unknown cost.
        usage: Tokens of all calls.
        counted: Prompt tokens of the calls that the endpoint counted.
        expected: Prompt tokens that a cache should have served, as the endpoint counts.
        known_cost: US dollars of the calls of known cost.
        compactions: Compactions by layer.
    """

    requests: int = 0
    estimated: int = 0
    unpriced: int = 0
    usage: Usage = Usage()
    counted: int = 0
    expected: int = 0
    known_cost: float = 0.0
    compactions: Mapping[str, Compactions] = {}

    @property
    def cost(self) -> float | None:
        """US dollars of all calls; None if one cost is unknown."""
        return None if self.unpriced else self.known_cost

    @property
    def hit_rate(self) -> float | None:
        """Share of the counted prompt tokens that came from a cache; None if none were counted."""
        return self.usage.cached / self.counted if self.counted else None

    @property
    def saved(self) -> int:
        """Tokens that all layers of compaction removed."""
        return sum(one.saved for one in self.compactions.values())

    def __add__(self, other: UsageFigures) -> UsageFigures:
        compactions = dict(self.compactions)
        for layer, more in other.compactions.items():
            known = compactions.get(layer, Compactions())
            compactions[layer] = Compactions(known.count + more.count, known.saved + more.saved)
        return UsageFigures(
            requests=self.requests + other.requests,
            estimated=self.estimated + other.estimated,
            unpriced=self.unpriced + other.unpriced,
            usage=self.usage + other.usage,
            counted=self.counted + other.counted,
            expected=self.expected + other.expected,
            known_cost=self.known_cost + other.known_cost,
            compactions=compactions,
        )


def of_call(usage: Usage, cost: float | None, *, expected: int = 0) -> UsageFigures:
    """Return the figures of one model call; ``expected`` as in ``UsageFigures``."""
    return UsageFigures(
        requests=1,
        estimated=0 if usage.reported else 1,
        unpriced=1 if cost is None else 0,
        usage=usage,
        counted=usage.input if usage.reported else 0,
        expected=expected,
        known_cost=cost or 0.0,
    )


def of_compaction(layer: str, before: int, after: int) -> UsageFigures:
    """Return the figures of one compaction step; ``before`` and ``after`` are prompt tokens."""
    return UsageFigures(compactions={layer: Compactions(1, before - after)})
