"""Who writes a summary, by price (issue 5). Pure.

Asked as one more turn, the main model reads the prefix that its cache holds; any other call reads
the region alone, at the full price. The instructions are the same either way.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from indwell.context.compaction.facts import Facts, Rates

Reader: TypeAlias = Literal["main", "small", "apart"]
"""``main``: the main model, appended to the conversation; ``small``: the cheaper model reads the
region; ``apart``: the main model reads the region alone, as a request of its own."""

ROOM = 200  # tokens of output beyond the summary that is asked for; H25
LEAST_OUTPUT = 1_000
"""A model that reasons needs some for that, and a short region gives a target of a few dozen."""


class Sizes(msgspec.Struct, frozen=True):
    """What a summary would read and write, in tokens as the main model's endpoint counts them.

    Another model's tokens are not known better than by these.

    Attributes:
        prefix: The whole prompt, as the main model has it.
        region: The text of what is summarised, with the instructions.
        instructions: Those alone.
        output: Of the summary.
        main_budget: Prompt tokens that the main model takes with that output.
        small_budget: The same of the small one; 0 if there is none.
        is_faithful: Does the prefix show the region as it was? Not if a summary stands in it (H26).
    """

    prefix: int
    region: int
    instructions: int
    output: int
    main_budget: int
    small_budget: int = 0
    is_faithful: bool = True


def output_limit(target: int) -> int:
    """Tokens that the reply may have, for a summary of ``target`` tokens (H25)."""
    return max(target + ROOM, LEAST_OUTPUT)


def readers(sizes: Sizes, facts: Facts) -> tuple[Reader, ...]:
    """Those that take what they would have to read, the cheapest first."""
    prices: dict[Reader, float] = {}
    if sizes.is_faithful and sizes.prefix + sizes.instructions <= sizes.main_budget:
        prices["main"] = appended_price(sizes, facts.rates, is_cached=facts.is_cached)
    if facts.small is not None and sizes.region <= sizes.small_budget:
        prices["small"] = apart_price(sizes, facts.small)
    if not prices and sizes.region <= sizes.main_budget:
        prices["apart"] = apart_price(sizes, facts.rates)
    return tuple(sorted(prices, key=prices.__getitem__))


def appended_price(sizes: Sizes, rates: Rates, *, is_cached: bool) -> float:
    """Price of the prefix from the cache, the instructions behind it, and the summary.

    A prefix that no cache holds is written to one; that much the next call has less to pay.
    """
    prefix = sizes.prefix * (rates.cached if is_cached else rates.input)
    return prefix + sizes.instructions * rates.input + sizes.output * rates.output


def apart_price(sizes: Sizes, rates: Rates) -> float:
    """Price of the region alone, at the full rate, and the summary."""
    return sizes.region * rates.input + sizes.output * rates.output
