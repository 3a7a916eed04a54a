"""Who knows the problems of files right now: the editor, or nobody."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from indwell.context.ide import Problem


class Known(msgspec.Struct, frozen=True):
    """What a source says.

    Attributes:
        problems: By path, absolute and resolved; only of files of which it knows the state of now.
        by: Who says so, as in "verified by …".
        is_partial: It has seen some problems and not all: good for what was before, for no more.
        why: Nothing is known although somebody spoke; a clause.
    """

    problems: Mapping[Path, tuple[Problem, ...]]
    by: str
    is_partial: bool = False
    why: str = ""


class Source(Protocol):
    """Knows the problems of files."""

    async def problems(self, paths: Sequence[Path], *, settle_s: float) -> Known | None:
        """The problems of these files, as they read now; None if nothing is known.

        Args:
            paths: Absolute, resolved.
            settle_s: Seconds to wait for word of what was edited last; at 0 it says what it knew
                before, and that may be partial.
        """
        ...

    def edited(self, path: Path) -> None:
        """This file reads differently now; what is known of it is of before."""
        ...


class Silence:
    """Knows nothing, at once."""

    async def problems(self, paths: Sequence[Path], *, settle_s: float) -> Known | None:
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

    async def problems(self, paths: Sequence[Path], *, settle_s: float) -> Known | None:
        """The next one, of those files that were asked for."""
        self.asked.append((tuple(paths), settle_s))
        said = self._script.pop(0) if len(self._script) > 1 else self._script[0]
        if said is None:
            return None
        return Known({path: said[path] for path in paths if path in said}, self._by)

    def edited(self, path: Path) -> None:
        """Remember it."""
        self.edits.append(path)
