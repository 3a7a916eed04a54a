"""Runs a check command: permission, recorded changes, and the problems in its output.

A check runs like a command of the agent, so that its changes can be undone. A run counts only if
its exit status matches its output, because a program that crashed has not checked all files.
"""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict
from collections.abc import Collection, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import msgspec

from indwell.agent.core import events
from indwell.agent.core.events import Listener
from indwell.agent.core.feature import Moment
from indwell.agent.core.session import Session
from indwell.agent.features.checks.turn_checks import CheckCommand, CheckRun, SessionChecks, quoted
from indwell.agent.permission.call_facts import display
from indwell.agent.permission.decision import (
    FAULT,
    FAULT_OF_COMMAND,
    OWN_RULE,
    VERDICTS,
    Consent,
    EvaluatedPolicy,
    Permit,
    Permitted,
    RefusedPermission,
    command_facts,
    permission,
    still_allowed,
)
from indwell.agent.permission.recorded_changes import around, command_turn, covered_check
from indwell.context.attachments import Problem
from indwell.context.work_record import error_line
from indwell.errors import ToolError
from indwell.files.listing import is_file
from indwell.lazy_pattern import lazy_pattern
from indwell.policy.call_facts import Allow, Ask, Decision, Deny
from indwell.policy.rules import NOTHING_MORE, Widening
from indwell.sandbox import Finished, spawn
from indwell.sessions.records import Decided
from indwell.tools.base import ToolFacts
from indwell.tools.commands.command_output import TAIL_B, CommandOutput
from indwell.tools.truncate import OUTPUT_LIMIT
from indwell.workspace.base import Workspace
from indwell.workspace.problems.difference import read_output

CHECK = "check"  # the tool name of checks in the log
# the exit codes of a shell for a command that could not be started or found
NOT_STARTED, NOT_FOUND = 126, 127
BY_SIGNAL = 128  # An exit code of 128 or more says that a signal ended the program.
# the exit codes of checkers and of `make` after errors were found
OF_ERRORS = frozenset({1, 2, 101})
_WRONG_USE = 2  # the exit code of checkers that got wrong arguments
_TWO_IS_TROUBLE = frozenset({"ruff", "mypy", "eslint"})
_BROKE_OFF = lazy_pattern(
    r"^\s*Traceback|\bpanicked at\b|\binternal (?:compiler )?error\b|^Segmentation fault"
    r"|\bcore dumped\b|^(?:Killed|Aborted)\b",
    re.IGNORECASE | re.MULTILINE,
)


async def run_check(  # noqa: PLR0917 - whose check it is, and who hears of it
    checks: SessionChecks,
    session: Session,
    turn: int,
    command: CheckCommand,
    emit: Listener,
    timeout_s: float,
) -> CheckRun:
    """Run the check, if the policy allows it without a question.

    Raises:
        SessionError: The start of the check cannot be recorded.
    """
    permit = await check_permit(session, turn, command)
    if isinstance(permit, RefusedCheck):
        return _refused(checks, turn, command, permit, emit)
    emit(events.Checking(turn, command.name))
    workspace = session.parts.workspace
    output = CommandOutput(lambda _text: None)
    covered = covered_check(session, turn, quoted(command.name), emit, check_id(turn))
    try:
        async with command_turn(session, turn, permit, emit):
            await session.parts.log.commit()
            settled = await workspace.settle()
            now = _worded(command, await still_allowed(session, permit))
            if isinstance(now, RefusedCheck):
                note_ending(session, turn, command, "did not run")
                return _refused(checks, turn, command, now, emit)
            bounds = now.widening
            async with (
                around(session, reads_only=bounds.reads_only),
                nullcontext() if bounds.reads_only else covered,
            ):
                finished = await spawn(
                    command.command,
                    cwd=command.folder,
                    timeout_s=timeout_s,
                    limit_b=3 * TAIL_B,
                    on_chunk=output.feed,
                    confinement=now.rules.confine(bounds),
                    never_in=workspace.roots,
                    unasked=bounds.reads_only,
                )
    except ToolError as error:
        note_ending(session, turn, command, "did not run")
        return CheckRun("broken", why=f"did not run: {error}")
    except asyncio.CancelledError:
        note_ending(session, turn, command, "stopped with the turn")
        raise
    session.parts.features.files_changed(Moment(session, turn, emit))
    note_ending(session, turn, command, _ending(finished))
    for note in finished.notes:
        emit(events.Notice(turn, "warning", f"{quoted(command.name)}: {note}"))
    text, _ = await asyncio.to_thread(output.finish, finished, 0, session.parts.secrets.hide)
    where = ""
    if len(text) > OUTPUT_LIMIT:
        where = str(await session.parts.spill.keep("check", text))
    stale = frozenset(settled.stale)
    reading = await asyncio.to_thread(
        read_check, session, command, text, stale, checks.of(turn).files
    )
    if reading.has_errors:
        checks.readable.add(command.command)
    return judged(finished, reading, text, where, timeout_s)


def _ending(finished: Finished) -> str:
    if finished.timed_out:
        return "took too long, and was ended"
    return "used too much" if finished.overrun else f"exit code {finished.exit_code}"


def _refused(
    checks: SessionChecks, turn: int, command: CheckCommand, refused: RefusedCheck, emit: Listener
) -> CheckRun:
    """Return the result of a check that may not run; tell the user once how to allow the check."""
    if not refused.is_askable:
        return CheckRun("refused", why=f"was not run: {refused.why}")
    result = CheckRun("refused", why="was not run: it needs your permission")
    if command.command in checks.told:
        return result
    checks.told.add(command.command)
    words = (
        f"changes are not checked: {quoted(command.name)} needs your permission ({refused.why}), "
        f"and no question is asked during a turn; {refused.advice}"
    )
    emit(events.Notice(turn, "info", words))
    return result


class RefusedCheck(msgspec.Struct, frozen=True):
    """A check that may not run.

    Attributes:
        why: The reason, as a clause.
        is_askable: Whether a person could allow the check; the user is not asked during a turn.
        advice: How the user can allow the check.
    """

    why: str
    is_askable: bool = False
    advice: str = ""


async def check_permit(session: Session, turn: int, command: CheckCommand) -> Permit | RefusedCheck:
    """Return the permit of a check that needs no question; record it for the audit."""
    facts, arguments = command_facts(command.command, command.folder)
    request = CheckRequest(session, turn, command, facts, arguments)
    return _worded(command, await permission(session, request))


def _worded(command: CheckCommand, found: Permitted) -> Permit | RefusedCheck:
    """Return the permit, or the refusal in words for people."""
    if isinstance(found, Permit):
        return found
    decision, of_policy = found.evaluated.decision, found.evaluated.by_policy
    if isinstance(of_policy, Ask) and decision != _PLANNED:
        return RefusedCheck(found.why, is_askable=True, advice=_advice(command, of_policy))
    return RefusedCheck(FAULT_OF_COMMAND if decision.by == FAULT else found.why)


_PLANNED = Deny("the mode is `plan`", by="plan")


@dataclass(frozen=True, slots=True)
class CheckRequest:
    """A request to run a check; see ``Requester``. The user is not asked."""

    session: Session
    turn: int
    command: CheckCommand
    facts: ToolFacts
    arguments: str

    def settled(self, evaluated: EvaluatedPolicy) -> Decision:
        """Return the decision; the user's own ``check_command`` needs only the sandbox."""
        decision = evaluated.by_policy
        if evaluated.rules.mode == "plan":
            return _PLANNED
        match decision:
            case Allow(by=by, widening=given):
                kept = Widening(reads_only=given.reads_only, keeps_git=given.keeps_git)
                return Allow(by=by, widening=kept)
            case Ask(by=by) if self.command.is_own and not by.startswith(OWN_RULE):
                return Allow(by="check_command", widening=NOTHING_MORE)
            case Ask(reason=reason, by=by):
                return Deny(reason, by=by)
            case Deny():
                return decision

    def record(self, evaluated: EvaluatedPolicy, answer: str = "") -> None:
        """Record a decision for ``indwell audit``; in mode ``plan`` no decision is recorded."""
        decision, of_policy = evaluated.decision, evaluated.by_policy
        if decision == _PLANNED:
            return
        self.session.parts.log.append(
            Decided(
                turn=self.turn,
                tool_use_id=check_id(self.turn),
                tool=CHECK,
                what=self.command.command,
                cwd=str(self.command.folder),
                decision=VERDICTS[type(decision)],
                rule=decision.by,
                reason="" if isinstance(of_policy, Allow) else of_policy.reason,
                answer=answer,
                widening="",
                sandbox=evaluated.rules.policy.sandbox,
                at=self.session.timestamp(),
            )
        )

    async def ask(self, evaluated: EvaluatedPolicy, ask: Ask) -> Consent | RefusedPermission:
        """Refuse, because the user is not asked during a turn."""
        return RefusedPermission(ask.reason, "denied", evaluated)

    async def shows_the_same(self, evaluated: EvaluatedPolicy) -> bool:
        """Return True, because there is no question that could change."""
        del evaluated
        return True

    async def keep(self, ask: Ask) -> None:
        """Store nothing, because there is no answer."""


def _advice(command: CheckCommand, ask: Ask) -> str:
    """Return advice on how to let the check run without a question."""
    if ask.by.startswith(OWN_RULE):
        rule = ask.by.removeprefix(OWN_RULE).strip()
        return f"to allow it, remove the rule {rule!r} from `rules_ask` in your settings"
    places = "`rules_allow` or `check_command`" if ask.rule else "`check_command`"
    return f"to allow it, put {command.command!r} into {places} of your settings"


def note_ending(session: Session, turn: int, command: CheckCommand, words: str) -> None:
    """Record how a permitted check ended."""
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
    """Return the shared id of a turn's checks, which run one after the other."""
    return f"check-{turn}"


class CheckReading(msgspec.Struct, frozen=True):
    """The content of a check's output.

    Attributes:
        problems: Problems of workspace files that the model may know, by absolute path.
        has_any: Whether the output names a problem in any file.
        has_errors: Whether the output names an error in a file of the workspace.
        is_cut: Whether the output is too long to be parsed completely.
        has_strays: Whether the output reports errors in files that do not exist.
        is_broken_off: Whether the output reports that the check's program crashed.
        stale: Files with unsaved text in the editor; the check has read the older text on disk.
        program: The first word of the check's command.
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
    """Parse the output of a check; ``stale`` are files with unsaved text. Blocks."""
    report = read_output(text, command.name)
    known, hidden = {*changed, *session.seen.paths()}, session.parts.rules().hidden
    found: dict[Path, tuple[Problem, ...]] = defaultdict(tuple)
    has_errors = has_strays = False
    for written, problems in report.problems.items():
        path, is_stray = _resolved(session.parts.workspace, command.folder, written, known)
        is_error = any(one.severity == "error" for one in problems)
        has_strays = has_strays or (is_stray and is_error)
        if path is None:
            continue
        has_errors = has_errors or is_error
        if path not in stale and not hidden(display(session, str(path))):
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
) -> CheckRun:
    """Return the result of a check, from the exit status and output."""
    code = finished.exit_code
    if finished.timed_out:
        shown = f"{timeout_s:.0f}" if timeout_s >= 1 else f"{timeout_s:.1g}"
        return CheckRun("broken", why=f"took longer than {shown} s", output=where)
    if code == NOT_FOUND:
        return CheckRun("broken", why="was not found", output=where)
    if code == NOT_STARTED:
        return CheckRun("broken", why="could not be started", output=where)
    if code and not reading.has_any and 0 < code < BY_SIGNAL and not finished.overrun:
        why = f"fails now (exit code {code})"
        return CheckRun("failed", why=why, line=error_line(text), output=where)
    why = _doubt(finished, reading)
    return CheckRun(
        "part" if why else "ran",
        problems=reading.problems,
        why=why,
        output=where,
        stale=reading.stale,
    )


def _doubt(finished: Finished, reading: CheckReading) -> str:
    """Return why a check may not have finished its work, or empty if the check has finished."""
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
    """Return the file that a check's output names, and whether the name is ambiguous.

    A check may name files relative to a package below its folder. The name is then looked up among
    the ends of known paths; the name is ambiguous if several paths end with it.
    """
    try:
        path = workspace.resolve(str(folder / written))
    except ToolError:  # the file may belong to a library
        return None, False
    if is_file(path):
        return path, False
    parts = Path(written).parts
    ends_so = [one for one in known if one.parts[-len(parts) :] == parts]
    return (ends_so[0], False) if len(ends_so) == 1 else (None, True)
