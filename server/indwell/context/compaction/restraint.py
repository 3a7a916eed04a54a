"""Layers that gain too little stop trying until the conversation has grown (H30). Pure."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

LEAST_GAIN = 0.1  # of the tokens before; H30
POOR_RUNS = 2  # in a row; H30
GROWN = 1.1  # times the tokens at which it gave up: about as much as it must gain


class Restraint(msgspec.Struct, frozen=True):
    """How often layers have gained too little.

    Attributes:
        poor: Runs in a row that gained too little, by the layer's name.
        stopped: Tokens at which a layer gave up, by its name.
    """

    poor: Mapping[str, int] = {}
    stopped: Mapping[str, int] = {}


def failed(restraint: Restraint, tokens: int) -> frozenset[str]:
    """Layers that are not asked at a prompt of ``tokens``."""
    return frozenset(name for name, at in restraint.stopped.items() if tokens < at * GROWN)


def after_run(restraint: Restraint, layer: str, before: int, after: int) -> Restraint:
    """What is known after all that ``layer`` did before one model call.

    Args:
        restraint: What was known.
        layer: Its name.
        before: Tokens of the whole prompt when it began.
        after: The same less what this layer saved.
    """
    poor, stopped = dict(restraint.poor), dict(restraint.stopped)
    stopped.pop(layer, None)
    if before - after >= LEAST_GAIN * before:
        poor.pop(layer, None)
    else:
        poor[layer] = poor.get(layer, 0) + 1
    if poor.get(layer, 0) >= POOR_RUNS:
        stopped[layer] = after
        poor.pop(layer)
    return Restraint(poor, stopped)
