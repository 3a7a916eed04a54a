"""What the next call may cost, and whether the user's budgets allow it (H43). Pure.

The money is counted before it is spent: a call that could pass a budget is not made. Its prompt is
priced at the cache share of the call before: full prices would stop a long turn at a tenth of its
budget, and a cache that fails costs one call too much at most. Its reply is priced at the whole
output limit, for a reply may be that long.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from indwell.messages import Usage


class Budgets(msgspec.Struct, frozen=True):
    """What may be spent, in US dollars and tokens; None: as much as it takes.

    Attributes:
        turn: By one turn.
        session: By all turns of a session.
        day: By all sessions of this machine's user in a calendar day.
        turn_tokens: Tokens in and out of one turn; works without a price.
        tokens_setting: The setting that this comes from.
    """

    turn: float | None = None
    session: float | None = None
    day: float | None = None
    turn_tokens: int | None = None
    tokens_setting: str = "budget_turn_tokens"

    @property
    def needs_price(self) -> bool:
        """Is any of them in money?"""
        return (self.turn, self.session, self.day) != (None, None, None)

    def counts(self, cost: Callable[[Usage], float | None]) -> bool:
        """Can they be kept for a model of these prices?"""
        return not self.needs_price or cost(Usage(input=1, output=1)) is not None


class Outlay(msgspec.Struct, frozen=True):
    """What was spent so far, in the same terms; calls without a price count as nothing."""

    turn: float = 0.0
    session: float = 0.0
    day: float = 0.0
    turn_tokens: int = 0


def expected_usage(prompt_tokens: int, last: Usage, max_output: int) -> Usage:
    """The most that the next call will use, if the cache does what it did for the last one.

    Args:
        prompt_tokens: Of the request, calibrated.
        last: Usage of the call before; all zeros if there was none.
        max_output: Tokens that the reply may have.
    """
    cached = 0
    if last.reported and last.input:
        cached = min(prompt_tokens, last.input) * min(last.cached, last.input) // last.input
    # An endpoint that charged for writing the cache will charge for what is new.
    written = prompt_tokens - cached if last.cache_write else 0
    return Usage(input=prompt_tokens, cached=cached, cache_write=written, output=max_output)


def refusal(budgets: Budgets, outlay: Outlay, usage: Usage, cost: float | None) -> str:
    """Why a call of ``usage`` and ``cost`` may not be made, with numbers; empty if it may."""
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
    """What to change; beginning anew helps only where something was spent already."""
    again = "ask to go on, " if name == "turn" and is_begun else ""
    again = "begin a new session, " if name == "session" and is_begun else again
    return f"{again}raise `{setting}`, or lower `max_output`"
