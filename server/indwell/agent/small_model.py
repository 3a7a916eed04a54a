"""The cheaper model that may write summaries, put together in ``cli``."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from indwell.context.compaction.step import Rates
from indwell.messages import Usage
from indwell.providers.base import Provider


class SmallModel(NamedTuple):
    """A model that writes summaries besides the one that does the work.

    Attributes:
        provider: The model.
        name: As the endpoint calls it.
        window: Tokens that it takes and gives in one call.
        cost: US dollars of a usage, None if the price is unknown.
        rates: Its prices, or their usual ratios.
    """

    provider: Provider
    name: str
    window: int
    cost: Callable[[Usage], float | None]
    rates: Rates = Rates()
