"""Fits the two logistic regressions, and measures each fit on sessions that the fit left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from signs import FOLDS, Rows, fold
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score

STRENGTH = 0.02  # scikit-learn's C; smaller values shrink the coefficients more
PER_AGENT = 3_000  # The rows of an agent weigh this much, times the square root of its sessions.
LEAST_NEEDS = 100  # An agent with fewer needs has no measured quality.
ROUNDED = 3  # digits after the point of a shipped coefficient


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
        if name == agent:
            continue
        chosen = np.array([fold(session) != without for session in one.sessions], bool)
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


def quality(fit: Fit, rows: Rows) -> dict[str, float]:
    """Return the area under the curve, the average precision, and predicted and real shares."""
    odds = fit.log_odds(rows.signs[:, : len(fit.weights)])
    weighed = {"sample_weight": rows.weights}
    return {
        "auc": roc_auc_score(rows.needs, odds, **weighed),
        "precision": average_precision_score(rows.needs, odds, **weighed),
        "predicted": float(np.average(1 / (1 + np.exp(-odds)), weights=rows.weights)),
        "real": float(np.average(rows.needs, weights=rows.weights)),
    }


def left_out(rows: Mapping[str, Rows], agent: str) -> tuple[Fit, dict[str, float]]:
    """Fit without an agent, and measure the fit on that agent."""
    fit = fitted(rows, agent=agent)
    return fit, quality(fit, rows[agent])


def by_fold(rows: Mapping[str, Rows], agent: str) -> Sequence[tuple[Fit, dict[str, float]]]:
    """Fit without each fold, and measure each fit on that fold of one agent."""
    found = []
    for number in range(FOLDS):
        one = rows[agent]
        chosen = np.array([fold(session) == number for session in one.sessions], bool)
        fit = fitted(rows, without=number)
        found.append((fit, quality(fit, Rows(*(part[chosen] for part in one)))))
    return found


def ablations(rows: Mapping[str, Rows], names: Sequence[str]) -> dict[str, dict[str, float]]:
    """Return each left-out agent's area under the curve, for all signs and without each sign."""
    agents = [one for one in rows if rows[one].needs.sum() >= LEAST_NEEDS]
    table = {}
    for without in (-1, *range(len(names))):
        signs = [at for at in range(len(names)) if at != without]
        label = "all signs" if without < 0 else f"without {names[without]}"
        table[label] = {
            agent: quality(fitted(rows, agent=agent, signs=signs), rows[agent])["auc"]
            for agent in agents
        }
    return table
