"""Budgets as the settings give them, and whether they can be kept."""

from __future__ import annotations

from collections.abc import Callable

from indwell.agent.budget import Budgets
from indwell.messages import Usage
from indwell.settings.model import Settings


def budgets_of(settings: Settings) -> Budgets:
    """What may be spent."""
    return Budgets(
        turn=settings.budget_turn,
        session=settings.budget_session,
        day=settings.budget_day,
        turn_tokens=settings.budget_turn_tokens,
    )


def unkept(budgets: Budgets, model: str, cost: Callable[[Usage], float | None]) -> str:
    """Say that budgets of money cannot be kept, where the price is not known; else nothing."""
    if budgets.counts(cost):
        return ""
    return (
        f"the price of {model!r} is not known, so budgets in dollars cannot be kept; set "
        "`price_in` and `price_out`, or `budget_turn_tokens`"
    )
