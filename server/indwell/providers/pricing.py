"""Computes the cost of a model call (H43). Pure; an unknown price gives an unknown cost."""

from __future__ import annotations

import msgspec

from indwell.messages import Usage

MILLION = 1_000_000
# Anthropic charges 2 times the prompt's price for an hour, and 1.25 times for 5 minutes.
HOUR = 1.6
MOST_TOKENS = 10**9  # The limit for one call is larger than any window.


class ModelPrices(msgspec.Struct, frozen=True):
    """US dollars per million tokens.

    Attributes:
        input: Prompt tokens that no cache served.
        output: Tokens of the reply, with reasoning.
        cached: Prompt tokens read from a cache.
        cache_write: Prompt tokens written to a cache.
        cache_hour: Prompt tokens written to a cache for an hour; if None, ``HOUR`` times
            ``cache_write`` is used.
    """

    input: float
    output: float
    cached: float
    cache_write: float
    cache_hour: float | None = None

    @property
    def for_an_hour(self) -> float:
        """The rate of prompt tokens written to a cache for an hour."""
        return self.cache_write * HOUR if self.cache_hour is None else self.cache_hour


class Tier(msgspec.Struct, frozen=True):
    """Rates of a whole call whose prompt is longer than ``above`` tokens."""

    above: int
    rates: ModelPrices


class Prices(msgspec.Struct, frozen=True):
    """The price list of one model.

    Attributes:
        rates: The rates for a prompt of ordinary length.
        tiers: The rates for long prompts, ascending; a tier applies to every token of the call.
        call: US dollars per call, if an endpoint charges per call.
    """

    rates: ModelPrices
    tiers: tuple[Tier, ...] = ()
    call: float = 0.0


class OwnRates(msgspec.Struct, frozen=True):
    """The user's own rates for a model, or None for rates that the user has not set."""

    input: float | None = None
    output: float | None = None
    cached: float | None = None
    cache_write: float | None = None


def overridden(prices: Prices | None, own: OwnRates) -> Prices | None:
    """Replace prices by the user's own; return None if the price of prompt or reply is unknown.

    An unknown cache rate is set to the prompt's rate. The user's price for the prompt applies to
    prompts of any length, so tiers and cache rates from lists are removed.
    """
    if own == OwnRates():
        return prices
    known = prices.rates if prices is not None else None
    plain = own.input if own.input is not None else known.input if known else None
    output = own.output if own.output is not None else known.output if known else None
    if plain is None or output is None:
        return None
    looked_up = known if own.input is None else None
    cached = looked_up.cached if looked_up else plain
    written = looked_up.cache_write if looked_up else plain
    rates = ModelPrices(
        input=plain,
        output=output,
        cached=cached if own.cached is None else own.cached,
        cache_write=written if own.cache_write is None else own.cache_write,
    )
    return Prices(rates=rates, call=prices.call if prices is not None else 0.0)


def cost(usage: Usage, prices: Prices | None) -> float | None:
    """Return the cost of one call in US dollars, or None if the price is unknown.

    ``usage`` must be the usage of a single call, because tiers depend on the length of the call's
    prompt. Negative numbers of tokens count as 0.
    """
    if prices is None:
        return None
    rates = prices.rates
    for tier in prices.tiers:
        if usage.input > tier.above:
            rates = tier.rates
    prompt = min(max(0, usage.input), MOST_TOKENS)
    cached = min(max(0, usage.cached), prompt)
    written = min(max(0, usage.cache_write), prompt - cached)
    for_an_hour = min(max(0, usage.cache_hour), written)
    tokens = (
        (prompt - cached - written) * rates.input
        + cached * rates.cached
        + (written - for_an_hour) * rates.cache_write
        + for_an_hour * rates.for_an_hour
        + min(max(0, usage.output), MOST_TOKENS) * rates.output
    )
    return tokens / MILLION + prices.call
