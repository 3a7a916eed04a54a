"""Checks each task of the shipped suite: the check fails for each wrong solution.

    python benchmarks/eval_suite.py [--seed 1] [--only PATTERN] [--play FOLDER [EVAL-OPTIONS]]

The check must also fail for the unchanged files, and pass for the reference solution. The program
needs `python3`, `node` and `sh`, and fails if a check has another outcome. With ``--play``, the
program instead runs `indwell eval shipped` with two made-up models: `reference` plays each
reference solution, and `half` plays about half of them. The program fails if a run has another
outcome, and leaves the report in FOLDER. Further options go to `indwell eval`: for example,
``--settings FILE`` compares presets, and ``--on ray`` runs the tasks on a Ray cluster.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Mapping
from pathlib import Path

from indwell.evaluation.suites import shipped_tasks
from indwell.evaluation.tasks import EvalTask

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from support.loopback_endpoint import endpoint_in_thread
from support.reference_player import reference_player


def passes(task: EvalTask, changes: Mapping[str, str]) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {**task.files, **changes, **task.hidden}.items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        ran = subprocess.run(["sh", "-c", task.check], cwd=folder, capture_output=True, check=False)
    return ran.returncode == 0


def knows(model: str, task: EvalTask) -> bool:
    return model == "reference" or zlib.crc32(task.id.encode()) % 2 == 0


def play(folder: Path, pattern: str, more: list[str], n_seeds: int) -> int:
    by_seed = {
        seed: [one for one in shipped_tasks(seed) if fnmatch.fnmatchcase(one.id, pattern)]
        for seed in range(1, n_seeds + 1)
    }
    every = [task for tasks in by_seed.values() for task in tasks]
    with (
        tempfile.TemporaryDirectory() as home,
        endpoint_in_thread(reference_player(every, knows)) as endpoint,
    ):
        config = Path(home, "config/indwell/config.toml")
        config.parent.mkdir(parents=True)
        config.write_text("price_in = 1\nprice_out = 5\n")  # The prices are made up.
        environment = {
            **os.environ,
            "HOME": home,
            "XDG_CONFIG_HOME": f"{home}/config",
            "INDWELL_STATE": f"{home}/state",
            "OPENAI_BASE_URL": endpoint.base_url,
        }
        words = [sys.executable, "-m", "indwell", "eval", "shipped", "--to", str(folder)]
        words += ["--only", pattern, "--model", "half", "--model", "reference"]
        began = time.monotonic()
        ran = subprocess.run([*words, "--seeds", str(n_seeds), *more], env=environment, check=False)
    report = json.loads((folder / "report.json").read_bytes())
    runs = report["runs"]
    by_id = {task.id: task for task in by_seed[1]}
    wrong = [
        one
        for one in runs
        if one["passed"] is not knows(one["arm"].partition(",")[0], by_id[one["task"]])
    ]
    print(
        f"{len(runs)} runs in {time.monotonic() - began:.1f} s, {len(wrong)} with a wrong outcome"
    )
    for one in wrong:
        print(one["task"], one["arm"], one["passed"], one["why"])
    n_expected = len(report["arms"]) * len(by_id) * n_seeds
    return 1 if wrong or ran.returncode or len(runs) != n_expected else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="*")
    parser.add_argument("--play", type=Path)
    parser.add_argument("--seeds", type=int, default=1)
    options, more = parser.parse_known_args()
    if options.play is not None:
        return play(options.play.resolve(), options.only, more, options.seeds)
    if more:
        parser.error(f"{more[0]} needs --play")
    began, n_checks, wrong = time.monotonic(), 0, []
    for task in shipped_tasks(options.seed):
        if not fnmatch.fnmatchcase(task.id, options.only):
            continue
        cases = [("before", {}, False), ("reference", task.reference, True)]
        cases += [(f"wrong {n}", one, False) for n, one in enumerate(task.mutants, 1)]
        for name, changes, expected in cases:
            n_checks += 1
            if passes(task, changes) is not expected:
                wrong.append(f"{task.id}, {name}: {'failed' if expected else 'passed'}")
    print(
        f"{n_checks} checks in {time.monotonic() - began:.1f} s, {len(wrong)} with a wrong outcome"
    )
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
