"""Models beside the one of the session: for a part of the work, or for summaries."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from indwell.context.compaction.step import TokenRates
from indwell.messages import Usage
from indwell.providers.base import Provider


class OtherModel(NamedTuple):
    """A model, ready to be asked, through connections that somebody else closes.

    Attributes:
        provider: The model.
        name: As the endpoint calls it.
        window: Tokens that it takes and gives in one call.
        max_output: Of those, reserved for a reply.
        cost: US dollars of a usage, None if the price is unknown.
        rates: Its prices, or their usual ratios.
        pictures: Does it take some?
    """

    provider: Provider
    name: str
    window: int
    max_output: int
    cost: Callable[[Usage], float | None]
    rates: TokenRates = TokenRates()
    pictures: bool = False


def no_other_model(name: str) -> None:
    """There is none: whatever is asked for, the model of the session does it."""
    del name


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
    rates: TokenRates = TokenRates()
