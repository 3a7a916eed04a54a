"""The budgets: the cost of the next model call, the limits, and the day's ledger (H43). Pure.

A call that could exceed a budget is not made. The prompt is priced with the cache share of the last
call. Without that share a long turn would stop at a tenth of its budget. If the cache fails, at
most one call too many is made. The reply is priced at the whole output limit.
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
        """Is one of the limits in US dollars?"""
        return (self.turn, self.session, self.day) != (None, None, None)

    def counts(self, cost: Callable[[Usage], float | None]) -> bool:
        """Can the limits be checked with the prices that ``cost`` knows?"""
        return not self.needs_price or cost(Usage(input=1, output=1)) is not None


class Outlay(msgspec.Struct, frozen=True):
    """The spending so far, for each limit of ``Budgets``; calls of unknown price count as 0."""

    turn: float = 0.0
    session: float = 0.0
    day: float = 0.0
    turn_tokens: int = 0


def expected_usage(prompt_tokens: int, last: Usage, max_output: int) -> Usage:
    """The most tokens of the next call, if the cache serves the same share as for the last call.

    Args:
        prompt_tokens: Calibrated tokens of the request.
        last: Usage of the last call; all zeros before the first.
        max_output: Most tokens of the reply.
    """
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
    """A sentence on the budget that a call would exceed; empty if the call fits all budgets."""
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
    """Advice for the user; a new turn or session helps only if something was already spent."""
    again = "ask to go on, " if name == "turn" and is_begun else ""
    again = "begin a new session, " if name == "session" and is_begun else again
    return f"{again}raise `{setting}`, or lower `max_output`"


class Ledger(Protocol):
    """Spending by calendar day, for the setting ``budget_day``."""

    def add(self, dollars: float) -> None:
        """Add the cost of a call; returns at once and is durable."""
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
        """US dollars spent or reserved today by all sessions and processes of this user."""
        ...

    async def close(self) -> None:
        """Write pending entries."""
        ...


class MemoryLedger:
    """A ledger in memory, for one process and one day; implements ``Ledger``."""

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
