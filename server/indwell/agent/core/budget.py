"""Checks budgets before a model call: the expected cost, the limits, the day's ledger. Pure.

A call that could exceed a budget is not made. The expected cost assumes that the cache serves the
same share as in the last call, because a long turn would otherwise stop at a tenth of its budget.
If the cache fails, at most one call too many is made. The expected reply has the whole output
limit.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Protocol

import msgspec

from indwell.messages import Usage
from indwell.sessions.spending_lines import Reservation


class Budgets(msgspec.Struct, frozen=True):
    """Limits in US dollars and tokens; None means no limit.

    Attributes:
        turn: The limit for one turn.
        session: The limit for all turns of a session.
        day: The limit for all sessions of this machine's user in a calendar day.
        turn_tokens: Input and output tokens of one turn; no price is needed for this limit.
        tokens_setting: The setting that ``turn_tokens`` comes from.
    """

    turn: float | None = None
    session: float | None = None
    day: float | None = None
    turn_tokens: int | None = None
    tokens_setting: str = "budget_turn_tokens"

    @property
    def needs_price(self) -> bool:
        """Return whether one of the limits is in US dollars."""
        return (self.turn, self.session, self.day) != (None, None, None)

    def counts(self, cost: Callable[[Usage], float | None]) -> bool:
        """Return whether the limits can be checked with the prices that ``cost`` knows."""
        return not self.needs_price or cost(Usage(input=1, output=1)) is not None


class Outlay(msgspec.Struct, frozen=True):
    """The spending so far, for each limit of ``Budgets``; calls of unknown price count as 0."""

    turn: float = 0.0
    session: float = 0.0
    day: float = 0.0
    turn_tokens: int = 0


def expected_usage(prompt_tokens: int, last: Usage, max_output: int) -> Usage:
    """Return the largest usage of the next call, if the cache serves the same share as before."""
    cached = 0
    if last.reported and last.input:
        cached = min(prompt_tokens, last.input) * min(last.cached, last.input) // last.input
    # An endpoint that charged for cache writes will charge for the new tokens.
    written = prompt_tokens - cached if last.cache_write else 0
    for_an_hour = written if last.cache_hour else 0
    return Usage(
        input=prompt_tokens,
        cached=cached,
        cache_write=written,
        output=max_output,
        cache_hour=for_an_hour,
    )


def refusal(budgets: Budgets, outlay: Outlay, usage: Usage, cost: float | None) -> str:
    """Return a sentence on the budget that a call would exceed, or an empty text."""
    tokens = usage.input + usage.output
    parts = f"{usage.input:,} prompt tokens and a reply of up to {usage.output:,}"
    if budgets.turn_tokens is not None and outlay.turn_tokens + tokens > budgets.turn_tokens:
        return (
            f"stopped before a call that could pass {budgets.tokens_setting} = "
            f"{budgets.turn_tokens:,}: "
            f"{outlay.turn_tokens:,} are spent, and the call has {parts}; "
            f"{_advice('turn', budgets.tokens_setting, is_begun=outlay.turn_tokens > 0)}"
        )
    if cost is None:
        return ""
    for name, limit, spent in (
        ("turn", budgets.turn, outlay.turn),
        ("session", budgets.session, outlay.session),
        ("day", budgets.day, outlay.day),
    ):
        if limit is not None and spent + cost > limit:
            held = " or held for other calls under way" if name == "day" else ""
            return (
                f"stopped before a call that could pass budget_{name} = ${limit:g}: "
                f"${spent:.4f} is spent{held}, and the call may cost ${cost:.4f} ({parts}); "
                f"{_advice(name, f'budget_{name}', is_begun=spent > 0)}"
            )
    return ""


def _advice(name: str, setting: str, *, is_begun: bool) -> str:
    """Return advice for the user about an exceeded budget.

    A new turn or session helps only if something was already spent.
    """
    again = "ask to go on, " if name == "turn" and is_begun else ""
    again = "begin a new session, " if name == "session" and is_begun else again
    return f"{again}raise `{setting}`, or lower `max_output`"


class Ledger(Protocol):
    """Stores the spending of each calendar day, for the setting ``budget_day``."""

    def add(self, dollars: float) -> None:
        """Add the cost of a call; the method returns at once, and the entry is durable."""
        ...

    async def hold(self, dollars: float, limit: float) -> Reservation | float:
        """Reserve money for a call, unless today's total would exceed ``limit``.

        Checking and reserving are one atomic step, also for several processes. A reservation counts
        as spent until ``release``. If the process dies earlier, the reservation counts until the
        end of the day.

        Returns:
            The reservation, or today's total in US dollars if the call does not fit.
        """
        ...

    def release(self, hold: Reservation) -> None:
        """Release a reservation once its call has ended and was added; returns at once."""
        ...

    async def today(self) -> float:
        """Return the US dollars spent or reserved today by this user's sessions and processes."""
        ...

    async def close(self) -> None:
        """Write pending entries to disk."""
        ...


class MemoryLedger:
    """A ledger in memory, for one process and one day; implements ``Ledger``."""

    def __init__(self) -> None:
        self._dollars = 0.0
        self._held: dict[str, float] = {}
        self._ids = count()

    def add(self, dollars: float) -> None:
        """Add the cost of a call; see ``Ledger``."""
        self._dollars += dollars

    async def hold(self, dollars: float, limit: float) -> Reservation | float:
        """Reserve money for a call; see ``Ledger``."""
        known = await self.today()
        if known + dollars > limit:
            return known
        hold = Reservation(str(next(self._ids)), "", dollars)
        self._held[hold.id] = dollars
        return hold

    def release(self, hold: Reservation) -> None:
        """Release a reservation; see ``Ledger``."""
        del self._held[hold.id]

    async def today(self) -> float:
        """Return the money spent or reserved; see ``Ledger``."""
        return self._dollars + sum(self._held.values())

    async def close(self) -> None:
        """Do nothing, because no entry is pending; see ``Ledger``."""
