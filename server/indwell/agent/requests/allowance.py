"""Checks budgets before a model call, and reserves its possible cost until it ends (H43)."""

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
    """The next model call could exceed a budget, so it was not made."""


@asynccontextmanager
async def allowance(
    budgets: Budgets, outlay: Outlay, usage: Usage, cost: float | None, ledger: Ledger
) -> AsyncIterator[None]:
    """Reserve the cost of a call made in this context; other processes count it as spent today.

    Args:
        budgets: The user's budgets.
        outlay: What turn and session have spent; its ``day`` is ignored.
        usage: The most that the call may use.
        cost: Its price in US dollars; None if the price is unknown.
        ledger: What was spent today.

    Raises:
        OverBudget: The call could exceed a budget; the message names it, with numbers.
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
        ledger.release(held)  # after the call's cost was added, so that no moment counts neither
