"""Summarises the runs of an evaluation: figures of each arm, and differences between arms. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean, median
from typing import TypeAlias

import msgspec

from indwell.batch.records import TaskResult
from indwell.compatibility import StoredForm
from indwell.evaluation.statistics import Interval, paired_difference, wilson

FEWEST_CHANGED = 6
"""The least number of groups with different pass rates that can show a difference.

If 5 pairs differ, and all in the same direction, the sign test gives p = 2 / 2**5 = 0.06.
A bootstrap of few or of mostly equal pairs is too narrow, and would call them a difference.
"""

_Means: TypeAlias = list[float]


class EvalRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a task by an arm.

    Attributes:
        task: The name of the task.
        group: The name of a group of tasks that are alike, or empty.
        kind: What the task asks for.
        arm: The name of the model with its settings.
        seed: The seed, or the number of the repetition.
        passed: Whether the check passed, or None if there is no outcome.
        why: The reason for a missing or failed outcome.
        tokens_in: Input tokens.
        tokens_out: Output tokens.
        cost: The cost in US dollars, or None if the price is unknown.
        rounds: Model calls.
        seconds: The wall time of the turn.
    """

    task: str
    group: str = ""
    kind: str
    arm: str
    seed: int
    passed: bool | None
    why: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float | None = 0.0
    rounds: int = 0
    seconds: float = 0.0


class KindFigures(msgspec.Struct, frozen=True):
    """The pass rate for one kind of tasks."""

    kind: str
    n: int
    n_passed: int
    rate: Interval


class ArmFigures(msgspec.Struct, frozen=True):
    """The figures of one arm; means are for one run, and include only runs with an outcome.

    Attributes:
        arm: The name of the arm.
        n: The number of runs with an outcome.
        n_passed: The number of passed runs.
        n_missing: The number of runs without an outcome.
        rate: The pass rate with Wilson's interval, or None if no run has an outcome.
        tokens_in: Mean input tokens.
        tokens_out: Mean output tokens.
        cost: Mean cost in US dollars, or None if a price is unknown.
        rounds: Mean number of model calls.
        seconds: Median wall time.
        kinds: The pass rate for each kind.
    """

    arm: str
    n: int
    n_passed: int
    n_missing: int
    rate: Interval | None
    tokens_in: float
    tokens_out: float
    cost: float | None
    rounds: float
    seconds: float
    kinds: tuple[KindFigures, ...]

    @property
    def cost_of_pass(self) -> float | None:
        """The cost of all runs divided by the passed runs, or None if unknown."""
        if self.cost is None or not self.n_passed:
            return None
        return self.cost * self.n / self.n_passed


class ArmDifference(msgspec.Struct, frozen=True):
    """An arm minus the first arm, over the tasks that both arms ran.

    The bootstrap resamples groups of tasks that are alike; a task without a group is its own group.

    Attributes:
        arm: The arm.
        base: The first arm.
        n_tasks: The number of tasks that both arms ran.
        n_changed: The number of groups in which the arms have different pass rates.
        rate: The difference of pass rates.
        tokens: The difference of tokens for one run.
        cost: The difference of cost in US dollars, or None if a price is unknown.
        seconds: The difference of wall time.
    """

    arm: str
    base: str
    n_tasks: int
    n_changed: int
    rate: Interval
    tokens: Interval
    cost: Interval | None
    seconds: Interval

    @property
    def shows_difference(self) -> bool:
        """Whether the pass rates differ by more than chance explains."""
        return self.rate.excludes_zero and self.n_changed >= FEWEST_CHANGED


class EvalReport(msgspec.Struct, frozen=True):
    """A whole evaluation.

    Attributes:
        suite: The name of the suite.
        date: The day of the report.
        arms: The figures of each arm.
        differences: Each further arm compared with the first.
        runs: All runs.
        notes: Sentences that a reader of the figures needs.
    """

    suite: str
    date: str
    arms: tuple[ArmFigures, ...]
    differences: tuple[ArmDifference, ...]
    runs: tuple[EvalRun, ...]
    notes: tuple[str, ...] = ()


REPORT_FORM: StoredForm[EvalReport] = StoredForm("evaluation", EvalReport, "the report")


def run_of(result: TaskResult) -> EvalRun:
    """Return a result of a batch as a run.

    The check alone decides: a solution is a solution even if a limit ended the turn.

    Args:
        result: The result, whose labels name task, arm and seed.
    """
    labels, receipt = result.labels, result.receipt
    passed, why = _outcome(result)
    return EvalRun(
        task=labels.get("task", result.id),
        group=labels.get("group", ""),
        kind=labels.get("kind", "task"),
        arm=labels.get("arm", ""),
        seed=int(labels.get("seed", "1")),
        passed=passed,
        why=why,
        tokens_in=receipt.input,
        tokens_out=receipt.output,
        cost=receipt.cost,
        rounds=receipt.rounds,
        seconds=receipt.seconds,
    )


def _outcome(result: TaskResult) -> tuple[bool | None, str]:
    """Return whether a run passed, and the reason if not."""
    is_asked = result.receipt.rounds > 0 or result.ending != "failed"
    if result.ending == "lost" or not is_asked:
        # A turn that failed before its first model call, such as without a key, says nothing.
        return None, result.message
    if result.after is None:
        # A turn that failed before its check, such as without a workspace, has no outcome.
        return None, result.message or "no check"
    if result.after.exit_code is None and result.after.why.startswith("not run"):
        return None, result.after.why
    is_passed = result.after.exit_code == 0
    ended = result.message or ("" if result.ending == "done" else result.ending)
    return is_passed, "" if is_passed else ended or result.after.why or "the check failed"


def report_of(
    suite: str,
    date: str,
    runs: Iterable[EvalRun],
    *,
    arms: Sequence[str],
    notes: Sequence[str] = (),
    is_paired: bool = True,
) -> EvalReport:
    """Summarise runs; the arms keep their order, and the first arm is the base of comparisons."""
    ordered = tuple(sorted(runs, key=lambda one: (one.task, one.seed, arms.index(one.arm))))
    figures = tuple(_figures(arm, [one for one in ordered if one.arm == arm]) for arm in arms)
    pairs = (_difference(ordered, arms[0], arm) for arm in arms[1:]) if is_paired else ()
    differences = tuple(one for one in pairs if one is not None)
    return EvalReport(suite, date, figures, differences, ordered, tuple(notes))


def _figures(arm: str, runs: Sequence[EvalRun]) -> ArmFigures:
    judged = [one for one in runs if one.passed is not None]
    kinds = []
    for kind in sorted({one.kind for one in judged}):
        own = [one for one in judged if one.kind == kind]
        n_passed = sum(one.passed is True for one in own)
        kinds.append(KindFigures(kind, len(own), n_passed, wilson(n_passed, len(own))))
    n_passed = sum(one.passed is True for one in judged)
    costs = [one.cost for one in judged]
    known = [one for one in costs if one is not None]
    return ArmFigures(
        arm,
        len(judged),
        n_passed,
        len(runs) - len(judged),
        wilson(n_passed, len(judged)) if judged else None,
        _mean(one.tokens_in for one in judged),
        _mean(one.tokens_out for one in judged),
        _mean(known) if len(known) == len(costs) else None,
        _mean(one.rounds for one in judged),
        median(one.seconds for one in judged) if judged else 0.0,
        tuple(kinds),
    )


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return fmean(found) if found else 0.0


def _difference(runs: Sequence[EvalRun], base: str, arm: str) -> ArmDifference | None:
    """Compare two arms over the tasks that both ran, or return None if there is no such task."""
    first, second = _by_task(runs, base), _by_task(runs, arm)
    tasks = [task for task in first if task in second]
    if not tasks:
        return None
    groups: dict[str, list[str]] = {}
    for task in tasks:
        groups.setdefault(first[task][0].group or task, []).append(task)

    def means(side: Mapping[str, Sequence[EvalRun]], value: Callable[[EvalRun], float]) -> _Means:
        return [
            fmean(fmean(value(one) for one in side[task]) for task in group)
            for group in groups.values()
        ]

    def compared(value: Callable[[EvalRun], float]) -> Interval:
        return paired_difference(means(first, value), means(second, value))

    rates = [means(side, _passed) for side in (first, second)]
    both = [one for side in (first, second) for task in tasks for one in side[task]]
    has_prices = all(one.cost is not None for one in both)
    return ArmDifference(
        arm,
        base,
        len(tasks),
        sum(a != b for a, b in zip(*rates, strict=True)),
        paired_difference(*rates),
        compared(lambda one: one.tokens_in + one.tokens_out),
        compared(lambda one: one.cost or 0.0) if has_prices else None,
        compared(lambda one: one.seconds),
    )


def _passed(run: EvalRun) -> float:
    return float(run.passed is True)


def _by_task(runs: Sequence[EvalRun], arm: str) -> Mapping[str, Sequence[EvalRun]]:
    found: dict[str, list[EvalRun]] = {}
    for one in runs:
        if one.arm == arm and one.passed is not None:
            found.setdefault(one.task, []).append(one)
    return found


HEADER = ("arm", "passed", "rate", "95 %", "tokens in", "out", "cost", "rounds", "seconds")


def table_rows(report: EvalReport) -> tuple[tuple[str, ...], ...]:
    """Return the rows of the table of arms, without the header."""
    return tuple(
        (
            one.arm,
            f"{one.n_passed}/{one.n}",
            "-" if one.rate is None else f"{one.rate.estimate:.1%}",
            "-" if one.rate is None else f"{one.rate.low:.1%} to {one.rate.high:.1%}",
            f"{one.tokens_in:,.0f}",
            f"{one.tokens_out:,.0f}",
            money(one.cost),
            f"{one.rounds:.1f}",
            f"{one.seconds:.1f}",
        )
        for one in report.arms
    )


def difference_words(one: ArmDifference) -> str:
    """Return a comparison in a sentence."""
    rate = one.rate
    verdict = "" if one.shows_difference else f"; {no_difference_words(one)}"
    return (
        f"{one.arm} minus {one.base}: {points(rate.estimate)} pass rate "
        f"(95 %: {points(rate.low)} to {points(rate.high)}, {one.n_tasks} tasks){verdict}"
    )


def no_difference_words(one: ArmDifference) -> str:
    """Return why the pass rates show no difference."""
    if not one.rate.excludes_zero:
        return "the interval includes 0, so no difference is shown"
    words = f"too few tasks or templates have different results ({one.n_changed})"
    return f"{words}, so no difference is shown"


def points(part: float) -> str:
    """Return a difference of rates in percentage points."""
    return f"{part * 100:+.1f} points"


def money(cost: float | None) -> str:
    """Return a cost in US dollars, or a hyphen if the price is unknown."""
    return "-" if cost is None else f"${cost:.4f}"
