"""The tool by which the model reads and stops its background commands."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from indwell.agent.features.background.board import Board
from indwell.agent.features.background.command import RunningCommand
from indwell.agent.features.background.words import list_words
from indwell.errors import ToolError
from indwell.sandbox.gate import look_again
from indwell.tools.base import Outcome, Tool, ToolContext, ToolFacts
from indwell.tools.commands.under_buffers import notes_after

NAME = "commands"
MOST_WAIT_S = 300


class BackgroundArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the model says."""

    id: str = ""
    stop: bool = False
    wait_s: Annotated[int, Meta(ge=0, le=MOST_WAIT_S, description="for its end")] = 0


def make_commands(board: Board) -> Tool[BackgroundArguments]:
    """The tool of the session that ``board`` belongs to."""

    async def run(arguments: BackgroundArguments, context: ToolContext) -> Outcome:
        if not arguments.id:
            if arguments.stop:
                raise ToolError("`stop` needs the `id` of a background command")
            await board.wait(board.running, arguments.wait_s)
            rows = [(one.id, one.state_words(board.now), one.text) for one in board.commands]
            return Outcome(list_words(rows), figure=f"{len(board.running)} run")
        one = board.get(arguments.id)
        if arguments.stop:
            await board.stop(one, "model")
        await board.wait((one,), arguments.wait_s)
        return await _looked_at(board, one, context)

    return Tool(
        name=NAME,
        description="List background commands; with `id`, show what one wrote since the last look.",
        arguments=BackgroundArguments,
        effect="read",
        facts=lambda given: ToolFacts(tool=NAME, effect="read", subject=_subject(given)),
        run=run,
    )


def _subject(given: BackgroundArguments) -> str:
    name = given.id[:20]
    return f"stop {name}" if given.stop else name


async def _looked_at(board: Board, one: RunningCommand, context: ToolContext) -> Outcome:
    await look_again()
    # As it was before the output is looked at, or some of it is missed.
    has_ended, state = not one.runs, one.state_words(board.now)
    text = await one.output.take_news(one.where)
    lines = [f"{one.id} {state}", text.rstrip("\n") or "(no new output)"]
    if has_ended:
        lines += one.ending()
    lines += one.take_notes()
    if has_ended and not one.is_known:
        one.is_known = True
        board.note(one.id, one.text, False)  # noqa: FBT003 - it does not run
    lines += await notes_after(context.workspace)
    return Outcome("\n".join(lines), figure=state[:60])
