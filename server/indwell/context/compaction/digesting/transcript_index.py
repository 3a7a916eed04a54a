"""Indexes the complete transcript of a conversation, so that a decision reads only new messages.

An index belongs to one session and lives as long as the session. Before each use, the index
compares itself with the current transcript, and adds new messages and blocks. After a rewind or a
repair, the transcript no longer begins with the indexed messages, so the index is built again. The
contents therefore depend only on the transcript; a compaction does not change the contents.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import islice

import msgspec

from indwell.context.compaction.digesting.line_store import DecisionStopped, KeySet, LineStore
from indwell.context.compaction.digesting.lines import text_of
from indwell.context.compaction.transcripts import TranscriptParts
from indwell.context.file_work import call_of
from indwell.context.work_record import WorkPart, WorkRecord
from indwell.messages import Block, Message, Text, ToolResult, ToolUse

# While many messages are indexed at once, the lines of twice as many messages are stored. Two
# decisions of a session are rarely as many messages apart, so the second one finds the lines of the
# first one.
_STORED = 256
_LARGEST = 0xFFFF  # the largest number of two bytes


class Read(msgspec.Struct, frozen=True, gc=False):
    """A file that was read, and the number of the model call that asked for the file."""

    path: str
    call: int


class Uses:
    """The uses of names and files in a conversation; model calls are numbered from 1.

    A name is its number in ``lines.numbers``.

    Attributes:
        lines: Splits texts into lines, and numbers their identifiers.
        n_calls: The number of model calls so far.
        written: The model call in which the agent last wrote each identifier, or 0.
        seen: The model call after which each identifier last occurred in any text.
        spread: The number of blocks that contain each identifier.
        asked: 1 for each identifier that the user's own text contains, or else 0.
        reads: The file that each tool call read, by the call's id.
        read_last: The model call that last read each file, by path.
        lines_read: The keys of the lines that calls have read from files; a marked line was read by
            at least two calls.
    """

    def __init__(self) -> None:
        self.lines = LineStore()
        self.n_calls = 0
        # The columns have two bytes for each name until there are more blocks than such numbers.
        self.written, self.seen, self.spread = array("H"), array("H"), array("H")
        self.asked = bytearray()
        self._n_blocks = 0
        self.reads: dict[str, Read] = {}
        self.read_last: dict[str, int] = {}
        self.lines_read = KeySet()

    def add(self, message: Message, start: int = 0) -> None:
        """Add a message from its block ``start`` on; the blocks before were added earlier."""
        is_reply = message.role == "assistant"
        self.n_calls += is_reply and not start
        self._n_blocks += len(message.blocks) - start
        if max(self.n_calls, self._n_blocks) > _LARGEST and self.seen.typecode == "H":
            columns = (array("I", one) for one in (self.written, self.seen, self.spread))
            self.written, self.seen, self.spread = columns
        for block in islice(message.blocks, start, None):
            is_asked = block.meta.source == "user"
            for name in self._names(block):
                self.seen[name] = self.n_calls
                self.spread[name] += 1
                if is_reply:
                    self.written[name] = self.n_calls
                if is_asked:
                    self.asked[name] = 1
            # One text of a path serves all calls that read the file.
            if isinstance(block, ToolUse) and (path := sys.intern(_read_path(block))):
                self.reads[block.id] = Read(path, self.n_calls)
                self.read_last[path] = self.n_calls
            elif isinstance(block, ToolResult) and block.tool_use_id in self.reads:
                keys = set(self.lines.lines(block.text).keys())
                self.lines_read.mark_known(keys)
                self.lines_read.update(keys)

    def _names(self, block: Block) -> Iterable[int]:
        """Return the numbers of a block's identifiers, each once."""
        names = set(self.lines.lines(text_of(block)).names())
        self.widen()
        return names

    def widen(self) -> None:
        """Make room for identifiers that were numbered since the last use of the columns."""
        n = len(self.lines.numbers) - len(self.seen)
        if n > 0:
            for column in (self.written, self.seen, self.spread):
                column.frombytes(bytes(n * column.itemsize))
            self.asked.extend(bytes(n))


def uses_of(transcript: Sequence[Message]) -> Uses:
    """Collect the uses in a conversation from its beginning, in linear time."""
    uses = Uses()
    for message in transcript:
        uses.add(message)
    return uses


def _read_path(use: ToolUse) -> str:
    call = call_of(use)
    return call.path if call.kind == "read" else ""


class TranscriptIndex:
    """The index of one conversation's transcript.

    Attributes:
        whole: The transcript of the last call. The last message may still grow.
        uses: The uses of names and files.
        parts: The files that a transcript is divided into.
        work: The prompts, changed files and checks.
    """

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self.whole: tuple[Message, ...] = ()
        # The number of messages whose names are indexed, and the blocks of the last of these.
        self._n_named, self._n_blocks = 0, 0
        self.uses = Uses()
        self.parts = TranscriptParts()
        self.work = WorkRecord()
        # The first message with each text, and all messages with a call or a result of each id, as
        # numbers of 4 bytes; lists would need three times the memory.
        self._texts: dict[str, int] = {}
        self._ids: dict[str, bytes] = {}

    def stop(self, *, is_stopped: bool = True) -> None:
        """Let a decision in another thread end soon, or allow the next decision."""
        self.uses.lines.is_stopped = is_stopped

    def grow(self, whole: tuple[Message, ...]) -> None:
        """Index the new messages of a transcript, or all if others have changed.

        Raises:
            DecisionStopped: The caller stopped the decision; some messages are not indexed yet.
        """
        self.grow_work(whole)
        n = self._n_named
        if n and self._n_blocks < len(whole[n - 1].blocks):
            self._add(n - 1, whole[n - 1], self._n_blocks)
        for index in range(n, len(whole)):
            if self.uses.lines.is_stopped:
                raise DecisionStopped
            if (index - n) % _STORED == _STORED - 1:
                self.uses.lines.begin()
            self._add(index, whole[index], 0)

    def grow_work(self, whole: tuple[Message, ...]) -> None:
        """Index only the files and the work of new messages, as a summary needs no names."""
        if self.whole and not self._begins(whole):
            self._forget()
        self.whole = whole
        self.parts.grow(whole)
        self.work.grow(whole)

    def _begins(self, whole: Sequence[Message]) -> bool:
        """Return whether ``whole`` begins with the indexed messages; compares mostly identities."""
        n, last = len(self.whole), self.whole[-1]
        if len(whole) < n or whole[: n - 1] != self.whole[:-1]:
            return False
        now = whole[n - 1]
        return now.role == last.role and now.blocks[: len(last.blocks)] == last.blocks

    def _add(self, index: int, message: Message, start: int) -> None:
        self.uses.add(message, start)
        for block in islice(message.blocks, start, None):
            match block:
                case Text(text=text):
                    self._texts.setdefault(text, index)
                case ToolUse(id=identifier) | ToolResult(tool_use_id=identifier):
                    places = self._ids.get(identifier, b"")
                    self._ids[identifier] = places + index.to_bytes(4, sys.byteorder)
        self._n_named, self._n_blocks = index + 1, len(message.blocks)

    def work_in(self, whole: tuple[Message, ...], start: int, stop: int) -> WorkPart | None:
        """Return the work of some messages, or None if the index has not read all of ``whole``.

        Args:
            whole: The transcript.
            start: The first message.
            stop: The index after the last message.
        """
        return self.work.part(start, stop) if self.has_work(whole) else None

    def has_work(self, whole: tuple[Message, ...]) -> bool:
        """Return whether the files and the work of exactly this transcript are indexed."""
        return self.work.n == len(whole) and self.whole == whole

    def has_text(self, text: str, stop: int) -> bool:
        """Return whether a text block of a message before ``stop`` has exactly this text."""
        return self._texts.get(text, stop) < stop

    def original(self, block: Block, start: int, stop: int) -> Block:
        """Return the first call or result like ``block`` in the messages from ``start`` on.

        Args:
            block: A call or a result that a compaction may have shortened.
            start: The first message.
            stop: The index after the last message. If no message before ``stop`` has the block,
                ``block`` itself is returned.
        """
        wanted = key(block)
        places = memoryview(self._ids.get(wanted[1], b"")).cast("I")
        for at in islice(places, bisect_left(places, start), None):
            if at >= stop:
                break
            found = next((one for one in self.whole[at].blocks if key(one) == wanted), None)
            if found is not None:
                return found
        return block


def key(block: Block) -> tuple[str, str]:
    """Return a key that identifies a call or a result, and its exchange."""
    match block:
        case ToolUse(id=identifier):
            return "use", identifier
        case ToolResult(tool_use_id=identifier):
            return "result", identifier
        case _:
            return "", ""
