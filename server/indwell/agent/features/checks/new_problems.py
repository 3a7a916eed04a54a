"""Looks for new problems at the end of a turn, and describes problems in words."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from indwell.agent.core.events import Listener
from indwell.agent.core.session import Session
from indwell.agent.features.checks.run_check import run_check
from indwell.agent.features.checks.turn_checks import (
    NOT_VERIFIED,
    CheckCommand,
    CheckRun,
    KnownProblems,
    Located,
    SessionChecks,
    TurnChecks,
    quoted,
)
from indwell.agent.permission.call_facts import display
from indwell.agent.permission.recorded_changes import changed_marks
from indwell.context import conversation as talk
from indwell.context.attachments import Problem
from indwell.context.injections import inject
from indwell.files.listing import changed_since
from indwell.lazy_pattern import lazy_pattern
from indwell.workspace.paths import visible
from indwell.workspace.problems.difference import ProblemDifference

MOST_LINES = 10  # the limit of problems in one message
MOST_REASONS = 3  # the limit of reasons, in one message, why checkers' reports were not used
_SHORT = 300  # the limit of characters for one reason
_PLAIN = lazy_pattern(r"[\w./@+=~:\\-]{1,300}")

ASKED = (
    "The errors listed next are new since your changes in this turn; the list is a checker's data. "
    "Repair them, or say in a sentence why they stay. You are asked this once."
)


def told_words(found: Mapping[Path, ProblemDifference], shown: Callable[[Path], str]) -> str:
    """Describe the problems that edits caused or fixed, for the end of a tool's result.

    The text is empty if the edits caused or fixed no problem.
    """
    new = [Located(path, one) for path, diff in found.items() for one in diff.new]
    n_gone = sum(len(diff.gone) for diff in found.values())
    gone = f"{n_gone} gone" if n_gone else ""
    if not new:
        return f"Problems: {gone}" if gone else ""
    counts = _counts(new)
    if len(new) == 1:
        return f"Problems: {'; '.join(filter(None, (f'{counts}: {_line(new[0], shown)}', gone)))}"
    head = f"Problems: {'; '.join(filter(None, (counts, gone)))}"
    return "\n".join((head, *listed(new, shown)))


def listed(new: Sequence[Located], shown: Callable[[Path], str], output: str = "") -> list[str]:
    """Return one line per problem, errors first, up to a limit, with the path of the output."""
    ranked = sorted(new, key=lambda one: one.problem.severity != "error")
    severities = {one.problem.severity for one in ranked}
    lines = [
        "- " + (f"{one.problem.severity}: " if len(severities) > 1 else "") + _line(one, shown)
        for one in ranked[: MOST_LINES - 1 if len(ranked) > MOST_LINES else MOST_LINES]
    ]
    if len(ranked) > MOST_LINES:
        where = f"; all that was printed is in {output!r}" if output else ""
        lines.append(f"- and {len(ranked) - len(lines)} more{where}")
    return lines


def stay_words(n_errors: int) -> str:
    """Return a sentence about the errors that a turn leaves."""
    return f"{new_errors(n_errors)} {'stays' if n_errors == 1 else 'stay'}"


def new_errors(n_errors: int) -> str:
    """Return the number of new errors as a phrase."""
    return "1 new error" if n_errors == 1 else f"{n_errors:,} new errors"


class VerifiedState(msgspec.Struct, frozen=True):
    """How the changes of a turn without new errors are verified.

    Attributes:
        verified: The editor's checkers that reported on the present text of every changed file.
        checked: Checks whose output was understood and names no new error.
        passed: Checks that passed, but whose output was not understood.
        proven: Commands of the agent that check the project and passed after the last edit.
        n_left: Number of changed files that no check covers.
        n_others: Number of files with errors that someone other than the agent changed during the
            turn.
        is_sure: Whether all problems that existed before the turn are known.
        why: Clauses that say why some checkers' reports were not used.
    """

    verified: tuple[str, ...] = ()
    checked: tuple[str, ...] = ()
    passed: tuple[str, ...] = ()
    proven: tuple[str, ...] = ()
    n_left: int = 0
    n_others: int = 0
    is_sure: bool = True
    why: tuple[str, ...] = ()


def standing_words(standing: VerifiedState) -> str:
    """Describe a turn that leaves no new error.

    Only a report of the editor's checkers verifies a file, because a check's settings may skip
    files.
    """
    parts = []
    if standing.verified:
        parts.append(f"verified by {both(standing.verified)}")
    if standing.checked:
        parts.append(f"checked with {both(standing.checked)} (no new errors)")
    if standing.passed:
        parts.append(f"{both(standing.passed)} passed")
    if standing.proven:
        parts.append(f"{both(standing.proven)} passed after the last edit")
    why = standing.why[:MOST_REASONS]
    if not parts:
        return f"{NOT_VERIFIED}: {'; '.join(why)}" if why else NOT_VERIFIED
    if not standing.is_sure:
        parts.append("only changed lines could be compared")
    if standing.n_left:
        parts.append(f"{_files(standing.n_left)} {NOT_VERIFIED}")
    if standing.n_others:
        parts.append(f"errors in {_files(standing.n_others)} changed meanwhile are not counted")
    return "; ".join((*parts, *why))


def both(names: Sequence[str]) -> str:
    """Join names to a subject such as "a, b and c"."""
    return " and ".join(names)


def _files(number: int) -> str:
    return "1 file" if number == 1 else f"{number} files"


def _counts(new: Sequence[Located]) -> str:
    words = []
    for severity in ("error", "warning"):
        number = sum(one.problem.severity == severity for one in new)
        if number:
            words.append(f"{number} new {severity}{'s' if number > 1 else ''}")
    return ", ".join(words)


def _line(one: Located, shown: Callable[[Path], str]) -> str:
    message = _said(one.problem)
    if one.path is None:
        return message
    name = shown(one.path)
    place = name if _PLAIN.fullmatch(name) else json.dumps(name)
    return f"{place}:{one.problem.line}: {message}"


def _said(problem: Problem) -> str:
    origin = " ".join(f"{problem.source} {problem.code}".split())[:80]
    message = " ".join(problem.message.split())
    if len(message) > _SHORT:
        message = message[:_SHORT] + " …"
    return message + (f" [{origin}]" if origin else "")


END_SETTLE_S = 2.0  # the time in seconds to wait for checkers at the end of a turn


async def look_back(
    checks: SessionChecks, session: Session, state: TurnChecks, emit: Listener
) -> None:
    """Find the problems that are new since the turn began, from all sources."""
    paths = tuple(state.files)
    known = await _known(checks, session, state, paths)
    silence = tuple(dict.fromkeys(why for of in known.late.values() for why in of))
    checks.is_vague = bool(silence)
    found = await asyncio.to_thread(state.new_by, known)
    seen = {path for path in paths if known.is_seen(path)}
    verified = dict.fromkeys(source for path in seen for source in known.reports[path])
    is_sure = all(state.is_compared(path, known) for path in seen)
    left = tuple(path for path in paths if path not in seen)
    runs = await _check(checks, session, state, left, emit) if left else {}
    others: set[Path] = set()
    checked: list[str] = []
    passed: list[str] = []
    why: list[str] = []
    for command, ran in runs.items():
        by, before = quoted(command.name), state.runs.get(command.command)
        was_read = before is not None and before.state == "ran"
        if ran.why:
            why.append(f"{by} {ran.why}")
        if ran.state not in {"ran", "part"} and not (ran.state == "failed" and was_read):
            continue
        new = await asyncio.to_thread(state.new_by_run, command, ran, known)
        theirs = await _of_others(session, state, new)
        others |= theirs
        found[by] = tuple(one for one in new if one.path not in theirs)
        if ran.state == "ran":
            is_read = not command.is_own or command.command in checks.readable
            (checked if is_read else passed).append(by)
            seen |= {path for path in left if command.is_about(path) and path not in ran.stale}
            is_sure = is_sure and (was_read or not ran.problems)
    proven = state.proven(await asyncio.to_thread(changed_marks, session, state.turn))
    seen = seen.union(*proven.values())
    names = (await session.hidden(quoted(check.name)) for check in proven)
    left = tuple(path for path in paths if path not in seen)
    state.found, state.n_seen = found, state.n_edits
    n_errors = sum(len(errors_of(new)) for new in found.values())
    standing = VerifiedState(
        verified=tuple(verified),
        checked=tuple(checked),
        passed=tuple(passed),
        proven=tuple(dict.fromkeys([name async for name in names])),
        n_left=len(left),
        n_others=len(others),
        is_sure=is_sure,
        why=tuple(why) if checked or passed else (*why, *silence, *_unseen(session, left, known)),
    )
    state.verdict = stay_words(n_errors) if n_errors else standing_words(standing)
    _remember(checks, session, state, found, known, runs)


def _unseen(session: Session, left: Sequence[Path], known: KnownProblems) -> tuple[str, ...]:
    """Return clauses about changed files that no checker has examined in their present text."""
    looked = tuple(dict.fromkeys(by for path in left for by in known.reports.get(path, ())))
    silent = [path for path in left if known.silent.get(path)]
    names = tuple(dict.fromkeys(by for path in silent for by in known.silent[path]))
    clauses = []
    if looked:
        clauses.append(f"{both(looked)} found no new errors")
    if names:
        has = "has" if len(names) == 1 else "have"
        one = visible(display(session, str(silent[0])))
        files = one if len(silent) == 1 else f"{len(silent)} files"
        clauses.append(f"{both(names)} {has} not looked at {files}")
    return tuple(clauses)


async def _known(
    checks: SessionChecks, session: Session, state: TurnChecks, paths: Sequence[Path]
) -> KnownProblems:
    """Return the editor's reports about the present texts of the files."""
    known = await checks.source.problems(paths, settle_s=END_SETTLE_S)
    return KnownProblems() if known is None else shown_of(session, state, known)


async def _of_others(
    session: Session, state: TurnChecks, new: Sequence[Located]
) -> frozenset[Path]:
    """Return files that someone other than the agent has changed since the turn began.

    The agent is not responsible for problems in these files. A file that a command of the turn has
    changed counts as the agent's.
    """
    paths = {one.path for one in new if one.path is not None and one.path not in state.files}
    review = session.parts.changes.ledger

    def changed() -> list[Path]:
        return [path for path in paths if changed_since(path, state.since_ns)]

    def is_the_turns(path: Path) -> bool:
        if review is None or path not in review.known():
            return False
        return review.before(path, session.id, state.turn) != review.text(path)

    return frozenset(path for path in await asyncio.to_thread(changed) if not is_the_turns(path))


async def _check(
    checks: SessionChecks,
    session: Session,
    state: TurnChecks,
    paths: Sequence[Path],
    emit: Listener,
) -> Mapping[CheckCommand, CheckRun]:
    """Run the checks that cover these files, and store the results."""
    commands = await asyncio.to_thread(checks.finder.commands, paths)
    runs: dict[CheckCommand, CheckRun] = {}
    loop = asyncio.get_running_loop()
    until = loop.time() + checks.settings().check_timeout_s
    for command in commands:
        left_s = until - loop.time()
        if left_s <= 0:
            runs[command] = CheckRun("broken", why="was not run: no time was left for it")
            continue
        runs[command] = await run_check(checks, session, state.turn, command, emit, left_s)
    marks = await marks_of(checks, commands)
    for command, ran in runs.items():
        checks.kept.pop(command.command, None)
        if ran.state in {"ran", "failed"}:
            checks.kept[command.command] = (marks[command.folder], ran)
        elif ran.output:
            checks.kept[command.command] = ("", ran)
    return runs


async def marks_of(checks: SessionChecks, commands: Sequence[CheckCommand]) -> Mapping[Path, str]:
    """Return, for each folder in which a check runs, a value that changes with its contents."""
    folders = dict.fromkeys(command.folder for command in commands)
    return {folder: await asyncio.to_thread(checks.finder.mark, folder) for folder in folders}


def _remember(  # noqa: PLR0917 - what each knew, side by side
    checks: SessionChecks,
    session: Session,
    state: TurnChecks,
    found: Mapping[str, tuple[Located, ...]],
    known: KnownProblems,
    runs: Mapping[CheckCommand, CheckRun],
) -> None:
    """Remember which checks fail because of this session's turns, for the task card."""
    now = {
        quoted(command.name): ran.problems for command, ran in runs.items() if ran.state == "ran"
    }
    now |= {source: known.problems(source) for source in known.sources}
    for by, errors in list(checks.failing.items()):
        if by in now and not any(_stands(one, now[by]) for one in errors):
            del checks.failing[by]
            words = "The errors that were told as new before are gone."
            block = inject(
                "diagnostics",
                words,
                turn=state.turn,
                attributes={"check": by, "state": "passing"},
            )
            session.conversation = talk.queue(session.conversation, (block,))
    for by, new in found.items():
        if errors := errors_of(new):
            checks.failing[by] = errors


def _stands(one: Located, problems: Mapping[Path, Sequence[object]]) -> bool:
    if one.path is None:
        return False  # The check failed as a whole before, and now names problems in files.
    messages = {getattr(problem, "message", "") for problem in problems.get(one.path, ())}
    return one.problem.message in messages


def errors_of(found: Sequence[Located]) -> tuple[Located, ...]:
    """Return the problems that are errors; only errors keep a turn from ending."""
    return tuple(one for one in found if one.problem.severity == "error")


def shown_of(session: Session, state: TurnChecks, known: KnownProblems) -> KnownProblems:
    """Return the turn's changed files, without those that a deny rule hides from the model."""
    hides = session.parts.rules().hidden

    def is_shown(path: Path) -> bool:
        return path in state.files and not hides(display(session, str(path)))

    return KnownProblems(
        {path: of for path, of in known.reports.items() if is_shown(path)},
        {path: why for path, why in known.late.items() if is_shown(path)},
        silent={path: names for path, names in known.silent.items() if is_shown(path)},
    )
