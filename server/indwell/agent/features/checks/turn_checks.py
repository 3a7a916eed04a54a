"""Stores the state of checks: sources of problems, check commands, changes of the turn.

``feature`` and ``run_check`` do the work that needs a session.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

import msgspec

from indwell.agent.features.checks.checking_commands import CheckPart
from indwell.context.attachments import Problem
from indwell.settings.model import Settings
from indwell.tools.base import Marks, Succeeded
from indwell.workspace.base import AppliedChange
from indwell.workspace.problems.difference import (
    UNKNOWN,
    LineMap,
    ProblemDifference,
    difference,
    in_changed_lines,
    line_map,
)

Reports: TypeAlias = Mapping[str, tuple[Problem, ...]]
"""The problems of one file, by the name of the checker that reported them."""


class KnownProblems(msgspec.Struct, frozen=True):
    """The known problems of files, as reported by checkers.

    Attributes:
        reports: The reports on the present text of each file, by absolute, resolved path. A checker
            without findings has an empty tuple.
        late: Clauses that say why reports of other checkers on a file are not used, by path.
        silent: The checkers of each file that no checker has examined yet, by path.
        shown: Problems that the editor displays for a file, by path; they may belong to the text
            before the edit.
    """

    reports: Mapping[Path, Reports] = {}
    late: Mapping[Path, tuple[str, ...]] = {}
    shown: Mapping[Path, tuple[Problem, ...]] = {}
    silent: Mapping[Path, tuple[str, ...]] = {}

    def is_seen(self, path: Path) -> bool:
        """Return whether every checker of this file has examined the present text."""
        return bool(self.reports.get(path)) and not self.late.get(path)

    def problems(self, source: str) -> Mapping[Path, tuple[Problem, ...]]:
        """Return the problems that one checker reports, by path."""
        return {path: of[source] for path, of in self.reports.items() if source in of}

    @property
    def sources(self) -> tuple[str, ...]:
        """Return the checkers that have examined the present text of at least one file."""
        return tuple(dict.fromkeys(name for of in self.reports.values() for name in of))


class ProblemSource(Protocol):
    """Reports the problems of files."""

    async def problems(self, paths: Sequence[Path], *, settle_s: float) -> KnownProblems | None:
        """Return the problems in the present texts of files, or None if nothing is known.

        Args:
            paths: Absolute, resolved paths.
            settle_s: Seconds to wait until each checker has examined the present text; 0 returns
                known reports at once.
        """
        ...

    def edited(self, path: Path) -> None:
        """Record that a file has a new text, so that known problems refer to the old text."""
        ...


class NoSource:
    """A source that reports no problems."""

    async def problems(self, paths: Sequence[Path], *, settle_s: float) -> KnownProblems | None:
        """Return None at once."""

    def edited(self, path: Path) -> None:
        """Ignore the edit."""


NOT_VERIFIED = "not verified"


class CheckCommand(msgspec.Struct, frozen=True):
    """A check command.

    Attributes:
        name: The name that people use.
        command: The shell text.
        folder: The folder in which the command runs.
        suffixes: Suffixes of the files that the check covers, or empty for all files.
        is_own: Whether the user's own settings name the command, so that it needs no permission.
    """

    name: str
    command: str
    folder: Path
    suffixes: tuple[str, ...] = ()
    is_own: bool = False

    def is_about(self, path: Path) -> bool:
        """Return whether the check covers this file."""
        is_kind = not self.suffixes or path.name.endswith(self.suffixes)
        return is_kind and path.is_relative_to(self.folder)


def quoted(name: str) -> str:
    """Return a command in quotes, for people."""
    return f"`{' '.join(name.split())[:80]}`"


class CheckRun(msgspec.Struct, frozen=True):
    """The result of a check.

    Attributes:
        state: Whether the check ran to its end, and how much of its output was understood.
        problems: Problems in files of the workspace, by absolute path.
        why: The reason why the check did not run to its end, to follow the check's name.
        line: The line of the output about the failure.
        output: The file with the whole output, if the output was long.
        stale: Files whose text on disk is outdated, because the user has not saved the files.
    """

    state: Literal["ran", "part", "failed", "broken", "refused"]
    problems: Mapping[Path, tuple[Problem, ...]] = {}
    why: str = ""
    line: str = ""
    output: str = ""
    stale: frozenset[Path] = frozenset()


class CheckFinder(Protocol):
    """Finds the commands that check a project; both methods block."""

    def commands(self, paths: Sequence[Path]) -> tuple[CheckCommand, ...]:
        """Return the commands that cover these files, in the order in which the commands run."""
        ...

    def mark(self, folder: Path) -> str:
        """Return a value that changes with the folder's contents, or empty for a large folder."""
        ...


class NoFinder:
    """Finds no check commands, for a project without check commands."""

    def commands(self, paths: Sequence[Path]) -> tuple[CheckCommand, ...]:
        """Return no command."""
        del paths
        return ()

    def mark(self, folder: Path) -> str:
        """Return an empty value, because no check exists."""
        del folder
        return ""


class Located(msgspec.Struct, frozen=True):
    """A problem with its file; the file is None if the check as a whole failed."""

    path: Path | None
    problem: Problem


class Edited(msgspec.Struct):
    """A file that the turn has changed, with the text before the first and after the last edit.

    With ``is_part``, only the edited parts of the texts are known.
    """

    before: str | None
    after: str
    is_part: bool = False

    @property
    def edits(self) -> LineMap:
        """Return the map from old line numbers to current line numbers."""
        return UNKNOWN if self.is_part else line_map(self.before, self.after)


class TurnChecks(msgspec.Struct):
    """The changes of one turn to files, and the known problems of these files.

    Attributes:
        turn: The turn's number, or 0 if no turn has begun.
        since_ns: The time at which the turn first examined files, by the clock of the file system.
        files: The files that the turn changed, in order.
        before: The problems of the files before the first edit, by checker.
        partial: The known problems before the first edit, if others may be unknown.
        told: The text and problems that the model was last told, by file and checker.
        runs: The result of each check before the first edit, by command.
        is_begun: Whether the checks before the first edit were run.
        passed: Checks that the agent ran and that passed, with the number of edits at that time and
            the size and time of each file of the turn.
        n_edits: The number of edits so far.
        n_seen: The number of edits when the turn last looked for new problems.
        was_asked: Whether the model was asked to repair problems.
        found: The new problems that the turn found when it last looked, by source.
        verdict: A sentence that says how the changes are verified.
    """

    turn: int = 0
    since_ns: int = msgspec.field(default_factory=time.time_ns)
    files: dict[Path, Edited] = msgspec.field(default_factory=dict)
    before: dict[Path, dict[str, tuple[Problem, ...]]] = msgspec.field(default_factory=dict)
    partial: dict[Path, tuple[Problem, ...]] = msgspec.field(default_factory=dict)
    told: dict[tuple[Path, str], tuple[str, tuple[Problem, ...]]] = msgspec.field(
        default_factory=dict
    )
    runs: dict[str, CheckRun] = msgspec.field(default_factory=dict)
    passed: dict[CheckPart, tuple[int, Marks]] = msgspec.field(default_factory=dict)
    is_begun: bool = False
    n_edits: int = 0
    n_seen: int = -1
    was_asked: bool = False
    found: dict[str, tuple[Located, ...]] = msgspec.field(default_factory=dict)
    verdict: str = NOT_VERIFIED

    def take(self, known: KnownProblems | None) -> None:
        """Record the problems of files before an edit."""
        if known is not None:
            self.partial.update(known.shown)
            for path, reports in known.reports.items():
                self.before.setdefault(path, {}).update(reports)

    def note(self, changes: Iterable[AppliedChange]) -> None:
        """Record that the turn has changed files."""
        for change in changes:
            self.n_edits += 1
            known = self.files.get(change.path)
            if known is None:
                self.files[change.path] = Edited(change.before, change.after, change.is_part)
            else:
                known.after, known.is_part = change.after, known.is_part or change.is_part

    def note_passed(self, checks: Iterable[CheckPart], seen: Succeeded, after: Marks) -> None:
        """Record that checks of the agent passed, with the state of the disk before and after."""
        known = {
            path: mark
            for path, mark in after.items()
            if mark is not None and path not in seen.stale and seen.saw.get(path) == mark
        }
        self.passed.update((check, (self.n_edits, known)) for check in checks)

    def proven(self, now: Marks) -> dict[CheckPart, frozenset[Path]]:
        """Return the agent's checks that still apply to the files on disk, with the covered files.

        A check no longer applies after another edit or after any change of a covered file.
        """
        found = {}
        for check, (n_edits, saw) in self.passed.items():
            if n_edits != self.n_edits:  # A later edit may not be on disk yet.
                continue
            about = [path for path in now if check.is_about(path)]
            if about and all(
                now[path] is not None and saw.get(path) == now[path] for path in about
            ):
                found[check] = frozenset(about) & self.files.keys()
        return found

    def untold(self, known: KnownProblems) -> dict[Path, ProblemDifference]:
        """Return the problems that the model does not know, and record them as known; may block.

        If the problems before the edit are unknown, only problems in changed lines count.
        """
        found = {}
        for path, reports in known.reports.items():
            each = [self._untold(path, source, problems) for source, problems in reports.items()]
            found[path] = ProblemDifference(
                new=tuple(one for diff in each for one in diff.new),
                gone=tuple(one for diff in each for one in diff.gone),
            )
        return found

    def _untold(self, path: Path, source: str, problems: tuple[Problem, ...]) -> ProblemDifference:
        edited = self.files[path]
        text, before = self.told.get(
            (path, source), (edited.before or "", self._base(path, source))
        )
        self.told[path, source] = (edited.after, problems)
        if before is None:
            return ProblemDifference(new=self._in_changed_lines(path, problems))
        edits = UNKNOWN if edited.is_part else line_map(text, edited.after)
        return difference(before, problems, edits)

    def new_by(self, known: KnownProblems) -> dict[str, tuple[Located, ...]]:
        """Return the problems that are new since the turn began, by checker; blocks."""
        return {
            source: tuple(
                Located(path, one)
                for path, problems in known.problems(source).items()
                for one in self._new(path, self._base(path, source), problems)
            )
            for source in known.sources
        }

    def is_compared(self, path: Path, known: KnownProblems) -> bool:
        """Return whether each checker's report before the file's first edit is known."""
        return all(self._base(path, source) is not None for source in known.reports[path])

    def new_by_run(
        self, command: CheckCommand, ran: CheckRun, known: KnownProblems | None
    ) -> tuple[Located, ...]:
        """Return the new problems that a check found in files that the editor does not check."""
        before = self.runs.get(command.command)
        if before is None or before.state != "ran":
            changed = {path: ran.problems.get(path, ()) for path in self.files}
            return tuple(
                Located(path, one)
                for path, problems in changed.items()
                if known is None or not known.is_seen(path)
                for one in self._in_changed_lines(path, problems)
            )
        if ran.state == "failed":
            said = f": {ran.line}" if ran.line else ""
            return (Located(None, Problem(0, "error", f"`{command.name}` {ran.why}{said}")),)
        return tuple(
            Located(path, one)
            for path, problems in ran.problems.items()
            if known is None or not known.is_seen(path)
            for one in self._new(path, before.problems.get(path, ()), problems)
        )

    def was_there(self, path: Path) -> bool:
        """Return whether a changed file existed before the turn."""
        return self.files[path].before is not None

    def _base(self, path: Path, source: str) -> tuple[Problem, ...] | None:
        """Return a checker's problems before the first edit, or empty if the file did not exist."""
        if source in (known := self.before.get(path, {})):
            return known[source]
        return () if self.files[path].before is None else None

    def _new(
        self, path: Path, before: tuple[Problem, ...] | None, problems: tuple[Problem, ...]
    ) -> tuple[Problem, ...]:
        if before is None:
            return self._in_changed_lines(path, problems)
        edited = self.files.get(path)
        return difference(before, problems, edited.edits if edited else LineMap()).new

    def _in_changed_lines(self, path: Path, problems: tuple[Problem, ...]) -> tuple[Problem, ...]:
        """Return the problems in changed lines, without problems that the editor showed before."""
        edited = self.files[path]
        if edited.is_part:
            return ()
        shown = {one.message for one in self.partial.get(path, ())}
        found = in_changed_lines(problems, edited.edits)
        return tuple(one for one in found if one.message not in shown)


class SessionChecks(msgspec.Struct):
    """The checks of one session.

    Attributes:
        source: The source of known problems.
        finder: Finds the check commands.
        settings: Returns the current settings.
        state: The state of the running turn.
        kept: The last result of each check, with the state of the check's folder at that time.
        slow: Checks that took too long before an edit; no later edit waits for these checks.
        readable: Checks that once named a problem, so that the format of their output is known.
        is_vague: Whether a report of the editor's checkers was unusable when the last turn ended.
            If so, check commands run, also before the first edit.
        told: The sentences that were already shown to the user.
        failing: Errors that turns have left, by source.
    """

    source: ProblemSource = msgspec.field(default_factory=NoSource)
    finder: CheckFinder = msgspec.field(default_factory=NoFinder)
    settings: Callable[[], Settings] = Settings
    state: TurnChecks = msgspec.field(default_factory=TurnChecks)
    kept: dict[str, tuple[str, CheckRun]] = msgspec.field(default_factory=dict)
    slow: set[str] = msgspec.field(default_factory=set)
    readable: set[str] = msgspec.field(default_factory=set)
    is_vague: bool = False
    told: set[str] = msgspec.field(default_factory=set)
    failing: dict[str, tuple[Located, ...]] = msgspec.field(default_factory=dict)

    def of(self, turn: int) -> TurnChecks:
        """Return the state of a turn; a new turn begins with an empty state."""
        if self.state.turn != turn:
            self.state = TurnChecks(turn)
        return self.state

    def verdict(self, turn: int) -> str:
        """Say whether a turn's changes are verified; say nothing without changes or checks."""
        state = self.of(turn)
        if not state.files or not self.settings().check_edits:
            return ""
        return state.verdict if state.n_seen == state.n_edits else NOT_VERIFIED
