"""Compares our line diff, the former one (Myers in Python) and difflib, in milliseconds.

    python benchmarks/diff.py [--json]

The texts are 5,000 lines of Indwell's source with several kinds of changes, and a text of 2 MB with
one local change. "size" is the number of lines that a diff adds and removes: smaller is better.
"""

from __future__ import annotations

import difflib
import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from myers import changed_blocks as myers
from report import show

from indwell.tools.editing.replace import Replacement, apply
from indwell.workspace.comparing.diff import (
    compare,
    count_changes,
    line_edits,
    unified,
    unified_diff,
)
from indwell.workspace.comparing.matching import changed_blocks

SOURCE = Path(__file__).parents[1] / "server" / "indwell"
GOAL = "line_edits of 5,000 lines within 3 ms; each step of a local edit in 2 MB well under 1 ms"


def lines_of_source() -> list[str]:
    files = sorted(SOURCE.rglob("*.py"))
    return [line for one in files for line in one.read_text().splitlines(keepends=True)]


def scattered(lines: list[str], n_changes: int) -> list[str]:
    rng = random.Random(n_changes)
    new = list(lines)
    for at in sorted(rng.sample(range(len(lines)), n_changes), reverse=True):
        kind = rng.randrange(3)
        if kind == 0:
            new[at] = f"changed {at}\n"
        elif kind == 1:
            new[at:at] = [f"put in {at}.{i}\n" for i in range(rng.randrange(1, 4))]
        else:
            del new[at]
    return new


def took_ms(run: Callable[[], Any], n_runs: int = 9) -> float:
    """Return the median of some runs."""
    times = []
    for _ in range(n_runs):
        began = time.perf_counter()
        run()
        times.append(time.perf_counter() - began)
    return statistics.median(times) * 1_000


def by_difflib(old: list[str], new: list[str]) -> int:
    codes = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return sum(a1 - a0 + b1 - b0 for kind, a0, a1, b0, b1 in codes if kind != "equal")


def size_of(blocks: list[Any]) -> int:
    return sum(one.a1 - one.a0 + one.b1 - one.b0 for one in blocks)


def main() -> None:
    source = lines_of_source()
    old = source[:5_000]
    cases = {
        "50 changes": scattered(old, 50),
        "300 changes": scattered(old, 300),
        "a part moved": [*old[:500], *old[550:3_000], *old[500:550], *old[3_000:]],
        "halves swapped": [*old[2_500:], *old[:2_500]],
        "other source": source[5_000:10_000],
        "nothing shared": [f"{i}\n" for i in range(5_000)],
    }
    rows = {}
    for name, new in cases.items():
        before, after = "".join(old), "".join(new)
        rows[name] = {
            "line_edits": took_ms(lambda b=before, a=after: line_edits(b, a)),
            "unified": took_ms(lambda b=before, a=after: unified_diff(b, a, "f")),
            "blocks": took_ms(lambda n=new: changed_blocks(old, n)),
            "blocks, before": took_ms(lambda n=new: myers(old, n), 3),
            "difflib": took_ms(lambda n=new: by_difflib(old, n), 1),
            "size": sum(count_changes(before, after)),
            "size, before": size_of(myers(old, new)),
            "size, difflib": by_difflib(old, new),
        }
    show("diff of 5,000 lines, ms", rows, goal=GOAL)
    local()


def local() -> None:
    text = "".join(f"line {i} {i % 977} of some text that is like code\n" for i in range(50_000))
    at = text.index("\n", len(text) // 2)
    line = text[at - 40 : at + 30]
    after = f"{text[:at]} changed{text[at:]}"
    ends = f"new\n{after}new\n"
    edits = [Replacement(line, f"{line}x")]
    difference = compare(text, after)
    rows = {
        "apply": took_ms(lambda: apply(text, edits, "f")),
        "compare": took_ms(lambda: compare(text, after)),
        "line_edits": took_ms(lambda: line_edits(text, after)),
        "unified, of a comparison": took_ms(lambda: unified(difference, "f")),
        "compare, changed at both ends": took_ms(lambda: compare(text, ends)),
    }
    show("a local change in 2 MB, ms", {name: {"ms": ms} for name, ms in rows.items()}, goal=GOAL)


if __name__ == "__main__":
    main()
