"""Measures what compaction removed and a reply still needed: names, and lines to edit. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import msgspec

from indwell.context.compaction.digesting.lines import LEADS, line_key, names_in, number_lead
from indwell.context.file_work import call_of
from indwell.lazy_pattern import lazy_pattern
from indwell.messages import Block, Message, Text, ToolResult, ToolUse
from indwell.replay.replayed_conversation import Point

Reading: TypeAlias = Literal["any", "newest"]
"""Which altered source of an identifier is counted: any source, or only the newest."""

_ALL_IN_ONE = ("transcript-", "left-out-")
"""Prefixes of files that contain a whole cut; naming such a file does not lead to an item."""
_MARKS = frozenset({"compactor", "summary", "reminder"})
# A shortened call begins with two texts: its path, and the file that has the whole call.
_HEAD = 2
_ENDS = "./-@"  # These characters are ignored at the ends of a name (``traces``).


class Loss(msgspec.Struct, frozen=True):
    """Counts of lost information, for one request or the sum of many.

    Attributes:
        pairs: Used identifiers whose source was altered.
        kept: The identifiers among ``pairs`` that are still visible.
        lines: Lines that an edit must match, whose source was altered.
        lines_kept: The lines among ``lines`` that are still visible.
        recoverable: Lost items that are in a file which the marker of the removed text names.
        pieces: The token counts of the sources that must be read again for this request.
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
    """Measures how much text that the agent needed later was missing from the requests of a replay.

    Args:
        reader: Reads the texts.
        reading: The altered sources that count.
        counts_mentions: Whether a name counts as kept wherever the request contains the name, also
            in a list or a marker. Otherwise a name in a rewritten text counts only in an original
            line or in a sentence (``said_in``).
    """

    def __init__(
        self, reader: Reader, reading: Reading = "any", *, counts_mentions: bool = False
    ) -> None:
        self._reader = reader
        self._counts_mentions = counts_mentions
        self._reading = reading
        self._sources: dict[str, _Source] = {}
        self._of_name: dict[str, list[str]] = {}
        self._of_line: dict[str, list[str]] = {}
        self._altered: set[str] = set()
        self._altered_names = Counter[str]()
        self._altered_lines = Counter[str]()
        self._live: dict[str, Traces] = {}
        self._messages: tuple[Message, ...] = ()
        self._n_shown = Counter[str]()
        self._unseen: list[str] = []
        self._names = Counter[str]()
        self._lines = Counter[str]()
        self._markers = Counter[str]()
        self._marks: dict[str, frozenset[str]] = {}
        self._spills_of: dict[str, list[str]] = {}
        self._paths: dict[str, str] = {}
        self._charged: dict[str, str] = {}
        self._result_of: dict[str, str] = {}

    def at(self, point: Point) -> Loss:
        """Return the content that the recorded reply needs and that this request lacks."""
        for block in point.arrived:
            self._source(block)
        for spill in point.done.spills:
            if spill.name.startswith(_ALL_IN_ONE):
                continue
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
        """Add an original block."""
        text = words_of(block)
        path = ""
        if isinstance(block, ToolUse):
            self._paths[block.id] = call_of(block).path.strip(_ENDS)
        elif isinstance(block, ToolResult):
            path = self._paths.get(block.tool_use_id, "")
        traces = self._reader.traces(text)
        call = getattr(block, "tool_use_id", "") or getattr(block, "id", "")
        self._unseen.append(text)
        self._sources[text] = _Source(traces, block.meta.tokens, call, path)
        for name in traces.names:
            self._of_name.setdefault(name, []).append(text)
        for line in traces.lines:
            self._of_line.setdefault(line, []).append(text)

    def _look(self, messages: Sequence[Message]) -> None:
        """Find the content of the request, and the altered parts; only new blocks take time."""
        same = _n_same(self._messages, messages)
        gone, come = _texts(self._messages[same:]), _texts(messages[same:])
        self._messages = tuple(messages)
        for text, block in gone:
            self._n_shown[text] -= 1
            if isinstance(block, ToolResult):
                self._result_of.pop(block.tool_use_id, None)
        for text, block in come:
            self._n_shown[text] += 1
            if isinstance(block, ToolResult):
                self._result_of[block.tool_use_id] = text
        self._leave(text for text, _ in gone)
        for text, block in come:
            if text not in self._live:
                self._enter(text, block)
        for text in self._unseen:
            if text in self._sources and text not in self._live and text not in self._altered:
                self._alter(text, 1)
        self._unseen.clear()

    def _leave(self, texts: Iterable[str]) -> None:
        for text in texts:
            if not self._n_shown[text] and text in self._live:
                self._count(text, self._live.pop(text), -1)
                self._unseen.append(text)

    def _enter(self, text: str, block: Block) -> None:
        source = self._sources.get(text)
        if source is None:
            self._marks[text] = _marks(block)
        if source is not None:
            self._live[text] = source.traces
        elif self._counts_mentions:
            self._live[text] = self._reader.traces(text)
        else:
            self._live[text] = said_in(text, self._of_line)
        self._count(text, self._live[text], 1)
        if text in self._altered:
            self._alter(text, -1)

    def _alter(self, text: str, sign: int) -> None:
        """Record whether the conversation still contains a source's text unchanged."""
        (self._altered.add if sign > 0 else self._altered.remove)(text)
        traces = self._sources[text].traces
        for name in traces.names:
            self._altered_names[name] += sign
        for line in traces.lines:
            self._altered_lines[line] += sign

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
        """Return whether a marker in the request names a file that contains the lost item."""
        if any(self._markers[name] for name in self._spills_of.get(item, ())):
            return True
        return any((path := self._sources[text].path) and self._markers[path] for text in sources)

    def _charge(self, needed: Sequence[str] | dict[str, None]) -> Iterator[int]:
        """Return the texts to read again; a text stays known until compaction alters it again."""
        for text in needed:
            source = self._sources[text]
            now = self._result_of.get(source.call, "")
            if self._charged.get(text) != now:
                self._charged[text] = now
                yield source.tokens


def _n_same(before: Sequence[Message], now: Sequence[Message]) -> int:
    """Count the identical messages at the beginning."""
    for index, (one, two) in enumerate(zip(before, now, strict=False)):
        if one is not two:
            return index
    return min(len(before), len(now))


def _texts(messages: Sequence[Message]) -> list[tuple[str, Block]]:
    """Return the text of each block for a model."""
    return [
        (text, block)
        for message in messages
        for block in message.blocks
        if (text := words_of(block))
    ]


def _edited_lines(reply: Message) -> set[str]:
    """Return the lines that the edits of a reply must match."""
    return {
        key
        for block in reply.blocks
        if isinstance(block, ToolUse)
        for text in call_of(block).old
        for line in text.splitlines()
        if (key := line_key(line))
    }


def _marks(block: Block) -> frozenset[str]:
    """Return the files that the marker in a rewritten block names: paths, and last parts."""
    names = names_in(_mark(block))
    return names | {name.rsplit("/", 1)[-1] for name in names}


def _mark(block: Block) -> str:
    """Return the text in a rewritten block that describes the omission."""
    match block:
        case ToolUse(name=name, arguments=arguments):
            first, *rest = call_words(name, arguments).split("\n")
            return "\n".join([first, *rest[:_HEAD]])
        case Text(text=text, meta=meta) if meta.source in _MARKS:
            return text
        case ToolResult(text=text) | Text(text=text):
            return "\n".join(line for line in text.splitlines() if line.startswith("["))
        case _:
            return ""


LEAST_WORDS = 4  # A sentence of names needs at least 4 other words.
_SENTENCE = lazy_pattern(r"(?<=[.!?;])\s+")
_LETTERS = lazy_pattern(r"[^\W\d_]{2,}")


class Traces(msgspec.Struct, frozen=True):
    """The names and lines by which a text is recognised.

    Attributes:
    names: The identifiers.

    lines: The lines without line numbers and trailing blanks, and without blank and tiny lines.
    """

    names: frozenset[str] = frozenset()
    lines: frozenset[str] = frozenset()


class Reader:
    """Reads each text only once; all replays of a recording share one reader."""

    def __init__(self) -> None:
        self._known: dict[str, Traces] = {}

    def traces(self, text: str) -> Traces:
        """Return the traces of ``text``."""
        known = self._known.get(text)
        if known is None:
            lead = number_lead(text)
            keys = (line_key(line, lead) for line in text.splitlines())
            lines = frozenset(key for key in keys if key)
            known = self._known[text] = Traces(names_in(text), lines)
        return known


def words_of(block: Block) -> str:
    """Return the text of a block for a model, or the decoded arguments of a call."""
    match block:
        case Text() | ToolResult():
            return block.text
        case ToolUse():
            return call_words(block.name, block.arguments)
        case _:
            return ""


@lru_cache(maxsize=4_096)
def call_words(name: str, arguments: str) -> str:
    """Return a call's arguments as text, with line breaks between them."""
    try:
        given = msgspec.json.decode(arguments)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return f"{name}\n{arguments}"
    return "\n".join((name, *_strings(given)))


def said_in(text: str, is_original: frozenset[str] | set[str] | dict[str, Any]) -> Traces:
    """Return the remaining content of a rewritten text: original lines and sentences.

    Args:
        text: The rewritten text.
        is_original: Lines (by ``line_key``) of the original texts.
    """
    names, lines = set[str](), set[str]()
    for line in text.splitlines():
        key = line_key(line)
        if key not in is_original:  # The text may have lost the lines that show its form.
            leads = (line_key(line, lead) for lead in LEADS)
            key = next((one for one in leads if one in is_original), key)
        if key:
            lines.add(key)
        if key in is_original:
            names |= names_in(line)
            continue
        for sentence in _SENTENCE.split(line):
            found = names_in(sentence)
            if found and _n_words(sentence) >= max(LEAST_WORDS, len(found)):
                names |= found
    return Traces(frozenset(names), frozenset(lines))


def _n_words(sentence: str) -> int:
    """Count the words in a sentence that are not identifiers."""
    return sum(bool(_LETTERS.search(word)) and not names_in(word) for word in sentence.split())


def _strings(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for one in value.values() for text in _strings(one)]
    if isinstance(value, list):
        return [text for one in value for text in _strings(one)]
    return []
