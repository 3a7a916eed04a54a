"""Fits the two logistic regressions, and measures each fit on sessions that the fit left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from signs import Rows
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score

from indwell.replay.fitted_sessions import FOLDS, fold

STRENGTH = 0.02  # scikit-learn's C; smaller values shrink the coefficients more
PER_AGENT = 3_000  # The rows of an agent weigh this much, times the square root of its sessions.
LEAST_NEEDS = 100  # An agent with fewer needs has no measured quality.
ROUNDED = 3  # digits after the point of a shipped coefficient
THINNED = 3  # An ablation uses every third row.
LEAST_OF_BIN = 20  # the least number of needs in a bin of the calibration
BIN = 10**0.25


class Fit(NamedTuple):
    """A regression; ``standard`` has the weights for a change by one standard deviation."""

    base: float
    weights: tuple[float, ...]
    standard: tuple[float, ...]

    def log_odds(self, signs: np.ndarray) -> np.ndarray:
        return signs @ np.array(self.weights) + self.base


def fitted(
    rows: Mapping[str, Rows], *, agent: str = "", without: int = -1, signs: Sequence[int] = ()
) -> Fit:
    """Fit all rows, except those of one agent or of one fold, perhaps with some signs only."""
    parts = []
    for name, one in rows.items():
        if name == agent or not len(one.needs):
            continue
        of_sessions = {session: fold(session) for session in set(one.sessions)}
        chosen = np.array([of_sessions[session] != without for session in one.sessions], bool)
        weights = one.weights[chosen]
        if not len(weights):
            continue
        share = PER_AGENT * len(set(one.sessions[chosen])) ** 0.5 / weights.sum()
        parts.append((one.signs[chosen], one.needs[chosen], weights * share))
    x, y, w = (np.concatenate([part[at] for part in parts]) for at in range(3))
    columns = list(signs) or list(range(x.shape[1]))
    x = x[:, columns]
    middle, spread = x.mean(0), x.std(0) + 1e-6
    model = LogisticRegression(C=STRENGTH, max_iter=80)
    model.fit((x - middle) / spread, y, sample_weight=w)
    weights = model.coef_[0] / spread
    base = float(model.intercept_[0] - weights @ middle)
    whole = [0.0] * (max(columns) + 1 if signs else x.shape[1])
    standard = list(whole)
    for at, weight, size in zip(columns, weights, model.coef_[0], strict=True):
        whole[at], standard[at] = float(weight), float(size)
    rounded = tuple(round(one, ROUNDED) for one in whole)
    return Fit(round(base, ROUNDED), rounded, tuple(standard))


def quality(scores: np.ndarray, rows: Rows) -> dict[str, float]:
    """Return the area under the curve, and the average precision, of chances or log odds."""
    weighed = {"sample_weight": rows.weights}
    return {
        "auc": float(roc_auc_score(rows.needs, scores, **weighed)),
        "precision": float(average_precision_score(rows.needs, scores, **weighed)),
    }


def _qualities(left_out: Fit, whole: Fit, rows: Rows) -> dict[str, dict[str, float]]:
    """Return the quality of both fits and of the engine's chances on the same rows."""
    return {
        "left out": quality(left_out.log_odds(rows.signs), rows),
        "fitted": quality(whole.log_odds(rows.signs), rows),
        "engine": quality(rows.chances, rows),
    }


def by_agent(
    rows: Mapping[str, Rows], agent: str, whole: Fit
) -> tuple[Fit, dict[str, dict[str, float]]]:
    """Fit without an agent; measure that fit, and the fit of all rows, on the agent."""
    fit = fitted(rows, agent=agent)
    enough = rows[agent].needs.sum() >= LEAST_NEEDS
    return fit, _qualities(fit, whole, rows[agent]) if enough else {}


def by_fold(
    rows: Mapping[str, Rows], agent: str, whole: Fit
) -> Sequence[tuple[Fit, dict[str, dict[str, float]]]]:
    """Fit without each fold; measure that fit, and the fit of all rows, on the agent's fold."""
    found = []
    one = rows[agent]
    folds = {session: fold(session) for session in set(one.sessions)}
    of_rows = np.array([folds[session] for session in one.sessions])
    for number in range(FOLDS):
        fit = fitted(rows, without=number)
        own = one.of(of_rows == number)
        enough = own.needs.sum() >= LEAST_NEEDS
        found.append((fit, _qualities(fit, whole, own) if enough else {}))
    return found


def calibration(chances: np.ndarray, rows: Rows) -> list[tuple[float, float]]:
    """Return pairs of the mean chance and the real share of needs, in bins of rising chance.

    The upper end of a bin is ``BIN`` times the lower end. Bins with few needs are left out.
    """
    numbers = np.floor(np.log(np.maximum(chances, 1e-6)) / np.log(BIN)).astype(int)
    return [
        (
            float(np.average(chances[part], weights=rows.weights[part])),
            float(np.average(rows.needs[part], weights=rows.weights[part])),
        )
        for number in np.unique(numbers)
        if rows.needs[part := numbers == number].sum() >= LEAST_OF_BIN
    ]


def ablations(rows: Mapping[str, Rows], names: Sequence[str]) -> dict[str, dict[str, float]]:
    """Return each left-out agent's area under the curve, for all signs and without each sign.

    A name of ``names`` is "all signs" or a sign that is left out.
    """
    thin = {agent: one.of(np.arange(0, len(one.needs), THINNED)) for agent, one in rows.items()}
    agents = [one for one in thin if thin[one].needs.sum() >= LEAST_NEEDS]
    table = {}
    for without in (-1, *range(len(names))):
        signs = [at for at in range(len(names)) if at != without]
        label = "all signs" if without < 0 else names[without]
        table[label] = {}
        for agent in agents:
            fit = fitted(thin, agent=agent, signs=signs)
            odds = fit.log_odds(thin[agent].signs[:, : len(fit.weights)])
            table[label][agent] = quality(odds, thin[agent])["auc"]
    return table
