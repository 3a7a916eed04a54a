"""What the model has seen of each file: edits of anything else are refused, or merged with it."""

from __future__ import annotations

from pathlib import Path

from indwell.errors import ToolError
from indwell.workspace.base import Snapshot

KEPT_CHARS = 16 << 20  # of texts in memory; of files read longer ago only the digest is kept


class Seen:
    """Which text of each file the model knows: as it read it last, or as it left it."""

    def __init__(self) -> None:
        self._digests: dict[Path, str] = {}
        self._texts: dict[Path, str] = {}  # in the order of their last use
        self._n_chars = 0

    def record(self, path: Path, digest: str, text: str | None) -> None:
        """The model now knows ``text``, which has ``digest``; None if it is too large to keep."""
        self._digests[path] = digest
        self._n_chars -= len(self._texts.pop(path, ""))
        if text is None:
            return
        self._n_chars += len(text)
        self._texts[path] = text
        while self._n_chars > KEPT_CHARS:
            self._n_chars -= len(self._texts.pop(next(iter(self._texts))))

    def paths(self) -> tuple[Path, ...]:
        """All files that the model knows, in the order in which it first read them."""
        return tuple(self._digests)

    def digest(self, path: Path) -> str | None:
        """Of the text that the model knows; None if it never read it, empty if it knows it gone."""
        return self._digests.get(path)

    def text(self, path: Path) -> str | None:
        """The text that the model knows; None if it never read it, or too long ago."""
        return self._texts.get(path)

    def check(self, snapshot: Snapshot) -> None:
        """Refuse an edit of what was never read, or has changed since.

        Raises:
            ToolError: With what to do next.
        """
        known = self._digests.get(snapshot.path)
        if known is None:
            raise ToolError(f"{snapshot.path.name!r} has not been read yet; read_file it first")
        if known != snapshot.stamp.digest:
            raise ToolError(
                f"{snapshot.path.name!r} has changed since it was read (by the user, a formatter "
                "or a command); read_file it again and repeat the edit on what stands there now"
            )
