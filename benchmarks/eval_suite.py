"""Checks each task of the shipped suite: the check fails before and for each wrong solution.

    python benchmarks/eval_suite.py [--seed 1] [--only PATTERN]

The check has to pass with the reference solution. The program needs `python3`, `node` and `sh`, and
fails if one check has another outcome.
"""

from __future__ import annotations

import argparse
import fnmatch
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from indwell.evaluation.suites import shipped_tasks
from indwell.evaluation.tasks import EvalTask


def passes(task: EvalTask, changes: Mapping[str, str]) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {**task.files, **changes, **task.hidden}.items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        ran = subprocess.run(["sh", "-c", task.check], cwd=folder, capture_output=True, check=False)
    return ran.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="*")
    options = parser.parse_args()
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
