"""Measures compaction on recorded sessions that no fit used, beside sessions that a fit used.

    .venv/bin/pip install -r benchmarks/context_study/requirements.txt
    .venv/bin/python benchmarks/context_study/study.py --out FOLDER [--pictures docs/pictures]
        [--agents entire,codex] [--windows 32,64,128] [--presets default,slide,ladder-a,oracle]
        [--folds 0,1,2,3,4] [--no-replays] [--no-fits] [--no-worth] [--processes 2]

The first table replays all sessions of each agent, in three windows, with the presets ``default``,
``slide`` and ``ladder-a`` (the published ladder), and with an oracle, which knows the future. Each
cell shows the cost relative to ``slide``, the share of kept names and of kept edit lines, and how
many edit lines were lost. One column has the sessions that numbers of the engine were fitted or
chosen on, the other column has the sessions left out (``indwell.replay.fitted_sessions``). The
second table shows the same figures for each fold of sessions; the fold is a hash of the session's
id.

Further tables show how well logistic regressions tell needed from other names and lines, on each
fold and each agent that a fit left out, beside a fit of everything and beside the engine's own
chances. Then come the calibration of the engine's chances and the worth of each sign.

``--out`` is a folder for ``replays.jsonl`` (figures of each session), the rows of the fits, and
``study.json`` with all tables. A later run measures only what is missing. ``--pictures`` draws
SVG pictures. A full run takes about an hour on two cores.
"""

from __future__ import annotations

import argparse
import json
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pictures
import replays
import tables
from recordings import AGENTS

from indwell.replay.fitted_sessions import FOLDS, fitted_sessions


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--pictures", type=Path)
    parser.add_argument("--agents", default=",".join(AGENTS))
    parser.add_argument("--windows", default="32,64,128")
    parser.add_argument("--presets", default=",".join(replays.PRESETS))
    parser.add_argument("--folds", default=",".join(map(str, range(FOLDS))))
    parser.add_argument("--processes", type=int, default=2)
    for part in ("replays", "fits", "worth"):
        parser.add_argument(f"--no-{part}", action="store_true")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    path = given.out / "study.json"
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    found["fitted sessions"] = sorted(fitted_sessions().sessions)
    if not given.no_replays:
        found |= _replays(given)
        path.write_text(json.dumps(found, indent=1))
    if not given.no_fits:
        for part in _fits(given.out, given.agents.split(","), with_worth=not given.no_worth):
            found |= part
            path.write_text(json.dumps(found, indent=1))
    if given.pictures:
        for name, picture in pictures.all_pictures(found):
            (given.pictures / f"{name}.svg").write_text(picture, "utf-8")


def _replays(given: argparse.Namespace) -> dict[str, Any]:
    folds = [int(one) for one in given.folds.split(",")]
    rows = replays.measured(
        given.out / "replays.jsonl",
        agents=given.agents.split(","),
        windows=[1_000 * int(one) for one in given.windows.split(",")],
        presets=given.presets.split(","),
        folds=folds,
        processes=given.processes,
    )
    table = tables.table(rows, tables.SIDES)
    print(tables.shown(table))
    groups = {f"fold {number}": lambda row, number=number: row.fold == number for number in folds}
    by_fold = tables.table([row for row in rows if row.preset != "oracle"], groups)
    print(tables.shown(by_fold))
    print(tables.markdown(table))
    return {"replays": tables.plain(table), "replays by fold": tables.plain(by_fold)}


def _fits(out: Path, agents: list[str], *, with_worth: bool) -> Any:
    """Fit both regressions in all ways, print their quality, and yield the tables."""
    import numpy as np  # noqa: PLC0415 -- replays alone need no numpy
    from fits import ablations, by_agent, by_fold, calibration, fitted  # noqa: PLC0415
    from signs import Rows, collected  # noqa: PLC0415
    from work import LINE_SIGNS, NAME_SIGNS, TEXT_SIGNS  # noqa: PLC0415

    rows: dict[str, dict[str, Rows]] = {"line": {}, "name": {}}
    for agent in agents:
        path = out / f"rows-{agent}.pickle"
        if not path.exists():
            path.write_bytes(pickle.dumps(tuple(map(tuple, collected(agent)))))
        lines, names = pickle.loads(path.read_bytes())  # noqa: S301 - our own file
        rows["line"][agent], rows["name"][agent] = Rows(*lines), Rows(*names)
    signs = {"line": (*TEXT_SIGNS, *LINE_SIGNS), "name": NAME_SIGNS}
    for kind, names in signs.items():
        whole = fitted(rows[kind])
        fits = {"all": whole}
        qualities: dict[str, Any] = {}
        largest = max(agents, key=lambda agent: len(set(rows[kind][agent].sessions)))
        for number, (fit, quality) in enumerate(by_fold(rows[kind], largest, whole)):
            fits[f"without fold {number}"] = fit
            qualities |= {f"{largest}, fold {number}": quality} if quality else {}
        for agent in agents:
            fits[f"without {agent}"], quality = by_agent(rows[kind], agent, whole)
            qualities |= {f"{agent}, all folds": quality} if quality else {}
        _show_qualities(kind, qualities)
        print(kind, "base", whole.base)
        for name, weight, size in zip(names, whole.weights, whole.standard, strict=True):
            print(f"    {name:24s} {weight:7.3f}   per standard deviation {size:6.2f}")
        curves = {}
        for agent in agents:
            one = rows[kind][agent]
            chosen = one.of(one.chances > 0)
            curves[agent] = calibration(chosen.chances, chosen)
            share = float(np.average(one.needs, weights=one.weights)) if len(one.needs) else 0.0
            print(f"{kind}: {agent}: {share:.4f} are needed; chance, share:", end="")
            print("".join(f"  {chance:.3f} {share:.3f}" for chance, share in curves[agent]))
        yield {
            f"{kind}: fits": {name: fit._asdict() for name, fit in fits.items()},
            f"{kind}: quality": qualities,
            f"{kind}: calibration": curves,
        }
        if with_worth:
            worth = ablations(rows[kind], names)
            _show_worth(kind, worth)
            yield {f"{kind}: worth": worth}


def _show_qualities(kind: str, qualities: Mapping[str, Mapping[str, Mapping[str, float]]]) -> None:
    print(f"{kind}: area under the curve{'':6}left out   fitted   engine")
    for label, quality in qualities.items():
        cells = "".join(f"{quality[side]['auc']:9.3f}" for side in ("left out", "fitted", "engine"))
        print(f"  {label:28}{cells}")


def _show_worth(kind: str, worth: Mapping[str, Mapping[str, float]]) -> None:
    agents = list(worth["all signs"])
    print(f"{kind}: area under the curve without a sign" + "".join(f"{one:>12}" for one in agents))
    for sign, areas in worth.items():
        print(f"  {sign:34}" + "".join(f"{areas[agent]:12.3f}" for agent in agents))


if __name__ == "__main__":
    main()
