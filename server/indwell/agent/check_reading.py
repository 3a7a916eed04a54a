"""Reads what a check printed, and judges what its end means.

Only what can be explained counts as a check that ran: a program that died behind its first words
has not looked at the rest.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Mapping
from pathlib import Path

import msgspec

from indwell.agent.asked import display
from indwell.agent.gate.gate import Command, Ran
from indwell.agent.session import Session
from indwell.context.attachments import Problem
from indwell.context.work import error_line
from indwell.errors import ToolError
from indwell.files import is_file
from indwell.sandbox import Finished
from indwell.workspace.base import Workspace
from indwell.workspace.problems.output import read_output

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


class Reading(msgspec.Struct, frozen=True):
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
    session: Session, turn: int, command: Command, text: str, stale: frozenset[Path]
) -> Reading:
    """Read an output; blocks."""
    report = read_output(text, command.name)
    known = {*session.parts.gate.of(turn).files, *session.seen.paths()}
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
    return Reading(
        problems=dict(found),
        has_any=bool(report.problems),
        has_errors=has_errors,
        is_cut=report.is_cut,
        has_strays=has_strays,
        is_broken_off=_BROKE_OFF.search(text) is not None,
        stale=stale,
        program=(command.name.split() or [""])[0],
    )


def judged(finished: Finished, reading: Reading, text: str, where: str, timeout_s: float) -> Ran:
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


def _doubt(finished: Finished, reading: Reading) -> str:
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
