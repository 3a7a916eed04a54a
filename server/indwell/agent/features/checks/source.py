"""The source of problems: the checkers in the editor, or none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol, TypeAlias

import msgspec

from indwell.context.attachments import Problem

Reports: TypeAlias = Mapping[str, tuple[Problem, ...]]
"""The problems of one file, by the name of the checker that reported them."""


class KnownProblems(msgspec.Struct, frozen=True):
    """The known problems of files; each checker is judged by itself.

    Attributes:
        reports: By absolute, resolved path: the reports of checkers that have looked at the very
            text that the file has now. A checker without findings has an empty list.
        late: By path: why other checkers of the file do not count, a clause each.
        silent: By path: the checkers of files at which none of them has looked yet.
        shown: By path: problems that are shown there and may refer to an older text. They tell what
            was wrong before, and nothing about the present text.
    """

    reports: Mapping[Path, Reports] = {}
    late: Mapping[Path, tuple[str, ...]] = {}
    shown: Mapping[Path, tuple[Problem, ...]] = {}
    silent: Mapping[Path, tuple[str, ...]] = {}

    def is_seen(self, path: Path) -> bool:
        """Has every checker of this file, and at least one, looked at its present text?"""
        return bool(self.reports.get(path)) and not self.late.get(path)

    def problems(self, source: str) -> Mapping[Path, tuple[Problem, ...]]:
        """Return what one checker reports, by path."""
        return {path: of[source] for path, of in self.reports.items() if source in of}

    @property
    def sources(self) -> tuple[str, ...]:
        """Return the checkers that have looked at the present text of a file."""
        return tuple(dict.fromkeys(name for of in self.reports.values() for name in of))


class Source(Protocol):
    """Knows the problems of files."""

    async def problems(self, paths: Sequence[Path], *, settle_s: float) -> KnownProblems | None:
        """Return the problems of these files as they read now; None if nothing is known.

        Args:
            paths: Absolute, resolved paths.
            settle_s: Seconds to wait until each checker has looked at the present text; with 0, the
                present knowledge is returned.
        """
        ...

    def edited(self, path: Path) -> None:
        """Note that this file has a new text, so that known problems refer to the old one."""
        ...


class Silence:
    """A source that knows nothing."""

    async def problems(self, paths: Sequence[Path], *, settle_s: float) -> KnownProblems | None:
        """Return nothing, at once."""

    def edited(self, path: Path) -> None:
        """Ignore the edit."""


class ScriptedSource:
    """A source with scripted answers, for tests and demonstrations.

    Args:
        script: The answer to each question in turn; the last one repeats.
        by: The name of its checker.

    Attributes:
        asked: The questions: the paths, and how long each could have waited.
        edits: The files that were edited, in order.
    """

    def __init__(
        self, *script: Mapping[Path, tuple[Problem, ...]] | None, by: str = "the editor's problems"
    ) -> None:
        self.asked: list[tuple[tuple[Path, ...], float]] = []
        self.edits: list[Path] = []
        self._script = list(script) or [None]
        self._by = by

    async def problems(self, paths: Sequence[Path], *, settle_s: float) -> KnownProblems | None:
        """Return the next answer, restricted to the paths of the question."""
        self.asked.append((tuple(paths), settle_s))
        said = self._script.pop(0) if len(self._script) > 1 else self._script[0]
        if said is None:
            return None
        return KnownProblems({path: {self._by: said[path]} for path in paths if path in said})

    def edited(self, path: Path) -> None:
        """Remember an edited file."""
        self.edits.append(path)
