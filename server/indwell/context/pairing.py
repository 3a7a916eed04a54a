"""Ensures that every tool use is followed by exactly one result.

Every provider rejects a tool use without a result, and a result without a tool use. The check
therefore runs after each operation on the messages, before each send, and when a session is loaded.
A fault is repaired and reported, never sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from indwell.context.injections import inject
from indwell.context.tokens import estimate_tokens
from indwell.messages import Block, Message, Meta, ToolResult, ToolUse

INTERRUPTED = "interrupted before it finished; its effect, if any, is unknown"


def tool_uses(message: Message) -> tuple[ToolUse, ...]:
    """Return the calls of a message, in order."""
    return tuple(block for block in message.blocks if isinstance(block, ToolUse))


def tool_results(message: Message) -> tuple[ToolResult, ...]:
    """Return the results of a message, in order."""
    return tuple(block for block in message.blocks if isinstance(block, ToolResult))


def problems(
    messages: Sequence[Message], *, start: int = 0, may_wait: bool = False
) -> tuple[str, ...]:
    """Return the faults of these messages, or an empty tuple if the messages are valid.

    Args:
        messages: All messages.
        start: The number of unchanged messages that an earlier check found valid; only the calls of
            the last valid message are examined again.
        may_wait: Whether the calls of the last message may still lack results.
    """
    found: list[str] = []
    before: Message | None = messages[start - 1] if start else None
    asked = _asked(before) if before is not None else ()
    if messages and not start and messages[0].role != "user":
        found.append("the first message is not the user's")
    for index in range(start, len(messages)):
        message = messages[index]
        if before is not None and before.role == message.role:
            found.append(f"two {message.role} messages in a row in turn {message.turn}")
        if not message.blocks:
            found.append(f"an empty message in turn {message.turn}")
        found += _wrong_answers(message, asked)
        asked = _asked(message)
        if len(asked) > 1 and len(set(asked)) != len(asked):
            found.append(f"a call's id is used twice in turn {message.turn}")
        before = message
    if asked and not may_wait:
        found.append(f"the last calls {asked} have no results")
    return tuple(found)


def repair(messages: Sequence[Message]) -> tuple[tuple[Message, ...], tuple[str, ...]]:
    """Make any messages valid; return the messages, and descriptions of the changes.

    A missing result is replaced by a result that reports an interruption. A result without a call,
    and a second result of a call, are dropped. Results move to the front of their message.
    Consecutive messages of one role become one message. If the beginning is missing, a note says
    so. Messages without a fault stay unchanged.
    """
    if not problems(messages):
        return tuple(messages), ()
    notes: list[str] = []
    repaired: list[Message] = []
    asked: tuple[ToolUse, ...] = ()
    for message in _merged(messages):
        blocks, notes_here = _answer(message, asked)
        notes += notes_here
        answered = Message(role=message.role, blocks=blocks, turn=message.turn)
        repaired.append(answered)
        asked = tool_uses(answered)
    if asked:
        notes.append(f"{len(asked)} call(s) without a result marked as interrupted")
        repaired.append(_results_message(asked, {}, messages[-1].turn))
    whole = _merged([message for message in repaired if message.blocks])
    if whole and whole[0].role != "user":
        turn = whole[0].turn
        lost = inject(
            "reminder", "The beginning of this conversation could not be read.", turn=turn
        )
        whole.insert(0, Message("user", (lost,), turn))
        notes.append("the conversation began with a reply; what came before it is missing")
    return tuple(whole), tuple(notes) or ("messages or results did not stand where they belong",)


def interrupted_result(use: ToolUse, why: str = INTERRUPTED) -> ToolResult:
    """Return the result of a call that never finished."""
    text = f"[{why}]"
    return ToolResult(
        tool_use_id=use.id,
        text=text,
        is_error=True,
        meta=Meta(tier=3, source="tool", tokens=estimate_tokens(text), turn=use.meta.turn),
    )


def _asked(message: Message) -> tuple[str, ...]:
    """Return the ids of a message's calls."""
    return tuple([block.id for block in message.blocks if isinstance(block, ToolUse)])


def _wrong_answers(message: Message, asked: tuple[str, ...]) -> tuple[str, ...]:
    """Return the faults of the results in ``message``, which follows the calls ``asked``."""
    blocks = message.blocks
    answered = tuple([one.tool_use_id for one in blocks if isinstance(one, ToolResult)])
    if answered != asked:
        return (f"asked for {asked} but answered {answered} in turn {message.turn}",)
    if answered and not all(isinstance(one, ToolResult) for one in blocks[: len(answered)]):
        return (f"results do not come first in turn {message.turn}",)
    return ()


def _answer(
    message: Message, asked: tuple[ToolUse, ...]
) -> tuple[tuple[Block, ...], tuple[str, ...]]:
    """Return the blocks of ``message``, beginning with exactly the results of ``asked``."""
    by_id: dict[str, ToolResult] = {}
    for result in tool_results(message):
        by_id.setdefault(result.tool_use_id, result)
    rest: tuple[Block, ...] = tuple(
        block for block in message.blocks if not isinstance(block, ToolResult)
    )
    notes: list[str] = []
    wanted = {use.id for use in asked}
    if by_id.keys() - wanted or len(tool_results(message)) != len(by_id):
        notes.append("a result without its call was dropped")
    if wanted - by_id.keys():
        notes.append(f"{len(wanted - by_id.keys())} call(s) without a result marked as interrupted")
    unique = _without_repeated_ids(rest)
    if len(unique) != len(rest):
        notes.append("a call with the id of another one was dropped")
    if not asked:
        return unique, tuple(notes)
    return _results_message(asked, by_id, message.turn).blocks + unique, tuple(notes)


def _without_repeated_ids(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    ids: set[str] = set()
    kept: list[Block] = []
    for block in blocks:
        if isinstance(block, ToolUse):
            if block.id in ids:
                continue
            ids.add(block.id)
        kept.append(block)
    return tuple(kept)


def _results_message(
    asked: Iterable[ToolUse], known: Mapping[str, ToolResult], turn: int
) -> Message:
    results = tuple(known.get(use.id) or interrupted_result(use) for use in asked)
    return Message(role="user", blocks=results, turn=turn)


def _merged(messages: Sequence[Message]) -> list[Message]:
    merged: list[Message] = []
    for message in messages:
        if merged and merged[-1].role == message.role:
            last = merged[-1]
            merged[-1] = Message(last.role, last.blocks + message.blocks, message.turn)
        else:
            merged.append(message)
    return merged
