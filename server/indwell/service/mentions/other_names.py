"""Files that a deny rule keeps back by another name of theirs (hard links).

What goes along with a prompt is held to what the model's own reads are held to.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from indwell.agent.other_names import denied_name
from indwell.files import linked_mark
from indwell.settings.model import Settings


class SecretFiles(Protocol):
    """Finds the secret files of a workspace; a part of ``Backend``."""

    def secret_files(self, roots: Sequence[Path], settings: Settings) -> tuple[str, ...]:
        """All names in the workspace that lead to them, absolute; blocks while it looks."""
        ...


class _Looked(NamedTuple):
    """What was found of a file: by which other name it is kept back; empty if by none."""

    mark: tuple[int, ...]
    deny: tuple[str, ...]
    name: str


class OtherNames:
    """Looks for other names beside the event loop, and knows what it found.

    Most files have one name: of those nothing is looked for.

    Args:
        roots: Of the workspace, those of now.
        secrets: Finds secret files.
    """

    def __init__(self, roots: Callable[[], Sequence[Path]], secrets: SecretFiles) -> None:
        self._roots = roots
        self._secrets = secrets
        self._looked: dict[Path, _Looked] = {}

    def is_kept_back(self, path: Path, settings: Settings) -> bool:
        """Does a rule keep it back, or has nobody looked since it changed? Returns at once."""
        mark = linked_mark(path)
        if mark is None:
            return False
        return self._looked.get(path) != _Looked(mark, settings.deny, "")

    async def look(self, paths: Iterable[Path], settings: Settings) -> None:
        """Know it of these files (resolved) as they are now."""
        for path in dict.fromkeys(paths):
            await self.kept_by(path, settings)

    async def kept_by(self, path: Path, settings: Settings) -> str:
        """The other name by which a rule keeps a file back, as people read it; else empty."""
        mark = linked_mark(path)
        if mark is None:
            return ""
        name = await asyncio.to_thread(self._denied_name, path, settings)
        self._looked[path] = _Looked(mark, settings.deny, name)
        return name

    def _denied_name(self, path: Path, settings: Settings) -> str:
        roots = tuple(self._roots())
        secret = self._secrets.secret_files(roots, settings)
        return denied_name(path, roots, secret, settings.deny)
