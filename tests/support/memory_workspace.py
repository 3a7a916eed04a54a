"""An in-memory workspace with open buffers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from indwell.errors import EditRefused, TextMoved, ToolError
from indwell.workspace.base import (
    UNMARKED,
    AppliedChange,
    ChangeMarks,
    Noted,
    Settlement,
    Snapshot,
    TextStamp,
    digest,
)
from indwell.workspace.encoding.decoding import nothing_declared
from indwell.workspace.large import Large
from indwell.workspace.line_index import index_of
from indwell.workspace.paths import display, folder_said, missing, parse, respelled
from indwell.workspace.text import LineEnd

ROOT = Path("/workspace")

T = TypeVar("T")
R = TypeVar("R")


class MemoryWatch:
    """A watch whose changes a test sets. Implements ``Watch``."""

    def __init__(self) -> None:
        self.followed: set[Path] = set()
        self._changed: set[Path] = set()

    def follow(self, path: Path) -> None:
        """Watch a file."""
        self.followed.add(path)

    def note(self, path: Path) -> None:
        """Record that this file was changed."""
        if path in self.followed:
            self._changed.add(path)

    def changed(self) -> frozenset[Path]:
        """Return the recorded files."""
        changed, self._changed = frozenset(self._changed), set()
        return changed

    def close(self) -> None:
        """Forget all files."""
        self.followed.clear()


class MemoryWorkspace:
    """Files by relative path, some of them open with unsaved text.

    Args:
        files: Texts on disk, by path relative to ``root``.
        unsaved: Texts of open buffers that differ from the disk, by path relative to ``root``.
        root: The folder of all files; the workspace never reads the disk.
    """

    def __init__(
        self,
        files: Mapping[str, str] | None = None,
        *,
        unsaved: Mapping[str, str] | None = None,
        root: Path = ROOT,
    ) -> None:
        self._root = root
        self.watch = MemoryWatch()
        self.files = {root / path: text for path, text in (files or {}).items()}
        self.buffers = {root / path: text for path, text in (unsaved or {}).items()}
        self._versions = dict.fromkeys(self.buffers, 1)
        self.kept: list[Snapshot] = []

    @property
    def roots(self) -> tuple[Path, ...]:
        """Return the single folder."""
        return (self._root,)

    def resolve(self, path: str) -> Path:
        """Resolve a path from the model within the root; see ``Workspace``."""
        written = parse(path, self._root)
        if written.parts[: len(self._root.parts)] != self._root.parts:
            raise ToolError(f"{path!r} is outside the workspace; stay within {self._root}")
        forms = (written, *respelled(written, self._root))
        known = (form for form in forms if form in self.files or form in self.buffers)
        return next(known, forms[1])

    async def read(self, path: Path) -> Snapshot:
        """Read a buffer or else a file; see ``Workspace``."""
        if path in self.buffers:
            text = self.buffers[path]
            return Snapshot(
                path=path,
                text=text,
                stamp=TextStamp(digest(text), self._versions[path]),
                origin="buffer",
                unsaved=text != self.files.get(path),
            )
        if path in self.files:
            text = self.files[path]
            return Snapshot(path=path, text=text, stamp=TextStamp(digest(text)))
        shown = display(path, self.roots)
        names = self._names(path)
        if names or path == self._root:
            raise folder_said(shown, names)
        raise missing(shown, path.name, [name.rstrip("/") for name in self._names(path.parent)])

    async def within(self, path: Path, look: Callable[[Large], T]) -> T:
        """Read a file as if it were large; see ``Workspace``."""
        return look(await self._large(path))

    async def splice(
        self, path: Path, change: Callable[[Large], tuple[Large, R]], *, label: str
    ) -> tuple[TextStamp, R]:
        """Change a file as if it were large; see ``Workspace``."""
        del label
        if path in self.buffers:
            raise EditRefused(f"{path.name!r} is open in the editor; read_file it again")
        made, result = change(await self._large(path))
        data = made.read(0, made.size_b)
        self.files[path] = data.decode("utf-8", "surrogateescape")
        index = index_of(lambda at, size: data[at : at + size], len(data), nothing_declared)
        return TextStamp(index.digest), result

    async def write(
        self,
        path: Path,
        base: Snapshot | None,
        text: str,
        *,
        label: str,
        marks: ChangeMarks = UNMARKED,
    ) -> AppliedChange:
        """Change a buffer or else a file; see ``Workspace``."""
        del label, marks
        shown = display(path, self.roots)
        if path == self._root or self._names(path):
            raise ToolError(f"{shown!r} is a folder; name a file in it")
        if base is None and (path in self.files or path in self.buffers):
            raise EditRefused(f"{shown!r} exists already; read_file it before changing it")
        if base is not None and (await self.read(path)).stamp.digest != base.stamp.digest:
            raise TextMoved(f"{shown!r} changed since it was read; read_file it again")
        if path in self.buffers:
            self.buffers[path] = text
            self._versions[path] += 1
        else:
            self.files[path] = text
        return AppliedChange(
            path=path,
            before=None if base is None else base.text,
            after=text,
            stamp=TextStamp(digest(text), self._versions.get(path)),
        )

    async def line_end(self, path: Path, text: str) -> LineEnd:
        """Return LF, because the folder has no convention."""
        del path, text
        return "\n"

    async def keep(self, snapshot: Snapshot) -> Path | None:
        """Store the snapshot in ``kept``."""
        self.kept.append(snapshot)
        return None

    async def remove(
        self, path: Path, base: Snapshot, *, label: str, marks: ChangeMarks = UNMARKED
    ) -> Path | None:
        """Delete a file and its buffer; see ``Workspace``."""
        del label, marks
        shown = display(path, self.roots)
        if path not in self.files and path not in self.buffers:
            raise EditRefused(f"{shown!r} does not exist any more")
        if (await self.read(path)).stamp.digest != base.stamp.digest:
            raise TextMoved(f"{shown!r} has another text now; it was not deleted")
        await self.keep(base)
        self.files.pop(path, None)
        self.buffers.pop(path, None)
        return None

    def noting(self) -> Callable[[], Noted]:
        """Record nothing, because no user types here."""
        return Noted

    def unsaved(self) -> Mapping[Path, str]:
        """Return buffers that differ from the disk."""
        return {path: text for path, text in self.buffers.items() if text != self.files.get(path)}

    async def settle(self) -> Settlement:
        """Save nothing, so unsaved files are outdated on disk."""
        return Settlement(stale=tuple(self.unsaved()))

    async def late_edits(self) -> tuple[Path, ...]:
        """Return nothing, because an edit succeeds or fails at once."""
        return ()

    async def changed_under_buffers(self) -> tuple[Path, ...]:
        """Return nothing, because only the test changes buffers."""
        return ()

    async def _large(self, path: Path) -> Large:
        data = (await self.read(path)).text.encode("utf-8", "surrogateescape")

        def read(offset: int, size: int) -> bytes:
            return data[offset : offset + size]

        return Large(path, read, index_of(read, len(data), nothing_declared))

    def _names(self, folder: Path) -> list[str]:
        """List the names directly in a folder, sorted; empty if the folder does not exist."""
        depth = len(folder.parts)
        below = [
            path.parts[depth:]
            for path in {*self.files, *self.buffers}
            if path.parts[:depth] == folder.parts and len(path.parts) > depth
        ]
        return sorted({parts[0] if len(parts) == 1 else f"{parts[0]}/" for parts in below})
