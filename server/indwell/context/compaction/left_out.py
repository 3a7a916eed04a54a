"""Exchanges that go as a whole: one marker names them, and the file that has all of them (H21)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from indwell.context.compaction.cuts import called, spill_name, spill_path
from indwell.context.compaction.step import Spill
from indwell.context.compaction.view import View
from indwell.context.history import place_of
from indwell.context.injections import inject
from indwell.messages import Message, ToolResult, ToolUse

_LISTED = 15  # calls that a marker names; the file has them all


def left_out(
    view: View,
    whole: Sequence[Message],
    cut: int,
    gone: frozenset[int],
    changed: Mapping[int, Message],
) -> tuple[int, Message, Spill]:
    """The last user message before ``cut`` that stays, with a marker; its index; what to keep.

    Args:
        view: What is decided on.
        whole: Its transcript.
        cut: First message of the tail.
        gone: Indices of replies that go, each with the results behind it.
        changed: Messages that will read differently.
    """
    history = view.conversation.history
    originals = [
        message
        for at in sorted(gone)
        for message in whole[
            place_of(view.messages, history, at) : place_of(view.messages, history, at + 2)
        ]
    ]
    uses = [one for message in originals for one in message.blocks if isinstance(one, ToolUse)]
    text = "\n\n".join(_parts(originals))
    spill = Spill(spill_name("left-out", text), text)
    listed = "; ".join(dict.fromkeys(called(use) for use in uses[-_LISTED:]))
    more = f"{len(uses) - _LISTED} before; " if len(uses) > _LISTED else ""
    path = spill_path(view.facts.spill_folder, spill.name)
    words = (
        f"{len(uses)} earlier calls with their results were left out here ({more}{listed}); "
        f"all of them: {path}"
    )
    there = next(
        at
        for at in range(cut - 1, -1, -1)
        if view.messages[at].role == "user" and at - 1 not in gone
    )
    base = changed.get(there, view.messages[there])
    marker = inject("reminder", words, turn=base.turn)
    return there, Message(base.role, (*base.blocks, marker), base.turn), spill


def _parts(messages: Sequence[Message]) -> Iterator[str]:
    """Calls and results, as text to read again."""
    for message in messages:
        for block in message.blocks:
            match block:
                case ToolUse():
                    yield f"## {block.name} {block.arguments}"
                case ToolResult():
                    yield block.text
                case _:
                    pass
