"""Makes background commands a feature: reminders, recorded changes, the tool ``commands``."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Annotated

import msgspec
from msgspec import Meta

from indwell.agent.core.events import Notice
from indwell.agent.core.feature import DurableState, Feature, Moment, Reminder
from indwell.agent.core.session import Session
from indwell.agent.features.background.board import (
    BackgroundBoard,
    RunningCommand,
    ended_words,
    list_words,
    lost_words,
    untold_words,
)
from indwell.agent.permission.recorded_changes import cover_beside, uncover_beside
from indwell.context.injections import inject
from indwell.errors import ToolError
from indwell.sandbox.gate import (
    blocked_message,
    check_running_commands,
    remaining_plants,
    take_untold,
)
from indwell.sessions.branches import commands_of
from indwell.sessions.records import CommandSet
from indwell.tools.base import Outcome, Tool, ToolContext, ToolFacts
from indwell.tools.commands.command_output import notes_after

BETWEEN = (
    "{names} in the background. Changes on disk until the next turn are not listed for review, "
    "and a rewind does not undo them, because Indwell cannot distinguish your changes from the "
    "command's"
)

NAME = "commands"
MOST_WAIT_S = 300


def background_feature(board: BackgroundBoard) -> Feature[Session]:
    """Return the feature of one session's background commands; sub-agents lack the feature."""

    def steered(words: str, *, numbered: bool) -> bool:
        del words, numbered
        board.wake()
        return False

    return Feature(
        name="background",
        tools=(make_commands(board),),
        door=board,
        around=lambda moment: _around(board, moment),
        remind=lambda moment: _remind(board, moment),
        steered=steered,
        state=DurableState(
            read=lambda _, records: commands_of(records),
            now=lambda: (0, ()),
            restore=lambda state: board.take_over(*state),
            inherit=lambda _: None,  # commands of another session are not inherited
        ),
        for_child=lambda: None,
        close=board.close,
    )


@asynccontextmanager
async def _around(board: BackgroundBoard, moment: Moment[Session]) -> AsyncIterator[None]:
    """Prepare the board for the rounds of a turn; clean up after the rounds."""
    session, turn, emit = moment.session, moment.turn, moment.emit
    parts = session.parts

    async def cover(call_id: str) -> None:
        if parts.changes.coverage is not None:
            await cover_beside(session, turn, emit, call_id)

    def note(name: str, text: str, runs: bool) -> None:  # noqa: FBT001 - as the board calls it
        parts.log.append(CommandSet(session.turns, name, text, runs, session.timestamp()))

    board.turn, board.hear, board.note = turn, emit, note
    board.cover, board.uncover = cover, partial(_look_at_all, session)
    try:
        for one in board.running:
            if one.is_covered:
                await cover(one.call_id)
        for words in take_untold(parts.workspace.roots):
            emit(Notice(turn, "warning", words))
        yield
        # A stopped turn skips the check, because a stop must not take long.
        await check_running_commands()
        if standing := await remaining_plants(parts.workspace.roots):
            emit(Notice(turn, "warning", blocked_message(standing)))
    finally:
        board.hear = None
        await uncover_beside(session, runs_on=any(one.is_covered for one in board.running))
        session.parts.features.files_changed(Moment(session, turn, emit))
        names = [one.id for one in board.running if one.is_covered]
        if names and parts.changes.coverage is not None and not board.is_told:
            board.is_told = True
            emit(Notice(turn, "info", BETWEEN.format(names=_run_on(names))))


async def _remind(board: BackgroundBoard, moment: Moment[Session]) -> Reminder:
    """Return a reminder that names each command that has ended since the last request."""
    lost = board.lost
    untold = [one for one in board.running if not one.is_told]
    ended = [one for one in board.commands if not one.runs and not one.is_known]
    said = [lost_words(lost)] if lost else []
    if untold:
        said.append(untold_words([one.id for one in untold]))
    if ended:
        said.append(ended_words([(one.id, one.state_words(board.now)) for one in ended]))

    def told() -> None:
        board.settle_down()
        for name in lost:
            board.note(name, "", False)  # noqa: FBT003 - it does not run
        board.lost = ()
        for one in untold:
            one.is_told = True
        for one in ended:
            one.is_known = True
            board.note(one.id, one.text, False)  # noqa: FBT003 - as above

    return Reminder(tuple(inject("reminder", words, turn=moment.turn) for words in said), told)


def _run_on(names: list[str]) -> str:
    return f"{', '.join(names)} {'runs' if len(names) == 1 else 'run'} on"


async def _look_at_all(session: Session) -> None:
    """Record file changes once no background command that can change files is running."""
    await uncover_beside(session)
    if session.parts.changes.git is not None:
        await session.parts.changes.git.settle()


class BackgroundArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of the tool ``commands``."""

    id: str = ""
    stop: bool = False
    wait_s: Annotated[int, Meta(ge=0, le=MOST_WAIT_S, description="wait for its end")] = 0


def make_commands(board: BackgroundBoard) -> Tool[BackgroundArguments]:
    """Return the tool ``commands`` for the session of ``board``."""

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
        description="List background commands; `id` shows one's new output.",
        arguments=BackgroundArguments,
        effect="read",
        facts=lambda given: ToolFacts(tool=NAME, effect="read", subject=_subject(given)),
        run=run,
        polls=True,
    )


def _subject(given: BackgroundArguments) -> str:
    name = given.id[:20]
    return f"stop {name}" if given.stop else name


async def _looked_at(board: BackgroundBoard, one: RunningCommand, context: ToolContext) -> Outcome:
    await check_running_commands()
    # Read the state before the output; otherwise output between the two reads would be missed.
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
