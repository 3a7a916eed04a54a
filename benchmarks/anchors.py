"""Shows where the cached prefix of each call ended in a provider's bills of real sessions (H34).

    python benchmarks/anchors.py

The script compares each call with the whole previous call of the session. The script prints shares,
from which the probabilities in ``context.request.assemble`` come. The recordings contain no times.
"""

from __future__ import annotations

import gzip
import json
import os
from collections import Counter
from pathlib import Path

SHARED = Path(os.environ.get("INDWELL_SHARED", "../shared/data"))
ALL = 0.98  # share of the previous call that counts as all of it; a provider counts in blocks
SYSTEM = 25_000  # tokens; the system prompt and the tools of these sessions have fewer
TOOLS = 12_000  # tokens of the tools of these sessions


def ended(cached: int, before: int) -> str:
    """Return where the cache of a call ended that follows a call of ``before`` tokens."""
    if cached >= ALL * before:
        return "tail"
    if not cached:
        return "nothing"
    if cached > SYSTEM or cached > before / 2:
        return "conversation"
    return "system" if cached > TOOLS else "tools"


def main() -> None:
    """Print the shares."""
    found: Counter[str] = Counter()
    with gzip.open(SHARED / "sessions" / "entire.jsonl.gz", "rt") as lines:
        for line in lines:
            before = 0
            for call in json.loads(line)["usage"]:
                if before:
                    found[ended(call["cache_read"], before)] += 1
                before = call["input"] + call["cache_read"] + call["cache_write"]
    n_calls = sum(found.values())
    print(f"{n_calls:,} calls that follow another")
    for what, count in found.most_common():
        print(f"{what:14}{count:7,}{count / n_calls:9.2%}")


if __name__ == "__main__":
    main()
