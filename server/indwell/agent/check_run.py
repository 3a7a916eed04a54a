"""Runs a check as a command of the agent would run, and so that what it writes can be undone."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext

from indwell.agent import events
from indwell.agent.check_permit import Refused, check_permit, note_ending
from indwell.agent.check_reading import judged, read_check
from indwell.agent.covering import covered_check
from indwell.agent.events import Listener
from indwell.agent.gate.gate import Command, Ran
from indwell.agent.gate.words import quoted
from indwell.agent.hunks import tell_hunks
from indwell.agent.session import Session
from indwell.agent.staged import around
from indwell.errors import ToolError
from indwell.sandbox import Finished, spawn
from indwell.tools.commands.command_output import TAIL_B, CommandOutput
from indwell.tools.truncate import OUTPUT_LIMIT


async def run_check(
    session: Session, turn: int, command: Command, emit: Listener, timeout_s: float
) -> Ran:
    """Run it, if it may run without a question.

    Raises:
        SessionError: That it runs cannot be written down.
    """
    permit = await check_permit(session, turn, command)
    if isinstance(permit, Refused):
        _tell_refused(session, turn, command, permit, emit)
        why = "it would have to be asked for" if permit.is_askable else permit.why
        return Ran("refused", why=f"was not run: {why}")
    emit(events.Checking(turn, command.name))
    workspace = session.parts.workspace
    output = CommandOutput(lambda _text: None)
    covered = covered_check(session, turn, quoted(command.name), emit)
    try:
        await session.parts.log.commit()
        settled = await workspace.settle()
        async with (
            around(session, reads_only=permit.reads_only),
            nullcontext() if permit.reads_only else covered,
        ):
            finished = await spawn(
                command.command,
                cwd=command.folder,
                timeout_s=timeout_s,
                limit_b=3 * TAIL_B,
                on_chunk=output.feed,
                confinement=session.parts.confine(permit),
                never_in=workspace.roots,
                unasked=permit.reads_only,
            )
    except ToolError as error:
        note_ending(session, turn, command, "did not run")
        return Ran("broken", why=f"did not run: {error}")
    except asyncio.CancelledError:
        note_ending(session, turn, command, "stopped with the turn")
        raise
    tell_hunks(session, emit)
    note_ending(session, turn, command, _ending(finished))
    for note in finished.notes:
        emit(events.Notice(turn, "warning", f"{quoted(command.name)}: {note}"))
    text, _ = await asyncio.to_thread(output.finish, finished, 0, session.parts.hide)
    where = ""
    if len(text) > OUTPUT_LIMIT:
        where = str(await session.parts.spill("check", text))
    stale = frozenset(settled.stale)
    reading = await asyncio.to_thread(read_check, session, turn, command, text, stale)
    if reading.has_errors:
        session.parts.gate.readable.add(command.command)
    return judged(finished, reading, text, where, timeout_s)


def _ending(finished: Finished) -> str:
    if finished.timed_out:
        return "took too long, and was ended"
    return "used too much" if finished.overrun else f"exit code {finished.exit_code}"


def _tell_refused(
    session: Session, turn: int, command: Command, refused: Refused, emit: Listener
) -> None:
    """Say once what would have to be allowed."""
    told = session.parts.gate.told
    if not refused.is_askable or command.command in told:
        return
    told.add(command.command)
    words = (
        f"changes are not checked, as {quoted(command.name)} would have to be asked for "
        f"({refused.why}) and nobody is asked in the middle of a turn; {refused.advice}"
    )
    emit(events.Notice(turn, "info", words))
