"""The tool by which the model loads a skill (H53); it acts on the session, so it lives here."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from indwell.agent.skills.shelf import Shelf
from indwell.context.injections import Frame, framed
from indwell.messages import Message, Text, ToolResult
from indwell.tools.base import Facts, Outcome, Tool, ToolContext

NAME = "load_skill"


class Arguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the model says."""

    name: str


def make_load_skill(shelf: Shelf) -> Tool[Arguments]:
    """The tool of the session that ``shelf`` belongs to."""

    async def run(arguments: Arguments, context: ToolContext) -> Outcome:
        skill, text = await shelf.load(arguments.name, context.most_chars)
        frame = Frame("skill", {"name": skill.name, "from": skill.origin})
        return Outcome(text, figure=f"{len(text.splitlines())} lines", frame=frame)

    return Tool(
        name=NAME,
        description="Load a skill: instructions for one kind of task.",
        arguments=Arguments,
        effect="read",
        facts=lambda given: Facts(tool=NAME, effect="read", subject=given.name),
        run=run,
    )


def not_again(
    outcome: Outcome, messages: Iterable[Message], results: Iterable[ToolResult]
) -> Outcome:
    """A pointer in place of a skill whose text the model has, as it is, in front of it.

    What compaction took away or cut is another text by now, and so is a skill that was changed.

    Args:
        outcome: Of any tool.
        messages: The conversation.
        results: Those of the same reply, which stand in no message yet.
    """
    frame = outcome.frame
    if frame is None or frame.kind != "skill":
        return outcome
    text, name = framed(frame, outcome.text), frame.attributes["name"]
    blocks = (*(block for one in messages for block in one.blocks), *results)
    if not any(isinstance(one, Text | ToolResult) and one.text == text for one in blocks):
        return outcome
    pointer = f"The skill {name!r} is loaded: its text stands above, unchanged; follow it."
    return Outcome(pointer, figure=outcome.figure)
