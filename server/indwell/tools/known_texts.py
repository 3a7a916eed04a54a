"""Stores the text of each file that the model has read, to refuse or merge other edits."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

from indwell.errors import ToolError
from indwell.workspace.base import Snapshot
from indwell.workspace.comparing.diff import compare
from indwell.workspace.text import count_lines, n_line_ends

# The unit is characters of all texts in memory; of the least recently used texts, only digests are
# kept.
KEPT_CHARS = 16 << 20


class KnownTexts:
    """The text of each file that the model knows: as last read, or as left by an edit."""

    def __init__(self) -> None:
        self._digests: dict[Path, str] = {}
        self._texts: dict[Path, str] = {}  # The texts are in the order of last use.
        # The ranges have lines, from 1, that the model has never seen.
        self._unshown: dict[Path, tuple[range, ...]] = {}
        self._lock = threading.Lock()
        self._n_chars = 0

    def record(self, path: Path, digest: str, text: str | None) -> None:
        """Record that the model knows ``text``; a text of None is too large, and has only a digest.

        Lines that the model has never seen stay unknown.
        """
        unshown = _all_lines(text) if text and path in self._unshown else ()
        with self._lock:
            self._keep(path, digest, text, unshown)

    def record_page(self, path: Path, digest: str, text: str, page: range) -> None:
        """Record that the model has seen the lines ``page``, from 1, of a text with this digest.

        Earlier pages of the same text also count as seen. Pages of an earlier text count only if
        the whole earlier text was shown, and only for unchanged lines.
        """
        before = self._texts.get(path)
        if self._digests.get(path) == digest:
            unshown: tuple[range, ...] = ()
        elif before is None or path in self._unshown:
            unshown = _all_lines(text)
        else:
            unshown = tuple(_changed_lines(before, text))
        with self._lock:  # Pages are read in parallel, so check again.
            if self._digests.get(path) == digest:
                unshown = self._unshown.get(path, ())
            rest = (part for lines in unshown for part in _without(lines, page) if part)
            self._keep(path, digest, text, tuple(rest))

    def unshown(self, path: Path) -> tuple[range, ...]:
        """Return the lines of the text, from 1, that the model never saw."""
        return self._unshown.get(path, ())

    def paths(self) -> tuple[Path, ...]:
        """Return all files that the model knows, in the order of the first reads."""
        return tuple(self._digests)

    def digest(self, path: Path) -> str | None:
        """Return the digest of the known text: None if it was never read, empty if deleted."""
        return self._digests.get(path)

    def text(self, path: Path) -> str | None:
        """Return the text that the model knows, or None if it was never read, or is forgotten."""
        return self._texts.get(path)

    def check(self, snapshot: Snapshot) -> None:
        """Refuse an edit of a file that was never read or has changed since.

        Raises:
            ToolError: The message says what to do next.
        """
        known = self._digests.get(snapshot.path)
        if known is None:
            raise ToolError(
                f"{snapshot.path.name!r} has not been read yet: call read_file first, then make "
                "this call again"
            )
        if known != snapshot.stamp.digest:
            raise ToolError(
                f"{snapshot.path.name!r} has changed since it was read (by the user, a "
                "sub-agent, a formatter or a command); read_file it again and repeat the edit on "
                "the current text"
            )

    def _keep(self, path: Path, digest: str, text: str | None, unshown: tuple[range, ...]) -> None:
        self._digests[path] = digest
        self._n_chars -= len(self._texts.pop(path, ""))
        self._unshown.pop(path, None)
        if unshown:
            self._unshown[path] = unshown
        if text is None:
            return
        self._n_chars += len(text)
        self._texts[path] = text
        while self._n_chars > KEPT_CHARS:
            self._n_chars -= len(self._texts.pop(next(iter(self._texts))))


def _all_lines(text: str) -> tuple[range, ...]:
    n_lines = count_lines(text)
    return (range(1, n_lines + 1),) if n_lines else ()


def _without(lines: range, page: range) -> tuple[range, range]:
    """Return the parts of ``lines`` before and after the page."""
    return (
        range(lines.start, min(lines.stop, page.start)),
        range(max(lines.start, page.stop), lines.stop),
    )


def _changed_lines(before: str, text: str) -> Iterator[range]:
    """Yield the lines of ``text`` that are new, or next to removed lines."""
    at, line, last = 0, 1, max(count_lines(text), 1)
    for place in compare(before, text).places:
        line += n_line_ends(before, at, place.start)
        first = line if place.new else min(line, last)
        yield range(first, first + max(len(place.new), 1))
        line += len(place.new)
        at = place.stop
