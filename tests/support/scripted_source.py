"""Creates a source of problems with scripted answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from indwell.agent.features.checks.turn_checks import KnownProblems
from indwell.context.attachments import Problem


class ScriptedSource:
    """A source with scripted answers.

    Args:
        script: The answer to each question in turn; the last answer repeats.
        by: The name of the source's checker.

    Attributes:
        asked: The paths and the allowed waiting time of each question.
        edits: The edited files in order.
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
