"""Runs a check command: permission, recorded changes, and the problems in its output.

A check runs as a command of the agent would run, so what it writes can be undone. Only a run that
can be explained counts: a program that died behind its first words has not looked at the rest.
"""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict
from collections.abc import Collection, Mapping
from contextlib import nullcontext
from pathlib import Path

import msgspec

from indwell.agent.core import events
from indwell.agent.core.events import Listener
from indwell.agent.core.session import Session
from indwell.agent.features.checks.gate import CheckCommand, CheckGate, Ran
from indwell.agent.features.checks.words import quoted
from indwell.agent.permission.call_facts import display
from indwell.agent.permission.command_changes import covered_check
from indwell.agent.permission.evaluate_policy import OWN_RULE, weighed
from indwell.agent.permission.git_changes import around
from indwell.agent.review.pending_hunks import tell_hunks
from indwell.context.attachments import Problem
from indwell.context.work import error_line
from indwell.errors import ToolError
from indwell.files import is_file
from indwell.policy.call_facts import Allow, Ask, Deny
from indwell.policy.widening import NOTHING_MORE, Widening
from indwell.sandbox import Finished, spawn
from indwell.sessions.told import Decided
from indwell.tools.commands.command_output import TAIL_B, CommandOutput
from indwell.tools.truncate import OUTPUT_LIMIT
from indwell.workspace.base import Workspace
from indwell.workspace.problems.output import read_output

CHECK = "check"  # what the log calls it
NOT_STARTED, NOT_FOUND = 126, 127  # exit codes of a shell
BY_SIGNAL = 128  # and above: of a shell whose child was ended by a signal
OF_ERRORS = frozenset({1, 2, 101})  # with which checkers and `make` end that have found errors
_WRONG_USE = 2  # with which these end that could not do their work
_TWO_IS_TROUBLE = frozenset({"ruff", "mypy", "eslint"})
_BROKE_OFF = re.compile(
    r"^\s*Traceback|\bpanicked at\b|\binternal (?:compiler )?error\b|^Segmentation fault"
    r"|\bcore dumped\b|^(?:Killed|Aborted)\b",
    re.IGNORECASE | re.MULTILINE,
)


async def run_check(  # noqa: PLR0917 - whose check it is, and who hears of it
    gate: CheckGate,
    session: Session,
    turn: int,
    command: CheckCommand,
    emit: Listener,
    timeout_s: float,
) -> Ran:
    """Run it, if it may run without a question.

    Raises:
        SessionError: That it runs cannot be written down.
    """
    permit = await check_permit(session, turn, command)
    if isinstance(permit, RefusedCheck):
        _tell_refused(gate, turn, command, permit, emit)
        why = "it would have to be asked for" if permit.is_askable else permit.why
        return Ran("refused", why=f"was not run: {why}")
    emit(events.Checking(turn, command.name))
    workspace = session.parts.workspace
    output = CommandOutput(lambda _text: None)
    covered = covered_check(session, turn, quoted(command.name), emit, check_id(turn))
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
    reading = await asyncio.to_thread(
        read_check, session, command, text, stale, gate.of(turn).files
    )
    if reading.has_errors:
        gate.readable.add(command.command)
    return judged(finished, reading, text, where, timeout_s)


def _ending(finished: Finished) -> str:
    if finished.timed_out:
        return "took too long, and was ended"
    return "used too much" if finished.overrun else f"exit code {finished.exit_code}"


def _tell_refused(
    gate: CheckGate, turn: int, command: CheckCommand, refused: RefusedCheck, emit: Listener
) -> None:
    """Say once what would have to be allowed."""
    told = gate.told
    if not refused.is_askable or command.command in told:
        return
    told.add(command.command)
    words = (
        f"changes are not checked, as {quoted(command.name)} would have to be asked for "
        f"({refused.why}) and nobody is asked in the middle of a turn; {refused.advice}"
    )
    emit(events.Notice(turn, "info", words))


class RefusedCheck(msgspec.Struct, frozen=True):
    """It does not run.

    Attributes:
        why: A clause.
        is_askable: A person could allow it, and nobody asks in the middle of a turn.
        advice: How to allow it then.
    """

    why: str
    is_askable: bool = False
    advice: str = ""


async def check_permit(
    session: Session, turn: int, command: CheckCommand
) -> Widening | RefusedCheck:
    """What the check may do beyond the sandbox: nothing, if it may run at all.

    The user's own ``check_command`` is as good as an answer. It is written down for the audit.
    """
    try:
        found = await weighed(session, command.command, command.folder)
    except ToolError as error:
        return RefusedCheck(str(error))
    policy, decision = found.policy, found.decision
    if policy.mode == "plan":
        return RefusedCheck("the mode is `plan`")
    is_run = isinstance(decision, Allow) or (
        isinstance(decision, Ask) and command.is_own and not decision.by.startswith(OWN_RULE)
    )
    session.parts.log.append(
        Decided(
            turn=turn,
            tool_use_id=check_id(turn),
            tool=CHECK,
            what=command.command,
            cwd=str(command.folder),
            decision="allow" if is_run else "deny",
            rule="check_command" if is_run and isinstance(decision, Ask) else decision.by,
            reason="" if isinstance(decision, Allow) else decision.reason,
            answer="",
            widening="",
            sandbox=policy.sandbox,
            at=session.timestamp(),
        )
    )
    match decision:
        case Allow(widening=widening):
            return Widening(reads_only=widening.reads_only, keeps_git=widening.keeps_git)
        case Ask():
            if is_run:
                return NOTHING_MORE
            return RefusedCheck(decision.reason, is_askable=True, advice=_advice(command, decision))
        case Deny():
            return RefusedCheck(decision.reason)


def _advice(command: CheckCommand, ask: Ask) -> str:
    """What would let it run without a question."""
    if ask.by.startswith(OWN_RULE):
        rule = ask.by.removeprefix(OWN_RULE).strip()
        return f"to allow it, take the rule {rule!r} that asks for it out of your `rules_ask`"
    places = "`rules_allow` or `check_command`" if ask.rule else "`check_command`"
    return f"to allow it, put {command.command!r} into {places} of your settings"


def note_ending(session: Session, turn: int, command: CheckCommand, words: str) -> None:
    """Write down how a check ended that was allowed."""
    session.parts.log.append(
        Decided(
            turn=turn,
            tool_use_id=check_id(turn),
            tool=CHECK,
            what=command.command,
            decision="allow",
            at=session.timestamp(),
            ending=words,
        )
    )


def check_id(turn: int) -> str:
    """One runs after the other, so the newest of that id is meant."""
    return f"check-{turn}"


class CheckReading(msgspec.Struct, frozen=True):
    """What a check printed.

    Attributes:
        problems: By path, absolute; of files of the workspace that the model may know of.
        has_any: It names a problem, wherever.
        has_errors: It names one in a file of the workspace that is an error.
        is_cut: It printed more than is read.
        has_strays: It names errors in files that are not where it says.
        is_broken_off: It says that its program broke.
        stale: Files of which it saw an older text.
        program: Its first word.
    """

    problems: Mapping[Path, tuple[Problem, ...]]
    has_any: bool
    has_errors: bool
    is_cut: bool
    has_strays: bool
    is_broken_off: bool
    stale: frozenset[Path]
    program: str


def read_check(
    session: Session,
    command: CheckCommand,
    text: str,
    stale: frozenset[Path],
    changed: Collection[Path],
) -> CheckReading:
    """Read an output, for a turn that has changed these files; blocks."""
    report = read_output(text, command.name)
    known = {*changed, *session.seen.paths()}
    found: dict[Path, tuple[Problem, ...]] = defaultdict(tuple)
    has_errors = has_strays = False
    for written, problems in report.problems.items():
        path, is_stray = _resolved(session.parts.workspace, command.folder, written, known)
        is_error = any(one.severity == "error" for one in problems)
        has_strays = has_strays or (is_stray and is_error)
        if path is None:
            continue
        has_errors = has_errors or is_error
        if path not in stale and not session.parts.hidden(display(session, str(path))):
            found[path] += problems
    return CheckReading(
        problems=dict(found),
        has_any=bool(report.problems),
        has_errors=has_errors,
        is_cut=report.is_cut,
        has_strays=has_strays,
        is_broken_off=_BROKE_OFF.search(text) is not None,
        stale=stale,
        program=(command.name.split() or [""])[0],
    )


def judged(
    finished: Finished, reading: CheckReading, text: str, where: str, timeout_s: float
) -> Ran:
    """What a run means."""
    code = finished.exit_code
    if finished.timed_out:
        shown = f"{timeout_s:.0f}" if timeout_s >= 1 else f"{timeout_s:.1g}"
        return Ran("broken", why=f"took longer than {shown} s", output=where)
    if code == NOT_FOUND:
        return Ran("broken", why="was not found", output=where)
    if code == NOT_STARTED:
        return Ran("broken", why="could not be started", output=where)
    if code and not reading.has_any and 0 < code < BY_SIGNAL and not finished.overrun:
        why = f"fails now (exit code {code})"
        return Ran("failed", why=why, line=error_line(text), output=where)
    why = _doubt(finished, reading)
    return Ran(
        "part" if why else "ran",
        problems=reading.problems,
        why=why,
        output=where,
        stale=reading.stale,
    )


def _doubt(finished: Finished, reading: CheckReading) -> str:
    """Why the run may not have come to the end of its work; empty if it has."""
    code = finished.exit_code
    if finished.overrun or code < 0 or code >= BY_SIGNAL:
        return f"was ended before it was done ({finished.overrun or f'exit code {code}'})"
    if code and reading.is_broken_off:
        return f"broke off (exit code {code})"
    if reading.is_cut:
        return "printed more than is read"
    if reading.has_strays:
        return "names files that are not there"
    is_explained = reading.has_errors and code in OF_ERRORS
    if code == _WRONG_USE and reading.program in _TWO_IS_TROUBLE:
        is_explained = False
    if code and not is_explained:
        return f"ended with exit code {code}, which the errors it names do not explain"
    return ""


def _resolved(
    workspace: Workspace, folder: Path, written: str, known: Collection[Path]
) -> tuple[Path | None, bool]:
    """The file that is meant, and whether it is a file of the folder that cannot be told.

    A check of one package of several may name files as that package does: then it is the only one
    of the known files that ends so, or none.
    """
    try:
        path = workspace.resolve(str(folder / written))
    except ToolError:  # of a library perhaps
        return None, False
    if is_file(path):
        return path, False
    parts = Path(written).parts
    ends_so = [one for one in known if one.parts[-len(parts) :] == parts]
    return (ends_so[0], False) if len(ends_so) == 1 else (None, True)
