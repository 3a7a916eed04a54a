"""The tool by which the model loads a skill (H53); it acts on the session, so it lives here."""

from __future__ import annotations

import msgspec

from indwell.agent.skills.shelf import Shelf
from indwell.context.injections import Frame
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
