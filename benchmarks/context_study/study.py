"""Fits the chances of need on six agents, and replays the sessions that no fit and no choice used.

    .venv/bin/pip install -r benchmarks/context_study/requirements.txt
    PYTHONPATH=server .venv/bin/python benchmarks/context_study/study.py --out FOLDER
        [--fits-only] [--worth] [--folds 3,4] [--agents entire,codex] [--windows 32,64,128]

The first tables show how well each fit tells needed from other names and lines, on the fold and on
the agent that the fit left out. The replays show the engine's preset ``default`` beside ``slide``,
for each agent and window. ``--out`` is a folder for the rows, ``fits.json`` and ``replays.json``.
``--worth`` fits again without each sign, which takes minutes.
"""

from __future__ import annotations

import argparse
import json
import pickle
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from fits import LEAST_NEEDS, Fit, ablations, by_fold, fitted, left_out
from signs import AGENTS, CHOSEN_ON, FOLDS, Rows, collected, fold, sessions
from work import LINE_SIGNS, NAME_SIGNS, TEXT_SIGNS

from indwell.replay.measure import RequestSums, replayed, total

SIGNS = {
    "line": (*TEXT_SIGNS, *LINE_SIGNS),
    "name": NAME_SIGNS,
}
LEAST_TOKENS = 8_000  # A shorter session never fills a window.


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--fits-only", action="store_true")
    parser.add_argument("--worth", action="store_true")
    others = [number for number in range(FOLDS) if number not in CHOSEN_ON]
    parser.add_argument("--folds", default=",".join(map(str, others)))
    parser.add_argument("--agents", default=",".join(AGENTS))
    parser.add_argument("--windows", default="32,64,128")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    _fits(given.out, with_worth=given.worth)
    if given.fits_only:
        return
    folds = {int(one) for one in given.folds.split(",")}
    windows = [1_000 * int(one) for one in given.windows.split(",")]
    table = dict(_replays(given.agents.split(","), windows, folds))
    (given.out / "replays.json").write_text(json.dumps(table, indent=1))


def _fits(out: Path, *, with_worth: bool) -> None:
    """Fit both regressions in all ways, print their quality, and write them to a file."""
    rows = _rows(out)
    fits: dict[str, Fit] = {}
    report: dict[str, object] = {}
    for kind, names in SIGNS.items():
        for number, (fit, figures) in enumerate(by_fold(rows[kind], "entire")):
            fits[f"{kind} without fold {number}"] = fit
            _show(f"{kind}: entire, fold {number} left out", figures)
        for agent in AGENTS:
            fit, figures = left_out(rows[kind], agent)
            fits[f"{kind} without {agent}"] = fit
            if rows[kind][agent].needs.sum() >= LEAST_NEEDS:
                _show(f"{kind}: {agent} left out", figures)
        fits[kind] = fitted(rows[kind])
        print(kind, "base", fits[kind].base)
        for name, weight, size in zip(names, fits[kind].weights, fits[kind].standard, strict=True):
            print(f"    {name:24s} {weight:7.3f}   per standard deviation {size:6.2f}")
    report["fits"] = {name: fit._asdict() for name, fit in fits.items()}
    (out / "fits.json").write_text(json.dumps(report, indent=1))
    for kind, names in SIGNS.items() if with_worth else ():
        report[f"{kind}: worth of each sign"] = table = ablations(rows[kind], names)
        for label, figures in table.items():
            _show(f"{kind}, {label}", figures)
    (out / "fits.json").write_text(json.dumps(report, indent=1))


def _rows(out: Path) -> Mapping[str, Mapping[str, Rows]]:
    """Return the rows of lines and of names by agent, from a file if there is one."""
    rows: dict[str, dict[str, Rows]] = {"line": {}, "name": {}}
    for agent in AGENTS:
        path = out / f"rows-{agent}.pickle"
        if not path.exists():
            path.write_bytes(pickle.dumps(tuple(map(tuple, collected(agent)))))
        lines, names = pickle.loads(path.read_bytes())  # noqa: S301 - our own file
        rows["line"][agent], rows["name"][agent] = Rows(*lines), Rows(*names)
    return rows


def _replays(
    agents: Sequence[str], windows: Sequence[int], folds: set[int]
) -> Iterator[tuple[str, dict[str, float | None]]]:
    """Yield the figures of each agent and window, for the sessions of some folds."""
    for agent in agents:
        chosen = [
            one
            for one in sessions(agent)
            if fold(one.id) in folds
            and sum(block.meta.tokens for part in one.messages for block in part.blocks)
            >= LEAST_TOKENS
        ]
        for window in windows:
            slide, default = (
                total(replayed(one, preset, window) for one in chosen)
                for preset in ("slide", "default")
            )
            figures = _compared(default, slide)
            label = f"{agent}, {window // 1_000}k"
            _show(f"{label} ({len(chosen)} sessions)", figures)
            yield label, figures


def _compared(default: RequestSums, slide: RequestSums) -> dict[str, float | None]:
    """Return the figures of ``default``, and those of sliding; a share of nothing is None."""

    def part(some: float, whole: float) -> float | None:
        return some / whole if whole else None

    return {
        "cost": default.cost / slide.cost,
        "kept": part(default.kept, default.pairs),
        "edit lines": part(default.lines_kept, default.lines),
        "n lines": default.lines,
        "slide kept": part(slide.kept, slide.pairs),
        "slide edit lines": part(slide.lines_kept, slide.lines),
        "read again": default.reread_cost / slide.cost,
        "violations": default.violations,
    }


def _show(label: str, figures: Mapping[str, float | None]) -> None:
    cells = (
        f"{name} {'—' if value is None else f'{value:.4g}'}" for name, value in figures.items()
    )
    print(f"{label}: {', '.join(cells)}", flush=True)


if __name__ == "__main__":
    main()
