"""Computes the intervals of an evaluation: Wilson's for a rate, a paired bootstrap otherwise. Pure.

The module needs no clock and no random state of the process: the same input and the same seed give
the same interval on each machine.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import msgspec

Z_95 = 1.959963984540054  # the 97.5 % quantile of the normal distribution
RESAMPLES = 10_000
"""The number of resamples, which Efron and Tibshirani (1993, chapter 14) call enough for 95 %."""
SEED = 26


class Interval(msgspec.Struct, frozen=True):
    """An estimate with the two ends of its 95 % interval."""

    estimate: float
    low: float
    high: float

    @property
    def excludes_zero(self) -> bool:
        """Whether all values of the interval are above 0, or all are below 0."""
        return self.low > 0 or self.high < 0


def wilson(n_passed: int, n: int, z: float = Z_95) -> Interval:
    """Return the rate of passed tries with Wilson's score interval, without continuity correction.

    The interval is Wilson's of 1927, in the form of Newcombe (1998, Statistics in Medicine 17,
    857-872, method 3).

    Raises:
        ValueError: There are no tries, or the numbers contradict each other.
    """
    if not 0 <= n_passed <= n or n == 0:
        raise ValueError(f"{n_passed} of {n} is no rate")
    rate, square = n_passed / n, z * z
    middle = rate + square / (2 * n)
    half = z * math.sqrt(rate * (1 - rate) / n + square / (4 * n * n))
    scale = 1 + square / n
    # Rounding errors must not move the end of an interval beyond 0 or 1.
    low = 0.0 if n_passed == 0 else max(0.0, (middle - half) / scale)
    high = 1.0 if n_passed == n else min(1.0, (middle + half) / scale)
    return Interval(rate, low, high)


def resampled_means(
    values: Sequence[float], *, seed: int = SEED, n_resamples: int = RESAMPLES
) -> tuple[float, ...]:
    """Return the sorted means of resamples, each drawn from ``values`` with replacement."""
    draw = random.Random(seed)  # noqa: S311 - a simulation needs no cryptographic generator
    n = len(values)
    return tuple(sorted(math.fsum(draw.choices(values, k=n)) / n for _ in range(n_resamples)))


def bootstrap_mean(
    values: Sequence[float], *, seed: int = SEED, n_resamples: int = RESAMPLES
) -> Interval:
    """Return the mean with the percentile interval of its bootstrap distribution.

    Raises:
        ValueError: There are no values.
    """
    if not values:
        raise ValueError("a mean needs at least one value")
    means = resampled_means(values, seed=seed, n_resamples=n_resamples)
    return Interval(math.fsum(values) / len(values), quantile(means, 0.025), quantile(means, 0.975))


def paired_difference(
    first: Sequence[float],
    second: Sequence[float],
    *,
    seed: int = SEED,
    n_resamples: int = RESAMPLES,
) -> Interval:
    """Return the mean of ``second`` minus ``first``, resampled by pairs.

    Args:
        first: One value for each task; the mean over the task's seeds, so that tasks are the units
            of the resampling and seeds of one task do not count as independent.
        second: The values of the same tasks, in the same order.
        seed: The seed of the resampling.
        n_resamples: The number of resamples.

    Raises:
        ValueError: There are no values, or the sequences differ in length.
    """
    pairs = zip(first, second, strict=True)
    return bootstrap_mean([b - a for a, b in pairs], seed=seed, n_resamples=n_resamples)


def quantile(ordered: Sequence[float], part: float) -> float:
    """Return a quantile of sorted values, by linear interpolation (Hyndman and Fan, type 7)."""
    place = (len(ordered) - 1) * part
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)
