"""Replaces lines that the conversation already shows with a reference. Pure.

A fifth of the file text that agents read is unchanged since an earlier read. The replacement loses
no information. The prompt cache stays valid, because no request has contained the result yet.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import msgspec

from indwell.context.compaction.digesting.lines import text_of
from indwell.context.compaction.step import CompactionStep
from indwell.context.conversation import Conversation
from indwell.context.file_work import ParsedCall, call_of
from indwell.context.history import History, MessageSplice, freed, place_of, transcript
from indwell.context.tokens import estimate_tokens
from indwell.lazy_pattern import lazy_pattern
from indwell.messages import Block, Message, ToolResult, ToolUse

# the least number of characters in consecutive lines, which must exceed a reference's length
LEAST_RUN = 200
LEAST_SAVED = 50  # the least number of tokens that a reference must save
# The shortest conversation with a repetition has a prompt, and two calls with results.
LEAST_MESSAGES = 5
LOOKED_BACK = 400  # the number of messages that are searched for shown lines
_WORDS = "unchanged since they were read above"
_NUMBERED = lazy_pattern(r"\s*(\d{1,9})[→\t](.*)", re.DOTALL)


def may_repeat(messages: Sequence[Message]) -> bool:
    """Return whether the newest results may contain text of a file; a fast check."""
    return (
        len(messages) >= LEAST_MESSAGES
        and messages[-1].role == "user"
        and any(_reads_one(call) for call, _ in _calls(messages[-2]))
    )


def repeats(messages: Sequence[Message]) -> CompactionStep | None:
    """Replace lines of the newest results that were shown before; return None if no line was.

    The time grows with the number of reads of the same files, so do not call the function on the
    event loop.

    Args:
        messages: The live messages; the last message has results that were not sent yet.
    """
    if not may_repeat(messages):
        return None
    # In the output of a command with several files, a number does not tell the file.
    paths = {use.id: call.path for call, use in _calls(messages[-2]) if _reads_one(call)}
    shown = _shown(messages[-LOOKED_BACK:-2], set(paths.values()))
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
    return CompactionStep(
        "repeats", (MessageSplice(index, index + 1, (Message(last.role, blocks, last.turn),)),)
    )


def whole_again(conversation: Conversation, step: CompactionStep) -> CompactionStep:
    """Extend a step so that later references to removed messages become complete texts.

    If the conversation would grow, the references are kept, because the model can read the named
    lines again.
    """
    begin = min((one.start for one in step.splices), default=len(conversation.messages))
    rewritten = {at for one in step.splices for at in range(one.start, one.stop)}
    unfold = unfolded(conversation.messages, conversation.history, begin)
    more = [MessageSplice(at, at + 1, (one,)) for at, one in unfold.items() if at not in rewritten]
    if not more or freed(conversation.messages, (*step.splices, *more)) <= 0:
        return step
    ordered = sorted((*step.splices, *more), key=lambda one: one.start)
    return msgspec.structs.replace(step, splices=tuple(ordered))


def unfolded(messages: Sequence[Message], history: History, start: int) -> dict[int, Message]:
    """Replace the references in messages from ``start`` on with lines; return these by index.

    A layer needs the complete texts before the layer removes the referenced lines.
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


def _calls(message: Message) -> Iterator[tuple[ParsedCall, ToolUse]]:
    """Yield the calls of a reply that concern a file."""
    for block in message.blocks:
        if isinstance(block, ToolUse):
            call = call_of(block)
            if call.path:
                yield call, block


def _reads_one(call: ParsedCall) -> bool:
    return call.kind == "read" and len(call.paths) == 1


def _shown(messages: Sequence[Message], paths: set[str]) -> dict[str, dict[int, str]]:
    """Return the shown lines of files by path and number, without lines of edited files."""
    shown: dict[str, dict[int, str]] = {}
    for reply, results in pairwise(messages):
        reads: dict[str, str] = {}
        for call, use in _calls(reply) if reply.role == "assistant" else ():
            if _reads_one(call) and call.path in paths:
                reads[use.id] = call.path
            for path in paths.intersection(call.paths) if call.kind != "read" else ():
                known = shown.get(path, {}) if call.kind == "edit" and call.old else {}
                touched = {line for old in call.old for line in old.split("\n")}
                touched |= set(text_of(use).split("\n"))
                shown[path] = {at: line for at, line in known.items() if line not in touched}
        for block in results.blocks:
            if isinstance(block, ToolResult) and block.tool_use_id in reads:
                lines = shown.setdefault(reads[block.tool_use_id], {})
                lines |= {
                    int(found[1]): found[2]
                    for line in block.text.split("\n")
                    if (found := _NUMBERED.fullmatch(line))
                }
    return shown


def _pointing(result: ToolResult, shown: Mapping[int, str]) -> ToolResult:
    """Return the result with references in place of line sequences that were shown before."""
    lines: list[str] = []
    run: list[str] = []
    for line in (*result.text.split("\n"), None):
        found = _NUMBERED.fullmatch(line) if line is not None else None
        if line is not None and found and shown.get(int(found[1])) == found[2]:
            run.append(line)
            continue
        lines += [_pointer(run)] if sum(map(len, run)) >= LEAST_RUN else run
        run = []
        if line is not None:
            lines.append(line)
    text = "\n".join(lines)
    meta = msgspec.structs.replace(result.meta, tokens=estimate_tokens(text))
    if result.meta.tokens - meta.tokens < LEAST_SAVED:
        return result
    return msgspec.structs.replace(result, text=text, meta=meta)


def _pointer(run: Sequence[str]) -> str:
    first, last = (_NUMBERED.fullmatch(line) for line in (run[0], run[-1]))
    assert first
    assert last
    return f"[lines {first[1]} to {last[1]}: {_WORDS}]"
