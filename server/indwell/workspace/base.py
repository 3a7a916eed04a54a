"""The interface to the user's files and open buffers, file watches, and locks for writers.

A watch only reports files to check; only the digest shows whether a text has changed.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal, Protocol, TypeVar

import msgspec

from indwell.settings.model import ChangeKind
from indwell.workspace.large import Large
from indwell.workspace.text import LineEnd, in_pieces

T = TypeVar("T")
R = TypeVar("R")


class TextStamp(msgspec.Struct, frozen=True):
    """The identity of a text that was read: its digest, and a buffer's document version."""

    digest: str
    version: int | None = None


class ChangeMarks(msgspec.Struct, frozen=True):
    """The kinds of a change, for editors that can ask about a change before they make it.

    Attributes:
        kinds: The kinds that the caller knows; ``Workspace`` finds the kind ``rewrite`` itself.
        asks: The kinds that the editor asks about, because the user sees the change nowhere else.
    """

    kinds: frozenset[ChangeKind] = frozenset()
    asks: frozenset[ChangeKind] = frozenset()


UNMARKED = ChangeMarks()


class Snapshot(msgspec.Struct, frozen=True):
    """The text of one file at one moment.

    Attributes:
        path: The absolute, resolved path.
        text: The decoded text, with its line endings, without a byte order mark.
        stamp: The identity of exactly this text.
        origin: ``buffer`` if an editor has the file open, otherwise ``disk``.
        unsaved: Whether the buffer differs from the disk.
        lossless: Whether all bytes could be decoded; if not, the text is read-only.
        notes: Sentences for the model, such as a guessed encoding or a difference from disk.
    """

    path: Path
    text: str
    stamp: TextStamp
    origin: Literal["buffer", "disk"] = "disk"
    unsaved: bool = False
    lossless: bool = True
    notes: tuple[str, ...] = ()


class AppliedChange(msgspec.Struct, frozen=True):
    """A file after an edit.

    Attributes:
        path: The absolute, resolved path.
        before: The text before the edit, or None if the file was created.
        after: The text after the edit, as far as it could be verified.
        stamp: The stamp of ``after``.
        verified: Whether the text was read again after the edit, and is the intended text.
        note: A remark for the model about the edit; may be empty.
        is_part: Whether ``before`` and ``after`` contain only the changed parts of a large file
            with context lines, from which no file can be restored.
        n_left_out: Number of places that the user left unchanged when the editor asked.
    """

    path: Path
    before: str | None
    after: str
    stamp: TextStamp
    verified: bool = True
    note: str = ""
    is_part: bool = False
    n_left_out: int = 0


class Settlement(msgspec.Struct, frozen=True):
    """Files that were saved before a command, and files whose version on disk is outdated."""

    saved: tuple[Path, ...] = ()
    stale: tuple[Path, ...] = ()


class Noted(msgspec.Struct, frozen=True):
    """Changes of the editor's buffers during a period.

    Attributes:
        saved: Files that the user saved.
        changed: Open files with a new text, which was typed or reloaded.
        buffers: The current texts of all open files.
    """

    saved: frozenset[Path] = frozenset()
    changed: frozenset[Path] = frozenset()
    buffers: Mapping[Path, str] = {}


class Workspace(Protocol):
    """The user's files and open buffers."""

    @property
    def roots(self) -> tuple[Path, ...]:
        """Resolved folders that the agent may work in; commands start in the first folder."""
        ...

    @property
    def watch(self) -> Watch:
        """Reports files whose text may have changed."""
        ...

    def resolve(self, path: str) -> Path:
        """Resolve a path from the model (relative to the first root) within the roots.

        Raises:
            ToolError: The path is invalid or leads outside the workspace.
        """
        ...

    async def read(self, path: Path) -> Snapshot:
        """Read a file; an open buffer takes precedence over the disk.

        Raises:
            TooLarge: The file is too large; use ``within`` and ``splice``.
            ToolError: The file is missing, a folder, or unreadable.
        """
        ...

    async def within(self, path: Path, look: Callable[[Large], T]) -> T:
        """Examine a file on disk that is too large for ``read``, by ``look`` in a thread.

        Raises:
            ToolError: The file is missing, unreadable, or not a text with lines.
        """
        ...

    async def splice(
        self, path: Path, change: Callable[[Large], tuple[Large, R]], *, label: str
    ) -> tuple[TextStamp, R]:
        """Replace a file on disk that is too large for ``read`` by the result of ``change``.

        ``change`` runs in a thread; the second result of ``change`` is returned.

        Raises:
            TextMoved: The file changed after ``change`` read it; nothing was written.
            EditRefused: The file is open in the editor, where its buffer takes precedence.
            ToolError: See ``within``; also raised by ``change``, or if the file cannot be written.
        """
        ...

    async def write(
        self,
        path: Path,
        base: Snapshot | None,
        text: str,
        *,
        label: str,
        marks: ChangeMarks = UNMARKED,
    ) -> AppliedChange:
        """Write ``text`` to ``path``; ``base`` is the text that was edited, or None for a new file.

        Raises:
            TextMoved: The file differs from ``base``; nothing was written.
            EditRefused: The file exists although ``base`` is None, or the editor rejected the edit.
                The user's text is unchanged.
        """
        ...

    async def line_end(self, path: Path, text: str) -> LineEnd:
        """Return the line ending that ``text`` gets in a new file at ``path``."""
        ...

    async def keep(self, snapshot: Snapshot) -> Path | None:
        """Keep a copy of a text in the state folder; return the copy's path, or None.

        Raises:
        ToolError: The copy cannot be written.
        """
        ...

    async def remove(
        self, path: Path, base: Snapshot, *, label: str, marks: ChangeMarks = UNMARKED
    ) -> Path | None:
        """Delete a file that still equals ``base``; return the path of a copy (see ``keep``).

        Raises:
            TextMoved: The file or its buffer differs from ``base``; nothing was deleted.
            EditRefused: The file is gone, or the editor did not delete it.
            ToolError: No copy can be kept, or the system refuses.
        """
        ...

    def noting(self) -> Callable[[], Noted]:
        """Record the user's saves and edits from now on; the returned function reports both."""
        ...

    def unsaved(self) -> Mapping[Path, str]:
        """Map the resolved paths of unsaved buffers to their texts."""
        ...

    async def settle(self) -> Settlement:
        """Save buffers before a command runs, without losing a keystroke."""
        ...

    async def late_edits(self) -> tuple[Path, ...]:
        """Return files with an edit that was applied after the time-out, each file once."""
        ...

    async def changed_under_buffers(self) -> tuple[Path, ...]:
        """Return open files whose bytes on disk changed after their buffers were loaded."""
        ...


def digest(text: str) -> str:
    """Return the digest for a text's stamp."""
    hashed = hashlib.blake2b(digest_size=16)
    for piece in in_pieces(text):
        hashed.update(piece.encode("utf-8", "surrogatepass"))
    return hashed.hexdigest()


class Watch(Protocol):
    """Reports changes to some files by any program."""

    def follow(self, path: Path) -> None:
        """Watch this file (absolute, resolved) from now on; return at once."""
        ...

    def changed(self) -> frozenset[Path]:
        """Return watched files that may have changed since the last call; never waits."""
        ...

    def close(self) -> None:
        """End the watch; may be called several times."""
        ...


class BufferWatch:
    """Reports changes of open buffers and of files on disk; implements ``Watch``.

    An editor that can watch files watches only the folders of followed files, so that builds
    elsewhere cause no messages. For other editors, this process watches the disk.

    Args:
        disk: Watches the disk.
        ask: Asks the editor to watch a folder; returns False if the editor refuses.
    """

    def __init__(self, disk: Watch, ask: Callable[[Path], Awaitable[bool]]) -> None:
        self._disk = disk
        self._ask = ask
        self._followed: set[Path] = set()
        self._changed: set[Path] = set()
        self._folders: dict[Path, asyncio.Task[bool]] = {}

    def follow(self, path: Path) -> None:
        """Report changes of this file from now on; call this method on the event loop."""
        if path in self._followed:
            return
        self._followed.add(path)
        asking = self._folders.get(path.parent)
        if asking is None:
            self._folders[path.parent] = asyncio.ensure_future(self._watch(path.parent))
        elif asking.done() and not asking.cancelled() and not asking.result():
            self._disk.follow(path)

    def note(self, path: Path) -> None:
        """Record that the editor has changed a buffer or a file."""
        if path in self._followed:
            self._changed.add(path)

    def changed(self) -> frozenset[Path]:
        """Return followed files that may have changed since the last call."""
        changed, self._changed = frozenset(self._changed), set()
        return changed | self._disk.changed()

    def close(self) -> None:
        """Stop following all files."""
        self._followed.clear()
        for asking in self._folders.values():
            asking.cancel()
        self._folders.clear()
        self._disk.close()

    async def _watch(self, folder: Path) -> bool:
        if await self._ask(folder):
            return True
        for path in [one for one in self._followed if one.parent == folder]:
            self._disk.follow(path)
        return False


class PathLocks:
    """A lock for each path in use; a lock without a holder or waiting task is removed.

    Paths are compared as written, so pass resolved paths. Locks are fair and not reentrant.
    """

    def __init__(self) -> None:
        self._locks: dict[Path, asyncio.Lock] = {}
        self._n_users: dict[Path, int] = {}

    @asynccontextmanager
    async def hold(self, path: Path) -> AsyncIterator[None]:
        """Hold the lock of ``path`` within the block; a waiting caller can be cancelled."""
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
        """Return the number of paths with a lock."""
        return len(self._locks)
