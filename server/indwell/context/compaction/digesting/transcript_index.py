"""Indexes the complete transcript of a conversation, so that a decision reads only new messages.

An index belongs to one session and lives as long as the session. Before each use, the index takes
the transcript of now, and adds the messages and blocks that are new. If the transcript no longer
begins with the indexed messages, as after a rewind or a repair, the index is built again in one
pass. The contents therefore depend only on the transcript; a compaction does not change them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

import msgspec

from indwell.context.compaction.digesting.lines import names_of
from indwell.context.compaction.transcripts import TranscriptParts
from indwell.context.file_work import call_of
from indwell.messages import Block, Message, Text, ToolResult, ToolUse


class Read(NamedTuple):
    """A file that was read, and the number of the model call that asked for the file."""

    path: str
    call: int


class Uses(msgspec.Struct):
    """The uses of names and files in a conversation; model calls are numbered from 1.

    Attributes:
        n_calls: The number of model calls so far.
        written: The model call in which the agent last wrote each identifier.
        seen: The model call after which each identifier last occurred in any text.
        spread: The number of blocks that contain each identifier.
        reads: The file that each tool call read, by the call's id.
        read_last: The model call that last read each file, by path.
    """

    n_calls: int = 0
    written: dict[str, int] = {}
    seen: dict[str, int] = {}
    spread: dict[str, int] = {}
    reads: dict[str, Read] = {}
    read_last: dict[str, int] = {}

    def add(self, message: Message, start: int = 0) -> None:
        """Add a message from its block ``start`` on; the blocks before were added earlier."""
        is_reply = message.role == "assistant"
        self.n_calls += is_reply and not start
        for block in islice(message.blocks, start, None):
            names = dict.fromkeys(names_of(block), self.n_calls)
            self.seen |= names
            if is_reply:
                self.written |= names
            for name in names:
                self.spread[name] = self.spread.get(name, 0) + 1
            if isinstance(block, ToolUse) and (path := _read_path(block)):
                self.reads[block.id] = Read(path, self.n_calls)
                self.read_last[path] = self.n_calls


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
        whole: The indexed messages. The last message may still grow.
        uses: The uses of names and files.
        parts: The files that a transcript is divided into.
    """

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self.whole: tuple[Message, ...] = ()
        self.uses = Uses()
        self.parts = TranscriptParts()
        # The first message with each text, and all messages with a call or a result of each id.
        self._texts: dict[str, int] = {}
        self._ids: dict[str, list[int]] = {}

    def grow(self, whole: tuple[Message, ...]) -> None:
        """Index the new messages of a transcript, or all if others have changed."""
        n = len(self.whole)
        if n and not self._begins(whole):
            self._forget()
            n = 0
        if n and (n_known := len(self.whole[-1].blocks)) < len(whole[n - 1].blocks):
            self._add(n - 1, whole[n - 1], n_known)
        for index in range(n, len(whole)):
            self._add(index, whole[index], 0)
        self.parts.grow(whole)
        self.whole = whole

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
                    self._ids.setdefault(identifier, []).append(index)

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
        places = self._ids.get(wanted[1], [])
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
