"""Draws an evaluation as one HTML page with inline SVG, which needs no network and no script. Pure.

Texts are HTML and only marks are SVG, so that a page stays readable on a narrow screen: an SVG that
shrinks would shrink its texts, too.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence

from indwell.evaluation.report import (
    ArmDifference,
    ArmFigures,
    EvalReport,
    EvalRun,
    money,
    no_difference_words,
    points,
)
from indwell.evaluation.statistics import Interval

_WIDE = 1_000  # The width of a drawing in its own units; the browser stretches the drawing.
_HEIGHT = 28
_COLOURS = 6

_STYLE = """
:root { color-scheme: light dark; --paper: #fbfaf8; --ink: #1d1c1a; --soft: #68655f;
  --line: #dedad3;
  --good: #2f7d54; --bad: #b4462f; --none: #b9b4aa; --c0: #2b62b8; --c1: #b3541e;
  --c2: #2f7d54; --c3: #8445a5; --c4: #8a7000; --c5: #a83264; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #161513; --ink: #ece9e3; --soft: #a19c92;
  --line: #37342f;
  --good: #62b98a; --bad: #e2795f; --none: #5d5850; --c0: #7cabf2;
  --c1: #eb9660; --c2: #62b98a; --c3: #c78fe6; --c4: #d1b545; --c5: #ee86b0; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main { max-width: 60rem; margin: 0 auto; padding: 2rem 1rem 4rem; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .25rem; letter-spacing: -.01em; }
h2 { font-size: 1.1rem; margin: 2.5rem 0 .25rem; }
p { margin: .25rem 0 1rem; max-width: 44rem; }
.soft { color: var(--soft); }
small, .soft { font-size: .875rem; }
.row { display: grid; grid-template-columns: minmax(9rem, 15rem) 1fr 13rem;
  gap: 0 1rem; align-items: center; padding: .35rem 0; border-top: 1px solid var(--line); }
.row > :last-child { text-align: right; }
.name { overflow-wrap: anywhere; }
.figure { font-variant-numeric: tabular-nums; white-space: nowrap; }
.figure b { font-size: 1.05rem; }
.scale { display: grid; grid-template-columns: repeat(3, 1fr); color: var(--soft);
  font-size: .8rem; font-variant-numeric: tabular-nums; }
.scale > :nth-child(2) { text-align: center; }
.scale > :nth-child(3) { text-align: right; }
svg { display: block; width: 100%; height: 28px; overflow: visible; }
.grid { stroke: var(--line); stroke-width: 1; }
.zero { stroke: var(--soft); stroke-width: 1; }
.span { stroke: currentColor; stroke-width: 3; opacity: .55; }
.dot { stroke: currentColor; stroke-width: 12; stroke-linecap: round; }
line { vector-effect: non-scaling-stroke; }
.table { overflow-x: auto; border-top: 1px solid var(--line); }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .4rem .6rem; border-bottom: 1px solid var(--line);
  white-space: nowrap; font-size: .9rem; }
th { font-weight: 600; color: var(--soft); }
th:first-child, td:first-child { text-align: left; padding-left: 0; white-space: normal;
  min-width: 8rem; }
.cells { display: flex; flex-wrap: wrap; gap: 3px; margin: .25rem 0 1rem; }
p.name { margin: 0; }
p.kind { margin: 1rem 0 .25rem; font-weight: 600; }
.cell { width: 15px; height: 15px; border-radius: 3px; background: var(--none); }
.passed { background: var(--good); }
.failed { background: transparent; border: 2px solid var(--bad); }
.key { display: inline-flex; align-items: center; gap: .35rem; margin-right: 1rem; }
details { border-top: 1px solid var(--line); padding: .5rem 0; }
summary { cursor: pointer; }
@media (max-width: 40rem) { .row { grid-template-columns: 1fr auto; }
  .row > :nth-child(2) { grid-column: 1 / -1; grid-row: 2; } .scale { margin: 0; } }
@media print { body { background: none; } }
"""


def eval_page(report: EvalReport) -> str:
    """Return the page as one HTML text."""
    title = f"Evaluation: {report.suite}"
    n_tasks = len({one.task for one in report.runs})
    n_seeds = len({one.seed for one in report.runs})
    facts = f"{report.date}, {_count(n_tasks, 'task')}, {_count(len(report.arms), 'arm')}, "
    facts += f"{_count(n_seeds, 'seed')}, {_count(len(report.runs), 'run')}"
    parts = [
        f"<h1>{html.escape(title)}</h1>",
        f'<p class="soft">{html.escape(facts)}</p>',
        *(f"<p>{html.escape(one)}</p>" for one in report.notes),
        _rates(report.arms),
        _differences(report.differences),
        _table(report.arms),
        _kinds(report.arms),
        _cells(report.arms, report.runs),
        _failures(report.runs),
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "style-src 'unsafe-inline'\">\n"
        f"<title>{html.escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(filter(None, parts))
        + "\n</main>\n</body>\n</html>\n"
    )


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'s' * (n != 1)}"


def _rates(arms: Sequence[ArmFigures]) -> str:
    rows = []
    for number, one in enumerate(arms):
        if one.rate is None:
            rows.append(_row(one.arm, "", "no outcome"))
            continue
        words = f"{one.n_passed} of {one.n} runs passed, {_percent(one.rate)}"
        mark = _mark(one.rate, 0.0, 1.0, number=number, words=f"{one.arm}: {words}")
        figure = f"<b>{one.rate.estimate:.1%}</b> <small>{_ends(one.rate)}</small>"
        rows.append(_row(one.arm, mark, figure, is_markup=True))
    return _section(
        "Pass rate",
        "The share of runs whose hidden check passed, with Wilson's 95 % interval.",
        "".join(rows) + _scale("0 %", "50 %", "100 %"),
    )


def _differences(differences: Sequence[ArmDifference]) -> str:
    if not differences:
        return ""
    ends = [abs(end) for one in differences for end in (one.rate.low, one.rate.high)]
    most = min(1.0, max(0.1, math.ceil(max(ends) * 10) / 10))
    rows = []
    for number, one in enumerate(differences, 1):
        span = f"{points(one.rate.low)} to {points(one.rate.high)}"
        words = f"{one.arm} minus {one.base}: {points(one.rate.estimate)}, {span}"
        mark = _mark(one.rate, -most, most, number=number, words=words)
        figure = f"<b>{points(one.rate.estimate)}</b><br><small>{html.escape(span)}</small>"
        rows.append(_row(one.arm, mark, figure, is_markup=True))
        if not one.shows_difference:
            words = no_difference_words(one)
            rows.append(f'<p class="soft">{words[0].upper()}{html.escape(words[1:])}.</p>')
    further = "".join(
        f"<tr><td>{html.escape(one.arm)}</td><td>{_plain(one.tokens, ',.0f')}</td>"
        f"<td>{'-' if one.cost is None else _plain(one.cost, '.4f')}</td>"
        f"<td>{_plain(one.seconds, '.1f')}</td></tr>"
        for one in differences
    )
    table = _frame(("Difference per run", "Tokens", "Cost (USD)", "Seconds"), further)
    words = (
        "Each task is compared with itself. The 95 % interval comes from a bootstrap over groups "
        "of similar tasks."
    )
    return _section(
        f"Difference from {differences[0].base}",
        words,
        "".join(rows) + _scale(points(-most), "0", points(most)) + table,
    )


def _table(arms: Sequence[ArmFigures]) -> str:
    rows = "".join(
        f"<tr><td>{html.escape(one.arm)}</td><td>{one.n_passed} of {one.n}</td>"
        f"<td>{one.tokens_in:,.0f}</td><td>{one.tokens_out:,.0f}</td><td>{money(one.cost)}</td>"
        f"<td>{money(one.cost_of_pass)}</td><td>{one.rounds:.1f}</td><td>{one.seconds:.1f}</td>"
        f"<td>{one.n_missing}</td></tr>"
        for one in arms
    )
    names = ("Arm", "Passed", "Tokens in", "Tokens out", "Cost", "Cost per pass")
    head = (*names, "Rounds", "Seconds", "No outcome")
    words = "Means for one run with an outcome; seconds are the median."
    return _section("Tokens, cost and time", words, _frame(head, rows))


def _kinds(arms: Sequence[ArmFigures]) -> str:
    kinds = sorted({one.kind for arm in arms for one in arm.kinds})
    if len(kinds) < 2:  # noqa: PLR2004 - one kind has the pass rate of the whole
        return ""
    rows = []
    for kind in kinds:
        if len(arms) > 1:
            rows.append(f'<p class="kind">{html.escape(kind)}</p>')
        for number, arm in enumerate(arms):
            for one in (one for one in arm.kinds if one.kind == kind):
                words = f"{kind}, {arm.arm}: {_percent(one.rate)}"
                mark = _mark(one.rate, 0.0, 1.0, number=number, words=words)
                rows.append(
                    _row(arm.arm if len(arms) > 1 else kind, mark, f"{one.n_passed} of {one.n}")
                )
    return _section(
        "By kind",
        "Intervals of few tasks are wide.",
        "".join(rows) + _scale("0 %", "50 %", "100 %"),
    )


def _cells(arms: Sequence[ArmFigures], runs: Sequence[EvalRun]) -> str:
    key = "".join(
        f'<span class="key"><span class="cell {kind}"></span>{words}</span>'
        for kind, words in (("passed", "passed"), ("failed", "failed"), ("", "no outcome"))
    )
    rows = []
    for arm in arms:
        cells = "".join(
            f'<span class="cell {_state(one)}" title="{html.escape(_run_words(one))}"></span>'
            for one in runs
            if one.arm == arm.arm
        )
        rows.append(f'<p class="name">{html.escape(arm.arm)}</p><div class="cells">{cells}</div>')
    words = "One square for each run; each arm has the tasks in the same order."
    return _section("Runs", words, f'<p class="soft">{key}</p>' + "".join(rows))


def _failures(runs: Sequence[EvalRun]) -> str:
    rows = "".join(
        f"<tr><td>{html.escape(one.task)}</td><td>{html.escape(one.arm)}</td><td>{one.seed}</td>"
        f"<td>{html.escape(one.why[:120])}</td></tr>"
        for one in runs
        if one.passed is not True
    )
    if not rows:
        return ""
    table = _frame(("Task", "Arm", "Seed", "Reason"), rows)
    return f"<h2>Failed</h2><details><summary>Runs that did not pass</summary>{table}</details>"


def _state(run: EvalRun) -> str:
    return {True: "passed", False: "failed", None: ""}[run.passed]


def _run_words(run: EvalRun) -> str:
    return f"{run.task}, seed {run.seed}: {_state(run) or 'no outcome'}"


def _section(title: str, words: str, body: str) -> str:
    return f'<h2>{html.escape(title)}</h2>\n<p class="soft">{html.escape(words)}</p>\n{body}'


def _frame(head: Sequence[str], rows: str) -> str:
    names = "".join(f'<th scope="col">{html.escape(one)}</th>' for one in head)
    return (
        f'<div class="table"><table><thead><tr>{names}</tr></thead><tbody>{rows}</tbody></table>'
        "</div>"
    )


def _row(name: str, mark: str, figure: str, *, is_markup: bool = False) -> str:
    shown = figure if is_markup else html.escape(figure)
    return (
        f'<div class="row"><div class="name">{html.escape(name)}</div><div>{mark}</div>'
        f'<div class="figure">{shown}</div></div>'
    )


def _scale(*words: str) -> str:
    marks = "".join(f"<span>{html.escape(one)}</span>" for one in words)
    return f'<div class="row"><div></div><div class="scale">{marks}</div><div></div></div>'


def _mark(interval: Interval, least: float, most: float, *, number: int, words: str) -> str:
    """Draw an interval as a line with a dot, on an axis from ``least`` to ``most``."""

    def place(value: float) -> str:
        return f"{(min(most, max(least, value)) - least) / (most - least) * _WIDE:.1f}"

    def line(kind: str, left: str, right: str, top: int, bottom: int) -> str:
        return f'<line class="{kind}" x1="{left}" x2="{right}" y1="{top}" y2="{bottom}"/>'

    middle = _HEIGHT // 2
    dot = place(interval.estimate)
    grid = "".join(
        line("zero" if part == 0 and least < 0 else "grid", place(part), place(part), 0, _HEIGHT)
        for part in (least, (least + most) / 2, most)
    )
    return (
        f'<svg viewBox="0 0 {_WIDE} {_HEIGHT}" preserveAspectRatio="none" role="img" '
        f'style="color: var(--c{number % _COLOURS})" aria-label="{html.escape(words)}">{grid}'
        + line("span", place(interval.low), place(interval.high), middle, middle)
        + line("dot", dot, dot, middle, middle)
        + "</svg>"
    )


def _percent(rate: Interval) -> str:
    return f"{rate.estimate:.1%} ({_ends(rate)})"


def _ends(rate: Interval) -> str:
    return f"{rate.low:.0%} to {rate.high:.0%}"


def _plain(value: Interval, form: str) -> str:
    low, high = format(value.low, f"+{form}"), format(value.high, f"+{form}")
    return f"{format(value.estimate, f'+{form}')} <small>({low} to {high})</small>"
