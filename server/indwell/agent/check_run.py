"""Runs a check as a command of the agent would run, and reads what it prints."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from indwell.agent import events
from indwell.agent.asked import display
from indwell.agent.check_permit import Refused, check_permit, note_ending
from indwell.agent.events import Listener
from indwell.agent.gate.gate import Command, Ran
from indwell.agent.gate.words import quoted
from indwell.agent.session import Session
from indwell.context.ide import Problem
from indwell.context.work import error_line
from indwell.errors import ToolError
from indwell.sandbox import Finished, spawn
from indwell.tools.commands.command_output import TAIL_B, CommandOutput
from indwell.tools.truncate import OUTPUT_LIMIT
from indwell.workspace.base import Workspace
from indwell.workspace.problems.output import read_output

NOT_FOUND = 127  # exit code of a shell


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
        return Ran("refused", why=permit.why)
    emit(events.Checking(turn, command.name))
    await session.parts.log.commit()
    workspace = session.parts.workspace
    settled = await workspace.settle()
    output = CommandOutput(lambda _text: None)
    try:
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
    note_ending(session, turn, command, _ending(finished))
    for note in finished.notes:
        emit(events.Notice(turn, "warning", f"{quoted(command.name)}: {note}"))
    text, _ = await asyncio.to_thread(output.finish, finished, 0, session.parts.hide)
    where = ""
    if len(text) > OUTPUT_LIMIT:
        where = str(await session.parts.spill("check", text))
    stale = frozenset(settled.stale)
    ran = await asyncio.to_thread(_read, session, command, text, stale)
    return _judged(finished, ran, text, where, stale, timeout_s)


def _ending(finished: Finished) -> str:
    if finished.timed_out:
        return "took too long, and was ended"
    return "used too much" if finished.overrun else f"exit code {finished.exit_code}"


def _judged(  # noqa: PLR0917 - all that is known of a run
    finished: Finished,
    problems: Mapping[Path, tuple[Problem, ...]] | None,
    text: str,
    where: str,
    stale: frozenset[Path],
    timeout_s: float,
) -> Ran:
    """What a run means; ``problems`` is None if its output names none."""
    if finished.timed_out:
        return Ran("broken", why=f"took longer than {timeout_s:.0f} s", output=where)
    if finished.overrun or finished.exit_code < 0:
        return Ran("broken", why="was ended before it was done", output=where)
    if finished.exit_code and problems is None:
        if finished.exit_code == NOT_FOUND:
            return Ran("broken", why="was not found")
        line = error_line(text)
        why = f"fails now (exit code {finished.exit_code})" + (f": {line}" if line else "")
        return Ran("failed", why=why, output=where)
    return Ran("ran", problems=problems or {}, output=where, stale=stale)


def _read(
    session: Session, command: Command, text: str, stale: frozenset[Path]
) -> Mapping[Path, tuple[Problem, ...]] | None:
    """The problems in files of the workspace that the model may know of; blocks."""
    report = read_output(text, command.name)
    if not report.problems:
        return None
    found: dict[Path, tuple[Problem, ...]] = defaultdict(tuple)
    for written, problems in report.problems.items():
        path = _resolved(session.parts.workspace, command.folder, written)
        if path is None or path in stale:
            continue
        if not session.parts.hidden(display(session, str(path))):
            found[path] += problems
    return dict(found)


def _resolved(workspace: Workspace, folder: Path, written: str) -> Path | None:
    try:
        return workspace.resolve(str(folder / written))
    except ToolError:  # of a library perhaps
        return None


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
        f"({refused.why}); to allow it, put {command.command!r} into `rules_allow` or "
        "`check_command` of your settings"
    )
    emit(events.Notice(turn, "info", words))
