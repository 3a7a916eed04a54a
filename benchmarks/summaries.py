"""Measures what survives a summary: names, decisions and changed files; by code, and by a model.

    python benchmarks/summaries.py [--spans N] [--tokens N] [--model | --server URL] [--kept FOLDER]
        [--threads N] [--out FILE] [--for-seconds S]

Each recorded session gives one span in its middle, up to ``--spans`` for each agent. A span without
a name that later work needs is skipped. Three texts of the same target length are compared: the
engine's extraction, the simulated summary of ``indwell replay``, and with ``--model`` a summary by
the small model of ``local_model.py``; ``--server`` asks a server that runs already. If the engine
would refuse the model's text, the row "model" counts the extraction that the engine would use. A
longer text keeps more, so the row "as long" has the simulated summary with the length of the
model's text. The user's text is not counted, because the engine keeps that text.

The agents take turns, so that a run of any length measures all agents. ``--out`` appends the
figures of each span to a file of JSON lines, and a later run with the same file skips these spans.
The ranges are Wilson's intervals of 95 %. Facts of one span are not independent, so the real
uncertainty is larger.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import re
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from math import sqrt
from pathlib import Path
from typing import NamedTuple

from local_model import NAME, serving_model

from indwell.cli.stored.imported import read_sessions
from indwell.context.compaction.digesting.lines import names_in, text_of
from indwell.context.compaction.step import SummarySpan
from indwell.context.compaction.summarising.fallback import extract, simulated
from indwell.context.compaction.summarising.span import SUMMARY_SHARE
from indwell.context.compaction.summarising.summary import why_unusable
from indwell.context.compaction.transcripts import source_text
from indwell.context.history import tokens_of
from indwell.context.tokens import estimate_tokens, message_tokens
from indwell.context.work_record import work_of
from indwell.messages import Message, Text
from indwell.prompt.system import summary_words

SHARED = Path(os.environ.get("INDWELL_SHARED", Path(__file__).resolve().parents[3] / "shared/data"))
AGENTS = ("entire", "packmind", "codex", "opencode", "claude_misc", "copilot")
FIRST = 2  # the messages at the beginning of a session that no span contains
LEAST_WORDS = 3  # the long words of the shortest decision that is counted
LATER = 40  # the messages after a span in which the agent needs names
RATIO = 0.2
LONGEST = 1.3  # A text of the model is cut at its target length times this factor.
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


class Measured(NamedTuple):
    """The figures of one text about one span.

    Attributes:
        tokens: The tokens of the text.
        names: The number of needed names that the text contains, and the number of needed names.
        decisions: The same for decisions.
        files: The same for changed files.
        accepted: Whether the engine would accept the text, or None for a text without a model.
        seconds: The time that the model needed.
    """

    tokens: int
    names: tuple[int, int]
    decisions: tuple[int, int]
    files: tuple[int, int]
    accepted: bool | None = None
    seconds: float = 0.0


def spans(n: int, tokens: int) -> Iterator[tuple[str, SummarySpan, Needs]]:
    """Yield spans of about ``tokens`` with their sessions' ids and the needs of later work.

    The agents take turns, each with up to ``n`` spans.
    """
    waiting = [_of_agent(agent, n, tokens) for agent in AGENTS]
    while waiting:
        for one in tuple(waiting):
            if (found := next(one, None)) is None:
                waiting.remove(one)
            else:
                yield found


def _of_agent(agent: str, n: int, tokens: int) -> Iterator[tuple[str, SummarySpan, Needs]]:
    """Yield up to ``n`` spans of an agent in the order of a hash of the session's id."""
    sessions, _ = read_sessions(str(SHARED / "sessions" / f"{agent}.jsonl.gz"))
    found = 0
    for one in sorted(sessions, key=lambda one: hashlib.sha256(one.id.encode()).digest()):
        span = middle(one.messages, tokens)
        if span is None or found == n:
            continue
        wanted = needs(one.messages, span)
        if wanted.names:
            found += 1
            yield one.id, span, wanted


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
    files = tuple(one.path for one in work_of(span.source).changed())
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


def measured(text: str, wanted: Needs) -> Measured:
    """Return the figures of a text without a model."""
    names, decisions, files = survived(text, wanted)
    return Measured(
        estimate_tokens(text),
        (names, len(wanted.names)),
        (decisions, len(wanted.decisions)),
        (files, len(wanted.files)),
    )


def by_model(url: str, span: SummarySpan, wanted: Needs) -> Measured:
    """Let the model at a loopback address summarise, and measure the text that the engine uses."""
    began = time.perf_counter()
    words = summary_words(target=span.target, range_words=span.range)
    body = {
        "model": NAME,
        "max_tokens": int(LONGEST * span.target),
        "temperature": 0,
        "messages": [
            {"role": "system", "content": words},
            {"role": "user", "content": source_text(span)},
        ],
    }
    request = urllib.request.Request(  # noqa: S310 - our own loopback address
        f"{url}/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:  # noqa: S310
        text = str(json.load(answer)["choices"][0]["message"]["content"])
    seconds = time.perf_counter() - began
    if why := why_unusable(span, text):
        print(f"refused: {why}", flush=True)
        text, accepted = extract(span), False
    else:
        accepted = True
    return measured(text, wanted)._replace(accepted=accepted, seconds=seconds)


def _as_long(span: SummarySpan, wanted: Needs, model: Measured | None) -> dict[str, Measured]:
    """Return the figures of a simulated summary that is as long as the model's."""
    if model is None:
        return {}
    ratio = model.tokens / min(tokens_of(span.source), SUMMARY_SHARE * span.target)
    return {"as long": measured(simulated(span, ratio), wanted)}


def interval(part: int, whole: int) -> tuple[float, float]:
    """Return Wilson's interval of 95 % for a share."""
    if not whole:
        return 0.0, 1.0
    z, share = 1.96, part / whole
    center = share + z * z / (2 * whole)
    half = z * sqrt(share * (1 - share) / whole + (z / (2 * whole)) ** 2)
    scale = 1 + z * z / whole
    return max(0.0, (center - half) / scale), min(1.0, (center + half) / scale)


def report(rows: Mapping[str, Mapping[str, Measured]], tokens: int) -> None:
    """Print what survives in each kind of text, for all spans together."""
    found = list(rows.values())
    n_tokens = f"{tokens:,} to {2 * tokens:,} tokens"
    print(f"\n{len(found)} spans of {n_tokens}; shares with Wilson's intervals of 95 %")
    for name in found[0] if found else ():
        mine = [row[name] for row in found]
        print(f"{name:11} {sum(one.tokens for one in mine) / len(mine):6.0f} tokens", end="")
        for kind in ("names", "decisions", "files"):
            kept, whole = (sum(getattr(one, kind)[at] for one in mine) for at in range(2))
            low, high = interval(kept, whole)
            share = f"{kept / whole:.2f}" if whole else "–"
            print(f"   {kind} {kept} of {whole}: {share} ({low:.2f} to {high:.2f})", end="")
        print()
        if mine[0].accepted is not None:
            n = sum(one.accepted is True for one in mine)
            print(f"{n} of {len(mine)} texts of the model were accepted, ", end="")
            print(f"{sum(one.seconds for one in mine):.0f} s")


def _kept_rows(out: Path | None) -> dict[str, dict[str, Measured]]:
    """Return the figures in a file of an earlier run by session; none without a file."""
    if out is None or not out.exists():
        return {}
    lines = map(json.loads, out.read_text().splitlines())
    return {
        one["session"]: {name: Measured(*row) for name, row in one["figures"].items()}
        for one in lines
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spans", type=int, default=20, help="spans of each agent")
    parser.add_argument("--tokens", type=int, default=8_000, help="tokens of a span")
    parser.add_argument("--model", action="store_true", help="also ask a small local model")
    parser.add_argument("--server", default="", help="the address of a server's API")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="of the model's server")
    parser.add_argument("--kept", type=Path, default=Path(tempfile.gettempdir()) / "indwell-model")
    parser.add_argument("--out", type=Path, help="a file for the figures of each span")
    parser.add_argument("--for-seconds", type=float, default=float("inf"))
    options = parser.parse_args()
    rows = _kept_rows(options.out)
    began = time.monotonic()
    with contextlib.ExitStack() as stack:
        url = options.server
        if options.model and not url:
            url = stack.enter_context(serving_model(options.kept, threads=options.threads))
        for session, span, wanted in spans(options.spans, options.tokens):
            if session in rows:
                rows[session] |= _as_long(span, wanted, rows[session].get("model"))
                continue
            if time.monotonic() - began > options.for_seconds:
                break
            row = {
                "extraction": measured(extract(span), wanted),
                "simulated": measured(simulated(span, RATIO), wanted),
            }
            if url:
                row["model"] = by_model(url, span, wanted)
            if options.out:
                with options.out.open("a") as file:
                    file.write(json.dumps({"session": session, "figures": row}) + "\n")
            rows[session] = row | _as_long(span, wanted, row.get("model"))
    report(rows, options.tokens)


if __name__ == "__main__":
    main()
