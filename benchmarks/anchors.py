"""Where the cached prefix of a call ended, in what a provider billed for real sessions (H34).

    python benchmarks/anchors.py

Each call but the first of a session is put beside the whole of the call before it. The chances in
``context.request.assemble`` come from the shares that this prints. The recordings hold no times.
"""

from __future__ import annotations

import gzip
import json
import os
from collections import Counter
from pathlib import Path

SHARED = Path(os.environ.get("INDWELL_SHARED", "../shared/data"))
ALL = 0.98  # of the call before; a provider counts in blocks
SYSTEM = 25_000  # tokens; system prompt and tools of these sessions end below it
TOOLS = 12_000  # tokens; their tools alone


def ended(cached: int, before: int) -> str:
    """What was served of a call that goes on behind one of ``before`` tokens."""
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
