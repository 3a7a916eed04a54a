"""A plan that no longer holds goes with what a summary takes away, wherever it stands. Pure.

A fold leaves messages with the user's words alone, and the plan stands beside such words. The cache
is broken by the summary as it is, so the model need not read any longer what holds no more.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from indwell.context.compaction.cuts import with_blocks
from indwell.context.compaction.facts import Facts
from indwell.context.compaction.step import Step
from indwell.context.history import Splice
from indwell.messages import Block, Message


def without_stale(messages: Sequence[Message], step: Step, facts: Facts) -> Step:
    """The step that also drops plans that are done, rejected, or replaced by a newer one.

    Args:
        messages: The live ones that the step is made for.
        step: Takes a summary; without splices it stays as it is.
        facts: Say whether a plan holds.
    """
    if not step.splices:
        return step
    taken = {at for one in step.splices for at in range(one.start, one.stop)}
    made = [message for one in step.splices for message in one.messages]
    left = [message for at, message in enumerate(messages) if at not in taken]
    turn = max((one.meta.turn for one in _plans((*made, *left)) if facts.keeps(one)), default=None)

    def lighter(message: Message) -> Message:
        blocks = [one for one in message.blocks if not _is_stale(one, facts, turn)]
        if not blocks or len(blocks) == len(message.blocks):
            return message
        return with_blocks(message, blocks)

    splices = [
        msgspec.structs.replace(one, messages=tuple(map(lighter, one.messages)))
        for one in step.splices
    ]
    for at, message in enumerate(messages):
        if at not in taken and (after := lighter(message)) is not message:
            splices.append(Splice(at, at + 1, (after,)))
    ordered = sorted(splices, key=lambda one: one.start)
    return msgspec.structs.replace(step, splices=tuple(ordered))


def _is_stale(block: Block, facts: Facts, newest: int | None) -> bool:
    """Is it a plan that does not hold, or one of an earlier turn than the ``newest``?"""
    if block.meta.source != "plan":
        return False
    return not facts.keeps(block) or (newest is not None and block.meta.turn < newest)


def _plans(messages: Sequence[Message]) -> tuple[Block, ...]:
    return tuple(one for message in messages for one in message.blocks if one.meta.source == "plan")
