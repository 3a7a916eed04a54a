"""Draws how one recorded session fills the window, request by request, as an SVG that can play.

    INDWELL_SHARED=FOLDER .venv/bin/python benchmarks/context_study/playback.py OUT.svg
        [--agent codex] [--session ID] [--window 64000]

The engine replays the session (``indwell.replay``), and the picture keeps only kinds and numbers of
tokens, no text. The picture holds its own script: where a page shows it as an image, it stands
still at a request soon after a cut; opened by itself or as an object of a page, it plays, and it
arranges its parts for a narrow screen.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from pictures import DARK, LIGHT
from recordings import sessions

from indwell.context.compaction.presets import PRESETS
from indwell.messages import Message, Text, Thinking, ToolResult, ToolUse
from indwell.replay.cache import PrefixCache
from indwell.replay.fitted_sessions import fitted_sessions
from indwell.replay.replayed_conversation import PREFIX_TOKENS, Point, ReplayRules, points
from indwell.sessions.imports import Recorded

# The held-out session with the most requests: no number of the engine was fitted or chosen on it.
AGENT, SESSION = "codex", "codex-019efc87-fa98-7971-91df-0c9512a065da"
KINDS = ("words", "reply", "call", "result", "note")
KIND_WORDS = {
    "words": "prompts",
    "reply": "replies",
    "call": "calls",
    "result": "results of calls",
    "note": "notes on what was cut",
}
COLORS = {
    "words": ("#bc4c00", "#f0883e"),
    "reply": ("#8250df", "#bc8cff"),
    "call": ("#0969da", "#58a6ff"),
    "result": ("#1a7f8c", "#39c5cf"),
    "note": ("#59636e", "#9198a1"),
}
SIZE = (760, 470)
STRIP = (20, 46, 720, 58)  # x, y, width, height
CHART = (70, 232, 670, 196)
HIGHEST = 1.5  # of the window, at the top of the chart


class Slice(NamedTuple):
    """A block of the conversation: its name, kind, and tokens."""

    name: str
    kind: str
    tokens: int


def slices(messages: Sequence[Message]) -> list[Slice]:
    """Return the blocks of a request in order; a shortened block keeps its name."""
    found = []
    for message in messages:
        calls = [one.id for one in message.blocks if isinstance(one, ToolUse)]
        for number, block in enumerate(message.blocks):
            match block:
                case ToolResult():
                    found.append(Slice(f"r{block.tool_use_id}", "result", block.meta.tokens))
                case ToolUse():
                    found.append(Slice(f"u{block.id}", "call", block.meta.tokens))
                case Text() if block.meta.source == "user":
                    name = f"w{message.turn}.{block.text[:60]}"
                    found.append(Slice(name, "words", block.meta.tokens))
                case Text() if message.role == "assistant":
                    name = f"t{calls[0] if calls else message.turn}.{number}"
                    found.append(Slice(name, "reply", block.meta.tokens))
                case Thinking():
                    pass  # reasoning is not sent back
                case _:
                    tokens = block.meta.tokens
                    found.append(Slice(f"n{id(block)}", "note", tokens))
    return found


def frames(run: Sequence[Point]) -> dict[str, Any]:
    """Return the slices of all requests as differences from one to the next.

    A new slice is ``[place, kind, tokens]``; a change is ``[number, tokens]`` with the number of a
    slice in the order of arrival, and 0 tokens if it is gone.
    """
    numbers: dict[str, int] = {}
    now: dict[str, int] = {}
    order: list[str] = []
    steps = []
    cache = PrefixCache()
    for point in run:
        found = slices(point.request.messages)
        sizes = {one.name: one.tokens for one in found}
        changed = [
            [numbers[name], sizes.get(name, 0)]
            for name, tokens in now.items()
            if sizes.get(name, 0) != tokens
        ]
        new: list[list[int]] = []
        before = ""
        for one in found:
            if one.name not in numbers:
                numbers[one.name] = len(numbers)
                place = order.index(before) + 1 if before else 0
                order.insert(place, one.name)
                new.append([place, KINDS.index(one.kind), one.tokens])
            before = one.name
        now = {name: sizes.get(name, 0) for name in numbers}
        read = cache.served(point.request).read
        steps.append([new, changed, point.tokens, read, int(bool(point.done.layers))])
    return {"steps": steps}


def shown_at(found: dict[str, Any], last: int) -> list[tuple[str, int, int]]:
    """Return kind, tokens on arrival and tokens now of each slice at a request, in order."""
    order: list[int] = []
    born: list[tuple[str, int]] = []
    now: list[int] = []
    for new, changed, *_ in found["steps"][: last + 1]:
        for place, kind, tokens in new:
            order.insert(place, len(born))
            born.append((KINDS[kind], tokens))
            now.append(tokens)
        for number, tokens in changed:
            now[number] = tokens
    return [(*born[number], now[number]) for number in order]


def polyline(sizes: Sequence[int], window: int, kind: str) -> str:
    """Return the line of a preset's request sizes; it ends where it leaves the chart."""
    x, y, width, height = CHART
    top = HIGHEST * window
    at = []
    for number, tokens in enumerate(sizes):
        place = x + width * number / (len(sizes) - 1)
        at.append(f"{place:.1f},{y + height * (1 - min(tokens, top) / top):.1f}")
        if tokens > top:
            break
    return f'<polyline points="{" ".join(at)}" class="{kind}"/>'


def strip(found: dict[str, Any], last: int, window: int) -> str:
    """Return the rectangles of the window at a request."""
    x, y, width, height = STRIP
    at, parts = float(x), []
    for kind, was, tokens in [("system", PREFIX_TOKENS, PREFIX_TOKENS), *shown_at(found, last)]:
        wide = width * tokens / window
        cut = " cut" if tokens < was else ""
        if wide:
            parts.append(
                f'<rect x="{at:.1f}" y="{y}" width="{wide:.2f}" height="{height}" '
                f'class="{kind}{cut}"/>'
            )
        at += wide
    return "".join(parts)


def words(found: dict[str, Any], last: int, window: int) -> tuple[str, str]:
    """Return the two sentences about a request."""
    _, _, tokens, read, _ = found["steps"][last]
    shown = shown_at(found, last)
    came = sum(was for kind, was, _ in shown if kind != "note")
    n_cut = sum(now < was for _, was, now in shown)
    n_words = sum(kind == "words" for kind, *_ in shown)
    n_whole = sum(kind == "words" and now == was for kind, was, now in shown)
    first = (
        f"Request {last + 1} of {len(found['steps'])}: {tokens:,} of {window:,} tokens; "
        f"{read / tokens:.0%} come from the prompt cache."
    )
    second = (
        f"{came + PREFIX_TOKENS:,} tokens arrived; {n_cut} blocks are shortened or gone; "
        f"{n_whole} of {n_words} prompts are whole."
    )
    return first, second


def keys(name: str, place: tuple[int, int], found: Sequence[tuple[str, str, int]]) -> str:
    """Return a row of labels, each with its mark and the place of its text beside the mark."""
    at, y = place
    parts = []
    for mark, label, gap in found:
        kind = "" if mark else ' class="soft"'
        text = f'<text x="{gap}"{kind}>{label}</text>'
        parts.append(f'<g transform="translate({at} {y})">{mark}{text}</g>')
        at += 2 * gap + round(7.1 * len(label))
    return f'<g id="{name}">{"".join(parts)}</g>'


def styles() -> str:
    """Return the rules of the picture, light and dark."""

    def scheme(colors: dict[str, str], number: int) -> str:
        kinds = "".join(f".{kind}{{fill:{COLORS[kind][number]}}}" for kind in KINDS)
        return (
            f"{kinds}.card{{fill:{colors['card']}}}text{{fill:{colors['ink']}}}"
            f".soft{{fill:{colors['soft']}}}.frame{{stroke:{colors['line']}}}"
            f".grid{{stroke:{colors['grid']}}}.system{{fill:{colors['soft']}}}"
            f".none{{stroke:{colors['line']}}}.slide{{stroke:{colors['slide']}}}"
            f".default{{stroke:{colors['default']}}}.head{{stroke:{colors['ink']}}}"
            f".button{{fill:{colors['default']}}}.button+text{{fill:{colors['card']}}}"
        )

    return (
        "text{font:14px system-ui,sans-serif}.title{font-weight:600}.end{text-anchor:end}"
        ".middle{text-anchor:middle}polyline,.frame,.grid,.head{fill:none;stroke-width:1.5}"
        ".default{stroke-width:2.5}.cut{opacity:.5}.none{stroke-dasharray:4 3}"
        "#chart *{vector-effect:non-scaling-stroke}"
        "#play{cursor:pointer}#play:focus{outline:2px solid}"
        f"{scheme(LIGHT, 0)}@media (prefers-color-scheme:dark){{{scheme(DARK, 1)}}}"
    )


def svg(found: dict[str, Any], sizes: dict[str, list[int]], window: int, last: int) -> str:
    """Return the whole picture with its data and its script."""
    x, y, width, height = CHART
    parts = [f'<text x="20" y="30" class="title">The window of {window:,} tokens</text>']
    parts.append(f'<g id="strip">{strip(found, last, window)}</g>')
    bx, by, bw, bh = STRIP
    parts.append(f'<rect id="frame" x="{bx}" y="{by}" width="{bw}" height="{bh}" class="frame"/>')
    kinds = [
        (f'<rect y="-11" width="12" height="12" class="{kind}"/>', KIND_WORDS[kind], 18)
        for kind in KINDS
    ]
    parts.append(keys("kinds", (bx, 127), [*kinds, ("", "pale: shortened", 0)]))
    first, second = words(found, last, window)
    parts.append(f'<text id="first" x="20" y="160">{escape(first)}</text>')
    parts.append(f'<text id="second" x="20" y="181">{escape(second)}</text>')
    parts.append('<text id="third" x="20" y="216" class="title">Tokens of each request</text>')
    parts.append('<g id="chart">')
    scale = []
    for tokens in (0, window // 2, window):
        line = y + height * (1 - tokens / (HIGHEST * window))
        parts.append(
            f'<line x1="{x}" y1="{line:.1f}" x2="{x + width}" y2="{line:.1f}" class="grid"/>'
        )
        scale.append(f'<text x="{x - 8}" y="{line + 5:.1f}" class="soft end">{tokens:,}</text>')
    parts += [polyline(sizes[name], window, name) for name in ("none", "slide", "default")]
    head = x + width * last / (len(found["steps"]) - 1)
    parts.append(
        f'<line id="head" x1="{head:.1f}" y1="{y}" x2="{head:.1f}" y2="{y + height}" class="head"/>'
    )
    parts.append("</g>")
    parts.append(f'<g id="scale">{"".join(scale)}</g>')
    lines = [
        (f'<line y1="-5" x2="22" y2="-5" class="{name}"/>', label, 28)
        for name, label in (
            ("default", "Indwell"),
            ("slide", "dropping the oldest"),
            ("none", f"no compaction: up to {max(sizes['none']):,}"),
        )
    ]
    parts.append(keys("lines", (x, 454), lines))
    data = {
        **found,
        "window": window,
        "prefix": PREFIX_TOKENS,
        "kinds": KINDS,
        "strip": STRIP,
        "chart": CHART,
        "size": SIZE,
        "at": last,
    }
    script = (Path(__file__).parent / "playback.js").read_text()
    script = script.replace("DATA", json.dumps(data, separators=(",", ":")), 1)
    title = f"How one recorded session of {len(found['steps'])} requests fills the window"
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIZE[0]} {SIZE[1]}" role="img">\n'
        f"<title>{title}</title>\n<style>{styles()}</style>\n"
        f'<rect id="card" width="{SIZE[0]}" height="{SIZE[1]}" rx="6" class="card"/>\n{body}\n'
        f"<script><![CDATA[\n{script}]]></script>\n</svg>\n"
    )


def still(found: dict[str, Any]) -> int:
    """Return the request at which the picture stands still: soon after the last cut but one."""
    cuts = [number for number, step in enumerate(found["steps"]) if step[4]]
    return min(cuts[-2] + 3, len(found["steps"]) - 1) if len(cuts) > 1 else 0


def recorded(agent: str, name: str) -> Recorded:
    """Return a session that no number of the engine was fitted or chosen on."""
    session = next(one for one in sessions(agent) if one.id == name)
    assert not fitted_sessions().has(session), f"{name} was used to fit the engine"
    return session


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--agent", default=AGENT)
    parser.add_argument("--session", default=SESSION)
    parser.add_argument("--window", type=int, default=64_000)
    given = parser.parse_args()
    session = recorded(given.agent, given.session)
    runs = {
        name: list(points(session.messages, ReplayRules(PRESETS[name], given.window)))
        for name in ("default", "slide", "none")
    }
    found = frames(runs["default"])
    sizes = {name: [point.tokens for point in run] for name, run in runs.items()}
    given.out.write_text(svg(found, sizes, given.window, still(found)), "utf-8")
    n_cuts = sum(step[4] for step in found["steps"])
    print(f"{len(found['steps'])} requests, {n_cuts} cuts, {given.out.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
