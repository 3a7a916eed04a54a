"""What compaction lost of what the agent needed: identifiers, lines to edit, ways back. Pure.

A *pair* is a request and an identifier that the recorded reply to it uses (in its words or its
calls) and that stands in an earlier block, its source, which compaction has altered or cut. It is
kept if the request still shows the identifier: in an unaltered block, or in an altered one on an
original line or in a sentence that states something. Edit lines are the same for the lines that an
edit must match, verbatim.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

import msgspec

from indwell.context.calls import call_of
from indwell.messages import Block, Message, ToolResult, ToolUse
from indwell.replay.course import Point
from indwell.replay.traces import Reader, Traces, line_key, names_in, said_in, words_of

Reading: TypeAlias = Literal["any", "newest"]
"""Whose alteration makes a pair: that of any source, or only of the newest one."""

_OLD = ("old_string", "old_str", "search")


class Loss(msgspec.Struct, frozen=True):
    """Counts of one request, or of many.

    Attributes:
        pairs: Identifiers used whose source was altered.
        kept: Those that are still visible.
        lines: Lines that an edit must match, whose source was altered.
        lines_kept: Those that are still visible.
        recoverable: Of all that was lost: named at the cut with the file that holds it.
        pieces: Tokens of each source that must be read again for this request.
    """

    pairs: int = 0
    kept: int = 0
    lines: int = 0
    lines_kept: int = 0
    recoverable: int = 0
    pieces: tuple[int, ...] = ()


class _Source(msgspec.Struct, frozen=True):
    traces: Traces
    tokens: int
    call: str
    path: str


class LossMeter:
    """Follows one replay, request by request."""

    def __init__(self, reader: Reader, reading: Reading = "any") -> None:
        self._reader = reader
        self._reading = reading
        self._sources: dict[str, _Source] = {}
        self._of_name: dict[str, list[str]] = {}
        self._of_line: dict[str, list[str]] = {}
        self._altered: set[str] = set()
        self._altered_names = Counter[str]()
        self._altered_lines = Counter[str]()
        self._live: dict[str, Traces] = {}
        self._names = Counter[str]()
        self._lines = Counter[str]()
        self._markers = Counter[str]()
        self._marks: dict[str, frozenset[str]] = {}
        self._spills_of: dict[str, list[str]] = {}
        self._paths: dict[str, str] = {}
        self._charged: dict[str, str] = {}
        self._result_of: dict[str, str] = {}

    def at(self, point: Point) -> Loss:
        """What the recorded reply of this request misses."""
        for block in point.arrived:
            self._source(block)
        for spill in point.done.spills:
            traces = self._reader.traces(spill.text)
            for item in traces.names | traces.lines:
                self._spills_of.setdefault(item, []).append(spill.name.rsplit("/", 1)[-1])
        self._look(point.request.messages)
        names = {
            name
            for block in point.reply.blocks
            for name in self._reader.traces(words_of(block)).names
            if self._is_altered(name, self._altered_names, self._of_name)
        }
        lines = {
            line
            for line in _edited_lines(point.reply)
            if self._is_altered(line, self._altered_lines, self._of_line)
        }
        lost_names = {name for name in names if not self._names[name]}
        lost_lines = {line for line in lines if not self._lines[line]}
        needed = dict.fromkeys(
            [self._of_name[name][-1] for name in sorted(lost_names)]
            + [self._of_line[line][-1] for line in sorted(lost_lines)]
        )
        recoverable = sum(
            self._leads_back(item, of[item])
            for items, of in ((lost_names, self._of_name), (lost_lines, self._of_line))
            for item in items
        )
        return Loss(
            pairs=len(names),
            kept=len(names) - len(lost_names),
            lines=len(lines),
            lines_kept=len(lines) - len(lost_lines),
            recoverable=recoverable,
            pieces=tuple(self._charge(needed)),
        )

    def _source(self, block: Block) -> None:
        """Enter an original block."""
        text = words_of(block)
        path = ""
        if isinstance(block, ToolUse):
            self._paths[block.id] = call_of(block).path
        elif isinstance(block, ToolResult):
            path = self._paths.get(block.tool_use_id, "")
        traces = self._reader.traces(text)
        call = getattr(block, "tool_use_id", "") or getattr(block, "id", "")
        self._sources[text] = _Source(traces, block.meta.tokens, call, path)
        for name in traces.names:
            self._of_name.setdefault(name, []).append(text)
        for line in traces.lines:
            self._of_line.setdefault(line, []).append(text)

    def _look(self, messages: Sequence[Message]) -> None:
        """See what the request shows, and what has been altered by now."""
        shown = {text: block for message in messages for block in message.blocks
                 if (text := words_of(block))}  # fmt: skip
        self._result_of = {
            block.tool_use_id: text
            for text, block in shown.items()
            if isinstance(block, ToolResult)
        }
        for text in self._live.keys() - shown.keys():
            self._count(text, self._live.pop(text), -1)
        for text in shown.keys() - self._live.keys():
            source = self._sources.get(text)
            if source is None:
                self._marks[text] = _marks(text)
            traces = said_in(text, self._of_line) if source is None else source.traces
            self._live[text] = traces
            self._count(text, traces, 1)
        altered = self._sources.keys() - shown.keys()
        for changed, sign in ((altered - self._altered, 1), (self._altered - altered, -1)):
            for text in changed:
                traces = self._sources[text].traces
                for name in traces.names:
                    self._altered_names[name] += sign
                for line in traces.lines:
                    self._altered_lines[line] += sign
        self._altered = altered

    def _count(self, text: str, traces: Traces, sign: int) -> None:
        for name in traces.names:
            self._names[name] += sign
        for line in traces.lines:
            self._lines[line] += sign
        for mark in self._marks.get(text, ()):
            self._markers[mark] += sign

    def _is_altered(self, item: str, n_altered: Counter[str], of: dict[str, list[str]]) -> bool:
        if not n_altered[item]:
            return False
        return self._reading == "any" or of[item][-1] in self._altered

    def _leads_back(self, item: str, sources: Sequence[str]) -> bool:
        """Does a marker in the request name a file that holds the lost item?"""
        if any(self._markers[name] for name in self._spills_of.get(item, ())):
            return True
        return any((path := self._sources[text].path) and self._markers[path] for text in sources)

    def _charge(self, needed: Sequence[str] | dict[str, None]) -> Iterator[int]:
        """The pieces to read again; a piece that was read stays known until it is altered again."""
        for text in needed:
            source = self._sources[text]
            now = self._result_of.get(source.call, "")
            if self._charged.get(text) != now:
                self._charged[text] = now
                yield source.tokens


def _edited_lines(reply: Message) -> set[str]:
    """The lines that the edits of a reply must match."""
    lines = set[str]()
    for block in reply.blocks:
        if isinstance(block, ToolUse) and call_of(block).kind == "edit":
            for text in _old_texts(block.arguments):
                lines |= {key for line in text.splitlines() if (key := line_key(line))}
    return lines


def _old_texts(arguments: str) -> Iterator[str]:
    try:
        given = msgspec.json.decode(arguments)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return
    edits = given.get("edits") if isinstance(given, dict) else None
    for one in (given, *(edits if isinstance(edits, list) else ())):
        if isinstance(one, dict):
            yield from (old for key in _OLD if isinstance(old := one.get(key), str))


def _marks(text: str) -> frozenset[str]:
    """The files that a rewritten text names: whole paths, and their last parts."""
    names = names_in(text)
    return names | {name.rsplit("/", 1)[-1] for name in names}
