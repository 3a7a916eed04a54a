"""What editors show of a chat's structure: symbols, folds and links, as plain JSON. Pure."""

from __future__ import annotations

import html
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple
from urllib.parse import unquote

from indwell.lsp.chat.layout import Heading, headings
from indwell.lsp.positions import units_in_line
from indwell.service.mentions.mentions import Mention, mention_of, mentions_in

Place = Callable[[int], dict[str, int]]
"""The position of an offset, as JSON."""

NAME_CHARACTERS = 80
MOST_LINKS = 2_000
_NAMESPACE, _FUNCTION, _STRING = 3, 12, 15  # SymbolKind
_OPEN, _CLOSE = "<details><summary>", "</details>"
_FEED, _BREAK = re.compile(r"\n"), re.compile(r"\r\n|\n|\r")
_LINK = re.compile(r"\[`[^`\n]{1,400}`\]\(<(?P<to>[^<>\n]{1,1000})>\)")
_SCHEME = re.compile(r"[^/]*:")  # none of ours has one: we write a colon as %3A
_ELSEWHERE = re.compile(r"/|~|.*[\\\x00-\x1f]", re.DOTALL)


class Places:
    """Positions in one text, many of them; it is read once, and may be used in a thread.

    Args:
        text: The whole of it.
        encoding: The negotiated position encoding.
    """

    def __init__(self, text: str, encoding: str) -> None:
        self._text, self._encoding = text, encoding
        ends = _BREAK.finditer(text) if "\r" in text else _FEED.finditer(text)
        self._starts = [0, *(one.end() for one in ends)]

    def __call__(self, offset: int) -> dict[str, int]:
        """The position of an offset."""
        line = bisect_right(self._starts, offset) - 1
        before = self._text[self._starts[line] : offset]
        return {"line": line, "character": units_in_line(before, len(before), self._encoding)}


class Fold(NamedTuple):
    """A tool or a thought: from the line of its summary to the end of its last line."""

    start: int
    stop: int
    summary: str


class Link(NamedTuple):
    """A place that leads to a file: relative to the chat's folder, or as words mention it."""

    start: int
    stop: int
    target: str
    mention: Mention | None


def folds(text: str) -> Iterator[Fold]:
    """All details, in order."""
    at = 0 if text.startswith(_OPEN) else text.find(f"\n{_OPEN}") + 1
    while at or text.startswith(_OPEN):
        end = _line_end(text, at)
        summary = text[at + len(_OPEN) : end]
        name = html.unescape(summary.partition("</summary>")[0]).strip()
        stop = end
        if not summary.rstrip().endswith(_CLOSE):
            close = text.find(f"\n{_CLOSE}", end)
            if close < 0:
                return
            stop = close + 1 + len(_CLOSE)
        yield Fold(at, stop, name)
        at = text.find(f"\n{_OPEN}", stop) + 1
        if not at:
            return


def symbols(text: str, place: Place) -> list[dict[str, Any]]:
    """One for each heading, with the tools below it."""
    found = list(headings(text))
    inside = list(folds(text))
    result: list[dict[str, Any]] = []
    n_fold = 0
    for heading, stop in _sections(text, found):
        children = []
        while n_fold < len(inside) and inside[n_fold].start < stop:
            fold = inside[n_fold]
            n_fold += 1
            if fold.start > heading.start:
                name = fold.summary[:NAME_CHARACTERS] or "…"
                line = _range_of(fold.start, _line_end(text, fold.start), place)
                whole = _range_of(fold.start, fold.stop, place)
                children.append(_symbol(name, _FUNCTION, whole, line))
        kind = _NAMESPACE if heading.kind == "turn" else _STRING
        end = _line_end(text, heading.start)
        whole = _range_of(heading.start, max(stop, end), place)
        line = _range_of(heading.start, end, place)
        one = _symbol(_name(text, heading, stop), kind, whole, line)
        result.append({**one, "children": children})
    return result


def folding_ranges(text: str, place: Place) -> list[dict[str, Any]]:
    """Tools and thoughts, and every turn but the newest with its words."""
    found = list(headings(text))
    ranges = [_range(one.start, one.stop, place) for one in folds(text)]
    last = max((n for n, one in enumerate(found) if one.kind == "turn"), default=-1)
    newest = last - 1 if last > 0 and found[last - 1].kind == "you" else last
    older = [pair for n, pair in enumerate(_sections(text, found)) if n < newest]
    ranges += [_range(heading.start, stop, place) for heading, stop in older]
    return sorted(
        (one for one in ranges if one["endLine"] > one["startLine"]),
        key=lambda one: (one["startLine"], -one["endLine"]),
    )


def links(text: str) -> tuple[Link, ...]:
    """Our links to hunks, and what the user's words mention; the newest, if there are many."""
    found = [
        Link(m.start(), m.end(), m["to"], None)
        for m in _LINK.finditer(text)
        if not _SCHEME.match(m["to"]) and not _ELSEWHERE.match(unquote(m["to"]))
    ]
    for heading, stop in _sections(text, list(headings(text))):
        if heading.kind != "turn":
            words = text[heading.end : stop]
            found += [
                Link(one.start + heading.end, one.stop + heading.end, "", one.mention)
                for one in mentions_in(words)
            ]
    return tuple(found[-MOST_LINKS:])


def line_of(target: str) -> tuple[str, int]:
    """A link's path, and its line, 1-based; 0 if it names none."""
    mention = mention_of(target)
    return unquote(mention.path), mention.first


def _sections(text: str, found: Sequence[Heading]) -> list[tuple[Heading, int]]:
    stops = [*(one.start for one in found[1:]), len(text)]
    return list(zip(found, stops, strict=False))


def _name(text: str, heading: Heading, stop: int) -> str:
    if heading.kind == "turn":
        return f"Indwell · turn {heading.turn}"
    words = " ".join(text[heading.end : min(stop, heading.end + 400)].split())[:NAME_CHARACTERS]
    return f"You: {words}" if words else "You"


def _symbol(name: str, kind: int, whole: dict[str, Any], line: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "kind": kind, "range": whole, "selectionRange": line}


def _range_of(start: int, stop: int, place: Place) -> dict[str, Any]:
    return {"start": place(start), "end": place(stop)}


def _range(start: int, stop: int, place: Place) -> dict[str, Any]:
    """Lines from the first to the last with text on it."""
    end = place(stop)
    last = end["line"] if end["character"] else end["line"] - 1
    return {"startLine": place(start)["line"], "endLine": last, "kind": "region"}


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    end = len(text) if end < 0 else end
    return end - 1 if end > start and text[end - 1] == "\r" else end
