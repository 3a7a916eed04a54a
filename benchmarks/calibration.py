"""How far the token count of a whole prompt is from o200k's, before and after a usage report.

    python benchmarks/calibration.py [MOST_SESSIONS]

Replays the recorded sessions request by request. What o200k counts is taken as the endpoint's
report (content and arguments of every message, with a few tokens for each message's frame); each
prompt is then estimated before it is sent, as ``context.fullness.prompt_tokens`` does it.
Needs the real vocabulary (``pip install bpe-openai==0.1.4``), which Indwell itself never loads.
"""

from __future__ import annotations

import gzip
import json
import statistics
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from indwell.context.tokens import BLOCK_OVERHEAD, Calibration, estimate_tokens

ROOT = Path(__file__).resolve().parents[1]
SESSIONS = ROOT.parent / "shared" / "data" / "sessions" / "entire.jsonl.gz"
FRAME = 4  # tokens of o200k's chat format around a message
TARGET = (0.01, 0.05)  # median and 95th percentile, once a report was seen
MOST_UNDER = 0.10  # before one, of a prompt worth the name
LEAST = 1_000  # tokens of such a prompt: in one of 20 a single token is 5 %


def main() -> None:
    """Measure and print."""
    try:
        import bpe_openai  # noqa: PLC0415 -- only the benchmarks have it
    except ImportError:
        sys.exit("install the vocabulary first: pip install bpe-openai==0.1.4")
    encode = bpe_openai.get_encoding("o200k_base").encode

    def count(text: str) -> int:
        return len(encode(text))

    most = int(sys.argv[1]) if len(sys.argv) > 1 else None
    first: list[tuple[float, int]] = []
    later: list[tuple[float, int]] = []
    with gzip.open(SESSIONS, "rt", encoding="utf-8") as lines:
        for line, _ in zip(lines, range(most or 10**9), strict=False):
            errors = list(errors_of(json.loads(line)["messages"], count))
            first += errors[:1]
            later += errors[1:]
    for name, found in (("first request", first), ("after a report", later)):
        for least in (0, LEAST):
            errors = [error for error, tokens in found if tokens >= least]
            if errors:
                print(f"{name}, of {least:,}+ tokens: {len(errors):,} prompts; {row(errors)}")
    lowest = min((error for error, tokens in first if tokens >= LEAST), default=0.0)
    print(
        f"target before a report (at most {MOST_UNDER:.0%} under): {verdict(-lowest <= MOST_UNDER)}"
    )
    sizes = sorted(abs(error) for error, _ in later)
    median, p95 = statistics.median(sizes), sizes[len(sizes) * 95 // 100]
    kept = verdict(median <= TARGET[0] and p95 <= TARGET[1])
    print(f"target after one (median {TARGET[0]:.0%}, p95 {TARGET[1]:.0%}): {kept}")


def verdict(is_kept: bool) -> str:  # noqa: FBT001 -- a value to be worded
    """The word for a target."""
    return "kept" if is_kept else "missed"


def errors_of(
    messages: list[dict[str, Any]], count: Callable[[str], int]
) -> Iterator[tuple[float, int]]:
    """The relative error of each prompt, estimated before it is sent, and its true tokens.

    Negative is too low.
    """
    estimated = true = 0
    known = Calibration()
    for message in messages:
        if message["role"] == "assistant" and true:
            yield known.tokens("m", estimated) / true - 1, true
            known = Calibration("m", reported=true, estimated=estimated)
        for text in texts(message):
            estimated += estimate_tokens(text) + BLOCK_OVERHEAD
            true += count(text)
        true += FRAME


def texts(message: dict[str, Any]) -> Iterator[str]:
    """What of a message is counted."""
    content = message.get("content")
    if isinstance(content, list):
        content = "\n".join(part.get("text", "") for part in content)
    if content:
        yield content
    for call in message.get("tool_calls") or ():
        yield call["function"]["name"] + call["function"]["arguments"]


def row(errors: list[float]) -> str:
    """Median and percentiles of the errors, and of their sizes."""
    ordered, sizes = sorted(errors), sorted(map(abs, errors))
    n = len(ordered)
    return (
        f"error lowest {ordered[0]:+.2%}, median {ordered[n // 2]:+.2%}, "
        f"p5 {ordered[n // 20]:+.2%}, "
        f"p95 {ordered[n * 95 // 100]:+.2%}; size median {sizes[n // 2]:.2%}, "
        f"p95 {sizes[n * 95 // 100]:.2%}, largest {sizes[-1]:.2%}"
    )


if __name__ == "__main__":
    main()
