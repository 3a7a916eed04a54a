"""The statistics of an evaluation, compared with values from the literature."""

from __future__ import annotations

from statistics import pstdev

import pytest

from indwell.evaluation.statistics import (
    bootstrap_mean,
    paired_difference,
    quantile,
    resampled_means,
    wilson,
)


@pytest.mark.parametrize(
    ("n_passed", "n", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilsons_interval_has_the_values_of_newcombe_1998_table_1(n_passed, n, low, high) -> None:
    found = wilson(n_passed, n)
    assert (round(found.low, 4), round(found.high, 4)) == (low, high)
    mirrored = wilson(n - n_passed, n)
    assert (mirrored.low, mirrored.high) == pytest.approx((1 - found.high, 1 - found.low))


def test_a_rate_of_no_tries_is_refused() -> None:
    with pytest.raises(ValueError, match="0 of 0 is no rate"):
        wilson(0, 0)


def test_the_bootstrap_has_the_standard_error_of_efron_and_tibshirani_1993_table_2() -> None:
    treated_mice = (94, 197, 16, 38, 99, 141, 23)
    means = resampled_means(treated_mice)
    assert pstdev(means) == pytest.approx(23.36, rel=0.02)
    assert bootstrap_mean(treated_mice).estimate == pytest.approx(86.86, abs=0.005)


def test_a_paired_difference_compares_each_task_with_itself() -> None:
    hard, easy = 0.0, 1.0
    constant = paired_difference([hard, easy, easy], [hard + 0.5, easy + 0.5, easy + 0.5])
    assert (constant.estimate, constant.low, constant.high) == (0.5, 0.5, 0.5)
    assert constant.excludes_zero
    # Two pairs give the means 0, 0.5 and 1 with the chances 1/4, 1/2 and 1/4.
    two = paired_difference([0.0, 0.0], [0.0, 1.0])
    assert (two.estimate, two.low, two.high) == (0.5, 0.0, 1.0)
    assert not two.excludes_zero


def test_the_same_seed_gives_the_same_interval() -> None:
    values = [n * n % 7 / 7 for n in range(40)]
    assert bootstrap_mean(values, seed=3) == bootstrap_mean(values, seed=3)
    assert resampled_means(values, seed=3)[:99] != resampled_means(values, seed=4)[:99]


def test_a_quantile_between_two_values_is_interpolated() -> None:
    assert [quantile([0.0, 1.0, 4.0], part) for part in (0, 0.25, 0.75, 1)] == [0, 0.5, 2.5, 4]
