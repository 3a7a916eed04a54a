"""How far two texts are the same from their beginning. Pure."""

from __future__ import annotations

from typing import TypeVar

Sliced = TypeVar("Sliced", str, bytes)


def n_common(one: Sliced, other: Sliced) -> int:
    """Characters, or bytes, that both begin with; a few comparisons of whole pieces."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
