"""Indexes an agent's work on names, files and lines, and computes signs that they are needed again.

All indexes grow with each message, so the engine could compute the signs, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import log1p
from typing import NamedTuple

import msgspec

from indwell.context.compaction.digesting.line_store import DigestedLine, key_number
from indwell.context.compaction.digesting.lines import argument_texts, line_key, text_of
from indwell.context.compaction.digesting.transcript_index import Uses
from indwell.context.file_work import Kind, ParsedCall, call_of
from indwell.messages import Block, Message, ToolUse


class Origin(NamedTuple):
    """The call that produced a text.

    Attributes:
        call: The number of the model call.
        kind: What the call did.
        file: The last part of the file's path, or empty if the call concerns no file.
        is_part: Whether the call asked for a range of the file's lines.
        is_call: Whether the text is the call itself, not its result.
    """

    call: int
    kind: Kind
    file: str = ""
    is_part: bool = False
    is_call: bool = False


class FileUse(msgspec.Struct):
    """The numbers of reads and edits of a file, and the model calls of the last ones."""

    reads: int = 0
    read: int = 0
    edits: int = 0
    edited: int = 0


class WorkIndex(Uses):
    """The engine's uses of names, and the agent's work; model calls are numbered from 1.

    Attributes:
        times: The number of the agent's blocks that contain each identifier.
        calls: The model call that made each tool call, by the tool call's id.
        files: The uses of each file, by the last part of the path.
        edits: The model call of the last edit that wrote each line, by the line's key.
        edited: The model call of the last edit of any file, or 0.
    """

    def __init__(self) -> None:
        super().__init__()
        self.times: dict[int, int] = {}
        self.calls: dict[str, Origin] = {}
        self.files: dict[str, FileUse] = {}
        self.edits: dict[int, int] = {}
        self.edited = 0

    def add(self, message: Message, start: int = 0) -> None:
        super().add(message, start)
        for block in message.blocks[start:]:
            if message.role == "assistant":
                for name in set(self.names(block)):
                    self.times[name] = self.times.get(name, 0) + 1
            if isinstance(block, ToolUse):
                self._add_call(block)

    def names(self, block: Block) -> list[int]:
        """Return the numbers of the identifiers of a block, perhaps with repetitions."""
        lines = self.lines.lines(text_of(block)).digested()
        found = [name for line in lines for name in line.names]
        self.widen()
        return found

    def _add_call(self, use: ToolUse) -> None:
        call, number = call_of(use), self.n_calls
        files = [_last_part(path) for path in call.paths]
        is_part = bool(call.start or call.n_lines)
        self.calls[use.id] = Origin(number, call.kind, files[0] if files else "", is_part)
        for file in files:
            known = self.files.setdefault(file, FileUse())
            if call.kind == "read":
                known.reads, known.read = known.reads + 1, number
            elif call.kind in {"edit", "write"}:
                known.edits, known.edited = known.edits + 1, number
        if call.kind in {"edit", "write"}:
            self.edited = number
            replaced = {number_of(line) for text in call.old for line in text.split("\n")}
            written = {number_of(line) for line in _written_lines(use, call)} - {0}
            for line in replaced - written:
                self.edits.pop(line, None)
            self.edits |= dict.fromkeys(written, number)


def number_of(line: str) -> int:
    """Return the number by which the engine knows a line, or 0 if the line is too short."""
    return key_number(line_key(line))


def _written_lines(use: ToolUse, call: ParsedCall) -> Iterator[str]:
    """Yield the lines of the new texts of an edit; of a patch, only its added lines."""
    for text in argument_texts(use.arguments):
        if text in call.old:
            continue
        lines = text.split("\n")
        if "*** End Patch" in text:
            lines = [line[1:] for line in lines if line.startswith("+")]
        yield from lines


def _last_part(path: str) -> str:
    return path.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]


NAME_SIGNS = (
    "spread", "seen", "is written", "written", "times", "is asked", "occurs once",
)  # fmt: skip


def name_signs(name: int, uses: WorkIndex) -> tuple[float, ...]:
    """Return the signs of need of an identifier, as ``NAME_SIGNS`` lists them."""
    written, spread = uses.written[name], uses.spread[name]
    return (
        log1p(spread),
        log1p(uses.n_calls - uses.seen[name]),
        written > 0,
        log1p(uses.n_calls - written) if written else 0.0,
        log1p(uses.times.get(name, 0)),
        uses.asked[name] > 0,
        spread <= 1,
    )


TEXT_SIGNS = (
    "read", "result of an edit", "edit", "whole file", "search",
    "age", "age before an edit", "last read", "reads", "last edit", "edits", "part", "any edit",
)  # fmt: skip
LINE_SIGNS = (
    "line of an edit", "is written", "written", "near an edit", "near a rare name",
    "near asked names", "is asked", "length",
)  # fmt: skip

NEAR = 8  # the number of lines before and after a line that are near
RARE = 6  # the limit of blocks with a rare name
_NEVER = 5.0  # the sign of a name that the agent has not written, as after 150 calls


def text_signs(origin: Origin, uses: WorkIndex) -> tuple[float, ...]:
    """Return the signs that all lines of a text share, as ``TEXT_SIGNS`` lists them."""
    now, file = uses.n_calls, origin.file
    known = uses.files.get(file) if file else None
    age = log1p(now - origin.call)
    last_edit = known.edited if known else 0
    kind, is_call = origin.kind, origin.is_call
    return (
        kind == "read",
        kind in {"edit", "write"} and not is_call,
        kind == "edit" and is_call,
        kind == "write" and is_call,
        kind == "search",
        age,
        0.0 if last_edit else age,
        log1p(now - max(known.read if known else 0, origin.call)),
        log1p(known.reads if known else 0),
        log1p(now - last_edit) if last_edit else 0.0,
        log1p(known.edits if known else 0),
        origin.is_part,
        log1p(now - uses.edited) if uses.edited else 0.0,
    )


def line_signs(lines: Iterable[DigestedLine], uses: WorkIndex) -> Iterator[tuple[float, ...]]:
    """Yield the signs of each line of a text, as ``LINE_SIGNS`` lists them."""
    now, written = uses.n_calls, uses.written
    near_edit = set[int]()
    near_asked: dict[int, int] = {}
    near_name: dict[int, int] = {}
    for line in lines:
        around = range(line.number - NEAR, line.number + NEAR + 1)
        if line.key in uses.edits:
            near_edit.update(around)
        for name in line.names:
            if uses.spread[name] > RARE:
                continue
            if call := written[name]:
                for at in around:
                    near_name[at] = max(near_name.get(at, 0), call)
            if uses.asked[name]:
                for at in around:
                    near_asked[at] = near_asked.get(at, 0) + 1
    for line in lines:
        at, newest = line.number, max((written[name] for name in line.names), default=0)
        call = near_name.get(at, 0)
        yield (
            line.key in uses.edits,
            newest > 0,
            log1p(now - newest) if newest else 0.0,
            at in near_edit,
            log1p(now - call) if call else _NEVER,
            log1p(near_asked.get(at, 0)),
            any(uses.asked[name] for name in line.names),
            log1p(line.tokens),
        )
