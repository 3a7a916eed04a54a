"""Hands out the money and the tokens per minute that all workers of a batch share. Pure.

A worker asks before each model call, and the most that the call may cost is held until the call has
ended. So the sum of all calls never exceeds the budget by more than the error of an estimate. This
module knows no clock: the caller passes the time.
"""

from __future__ import annotations

from typing import Protocol, TypeAlias

import msgspec

MINUTE_S = 60.0
LEAST_WAIT_S = 0.05  # A shorter wait would only ask more often.
MOST_WAIT_S = 5.0  # Money may be released at any time, so a worker asks again after 5 s.


class Grant(msgspec.Struct, frozen=True, tag="grant"):
    """The call may be made."""

    id: int


class AskAgain(msgspec.Struct, frozen=True, tag="again"):
    """The call has to wait; the worker asks again after ``seconds``."""

    seconds: float


class NoMoney(msgspec.Struct, frozen=True, tag="none"):
    """The budget of the batch does not allow the call; ``why`` is a sentence for the user."""

    why: str


class NoRoom(msgspec.Struct, frozen=True, tag="full"):
    """The bound of the spending could not be written, so the call is not allowed."""

    why: str


GrantAnswer: TypeAlias = Grant | AskAgain | NoMoney | NoRoom


class SharedPurse(Protocol):
    """The purse as a worker sees it, in the same process or on another machine."""

    async def ask(self, holder: str, tokens: int, cost: float | None) -> GrantAnswer:
        """Ask for a call of at most so many tokens and US dollars; a cost of None is unknown."""
        ...

    async def settle(self, grant: int, tokens: int, cost: float | None) -> None:
        """Report what a call used."""
        ...

    async def close_calls(self, holder: str) -> None:
        """Report that the holder makes no more calls; calls under way count as made."""
        ...


class _Held(msgspec.Struct, frozen=True):
    holder: str
    tokens: int
    cost: float


class PurseState(msgspec.Struct, frozen=True):
    """What a batch has spent: US dollars and tokens of ended calls, and US dollars held."""

    cost: float
    tokens: int
    held: float
    n_calls: int

    @property
    def most(self) -> float:
        """The highest cost of the ended calls and the calls under way."""
        return self.cost + self.held


class Purse:
    """The money and the tokens of a batch.

    Args:
        budget: The most that all calls may cost, in US dollars, or None for no limit.
        tokens_per_minute: The most tokens of all calls in a minute, or None for no limit.
        spent: US dollars that earlier runs of the batch have spent.
        named: The option or setting that sets the budget, for the message to the user.
        now: The current time, in seconds of any clock.
        first: The number of the first grant.
    """

    def __init__(
        self,
        budget: float | None,
        tokens_per_minute: int | None,
        *,
        spent: float = 0.0,
        named: str = "the budget",
        now: float = 0.0,
        first: int = 1,
    ) -> None:
        self._budget, self._rate, self._named = budget, tokens_per_minute, named
        self._cost, self._tokens, self._n_calls = spent, 0, 0
        self._held: dict[int, _Held] = {}
        self._held_cost = 0.0
        self._next = first
        self._free, self._at = float(tokens_per_minute or 0), now

    @property
    def state(self) -> PurseState:
        """What was spent so far."""
        return PurseState(self._cost, self._tokens, self._held_cost, self._n_calls)

    def ask(self, holder: str, tokens: int, cost: float | None, now: float) -> GrantAnswer:
        """Hold the money and the tokens of a call, or say how long to wait."""
        if self._budget is not None:
            if cost is None:
                return NoMoney(
                    "the price of the model is not known, so the limit cannot be kept; set "
                    "`price_in` and `price_out` in your settings"
                )
            if self._cost + cost > self._budget:
                return NoMoney(self._used_up(cost))
            if self._cost + self._held_cost + cost > self._budget:
                return AskAgain(MOST_WAIT_S)
        if wait_s := self._wait_s(tokens, now):
            return AskAgain(wait_s)
        self._free -= tokens if self._rate else 0
        grant = Grant(self._next)
        self._held[grant.id] = _Held(holder, tokens, cost or 0.0)
        self._held_cost += cost or 0.0
        self._next += 1
        return grant

    def settle(self, grant: int, tokens: int, cost: float | None) -> None:
        """Replace what was held for a call by what the call used; an unknown grant is ignored."""
        held = self._held.pop(grant, None)
        if held is None:
            return
        # Without an open call, no error of a rounding is left.
        self._held_cost = max(0.0, self._held_cost - held.cost) if self._held else 0.0
        self._cost += held.cost if cost is None else cost
        self._tokens += tokens
        self._n_calls += 1
        if self._rate:
            self._free += held.tokens - tokens

    def close_calls(self, holder: str) -> None:
        """Count the calls of a lost worker at their full price, because the endpoint may have."""
        for number, held in tuple(self._held.items()):
            if held.holder == holder:
                self.settle(number, held.tokens, held.cost)

    def _used_up(self, cost: float) -> str:
        return (
            f"stopped before a call that could pass {self._named}: ${self._cost:.4f} is "
            f"spent, and the call may cost ${cost:.4f}; go on with --resume and a larger budget"
        )

    def _wait_s(self, tokens: int, now: float) -> float:
        """Refill the tokens for the passed time; return the seconds until the call fits."""
        if not self._rate:
            return 0.0
        per_second = self._rate / MINUTE_S
        self._free = min(float(self._rate), self._free + (now - self._at) * per_second)
        self._at = now
        # A call above the limit of a minute waits for a full minute, not forever.
        missing = min(tokens, self._rate) - self._free
        return max(LEAST_WAIT_S, missing / per_second) if missing > 0 else 0.0
