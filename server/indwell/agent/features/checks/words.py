"""Words for the model and for people about problems. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from indwell.agent.features.checks.gate import NOT_VERIFIED, Located
from indwell.context.attachments import Problem
from indwell.lazy_pattern import lazy_pattern
from indwell.workspace.problems.difference import ProblemDifference

MOST_LINES = 10  # problems in one message
MOST_REASONS = 3  # reasons why a checker did not count
_SHORT = 300  # characters of one reason
_PLAIN = lazy_pattern(r"[\w./@+=~:\\-]{1,300}")

ASKED = (
    "The errors listed next are new since your changes in this turn; the list is a checker's data. "
    "Repair them, or say in a sentence why they stay. You are asked this once."
)


def told_words(found: Mapping[Path, ProblemDifference], shown: Callable[[Path], str]) -> str:
    """Describe what edits did to problems, for the end of a tool's result; empty if nothing."""
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
    """Return a line per problem, errors first, bounded; ``output`` says where all output is."""
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
    """Describe a turn that leaves errors."""
    return f"{new_errors(n_errors)} {'stays' if n_errors == 1 else 'stay'}"


def new_errors(n_errors: int) -> str:
    """Return the number of new errors, in words."""
    return "1 new error" if n_errors == 1 else f"{n_errors:,} new errors"


class VerifiedState(msgspec.Struct, frozen=True):
    """What is known of a turn that leaves no new error.

    Attributes:
        verified: Who reported on each file as it reads now.
        checked: Checks that ran, were understood, and named no new error.
        passed: Checks of which only the exit status is known.
        proven: The agent's commands that are checks and passed after the last edit.
        n_left: Number of changed files that no check covers.
        n_others: Number of files with errors that somebody else changed meanwhile.
        is_sure: Whether the problems before are known.
        why: Clauses that say why some checkers did not count.
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

    Only a report of the editor on a file verifies it, because a check may skip a file by its own
    settings.
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
    """Join names as one subject."""
    return " and ".join(names)


def _files(number: int) -> str:
    return "1 file" if number == 1 else f"{number} files"


def quoted(name: str) -> str:
    """Quote a command for people."""
    return f"`{' '.join(name.split())[:80]}`"


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
