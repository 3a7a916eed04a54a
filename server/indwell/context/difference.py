"""The first block in which a request differs from the one before it (H36). Pure.

Messages are frozen and shared between requests, so what has not changed is the same object: one
pass over the identities, at the speed at which the tuple of messages was made, finds where a look
inside is worth it. Only what a provider sees counts: other bookkeeping of a block is no change.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress, count
from operator import is_not
from typing import TypeAlias, assert_never

import msgspec

from indwell.context.common_start import n_common
from indwell.context.tokens import BLOCK_OVERHEAD, message_tokens, request_tokens, tools_tokens
from indwell.messages import (
    Block,
    Image,
    Message,
    Request,
    Source,
    Text,
    Thinking,
    ToolResult,
    ToolSpec,
    ToolUse,
)

EXCERPT = 60  # characters of each of the two texts
_LEAD = 20  # of them before the first character that differs
GONE = ""


class Difference(msgspec.Struct, frozen=True):
    """Where two requests part.

    Attributes:
        place: Of the first block that differs, such as ``message 3, block 2``, 1-based.
        source: Where that block came from; ``tools`` for the table of tools.
        before: A piece of its text around the first change, on one line; empty if it is new.
        after: The same as it is now; empty if it is gone.
        common: Tokens of the earlier request that stand before it.
        turn: The turn that brought it; 0 if that is not known.
    """

    place: str
    source: Source | str
    before: str
    after: str
    common: int
    turn: int = 0


def first_difference(before: Request, after: Request) -> Difference | None:
    """Where ``after`` stops repeating ``before``; None if it only goes on behind it."""
    if before.tools is not after.tools and before.tools != after.tools:
        return _in_tools(before.tools, after.tools)
    if before.system is not after.system:
        parted = _parted(before.system, after.system, is_whole=True)
        if parted is not None:
            common = tools_tokens(before.tools) + _tokens(before.system[:parted])
            return _difference(
                f"block {parted + 1} of the system prompt",
                _at(before.system, parted),
                _at(after.system, parted),
                common,
            )
    return _in_messages(before, after)


def total_tokens(request: Request) -> int:
    """About how many tokens a request has; counted only if nobody has done so."""
    return request.tokens or request_tokens(request)


def _in_messages(before: Request, after: Request) -> Difference | None:
    if before.messages == after.messages[: len(before.messages)]:
        return None  # nearly always; five times as fast as looking for a place
    for index in compress(count(), map(is_not, before.messages, after.messages)):
        earlier, later = before.messages[index], after.messages[index]
        is_last = index == len(before.messages) - 1
        found = _in_message(earlier, later, may_grow=is_last)
        if found is not None:
            behind = _tokens(earlier.blocks[found:])
            behind += sum(map(message_tokens, before.messages[index + 1 :]))
            return _difference(
                f"message {index + 1}, block {found + 1}",
                _at(earlier.blocks, found),
                _at(later.blocks, found),
                max(total_tokens(before) - behind, 0),
            )
    if len(after.messages) < len(before.messages):
        gone = before.messages[len(after.messages) :]
        behind = sum(map(message_tokens, gone))
        place = f"message {len(after.messages) + 1}, block 1"
        first = _at(gone[0].blocks, 0)
        return _difference(place, first, None, max(total_tokens(before) - behind, 0))
    return None


def _in_message(before: Message, after: Message, *, may_grow: bool) -> int | None:
    if before.role != after.role:
        return 0
    return _parted(before.blocks, after.blocks, is_whole=not may_grow)


def _parted(before: Sequence[Block], after: Sequence[Block], *, is_whole: bool) -> int | None:
    """The index of the first block that differs; blocks may follow unless it ``is_whole``."""
    pairs = zip(before, after, strict=False)
    for index, (earlier, later) in enumerate(pairs):
        if earlier is not later and _sent(earlier) != _sent(later):
            return index
    if len(after) < len(before) or (is_whole and len(after) > len(before)):
        return min(len(before), len(after))
    return None


_Sent: TypeAlias = tuple[str, ...]


def _sent(block: Block) -> _Sent:
    """What a provider sees of a block."""
    match block:
        case Text(text=text):
            return ("text", text)
        case Image(media_type=media_type, data=data):
            return ("image", media_type, data)
        case ToolUse(id=id_, name=name, arguments=arguments, extra=extra):
            return ("tool_use", id_, name, arguments, extra)
        case ToolResult(tool_use_id=id_, text=text):
            return ("tool_result", id_, text)
        case Thinking(text=text):
            return ("thinking", text)
        case _:
            assert_never(block)


def _words(block: Block | None) -> str:
    """A block as a text that people can compare."""
    match block:
        case None:
            return GONE
        case ToolUse(name=name, arguments=arguments):
            return f"{name} {arguments}"
        case Image(media_type=media_type, data=data):
            return f"{media_type}, {len(data):,} characters"
        case _:
            return block.text


def _difference(place: str, before: Block | None, after: Block | None, common: int) -> Difference:
    meta = before.meta if before is not None else after.meta if after is not None else None
    assert meta is not None, "nothing differs from nothing"
    old, new = excerpts(_words(before), _words(after))
    return Difference(place, meta.source, old, new, common, meta.turn)


def _in_tools(before: Sequence[ToolSpec], after: Sequence[ToolSpec]) -> Difference:
    pairs = enumerate(zip(before, after, strict=False))
    shorter = min(len(before), len(after))
    index = next((at for at, (old, new) in pairs if old != new), shorter)
    texts = [
        f"{specs[index].name}: {specs[index].description} {specs[index].parameters}"
        if index < len(specs)
        else GONE
        for specs in (before, after)
    ]
    old, new = excerpts(*texts)
    common = tools_tokens(tuple(before[:index]))
    return Difference(f"tool {index + 1}", "tools", old, new, common)


def excerpts(before: str, after: str) -> tuple[str, str]:
    """Pieces of two texts around the first character in which they differ, each on one line."""
    start = max(n_common(before, after) - _LEAD, 0)
    return _excerpt(before, start), _excerpt(after, start)


def _excerpt(text: str, start: int) -> str:
    piece = " ".join(text[start : start + EXCERPT].split())
    head = "…" if start and text else ""
    tail = "…" if start + EXCERPT < len(text) else ""
    return f"{head}{piece}{tail}"


def _tokens(blocks: Sequence[Block]) -> int:
    return sum(
        block.meta.tokens + BLOCK_OVERHEAD for block in blocks if not isinstance(block, Thinking)
    )


def _at(blocks: Sequence[Block], index: int) -> Block | None:
    return blocks[index] if index < len(blocks) else None
