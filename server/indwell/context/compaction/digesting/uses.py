"""What the agent did with what it was told, call by call: who wrote a name, and when. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from indwell.context.calls import call_of
from indwell.context.compaction.digesting.lines import names_of
from indwell.messages import Message, ToolUse


class Read(NamedTuple):
    """A call that read a file: which, and the number of the model call that made it."""

    path: str
    call: int


class Uses(msgspec.Struct, frozen=True):
    """Of one conversation; numbers of model calls are 1-based.

    Attributes:
        n_calls: Model calls so far.
        written: By identifier, the call in which the agent wrote it last.
        seen: By identifier, the call after which it last came up anywhere.
        spread: By identifier, in how many blocks it stands.
        reads: By the id of a tool call, the file that it read.
        read_last: By path, the call that read it last.
    """

    n_calls: int
    written: Mapping[str, int]
    seen: Mapping[str, int]
    spread: Mapping[str, int]
    reads: Mapping[str, Read]
    read_last: Mapping[str, int]


def uses_of(transcript: Sequence[Message]) -> Uses:
    """Follow a conversation from its beginning; work is in proportion to its length."""
    n_calls = 0
    written: dict[str, int] = {}
    seen: dict[str, int] = {}
    spread: dict[str, int] = {}
    reads: dict[str, Read] = {}
    read_last: dict[str, int] = {}
    for message in transcript:
        is_reply = message.role == "assistant"
        n_calls += is_reply
        for block in message.blocks:
            names = dict.fromkeys(names_of(block), n_calls)
            seen |= names
            if is_reply:
                written |= names
            for name in names:
                spread[name] = spread.get(name, 0) + 1
            if isinstance(block, ToolUse) and (path := _read_path(block)):
                reads[block.id] = Read(path, n_calls)
                read_last[path] = n_calls
    return Uses(n_calls, written, seen, spread, reads, read_last)


def _read_path(use: ToolUse) -> str:
    call = call_of(use)
    return call.path if call.kind == "read" else ""
