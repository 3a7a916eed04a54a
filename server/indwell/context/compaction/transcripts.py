"""The files in which what compaction took away can be read as it was (H21, H31). Pure.

The conversation is cut from its beginning, always at the same messages, and a file is named for its
text. So all summaries of a conversation name the same files, each of them is written once, and all
of them together are hardly longer than what was said.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from indwell.context.compaction.cuts import spill_path, stamp
from indwell.context.compaction.source import as_data, shown
from indwell.context.compaction.step import Spill
from indwell.context.conversation import Conversation
from indwell.context.history import place_of, transcript
from indwell.messages import Message

FILE_LENGTH = 16_000  # characters at which a file ends; mostly less than what stays as it is
_MOST_NAMED = 3  # files that a summary names one by one; of more the first and the last


class Files(NamedTuple):
    """What a summary's head says of them, and themselves, in order."""

    named: str
    spills: tuple[Spill, ...]


def transcript_files(conversation: Conversation, start: int, stop: int, folder: str) -> Files:
    """The files that hold the live messages ``start`` to ``stop``, and maybe a little around them.

    Args:
        conversation: Whose originals they hold.
        start: First live message.
        stop: The one behind the last.
        folder: Of spills, as the model can name it.
    """
    messages, history = conversation.messages, conversation.history
    start, stop = (place_of(messages, history, at) for at in (start, stop))
    spills = tuple(
        _spill(number, part)
        for number, part in enumerate(_parts(transcript(messages, history), stop), start=1)
        if part.stop > start
    )
    names = [one.name for one in spills]
    return Files(named_files(folder, names), spills)


def named_files(folder: str, names: Sequence[str]) -> str:
    """Files in the order of what they hold: each by its name, of many the first and the last."""
    if not names:
        return ""
    path = spill_path(folder, names[0])
    if len(names) > _MOST_NAMED:
        return f"{path} to {names[-1]}"
    return ", ".join((path, *names[1:]))


class _Part(NamedTuple):
    stop: int
    texts: Sequence[str]


def _parts(messages: Sequence[Message], stop: int) -> Iterator[_Part]:
    """What stands in each file, up to the one that message ``stop - 1`` is in.

    A file that the conversation already fills is whole, beyond ``stop`` as well: then it stays as
    it is. Only the newest may be shorter; the last message of all may still grow.
    """
    begin, texts, length = 0, list[str](), 0
    for at, message in enumerate(messages[:-1], start=1):
        text = shown(message)
        texts.append(text)
        length += len(text)
        if length >= FILE_LENGTH:
            yield _Part(at, texts)
            begin, texts, length = at, [], 0
            if begin >= stop:
                return
    if begin < stop:
        yield _Part(stop, [shown(one) for one in messages[begin:stop]])


def _spill(number: int, part: _Part) -> Spill:
    text = as_data("\n\n".join(filter(None, part.texts)))
    return Spill(f"transcript-{number:04d}-{stamp(text)}.txt", text)
