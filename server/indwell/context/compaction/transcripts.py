"""Writes removed messages as files to read later, and as text for a summariser.

The conversation is split from its beginning, always at the same messages, and a file's name depends
on its text, so all summaries of a conversation use the same files. Each file is written once, and
all files together are hardly longer than the conversation.

A note names the content that was removed without a marker, and the files with that content. The
note is data of the lowest trust, because it quotes tool calls.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import msgspec

from indwell.context.compaction.cuts import called, spill_path, stamp
from indwell.context.compaction.step import SpilledFile, SummarySpan
from indwell.context.conversation import Conversation
from indwell.context.history import boundaries, place_of, tokens_of, transcript
from indwell.context.injections import LEFT_OUT, inject
from indwell.context.untrusted_text import neutralise
from indwell.lazy_pattern import lazy_pattern
from indwell.messages import Block, Image, Message, Text, Thinking, ToolResult, ToolUse

_PREFIX = "transcript-"  # the beginning of each file's name
FILE_LENGTH = 16_000  # A new file begins after 16,000 characters.
# the limit of files that a summary names; a longer list is cut to the first and last file
_MOST_NAMED = 3


class Files(NamedTuple):
    """The line that names files in a summary, and the files themselves, in order."""

    named: str
    spills: tuple[SpilledFile, ...]


class SpilledPart(msgspec.Struct, frozen=True):
    """A file of a transcript, whose text is built when the file is written.

    Attributes:
        name: The file name in the session's spill folder.
        messages: The messages in the file.
    """

    name: str
    messages: tuple[Message, ...]

    @property
    def text(self) -> str:
        """The text of the file: the messages, marked as data that gives no orders."""
        return as_data("\n\n".join(filter(None, map(shown, self.messages))))


class TranscriptParts:
    """The complete files of a transcript, found message by message.

    A full file is complete, even beyond the end of a summary, so that the file never changes. The
    last message may still grow, so no file contains the message yet.

    Attributes:
        stops: The index after the last message of each file.
        names: The name of each file.
        saved: The names of files that are on disk.
    """

    def __init__(self) -> None:
        self.stops: list[int] = []
        self.names: list[str] = []
        self.saved: set[str] = set()
        self._n_saved = 0  # the number of first files that are known to be on disk
        self._n, self._length = 0, 0  # the examined messages, and their length in the open file

    def grow(self, whole: Sequence[Message]) -> None:
        """Find the files of more messages of the same transcript."""
        for at in range(self._n, len(whole) - 1):
            self._length += len(shown(whole[at]))
            if self._length >= FILE_LENGTH:
                begin = self.stops[-1] if self.stops else 0
                self.names.append(_spill(len(self.names) + 1, whole[begin : at + 1]).name)
                self.stops.append(at + 1)
                self._length = 0
        self._n = max(self._n, len(whole) - 1)

    def keep(self, spills: Sequence[SpilledFile]) -> None:
        """Remember the files that are on disk now, among other files."""
        self.saved.update(one.name for one in spills if one.name.startswith(_PREFIX))

    def spills(
        self, whole: Sequence[Message], start: int, stop: int
    ) -> tuple[list[str], list[SpilledPart]]:
        """Return the names of the files with some messages, and the files that are not saved.

        Args:
            whole: The transcript, up to at least ``stop``.
            start: The first message.
            stop: The index after the last message.
        """
        first = bisect_right(self.stops, start)
        # the first file that begins at ``stop`` or later
        last = min(bisect_left(self.stops, stop) + 1, len(self.stops))
        names = self.names[first:last]
        files: list[SpilledPart] = []
        while self._n_saved < len(self.names) and self.names[self._n_saved] in self.saved:
            self._n_saved += 1
        for at in range(max(first, self._n_saved), last):
            if self.names[at] not in self.saved:
                begin = self.stops[at - 1] if at else 0
                part = tuple(whole[begin : self.stops[at]])
                files.append(SpilledPart(self.names[at], part))
        begin = self.stops[last - 1] if last else 0
        if begin < stop:
            files.append(_spill(last + 1, whole[begin:stop]))
            names.append(files[-1].name)
        return names, files


def transcript_files(
    conversation: Conversation,
    start: int,
    stop: int,
    folder: str,
    parts: TranscriptParts | None = None,
) -> Files:
    """Return the files with the live messages ``start`` to ``stop``, and perhaps a few more.

    Args:
        conversation: The conversation whose originals are written.
        start: The first live message.
        stop: The index after the last message.
        folder: The folder of the files, as the model can name the folder.
        parts: The known files of the transcript; files that are on disk are named only.
    """
    messages, history = conversation.messages, conversation.history
    start, stop = (place_of(messages, history, at) for at in (start, stop))
    whole, parts = transcript(messages, history), parts or TranscriptParts()
    parts.grow(whole)
    names, spills = parts.spills(whole, start, stop)
    return Files(named_files(folder, names), tuple(spills))


def named_files(folder: str, names: Sequence[str]) -> str:
    """Name the files in order; if there are many, name only the first and the last."""
    if not names:
        return ""
    path = spill_path(folder, names[0])
    if len(names) > _MOST_NAMED:
        return f"{path} to {names[-1]}"
    return ", ".join((path, *names[1:]))


def _spill(number: int, messages: Sequence[Message]) -> SpilledPart:
    part = SpilledPart("", tuple(messages))
    return SpilledPart(_name(number, part.text), part.messages)


def _name(number: int, text: str) -> str:
    return f"{_PREFIX}{number:04d}-{stamp(text)}.txt"


_TAG = "transcript"
_IMITATION = lazy_pattern(rf"<(?=[\s/]*{_TAG}\b)", re.IGNORECASE)
_CHARACTERS_A_TOKEN = 3  # Three characters are hardly ever more than one token.


def source_text(span: SummarySpan) -> str:
    """Return the span's source for a summariser, in a tag that the source cannot close."""
    parts = [shown(message, span.most_of_message) for message in span.source]
    text = "\n\n".join(part for part in parts if part)
    if span.most_characters:
        text = text[: span.most_characters]
    return as_data(text)


def as_data(text: str) -> str:
    """Return text in a tag that the text cannot close."""
    safe = _IMITATION.sub("&lt;", neutralise(text))
    return f"<{_TAG}>\n{safe}\n</{_TAG}>"


def pieces(span: SummarySpan, most_tokens: int) -> tuple[SummarySpan, ...]:
    """Split a span, between exchanges, into spans that a summariser can read.

    The summaries of the spans, joined, are one summary of the whole span. If one exchange is too
    large, the spans show only a part of it.
    """
    if span.most_characters or tokens_of(span.source) <= most_tokens:
        return (span,)
    groups = list(_groups(span.source, most_tokens))
    whole = max(1, tokens_of(span.source))
    return tuple(
        msgspec.structs.replace(
            span,
            source=group,
            target=max(1, span.target * tokens_of(group) // whole),
            most_characters=0
            if tokens_of(group) <= most_tokens
            else most_tokens * _CHARACTERS_A_TOKEN,
            most_of_message=0
            if tokens_of(group) <= most_tokens
            else most_tokens * _CHARACTERS_A_TOKEN // len(group),
        )
        for group in groups
    )


def _groups(source: Sequence[Message], most_tokens: int) -> Iterator[tuple[Message, ...]]:
    cuts = boundaries(source, 0, len(source))
    if cuts[-1] != len(source):
        cuts = (*cuts, len(source))
    start, held = cuts[0], 0
    for before, at in pairwise(cuts):
        more = tokens_of(source[before:at])
        if before > start and held + more > most_tokens:
            yield tuple(source[start:before])
            start, held = before, 0
        held += more
    yield tuple(source[start:])


def shown(message: Message, most: int = 0) -> str:
    """Return a message as text of at most ``most`` characters (0 for no limit); may be empty."""
    text = "\n".join(filter(None, map(_block, message.blocks)))
    if most and len(text) > most:
        return f"{text[:most]} […]"
    return text


def _block(block: Block) -> str:
    match block:
        case Text(text=text, meta=meta):
            return f"[{meta.source.replace('_', ' ')}]\n{text}"
        case ToolUse(name=name, arguments=arguments):
            return f"[call of {name}]\n{arguments}"
        case ToolResult(text=text, is_error=is_error):
            return f"[{'error' if is_error else 'result'}]\n{text}"
        case Image():
            return "[a picture]"
        case Thinking():
            return ""


_LISTED = 6  # the limit of calls that a note names; the files contain all calls


def is_note(block: Block) -> bool:
    """Return whether the block is a note of an earlier digest, by its source and tag."""
    return (
        isinstance(block, Text)
        and block.meta.source == "compactor"
        and block.text.startswith(f"<{LEFT_OUT}")
    )


def left_out(
    conversation: Conversation,
    cut: int,
    dropped: Sequence[Block],
    folder: str,
    parts: TranscriptParts | None = None,
) -> tuple[Text, tuple[SpilledFile, ...]]:
    """Return the note on all omitted content before ``cut``, and the files that the note names.

    Args:
        conversation: The conversation before the step.
        cut: The first live message that is kept completely.
        dropped: Originals of the calls and replies that this step drops; the note names the newest.
        folder: The folder of the files, as the model can name the folder.
        parts: The known files of the transcript.
    """
    files = transcript_files(conversation, 0, cut, folder, parts)
    uses = [one for one in dropped if isinstance(one, ToolUse)]
    listed = "; ".join(dict.fromkeys(called(use) for use in uses[-_LISTED:]))
    newest = f" (the newest: {listed})" if listed else ""
    words = (
        "Earlier calls and their results, and parts of earlier replies, were left out "
        f"here{newest}. All of the conversation up to here: {files.named}"
    )
    turn = conversation.messages[cut - 1].turn
    return inject("left_out", words, turn=turn), files.spills
