"""Measures one decision on a command in milliseconds, with parsing, judging and rules.

    python benchmarks/deciding.py [--json]

The commands are those of the shared cases (``bash_real_commands``, which agents ran), without rules
and with sixty. The floor is ``shlex.split``, which only finds words.
"""

from __future__ import annotations

import gzip
import json
import os
import shlex
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from report import percentile, show

from indwell.policy.call_facts import CallFacts, Policy
from indwell.policy.decide import decide
from indwell.policy.rules import PatternRules

BESIDE = Path(__file__).parents[2] / "shared" / "data"
N_RUNS = 3
GOAL = "p99 under 1 ms (safety.md §6)"
RULES = PatternRules(
    allow=tuple(f"tool{at} *" for at in range(20)),
    ask=tuple(f"git push {at} *" for at in range(20)),
    deny=tuple(f"forbidden{at} *" for at in range(20)),
)


def real_commands() -> list[str]:
    path = Path(os.environ.get("INDWELL_SHARED", BESIDE)) / "cases" / "bash_real_commands.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return list(dict.fromkeys(json.loads(line)["command"] for line in lines))


def took(run: Callable[[str, str], Any], commands: Sequence[str]) -> dict[str, float]:
    """Return percentiles over all commands, using the fastest run of each command.

    Each run uses another folder, since the server remembers decisions.
    """
    times = []
    for command in commands:
        best = float("inf")
        for number in range(N_RUNS):
            began = time.perf_counter()
            run(command, f"/w/{number}")
            best = min(best, time.perf_counter() - began)
        times.append(best * 1_000)
    return {"p50": percentile(times, 50), "p99": percentile(times, 99), "largest": max(times)}


def decided(command: str, cwd: str, policy: Policy) -> object:
    return decide(CallFacts(tool="bash", effect="run", command=command, cwd=cwd), policy)


def split(command: str, _cwd: str) -> object:
    try:
        return shlex.split(command)
    except ValueError:
        return None


def main() -> None:
    commands = real_commands()
    plain = Policy("auto", roots=("/w",), writes_confined=True)
    ruled = Policy("auto", roots=("/w",), writes_confined=True, rules=RULES)
    decided("ls", "/w", plain)  # makes the parser, which later decisions reuse
    rows = {
        "decide, no rules": took(lambda one, cwd: decided(one, cwd, plain), commands),
        "decide, 60 rules": took(lambda one, cwd: decided(one, cwd, ruled), commands),
        "shlex.split": took(split, commands),
    }
    show("one decision, ms", rows, goal=GOAL)


if __name__ == "__main__":
    main()
