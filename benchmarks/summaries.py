"""Measures what survives a summary: names, decisions and changed files; by code, and by a model.

    python benchmarks/summaries.py [--spans N] [--tokens N] [--model | --server URL] [--kept FOLDER]

Each recorded session gives one span in its middle, up to ``--spans`` for each agent. Three texts
of the same target length are compared: the engine's extraction, the simulated summary of ``indwell
replay``, and with ``--model`` a summary by the small model of ``local_model.py``;
``--server`` asks a server that runs already. Only a text that
the engine would accept counts as the model's summary; else the engine's extraction stands in. The
user's text is not counted, because the engine keeps that text.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from local_model import NAME, serving_model
from report import show

from indwell.cli.stored.imported import read_sessions
from indwell.context.compaction.digesting.lines import names_in, text_of
from indwell.context.compaction.step import SummarySpan
from indwell.context.compaction.summarising.fallback import extract, simulated
from indwell.context.compaction.summarising.summary import why_unusable
from indwell.context.compaction.transcripts import source_text
from indwell.context.tokens import estimate_tokens, message_tokens
from indwell.context.work_record import changed
from indwell.messages import Message, Text
from indwell.prompt.system import summary_words

SHARED = Path(os.environ.get("INDWELL_SHARED", "../shared/data"))
AGENTS = ("entire", "packmind", "codex", "opencode", "claude_misc", "copilot")
FIRST = 2  # the messages at the beginning of a session that no span contains
LEAST_WORDS = 3  # the long words of the shortest decision that is counted
LATER = 40  # the messages after a span in which the agent needs names
RATIO = 0.2
PATIENCE_S = 3_000
SENTENCE = re.compile(r"(?<=[.!?:])\s+|\n+")
DECIDES = re.compile(
    r"\b(?:decid\w+|instead|because|should|must|need(?:s|ed)? to|I'll|let me|the (?:issue|problem|"
    r"cause|fix|bug)|root cause|so that|rather than)\b",
    re.IGNORECASE,
)
WORD = re.compile(r"[^\W\d_]{5,}")
CHANGE = re.compile(
    r"edit|writ|wrote|chang|creat|add|modif|updat|fix|implement|remov|refactor|renam|replac|delet",
    re.IGNORECASE,
)


class Needs(NamedTuple):
    """What later work needs from a span: identifiers, decisions as word sets, changed files."""

    names: frozenset[str]
    decisions: tuple[frozenset[str], ...]
    files: tuple[str, ...]


def spans(n: int, tokens: int) -> Iterator[tuple[SummarySpan, Needs]]:
    """Yield spans of about ``tokens`` from the middle of sessions, with the needs of later work."""
    for agent in AGENTS:
        sessions, _ = read_sessions(str(SHARED / "sessions" / f"{agent}.jsonl.gz"))
        found = 0
        for one in sessions:
            span = middle(one.messages, tokens)
            if span is not None and found < n:
                found += 1
                yield span, needs(one.messages, span)


def middle(messages: Sequence[Message], tokens: int) -> SummarySpan | None:
    """Return the exchanges before the middle of a session, or None if the session is short."""
    stop = len(messages) // 4 * 2
    start, size = stop, 0
    while start > FIRST and size < tokens:
        start -= 2
        size += sum(map(message_tokens, messages[start : start + 2]))
    if size < tokens or size > 2 * tokens:
        return None
    source = tuple(messages[start:stop])
    return SummarySpan("regions", start, stop, source, (), "some exchanges", int(size * RATIO))


def needs(messages: Sequence[Message], span: SummarySpan) -> Needs:
    """Return the needs of the work after a span."""
    own = [block for one in span.source if one.role == "assistant" for block in one.blocks]
    told = [block for one in messages for block in one.blocks if block.meta.source == "user"]
    later = [
        block
        for one in messages[span.stop : span.stop + LATER]
        if one.role == "assistant"
        for block in one.blocks
    ]
    source = [block for one in span.source for block in one.blocks]
    names = _names(later) & _names(source) - _names(told)
    said = [text for block in own if isinstance(block, Text) for text in SENTENCE.split(block.text)]
    decisions = [frozenset(WORD.findall(one.lower())) for one in said if DECIDES.search(one)]
    files = tuple(one.path for one in changed(span.source))
    return Needs(names, tuple(one for one in decisions if len(one) >= LEAST_WORDS), files)


def _names(blocks: Sequence[object]) -> frozenset[str]:
    return frozenset(name for one in blocks for name in names_in(text_of(one)))  # type: ignore[arg-type]


def survived(text: str, wanted: Needs) -> tuple[int, int, int]:
    """Count the names, decisions and changed files of ``wanted`` that a summary contains.

    A decision survives if a line has half of the decision's long words. A file survives if a line
    names the file and a change.
    """
    lines = text.splitlines()
    words = [frozenset(WORD.findall(line.lower())) for line in lines]
    decisions = sum(
        any(2 * len(one & line) >= len(one) for line in words) for one in wanted.decisions
    )
    files = sum(
        any(
            path.replace("\\", "/").rsplit("/", 1)[-1] in line and CHANGE.search(line)
            for line in lines
        )
        for path in wanted.files
    )
    return len(wanted.names & names_in(text)), decisions, files


class ModelSummaries:
    """Writes summaries with a model at a loopback address, and counts the accepted ones."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.accepted = self.refused = 0
        self.seconds = 0.0

    def __call__(self, span: SummarySpan) -> str:
        """Return the model's summary if the engine would accept it, or else an extract."""
        began = time.perf_counter()
        words = summary_words(target=span.target, range_words=span.range)
        body = {
            "model": NAME,
            "max_tokens": 2 * span.target,
            "temperature": 0,
            "messages": [
                {"role": "system", "content": words},
                {"role": "user", "content": source_text(span)},
            ],
        }
        request = urllib.request.Request(  # noqa: S310 - our own loopback address
            f"{self._url}/chat/completions",
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:  # noqa: S310
            text = str(json.load(answer)["choices"][0]["message"]["content"])
        self.seconds += time.perf_counter() - began
        if why := why_unusable(span, text):
            self.refused += 1
            print(f"refused: {why}", flush=True)
            return extract(span)
        self.accepted += 1
        return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spans", type=int, default=20, help="spans of each agent")
    parser.add_argument("--tokens", type=int, default=8_000, help="tokens of a span")
    parser.add_argument("--model", action="store_true", help="also ask a small local model")
    parser.add_argument("--server", default="", help="the address of a server's API")
    parser.add_argument("--kept", type=Path, default=Path(tempfile.gettempdir()) / "indwell-model")
    options = parser.parse_args()
    writers: dict[str, Callable[[SummarySpan], str]] = {
        "extraction": extract,
        "simulated": lambda span: simulated(span, RATIO),
    }
    with contextlib.ExitStack() as stack:
        if options.model or options.server:
            url = options.server or stack.enter_context(serving_model(options.kept))
            model = ModelSummaries(url)
            writers["model"] = model
        sums = {name: [0, 0, 0, 0] for name in writers}
        whole = [0, 0, 0, 0]
        for span, wanted in spans(options.spans, options.tokens):
            sizes = (1, len(wanted.names), len(wanted.decisions), len(wanted.files))
            whole = [one + other for one, other in zip(whole, sizes, strict=True)]
            for name, write in writers.items():
                text = write(span)
                figures = (estimate_tokens(text), *survived(text, wanted))
                sums[name] = [one + other for one, other in zip(sums[name], figures, strict=True)]
            if "model" in writers:
                print(whole, sums, f"{model.seconds:.0f} s", flush=True)
    rows = {
        name: {
            "tokens": one[0] / max(1, whole[0]),
            "names": one[1] / max(1, whole[1]),
            "decisions": one[2] / max(1, whole[2]),
            "changed files": one[3] / max(1, whole[3]),
        }
        for name, one in sums.items()
    }
    show(
        f"{whole[0]} spans of {options.tokens:,} tokens: {whole[1]:,} names, {whole[2]:,} "
        f"decisions and {whole[3]:,} changed files",
        rows,
    )
    if "model" in writers:
        print(f"{model.accepted} summaries of the model were accepted, {model.refused} refused")


if __name__ == "__main__":
    main()
