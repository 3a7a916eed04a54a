"""Replays sessions with the oracle of ``future.py`` and several aims of a digest.

    .venv/bin/python benchmarks/context_study/oracle.py --out FILE
        [--folds 3,4] [--agents entire,codex] [--windows 32,64,128] [--roots 60,77,95]

No estimator of chances can do much better than the oracle in this engine: a goal that the oracle
misses needs another engine. ``--roots`` are factors for the aim of a digest; see
``presets.Digest``. The table has the engine's own chances and ``slide``, too.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from future import Later, choosing
from recordings import AGENTS, sessions
from replays import LEAST_TOKENS

from indwell.context.compaction.presets import PRESETS, Digest, Preset
from indwell.replay.fitted_sessions import FOLDS, fold
from indwell.replay.measure import RequestSums, replayed, total
from indwell.sessions.imports import Recorded


def with_root(root: float) -> Preset:
    """Return the preset ``default`` with another factor for the aim of its digests."""
    default = PRESETS["default"]
    rungs = (
        msgspec.structs.replace(one, layer=msgspec.structs.replace(one.layer, root=root), aim=0.6)
        if isinstance(one.layer, Digest)
        else one
        for one in default.rungs
    )
    return msgspec.structs.replace(default, rungs=tuple(rungs))


def figures(one: RequestSums, base: RequestSums) -> dict[str, float | None]:
    """Return the cost relative to ``base``, and the kept shares; a share of nothing is None."""

    def part(some: float, whole: float) -> float | None:
        return round(some / whole, 4) if whole else None

    return {
        "cost": part(one.cost, base.cost),
        "names": part(one.kept, one.pairs),
        "lines": part(one.lines_kept, one.lines),
        "n_names": one.pairs,
        "n_lines": one.lines,
        "read_again": part(one.reread_cost, base.cost),
        "violations": one.violations,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--folds", default="3,4")
    parser.add_argument("--agents", default=",".join(AGENTS))
    parser.add_argument("--windows", default="32,64,128")
    parser.add_argument("--roots", default="77,95")
    given = parser.parse_args()
    folds = {int(one) for one in given.folds.split(",")}
    assert folds <= set(range(FOLDS)), folds
    windows = [1_000 * int(one) for one in given.windows.split(",")]
    roots = [float(one) for one in given.roots.split(",") if one]
    table: dict[str, object] = {}
    for agent in given.agents.split(","):
        taken = [one for one in sessions(agent) if fold(one.id) in folds and is_long(one)]
        for window in windows if taken else ():
            label = f"{agent} {window // 1_000}k"
            table[label] = {"sessions": len(taken), **dict(_rows(taken, window, roots))}
            print(label, json.dumps(table[label]), flush=True)
            given.out.write_text(json.dumps(table, indent=1))


def is_long(session: Recorded) -> bool:
    """Return whether the session can fill a window."""
    blocks = (block for part in session.messages for block in part.blocks)
    return sum(block.meta.tokens for block in blocks) >= LEAST_TOKENS


def _rows(
    taken: Sequence[Recorded], window: int, roots: Sequence[float]
) -> Iterator[tuple[str, dict[str, float | None]]]:
    slide = total(replayed(one, "slide", window) for one in taken)
    yield "slide", figures(slide, slide)
    own = total(replayed(one, "default", window) for one in taken)
    yield "default", figures(own, slide)
    for root in roots:
        ideal = total(
            replayed(one, with_root(root), window, choose=choosing(Later(one.messages)))
            for one in taken
        )
        yield f"oracle {root:g}", figures(ideal, slide)


if __name__ == "__main__":
    main()
