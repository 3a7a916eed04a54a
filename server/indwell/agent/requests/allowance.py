"""Asks the budgets before a model call, and holds what it may cost until it is over (H43)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from indwell.agent.core.budget import Budgets, Outlay, refusal
from indwell.agent.core.ledger import Ledger
from indwell.errors import UserError
from indwell.messages import Usage
from indwell.sessions.spending_lines import Reservation


class OverBudget(UserError):
    """The next call could cost more than the user wants to spend; it was not made."""


@asynccontextmanager
async def allowance(
    budgets: Budgets, outlay: Outlay, usage: Usage, cost: float | None, ledger: Ledger
) -> AsyncIterator[None]:
    """Make a call inside of this; while it runs, other processes see its cost as spent today.

    Args:
        budgets: The user's.
        outlay: What turn and session have spent; its day is not looked at.
        usage: What the call may use.
        cost: What that is in US dollars; None if the price is not known.
        ledger: What was spent today.

    Raises:
        OverBudget: The call could pass a budget; says which, with numbers.
    """
    why = refusal(msgspec.structs.replace(budgets, day=None), outlay, usage, cost)
    if why:
        raise OverBudget(why)
    if budgets.day is None or cost is None:
        yield
        return
    held = await ledger.hold(cost, budgets.day)
    if not isinstance(held, Reservation):
        outlay = msgspec.structs.replace(outlay, day=held)
        raise OverBudget(refusal(budgets, outlay, usage, cost))
    try:
        yield
    finally:
        ledger.release(held)  # behind what the call has cost, so there is no gap between the two
