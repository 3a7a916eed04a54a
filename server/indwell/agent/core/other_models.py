"""Models besides the session's own: for sub-agents and for summaries."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from indwell.context.compaction.step import TokenRates
from indwell.messages import Usage
from indwell.providers.base import Provider


class OtherModel(NamedTuple):
    """A model that is ready for calls; the caller does not close its connections.

    Attributes:
        provider: The model.
        name: As the endpoint calls it.
        window: Most input and output tokens of one call.
        max_output: Tokens of the window reserved for the reply.
        cost: US dollars of a usage, None if the price is unknown.
        rates: Its prices, or their usual ratios.
        pictures: Whether it takes pictures.
    """

    provider: Provider
    name: str
    window: int
    max_output: int
    cost: Callable[[Usage], float | None]
    rates: TokenRates = TokenRates()
    pictures: bool = False


def no_other_model(name: str) -> None:
    """Find no other model, so that the session's own does all work."""
    del name


class SmallModel(NamedTuple):
    """A cheaper model that writes summaries.

    Attributes:
        provider: The model.
        name: As the endpoint calls it.
        window: Most input and output tokens of one call.
        cost: US dollars of a usage, None if the price is unknown.
        rates: Its prices, or their usual ratios.
    """

    provider: Provider
    name: str
    window: int
    cost: Callable[[Usage], float | None]
    rates: TokenRates = TokenRates()
