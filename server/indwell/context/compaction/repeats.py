"""Lines that are read again become a pointer to where they stand already, before they are sent.

A fifth of what agents read of files they have read before, unchanged. Nothing is lost by it and no
cache is broken: the result has not been in any request yet. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from indwell.context.calls import call_of
from indwell.context.compaction.step import Step
from indwell.context.history import History, Splice, place_of, transcript
from indwell.context.tokens import estimate_tokens
from indwell.messages import Block, Message, ToolResult, ToolUse

LEAST_RUN = 200  # characters of lines in a row that a pointer is shorter than
LEAST_SAVED = 50  # tokens
LEAST_MESSAGES = 5  # words, a call and its result, and again a call and its result
LOOKED_BACK = 400  # messages; what is further away is not pointed at
_WORDS = "unchanged since they were read above"
_NUMBER = re.compile(r"\s*(\d+)[→\t]")


def repeats(messages: Sequence[Message]) -> Step | None:
    """Shorten what the newest results show again; None if they show nothing again.

    Args:
        messages: The live ones; the last holds results that were not sent yet.
    """
    if len(messages) < LEAST_MESSAGES or messages[-1].role != "user":
        return None
    paths = dict(_reads(messages[-2]))
    if not paths:
        return None
    shown = _shown(messages[:-2], set(paths.values()))
    last = messages[-1]
    blocks = tuple(
        _pointing(block, shown[paths[block.tool_use_id]])
        if isinstance(block, ToolResult) and paths.get(block.tool_use_id) in shown
        else block
        for block in last.blocks
    )
    if blocks == last.blocks:
        return None
    index = len(messages) - 1
    return Step("repeats", (Splice(index, index + 1, (Message(last.role, blocks, last.turn),)),))


def unfolded(messages: Sequence[Message], history: History, start: int) -> dict[int, Message]:
    """Messages from ``start`` on as they were before lines of them became pointers, by index.

    For a layer that is about to take away what they point at.
    """
    found: dict[int, Message] = {}
    if start >= len(history.places):
        return found
    whole = transcript(messages, history)
    for index in range(start, len(history.places)):
        message = messages[index]
        if any(map(_points, message.blocks)):
            begin = place_of(messages, history, index)
            end = place_of(messages, history, index + 1)
            originals = {
                one.tool_use_id: one
                for part in reversed(whole[begin:end])
                for one in part.blocks
                if isinstance(one, ToolResult)
            }
            blocks = tuple(
                originals.get(one.tool_use_id, one)
                if isinstance(one, ToolResult) and _points(one)
                else one
                for one in message.blocks
            )
            found[index] = Message(message.role, blocks, message.turn)
    return found


def _points(block: Block) -> bool:
    return isinstance(block, ToolResult) and _WORDS in block.text


def _reads(message: Message) -> Iterator[tuple[str, str]]:
    """The calls of a reply that read a file: their ids, with its path."""
    for block in message.blocks:
        if isinstance(block, ToolUse):
            call = call_of(block)
            if call.kind == "read" and call.path:
                yield block.id, call.path


def _shown(messages: Sequence[Message], paths: set[str]) -> dict[str, frozenset[str]]:
    """The lines of earlier reads of these files that still stand there, by path."""
    shown: dict[str, set[str]] = {}
    start = max(0, len(messages) - LOOKED_BACK)
    for index in range(start, len(messages) - 1):
        reads = {use: path for use, path in _reads(messages[index]) if path in paths}
        if not reads:
            continue
        for block in messages[index + 1].blocks:
            if isinstance(block, ToolResult) and block.tool_use_id in reads and not block.is_error:
                lines = shown.setdefault(reads[block.tool_use_id], set())
                lines.update(block.text.split("\n"))
    return {path: frozenset(lines) for path, lines in shown.items()}


def _pointing(result: ToolResult, shown: frozenset[str]) -> ToolResult:
    """The result with pointers for the runs of its lines that are shown already."""
    lines: list[str] = []
    run: list[str] = []
    for line in (*result.text.split("\n"), None):
        if line is not None and (line in shown or not line.strip()):
            run.append(line)
            continue
        said = sum(len(one) + 1 for one in run if one.strip())
        lines += [_pointer(run)] if said >= LEAST_RUN else run
        run = []
        if line is not None:
            lines.append(line)
    text = "\n".join(lines)
    meta = msgspec.structs.replace(result.meta, tokens=estimate_tokens(text))
    if result.meta.tokens - meta.tokens < LEAST_SAVED:
        return result
    return msgspec.structs.replace(result, text=text, meta=meta)


def _pointer(run: Sequence[str]) -> str:
    numbers = [int(found[1]) for line in run if (found := _NUMBER.match(line))]
    which = f"lines {numbers[0]} to {numbers[-1]}" if numbers else f"{len(run)} lines"
    return f"[{which}: {_WORDS}]"
