"""The workspace of files on disk, without an editor (``indwell run``) or below buffers."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from indwell.errors import EditRefused, NotText, TextMoved, TooLarge, ToolError
from indwell.files.beneath import locate
from indwell.files.contents.atomic import replace_with, write_atomic
from indwell.files.contents.reading import OpenFile, opened_beneath, read_bytes, read_regular
from indwell.files.disk_names import true_path
from indwell.files.listing import exists, list_folder
from indwell.files.spelling import quoted
from indwell.files.system import calls
from indwell.files.system.copying import copy_range, write_all
from indwell.files.user_files import delete_exactly, keep_copy
from indwell.files.watch.file_watch import FolderWatch
from indwell.workspace.base import (
    UNMARKED,
    AppliedChange,
    ChangeMarks,
    Noted,
    PathLocks,
    Settlement,
    Snapshot,
    TextStamp,
    Watch,
    digest,
)
from indwell.workspace.encoding.decoding import decode
from indwell.workspace.encoding.editorconfig import charset_at
from indwell.workspace.encoding.notebook import (
    SUFFIX,
    about_cells,
    new_notebook,
    notebook_text,
    with_cells,
)
from indwell.workspace.encoding.rewriting import created, rewritten
from indwell.workspace.large import LARGE_B, Large
from indwell.workspace.line_ends import line_end_for
from indwell.workspace.line_index import LineIndex, index_of
from indwell.workspace.paths import display, folder_said, not_found, parse, respelled
from indwell.workspace.text import SNIFF_B, Decoded, LineEnd, binary_kind, picture_type, wide_mark

_KEPT_GUESSES = 1_000  # At most 1,000 guessed encodings are remembered.
T = TypeVar("T")
R = TypeVar("R")
KEPT_INDEXES = 8  # A line index has about 7 kB for 200 MB.
_COPY_B = 64 << 20  # After each copy of this many bytes, the work checks whether it should stop.


class DiskWorkspace:
    """Files inside some folders, accessed through ``files``.

    Args:
        roots: Folders that the agent may work in; commands start in the first folder.
        private: A folder in the user's state for undo files; see
            ``files.contents.atomic.write_atomic``.
    """

    def __init__(self, roots: Sequence[Path], *, private: Path | None = None) -> None:
        assert roots, "a workspace needs a folder"
        real = (str(locate(root, [root]).root) for root in roots)
        self.roots = tuple(Path(true_path(one)) for one in real)
        self.watch: Watch = FolderWatch()
        self._locks = PathLocks()
        self._guesses: dict[Path, str] = {}
        self._private = private
        self._large = LargeFiles(self.roots, private)

    def resolve(self, path: str) -> Path:
        """Resolve a path from the model within the roots; see ``Workspace``."""
        place = locate(parse(path, self.roots[0]), self.roots)
        if exists(place.path):
            return place.path
        forms = [locate(form, self.roots).path for form in respelled(place.path, place.root)]
        return next(filter(exists, forms), forms[0])

    async def read(self, path: Path) -> Snapshot:
        """Read a file from disk; see ``Workspace``."""
        return await asyncio.to_thread(self._read, path)

    async def write(
        self,
        path: Path,
        base: Snapshot | None,
        text: str,
        *,
        label: str,
        marks: ChangeMarks = UNMARKED,
    ) -> AppliedChange:
        """Write a file atomically; see ``Workspace``.

        A cancelled write is completed or not begun before the cancellation continues.
        """
        del label, marks
        async with self._locks.hold(path):
            return await _to_the_end(lambda: self._write(path, base, text))

    async def within(self, path: Path, look: Callable[[Large], T]) -> T:
        """Read a file that is too large for ``read``; see ``Workspace``."""
        stopping = threading.Event()
        return await _to_the_end(
            lambda: self._large.within(path, look, lambda: self._charset(path), stopping),
            stopping,
        )

    async def splice(
        self, path: Path, change: Callable[[Large], tuple[Large, R]], *, label: str
    ) -> tuple[TextStamp, R]:
        """Change a file that is too large for ``read``; see ``Workspace``."""
        del label
        stopping = threading.Event()
        async with self._locks.hold(path):
            return await _to_the_end(
                lambda: self._large.splice(path, change, lambda: self._charset(path), stopping),
                stopping,
            )

    async def line_end(self, path: Path, text: str) -> LineEnd:
        """Choose the line ending of a new file; see ``Workspace``."""
        return await asyncio.to_thread(line_end_for, path, text, self.roots)

    async def keep(self, snapshot: Snapshot) -> Path | None:
        """Keep the file's bytes, or the text as UTF-8 if they differ; see ``Workspace``."""
        return await asyncio.to_thread(self._keep, snapshot)

    async def remove(
        self, path: Path, base: Snapshot, *, label: str, marks: ChangeMarks = UNMARKED
    ) -> Path | None:
        """Delete a file that still equals ``base``; see ``Workspace``."""
        del label, marks
        async with self._locks.hold(path):
            return await _to_the_end(lambda: self._remove(path, base))

    def noting(self) -> Callable[[], Noted]:
        """Return a function that reports nothing, because there is no editor."""
        return Noted

    def unsaved(self) -> Mapping[Path, str]:
        """Return nothing, because there are no buffers."""
        return {}

    async def settle(self) -> Settlement:
        """Do nothing, because there are no buffers."""
        return Settlement()

    async def late_edits(self) -> tuple[Path, ...]:
        """Return nothing, because there is no editor."""
        return ()

    async def changed_under_buffers(self) -> tuple[Path, ...]:
        """Return nothing, because there are no buffers."""
        return ()

    def _read(self, path: Path) -> Snapshot:
        text = _shown(path, self._decoded(path, self._bytes(path)))
        return Snapshot(
            path=path,
            text=text.text,
            stamp=TextStamp(digest(text.text)),
            lossless=text.lossless,
            notes=text.notes,
        )

    def _bytes(self, path: Path) -> bytes:
        shown = display(path, self.roots)
        if not exists(path):
            raise not_found(path, self.roots)
        if path.is_dir():
            raise folder_said(shown, self._names(path))
        with opened_beneath(path, self.roots, resolved=True, private=self._private) as opened:
            if opened.stat.st_size <= LARGE_B:
                return read_regular(opened.descriptor, path, LARGE_B)
            self._large.check(shown, opened)
        raise TooLarge(
            f"{shown!r} has {opened.stat.st_size:,} bytes, more than the {LARGE_B:,} that are "
            "read as one text; read_file shows it in pages, and edit_file changes it in place"
        )

    def _decoded(self, path: Path, data: bytes) -> Decoded:
        decoded = decode(data, lambda: self._charset(path), self._guesses.get(path))
        if decoded is None:
            shown = display(path, self.roots)
            kind = binary_kind(data) or "binary file"
            raise NotText(
                f"{shown!r} is not a text but a {kind} of {len(data):,} bytes",
                media_type=picture_type(data),
            )
        if decoded.is_guess:
            self._guesses.pop(path, None)
            while len(self._guesses) >= _KEPT_GUESSES:
                del self._guesses[next(iter(self._guesses))]
            self._guesses[path] = decoded.encoding
        return decoded

    def _charset(self, path: Path) -> str | None:
        return charset_at(path, self.roots)

    def _names(self, path: Path) -> tuple[str, ...]:
        return tuple(
            f"{entry.name}/" if entry.is_folder else entry.name
            for entry in list_folder(path, self.roots)
        )

    def _write(self, path: Path, base: Snapshot | None, text: str) -> AppliedChange:
        if base is None:
            text, told = self._cells(path, text, "")
            data = self._told(path, lambda: created(told, lambda: self._charset(path)))
            place = write_atomic(
                path,
                data,
                self.roots,
                parents=True,
                create=True,
                resolved=True,
                private=self._private,
            )
        else:
            held = self._bytes(path)
            decoded = self._decoded(path, held)
            shown = _shown(path, decoded)
            self._check(path, shown, base)
            is_as_is = bool(decoded.text) and shown is decoded
            text, told = (text, text) if is_as_is else self._cells(path, text, decoded.text)
            data = self._told(path, lambda: rewritten(told, decoded, lambda: self._charset(path)))
            place = write_atomic(
                path, data, self.roots, expected=held, resolved=True, private=self._private
            )
        found = text if self._holds(place, data) else self._text_now(place)
        after = text if found is None else found
        return AppliedChange(
            path=place,
            before=None if base is None else base.text,
            after=after,
            stamp=TextStamp(digest(after)),
            verified=found == text,
            note="" if found == text else "the file was changed again right after the edit",
        )

    def _cells(self, path: Path, text: str, raw: str) -> tuple[str, str]:
        """Return a new text, and the text for the file; of a notebook, these are cells and JSON."""
        if path.suffix != SUFFIX:
            return text, text
        told = self._told(path, lambda: with_cells(raw, text) if raw else new_notebook(text))
        return notebook_text(told) or text, told

    def _remove(self, path: Path, base: Snapshot) -> Path | None:
        held = self._bytes(path)
        self._check(path, _shown(path, self._decoded(path, held)), base)
        kept = None if self._private is None else keep_copy(self._private, path, held)
        delete_exactly(path, self.roots, held)
        return kept

    def _keep(self, snapshot: Snapshot) -> Path | None:
        if self._private is None:
            return None
        try:
            data = self._bytes(snapshot.path)
            is_same = (
                _shown(snapshot.path, self._decoded(snapshot.path, data)).text == snapshot.text
            )
        except ToolError:  # The file is gone, or no longer a text.
            is_same = False
        if not is_same:
            data = snapshot.text.encode("utf-8", "surrogateescape")
        return keep_copy(self._private, snapshot.path, data)

    def _check(self, path: Path, held: Decoded, base: Snapshot) -> None:
        shown = display(path, self.roots)
        if not held.lossless:
            raise EditRefused(
                f"{shown!r} is not valid {held.encoding} throughout, and editing it would damage "
                "it; convert it first, or change it with a command"
            )
        if digest(held.text) != base.stamp.digest:
            raise TextMoved(
                f"{shown!r} changed on disk since it was read; nothing was written; "
                "read_file it again"
            )

    def _told(self, path: Path, encoded: Callable[[], T]) -> T:
        try:
            return encoded()
        except ValueError as error:
            shown = display(path, self.roots)
            raise ToolError(f"the new text of {shown!r} was not written: {error}") from error

    def _holds(self, path: Path, data: bytes) -> bool:
        try:
            return read_bytes(path, self.roots, len(data)) == data
        except ToolError:  # The file is larger now, or gone.
            return False

    def _text_now(self, path: Path) -> str | None:
        try:
            return _shown(path, self._decoded(path, self._bytes(path))).text
        except ToolError:  # The file is gone, or no longer a text.
            return None


def _shown(path: Path, decoded: Decoded) -> Decoded:
    """Return a file as the model reads it: a notebook as its cells, other files unchanged."""
    text = notebook_text(decoded.text) if path.suffix == SUFFIX and decoded.lossless else None
    if text is None:
        return decoded
    notes = (*decoded.notes, about_cells(text))
    return msgspec.structs.replace(decoded, text=text, notes=notes)


async def _to_the_end(work: Callable[[], T], stopping: threading.Event | None = None) -> T:
    """Run ``work`` in a thread; when cancelled, stop the work and wait for its end."""
    task = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        if stopping is not None:
            stopping.set()
        await asyncio.wait({task})
        if not task.cancelled():
            task.exception()  # The error is retrieved, because the cancellation takes precedence.
        raise


class Stopped(Exception):
    """The call was cancelled, and nothing was changed."""


class LargeFiles:
    """Opens large files inside ``roots``.

    Args:
    roots: Resolved folders.

    private: See ``files.contents.atomic.write_atomic``.
    """

    def __init__(self, roots: Sequence[Path], private: Path | None = None) -> None:
        self._private = private
        self._roots = tuple(roots)
        self._indexes: dict[Path, tuple[tuple[int, ...], LineIndex]] = {}

    def within(
        self,
        path: Path,
        look: Callable[[Large], T],
        project: Callable[[], str | None],
        stopping: threading.Event,
    ) -> T:
        """Return the result of ``look`` on the open file.

        Raises:
            ToolError: The file is missing, unreadable, or not a text with lines.
            Stopped: The caller has stopped the call.
        """
        with opened_beneath(path, self._roots, private=self._private) as opened:
            return look(self._large(opened, project, stopping))

    def splice(
        self,
        path: Path,
        change: Callable[[Large], tuple[Large, R]],
        project: Callable[[], str | None],
        stopping: threading.Event,
    ) -> tuple[TextStamp, R]:
        """Replace the file by the result of ``change``; the kernel copies unchanged parts.

        Raises:
            TextMoved: The file changed after ``change`` read it; nothing was written.
            ToolError: See ``within``; also raised by ``change``, or if the file cannot be written.
            Stopped: The caller has stopped the call.
        """
        with contextlib.ExitStack() as held:
            opened = held.enter_context(opened_beneath(path, self._roots, private=self._private))
            made, result = change(self._large(opened, project, stopping))

            def write(target: int) -> None:
                for piece in made.pieces:
                    if isinstance(piece, bytes):
                        write_all(target, piece)
                        continue
                    for start in range(piece.start, piece.stop, _COPY_B):
                        _check(stopping)
                        size = min(_COPY_B, piece.stop - start)
                        copy_range(opened.descriptor, target, start, size)
                held.close()  # On some Windows disks, an open file cannot be replaced.

            place = replace_with(
                path, self._roots, write, unchanged=opened.stat, private=self._private
            )
        # The indexing is not interrupted, because the new bytes are written already.
        index = self.within(place, lambda large: large.index, project, threading.Event())
        if index.size_b != made.size_b:
            raise ToolError(f"{quoted(path)} was changed again right after the edit; read_file it")
        return TextStamp(index.digest), result

    def check(self, shown: str, opened: OpenFile) -> None:
        """Refuse a file that is not a text with lines.

        Raises:
            ToolError: The file is not a text with lines; the message names its type.
        """
        head = read_at(opened.descriptor, 0, SNIFF_B)
        size = f"of {opened.stat.st_size:,} bytes"
        wide = wide_mark(head)
        if wide is not None:
            raise ToolError(
                f"{shown!r} is {wide} text {size}, too much to be read at once in that encoding; "
                "convert it to UTF-8 with a command (iconv), or take a part of it"
            )
        kind = binary_kind(head)
        if kind is not None:
            raise ToolError(f"{shown!r} is not a text but a {kind} {size}")

    def _large(
        self, opened: OpenFile, project: Callable[[], str | None], stopping: threading.Event
    ) -> Large:
        def read(offset: int, size: int) -> bytes:
            _check(stopping)
            return read_at(opened.descriptor, offset, size)

        self.check(str(opened.path), opened)
        kind = opened.stat
        mark = (kind.st_dev, kind.st_ino, kind.st_size, kind.st_mtime_ns, kind.st_ctime_ns)
        known = self._indexes.get(opened.path)
        if known is None or known[0] != mark:
            index = index_of(read, kind.st_size, project)
            known = (mark, index)
            self._indexes.pop(opened.path, None)
            while len(self._indexes) >= KEPT_INDEXES:
                with contextlib.suppress(KeyError):  # Another thread removed the file.
                    del self._indexes[next(iter(self._indexes))]
            now = os.fstat(opened.descriptor)
            if (now.st_size, now.st_mtime_ns) == (kind.st_size, kind.st_mtime_ns):
                # If the file has changed meanwhile, a write is in progress, so the index is not
                # kept.
                self._indexes[opened.path] = known
        return Large(opened.path, read, known[1])


def read_at(descriptor: int, offset: int, size: int) -> bytes:
    """Read up to ``size`` bytes at ``offset``; fewer only at the end of the file."""
    found: list[bytes] = []
    while size > 0 and (data := calls.pread(descriptor, size, offset)):
        found.append(data)
        offset, size = offset + len(data), size - len(data)
    return b"".join(found)


def _check(stopping: threading.Event) -> None:
    if stopping.is_set():
        raise Stopped
