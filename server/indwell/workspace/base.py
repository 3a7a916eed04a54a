"""The one interface to the user's files and open buffers; watches of files, and locks for writers.

A watch only says where to look. Whether a text has changed is for its digest to say.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal, Protocol, TypeVar

import msgspec

from indwell.workspace.large import Large
from indwell.workspace.text import in_pieces

T = TypeVar("T")
R = TypeVar("R")


class TextStamp(msgspec.Struct, frozen=True):
    """Which text was read: its digest, and the document version if it came from a buffer."""

    digest: str
    version: int | None = None


class Snapshot(msgspec.Struct, frozen=True):
    """The text of one file at one moment.

    Attributes:
        path: Absolute, resolved.
        text: Decoded, line endings untouched, without a byte order mark.
        stamp: Identifies exactly this text.
        origin: ``buffer`` if an editor has the file open, else ``disk``.
        unsaved: The buffer holds text that is not on disk.
        lossless: False if bytes could not be decoded; such a text is for reading only.
        notes: Sentences for the model, such as a guessed encoding or a disk that differs.
    """

    path: Path
    text: str
    stamp: TextStamp
    origin: Literal["buffer", "disk"] = "disk"
    unsaved: bool = False
    lossless: bool = True
    notes: tuple[str, ...] = ()


class AppliedChange(msgspec.Struct, frozen=True):
    """One file as an edit left it.

    Attributes:
        path: Absolute, resolved.
        before: The text before; None if the file was created.
        after: The text as it stands now, as far as it could be verified.
        stamp: Of ``after``.
        verified: The text was read again after the edit and is as proposed.
        note: What the model should know of how it went, or nothing.
        is_part: ``before`` and ``after`` are only the changed places of a large file with some
            lines around them, one after the other; nothing to put back from.
    """

    path: Path
    before: str | None
    after: str
    stamp: TextStamp
    verified: bool = True
    note: str = ""
    is_part: bool = False


class Settlement(msgspec.Struct, frozen=True):
    """How disk and buffers agree before a command runs: what was saved, what is stale on disk."""

    saved: tuple[Path, ...] = ()
    stale: tuple[Path, ...] = ()


class Noted(msgspec.Struct, frozen=True):
    """What became of the editor's buffers meanwhile.

    Attributes:
        saved: Files that the user has saved.
        changed: Open files whose buffers read differently: typed in, or loaded anew.
        buffers: What all open files read now.
    """

    saved: frozenset[Path] = frozenset()
    changed: frozenset[Path] = frozenset()
    buffers: Mapping[Path, str] = {}


class Workspace(Protocol):
    """Files and open buffers of the user."""

    @property
    def roots(self) -> tuple[Path, ...]:
        """Folders that the agent may work in, resolved; the first is where commands start."""
        ...

    @property
    def watch(self) -> Watch:
        """Says which files may read differently than before."""
        ...

    def resolve(self, path: str) -> Path:
        """Resolve a path that the model wrote (relative to the first root) within the roots.

        Raises:
            ToolError: It leads outside the workspace, or is no path.
        """
        ...

    async def read(self, path: Path) -> Snapshot:
        """Read a file; an open buffer wins over the disk.

        Raises:
            TooLarge: It is looked at with ``within``, and changed with ``splice``.
            ToolError: Missing, a folder, or not readable.
        """
        ...

    async def within(self, path: Path, look: Callable[[Large], T]) -> T:
        """What ``look`` makes of a file on disk that is too large for ``read``; runs in a thread.

        Raises:
            ToolError: Missing, not readable, or no text that can be read by lines.
        """
        ...

    async def splice(
        self, path: Path, plan: Callable[[Large], tuple[Large, R]], *, label: str
    ) -> tuple[TextStamp, R]:
        """Replace a file on disk that is too large for ``read`` by what ``plan`` makes of it.

        ``plan`` runs in a thread; what else it gives is handed on.

        Raises:
            TextMoved: The file changed since ``plan`` saw it; nothing was written.
            EditRefused: It is open in the editor, so its buffer is what counts.
            ToolError: As from ``within``, or from ``plan``, or it cannot be written.
        """
        ...

    async def write(
        self, path: Path, base: Snapshot | None, text: str, *, label: str
    ) -> AppliedChange:
        """Make ``path`` read ``text``; ``base`` is what the proposal was made from, None to create.

        Raises:
            TextMoved: The file is no longer ``base``; nothing was written.
            EditRefused: It exists although ``base`` is None, or the editor did not take the edit.
                The user's text is untouched.
        """
        ...

    async def keep(self, snapshot: Snapshot) -> Path | None:
        """Keep a copy of what was read in the user's state; gives where, None if there is no state.

        Raises:
            ToolError: Nothing can be written there.
        """
        ...

    async def remove(self, path: Path, base: Snapshot, *, label: str) -> Path | None:
        """Delete a file that still reads as ``base``; gives where a copy is kept (see ``keep``).

        Raises:
            TextMoved: The file, or the buffer of it, is no longer ``base``; nothing was deleted.
            EditRefused: It is gone, or the editor did not delete it.
            ToolError: No copy can be kept, or the system refuses.
        """
        ...

    def noting(self) -> Callable[[], Noted]:
        """Note from now on what the user saves or types; the function that is given tells it."""
        ...

    def unsaved(self) -> Mapping[Path, str]:
        """Open buffers whose text is not on disk, by resolved path."""
        ...

    async def settle(self) -> Settlement:
        """Bring buffers and disk together before a command runs, without losing a keystroke."""
        ...

    async def late_edits(self) -> tuple[Path, ...]:
        """Files in which the editor applied an edit that was given up before; each told once."""
        ...

    async def changed_under_buffers(self) -> tuple[Path, ...]:
        """Open files whose bytes on disk are no longer those that their buffers started from."""
        ...


def digest(text: str) -> str:
    """The digest that stamps are made of."""
    hashed = hashlib.blake2b(digest_size=16)
    for piece in in_pieces(text):
        hashed.update(piece.encode("utf-8", "surrogatepass"))
    return hashed.hexdigest()


class Watch(Protocol):
    """Hears of changes to some files, whoever makes them."""

    def follow(self, path: Path) -> None:
        """Hear of this file (absolute, resolved) from now on; returns at once."""
        ...

    def changed(self) -> frozenset[Path]:
        """Followed files that may have changed since the last call; returns at once."""
        ...

    def close(self) -> None:
        """Follow nothing any more; closing twice is nothing."""
        ...


class MemoryWatch:
    """A watch that is told by hand: for tests and replays. Implements ``Watch``."""

    def __init__(self) -> None:
        self.followed: set[Path] = set()
        self._changed: set[Path] = set()

    def follow(self, path: Path) -> None:
        """Remember a file to watch."""
        self.followed.add(path)

    def note(self, path: Path) -> None:
        """Somebody changed this file."""
        if path in self.followed:
            self._changed.add(path)

    def changed(self) -> frozenset[Path]:
        """What was noted."""
        changed, self._changed = frozenset(self._changed), set()
        return changed

    def close(self) -> None:
        """Forget all."""
        self.followed.clear()


class PathLocks:
    """A lock for each path that somebody holds or waits for; forgotten when nobody does.

    Paths are told apart as they are written: pass resolved ones. A lock is fair, and is not to be
    taken twice by one task.
    """

    def __init__(self) -> None:
        self._locks: dict[Path, asyncio.Lock] = {}
        self._n_users: dict[Path, int] = {}

    @asynccontextmanager
    async def hold(self, path: Path) -> AsyncIterator[None]:
        """Hold the lock of ``path`` within the block; a cancelled wait leaves nothing behind."""
        lock = self._locks.setdefault(path, asyncio.Lock())
        self._n_users[path] = self._n_users.get(path, 0) + 1
        try:
            async with lock:
                yield
        finally:
            self._n_users[path] -= 1
            if not self._n_users[path]:
                del self._n_users[path], self._locks[path]

    def __len__(self) -> int:
        """How many paths are held or waited for."""
        return len(self._locks)
