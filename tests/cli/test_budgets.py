from __future__ import annotations

from indwell.agent.core.budget import Budgets
from indwell.settings.model import Settings
from indwell.wiring.model import budgets_of, unkept


def test_budgets_come_from_the_settings() -> None:
    settings = Settings(
        budget_turn=0.5, budget_session=2.0, budget_day=5.0, budget_turn_tokens=9_000
    )
    assert budgets_of(settings) == Budgets(0.5, 2.0, 5.0, 9_000)
    assert budgets_of(Settings()) == Budgets()


def test_only_a_budget_that_cannot_be_enforced_is_reported() -> None:
    assert unkept(Budgets(day=1.0), "mine", lambda _usage: None) == (
        "the price of 'mine' is not known, so budgets in dollars cannot be enforced; set "
        "`price_in` and `price_out`, or `budget_turn_tokens`"
    )
    assert unkept(Budgets(day=1.0), "mine", lambda _usage: 0.1) == ""
    assert unkept(Budgets(turn_tokens=5), "mine", lambda _usage: None) == ""
