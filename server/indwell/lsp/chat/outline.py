"""Computes a chat document's symbols, folds, links, code actions and code lenses. Pure."""

from __future__ import annotations

import html
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import unquote

from indwell.lazy_pattern import lazy_pattern
from indwell.lsp.chat import layout
from indwell.lsp.chat.layout import Heading, headings
from indwell.service.mentions import Mention, mention_of, mentions_in
from indwell.workspace.text import units_in_line

Place = Callable[[int], dict[str, int]]
"""Returns the position of an offset, as JSON."""

NAME_CHARACTERS = 80
MOST_LINKS = 2_000
_NAMESPACE, _FUNCTION, _STRING = 3, 12, 15  # the values of LSP's SymbolKind
_OPEN, _CLOSE = "<details><summary>", "</details>"
_FEED, _BREAK = lazy_pattern(r"\n"), lazy_pattern(r"\r\n|\n|\r")
_LINK = lazy_pattern(r"\[`[^`\n]{1,400}`\]\(<(?P<to>[^<>\n]{1,1000})>\)")
# The chat's own links have no scheme, because they contain a colon only as %3A.
_SCHEME = lazy_pattern(r"[^/]*:")
_ELSEWHERE = lazy_pattern(r"/|~|.*[\\\x00-\x1f]", re.DOTALL)


class TextPositions:
    """Converts many positions in one text to LSP positions; may be used in a thread.

    Args:
        text: The whole text.
        encoding: The negotiated position encoding.
    """

    def __init__(self, text: str, encoding: str) -> None:
        self._text, self._encoding = text, encoding
        ends = _BREAK.finditer(text) if "\r" in text else _FEED.finditer(text)
        self._starts = [0, *(one.end() for one in ends)]

    def __call__(self, offset: int) -> dict[str, int]:
        """Return the position of an offset."""
        line = bisect_right(self._starts, offset) - 1
        before = self._text[self._starts[line] : offset]
        return {"line": line, "character": units_in_line(before, len(before), self._encoding)}


class Fold(NamedTuple):
    """A folding range of a tool call or of reasoning, from its summary to its last line."""

    start: int
    stop: int
    summary: str


class Link(NamedTuple):
    """A link to a file, relative to the chat's folder, or a file mentioned in a prompt."""

    start: int
    stop: int
    target: str
    mention: Mention | None


def folds(text: str) -> Iterator[Fold]:
    """Return all folds, in order."""
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
    """Return one symbol for each heading, with the tool calls below the heading."""
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
    """Return folding ranges for tool calls, reasoning, and all turns except the newest.

    The collapsed text of a range begins with the first words of the range.
    """
    found = list(headings(text))
    ranges = [_range(one.start, one.stop, place, one.summary) for one in folds(text)]
    last = max((n for n, one in enumerate(found) if one.kind == "turn"), default=-1)
    newest = last - 1 if last > 0 and found[last - 1].kind == "you" else last
    older = [pair for n, pair in enumerate(_sections(text, found)) if n < newest]
    ranges += [
        _range(heading.start, stop, place, _first_words(text, heading, stop))
        for heading, stop in older
    ]
    return sorted(
        (one for one in ranges if one["endLine"] > one["startLine"]),
        key=lambda one: (one["startLine"], -one["endLine"]),
    )


def links(text: str) -> tuple[Link, ...]:
    """Return links to hunks, and to files in the user's text; if there are many, the newest."""
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
    """Return a link's path and its 1-based line; the line is 0 if the link names no line."""
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


def _first_words(text: str, heading: Heading, stop: int) -> str:
    """Return the heading of a section and the beginning of its text, in one line."""
    end = _line_end(text, heading.start)
    words = " ".join(text[end : min(stop, end + 4 * NAME_CHARACTERS)].split())
    name = text[heading.start : end].lstrip("# ")
    return f"{name}: {words[:NAME_CHARACTERS]}" if words else name


def _range(start: int, stop: int, place: Place, words: str) -> dict[str, Any]:
    """Return the range from the first to the last line with text, and its collapsed text."""
    end = place(stop)
    last = end["line"] if end["character"] else end["line"] - 1
    return {
        "startLine": place(start)["line"],
        "endLine": last,
        "kind": "region",
        "collapsedText": words,
    }


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    end = len(text) if end < 0 else end
    return end - 1 if end > start and text[end - 1] == "\r" else end


_KIND = "source.indwell"
# Code actions have longer titles, because a search for "Send" in the editor then finds both.
_AS_ACTION = {"Send": "Send to Indwell", "Answer": "Send the answer"}
MOST_TURNS = 30  # The 30 newest turns get lenses.


class ChatState(NamedTuple):
    """The state on which code actions and lenses depend.

    Attributes:
        uri: The URI of the document.
        session: The document's session, or empty if there is no session.
        running: Whether a turn of this document's session runs.
        busy: Whether a turn of another session runs.
        pending: Turns of the session with changes to accept or reject.
        plan: Whether a plan of the model awaits the user's answer.
        asked: Whether a question of the model is open in the running turn.
    """

    uri: str
    session: str = ""
    running: bool = False
    busy: bool = False
    pending: frozenset[int] = frozenset()
    plan: bool = False
    asked: bool = False


def _stop(state: ChatState) -> dict[str, Any]:
    """Return the command that stops the chat's turn, even if its session has no id yet."""
    stop = {"title": "Stop", "command": "indwell.cancel"}
    return {**stop, "arguments": [{"session": state.session}]} if state.session else stop


def sending(text: str, state: ChatState) -> list[dict[str, Any]]:
    """Return the commands for the draft."""
    draft = layout.draft_of(text)
    has_words = draft is not None and draft.stop > draft.start
    found = []
    if state.running:
        if has_words and state.asked:
            found.append(_command("Answer", state, how="steer"))
        elif has_words:
            found.append(_command("Steer the running turn", state, how="steer"))
            found.append(_command("Send next", state, how="next"))
        found.append(_stop(state))
    elif draft is not None:
        if has_words:
            found.append(_command("Send", state, how="next" if state.busy else "auto"))
        found += of_plan(state)
    return found


def of_plan(state: ChatState) -> list[dict[str, Any]]:
    """Return the commands for the session's plan."""
    if not state.plan:
        return []
    return [
        {
            "title": title,
            "command": "indwell.plan",
            "arguments": [{"action": action, "session": state.session}],
        }
        for title, action in (("Approve the plan", "approve"), ("Edit the plan", "open"))
    ]


def actions(text: str, state: ChatState, at: int) -> list[dict[str, Any]]:
    """Return code actions: those for sending, and those for the turn at an offset."""
    commands = [
        {**one, "title": _AS_ACTION.get(one["title"], one["title"])} for one in sending(text, state)
    ]
    turn = _turn_at(text, at)
    if turn and state.session and at >= _own_start(text):
        commands += of_turn(state, turn)
    return [{"title": one["title"], "kind": _KIND, "command": one} for one in commands]


def lenses(text: str, state: ChatState, place: Place) -> list[dict[str, Any]]:
    """Return lenses: those for sending above the draft, and others at the headings of turns."""
    found: list[dict[str, Any]] = []
    n_turns = 0
    own = _own_start(text)
    is_first = True
    for heading in layout.backwards(text):
        commands: Sequence[Mapping[str, Any]] = ()
        if is_first:
            commands = sending(text, state)
            is_first = False
        if heading.kind == "turn":
            n_turns += 1
            if n_turns > MOST_TURNS:
                break
            is_own = bool(state.session) and heading.start >= own
            if is_own and not (state.running and n_turns == 1):
                commands = (*commands, *of_turn(state, heading.turn))
        end = _line_end(text, heading.start)
        for number, one in enumerate(commands):
            # Neovim sorts the lenses of a line by column, and equal columns come in any order.
            here = place(min(heading.start + number, end))
            found.append({"range": {"start": here, "end": here}, "command": one})
    return found


def of_turn(state: ChatState, turn: int) -> list[dict[str, Any]]:
    """Return the commands for a turn of the session."""
    which = {"session": state.session, "turn": turn}
    found = []
    if turn in state.pending:
        found += [
            {"title": "Accept changes", "command": "indwell.accept", "arguments": [which]},
            {"title": "Reject changes", "command": "indwell.reject", "arguments": [which]},
        ]
    return [
        *found,
        {"title": "Rewind to here", "command": "indwell.rewind", "arguments": [which]},
        {"title": "Fork from here", "command": "indwell.fork", "arguments": [which]},
    ]


def _own_start(text: str) -> int:
    """Return where the first turn begins that belongs to the session in the document's first line.

    A chat may begin with turns of an earlier session; turn numbers restart after them.
    """
    start, later = len(text), 0
    for heading in layout.backwards(text):
        if heading.kind != "turn":
            continue
        if later and heading.turn >= later:
            break
        start, later = heading.start, heading.turn
        if later == 1:
            break
    return start


def _turn_at(text: str, at: int) -> int:
    for heading in layout.backwards(text):
        if heading.start <= at:
            return heading.turn
    return 0


def _command(title: str, state: ChatState, *, how: str) -> dict[str, Any]:
    arguments = [{"uri": state.uri, "how": how}]
    return {"title": title, "command": "indwell.send", "arguments": arguments}
