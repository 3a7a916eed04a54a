from __future__ import annotations

import pytest

from indwell.messages import Usage
from indwell.providers.pricing import ModelPrices, OwnRates, Prices, Tier, cost, overridden

RATES = ModelPrices(input=3.0, output=15.0, cached=0.3, cache_write=3.75)
PRICES = Prices(RATES)
LONG = Prices(RATES, tiers=(Tier(200_000, ModelPrices(6.0, 22.5, 0.6, 7.5)),))


def test_an_unknown_price_gives_an_unknown_cost() -> None:
    assert cost(Usage(input=1_000_000), None) is None


@pytest.mark.parametrize(
    ("usage", "dollars"),
    [
        (Usage(), 0.0),
        (Usage(input=1_000_000), 3.0),
        (Usage(output=1_000_000), 15.0),
        (Usage(input=1_000_000, cached=1_000_000), 0.3),
        (Usage(input=1_000_000, cache_write=1_000_000), 3.75),
        (Usage(input=1_000_000, cached=500_000, cache_write=100_000, output=10_000), 1.875),
        (Usage(input=10, cached=1_000_000), 3e-6),
        (Usage(input=1_000_000, cached=600_000, cache_write=10**30), 0.18 + 1.5),
        (Usage(input=-5, cached=-7, cache_write=-9, output=-11), 0.0),
        (Usage(input=10**400, output=10**400), 3_000 + 15_000),
    ],
)
def test_each_kind_of_token_has_its_price(usage: Usage, dollars: float) -> None:
    assert cost(usage, PRICES) == pytest.approx(dollars)


@pytest.mark.parametrize(("n_input", "dollars"), [(200_000, 0.6), (200_001, 1.200006)])
def test_a_long_prompt_pays_the_tier_for_every_token(n_input: int, dollars: float) -> None:
    assert cost(Usage(input=n_input), LONG) == pytest.approx(dollars)


def test_the_highest_reached_tier_of_prices_is_used() -> None:
    tiers = (Tier(10, ModelPrices(10.0, 0, 0, 0)), Tier(20, ModelPrices(20.0, 0, 0, 0)))
    assert cost(Usage(input=1_000_000), Prices(RATES, tiers)) == pytest.approx(20.0)


def test_a_price_per_call_is_added() -> None:
    assert cost(Usage(), Prices(RATES, call=0.005)) == pytest.approx(0.005)


LOOKED_UP = Prices(
    ModelPrices(3.0, 15.0, 0.3, 3.75), tiers=(Tier(200_000, ModelPrices(6, 22.5, 0.6, 7.5)),)
)


def test_without_user_prices_the_listed_prices_apply() -> None:
    assert overridden(LOOKED_UP, OwnRates()) is LOOKED_UP
    assert overridden(None, OwnRates()) is None


def test_a_users_cache_price_is_combined_with_known_prices() -> None:
    assert overridden(LOOKED_UP, OwnRates(cached=0.1, cache_write=4.0)) == Prices(
        ModelPrices(3.0, 15.0, 0.1, 4.0)
    )


def test_prices_set_by_the_user_are_used_without_a_lookup() -> None:
    assert overridden(None, OwnRates(1.0, 2.0)) == Prices(ModelPrices(1.0, 2.0, 1.0, 1.0))
    assert overridden(LOOKED_UP, OwnRates(1.0, 2.0, 0.1)) == Prices(ModelPrices(1.0, 2.0, 0.1, 1.0))


def test_a_price_for_only_input_or_only_output_counts_as_unknown() -> None:
    assert overridden(None, OwnRates(input=1.0)) is None
    assert overridden(None, OwnRates(cached=1.0)) is None
