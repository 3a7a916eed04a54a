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
    """What is known of files; each checker is judged by itself.

    Attributes:
        reports: By path, absolute and resolved: of the checkers that have looked at the very text
            that the file has now. A checker that found nothing is there with an empty list.
        late: By path: why other checkers of the file do not count, a clause each.
        silent: By path: the checkers of such files, where none of them has looked at it yet.
        shown: By path: problems that are shown there and may be of an older text. They say what
            was wrong before, as far as it goes, and nothing of how it is now.
    """

    reports: Mapping[Path, Reports] = {}
    late: Mapping[Path, tuple[str, ...]] = {}
    shown: Mapping[Path, tuple[Problem, ...]] = {}
    silent: Mapping[Path, tuple[str, ...]] = {}

    def is_seen(self, path: Path) -> bool:
        """Has every checker of this file, and one at least, looked at it as it is now?"""
        return bool(self.reports.get(path)) and not self.late.get(path)

    def problems(self, source: str) -> Mapping[Path, tuple[Problem, ...]]:
        """What one checker says, by path."""
        return {path: of[source] for path, of in self.reports.items() if source in of}

    @property
    def sources(self) -> tuple[str, ...]:
        """The checkers that have looked at a file as it is now."""
        return tuple(dict.fromkeys(name for of in self.reports.values() for name in of))


class Source(Protocol):
    """Knows the problems of files."""

    async def problems(self, paths: Sequence[Path], *, settle_s: float) -> KnownProblems | None:
        """The problems of these files, as they read now; None if nothing is known.

        Args:
            paths: Absolute, resolved.
            settle_s: Seconds to wait until each checker has looked at the text of now; at 0 it
                says what it knows.
        """
        ...

    def edited(self, path: Path) -> None:
        """This file reads differently now; what is known of it is of before."""
        ...


class Silence:
    """Knows nothing, at once."""

    async def problems(self, paths: Sequence[Path], *, settle_s: float) -> KnownProblems | None:
        """Nothing."""

    def edited(self, path: Path) -> None:
        """It does not matter here."""


class ScriptedSource:
    """Says what it is told to: the fake that ships, for tests and demonstrations.

    Args:
        script: What it says to each question, one after the other; the last for ever.
        by: Its name.

    Attributes:
        asked: The questions: the paths, and how long it could have waited.
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
        """The next one, of those files that were asked for."""
        self.asked.append((tuple(paths), settle_s))
        said = self._script.pop(0) if len(self._script) > 1 else self._script[0]
        if said is None:
            return None
        return KnownProblems({path: {self._by: said[path]} for path in paths if path in said})

    def edited(self, path: Path) -> None:
        """Remember an edited file."""
        self.edits.append(path)
