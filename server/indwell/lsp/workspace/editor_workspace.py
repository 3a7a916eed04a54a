"""Reads and changes the user's files through the editor, and closed files on disk.

A buffer and its file are first compared by ``stat``, then by digest.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar

import msgspec

from indwell.errors import EditRefused, TextMoved, ToolError
from indwell.files.listing import FileState, state_of
from indwell.lsp.editor.client import Client
from indwell.lsp.workspace.annotations import AnswerLimits
from indwell.lsp.workspace.buffer_edits import BufferEdits
from indwell.lsp.workspace.documents import Document, Documents, digested, unbroken
from indwell.lsp.workspace.edits import FileCreation, FileDeletion
from indwell.lsp.workspace.notebooks import Notebooks, edited_text, shown_text
from indwell.workspace.base import (
    UNMARKED,
    AppliedChange,
    BufferWatch,
    ChangeMarks,
    Noted,
    PathLocks,
    Settlement,
    Snapshot,
    TextStamp,
    Workspace,
    digest,
)
from indwell.workspace.encoding.notebook import SUFFIX, about_cells, new_notebook
from indwell.workspace.large import Large
from indwell.workspace.text import LineEnd

CONFIRM_S = 300.0  # the time limit, in seconds, for the user's answer in the editor

T = TypeVar("T")
R = TypeVar("R")
STALE = (
    "the editor's messages about this file came in an impossible order, so this text may differ "
    "from the editor's"
)
Held: TypeAlias = str | None
"""The digest of a file on disk: empty if there is no file, and None if unknown."""
Agrees: TypeAlias = Literal["yes", "changed", "gone"]
_NOTHING = frozenset({digest(""), digest("\n")})  # editors show such a text for a missing file


class EditorWorkspace:
    """Shows open buffers in place of files on disk; implements ``Workspace``.

    Args:
        documents: The open documents.
        client: The editor, which applies edits and saves.
        disk: The workspace on disk, for closed files.
        apply_timeout_s: The time limit for the editor's answer to an edit, in seconds.
        confirm_timeout_s: The same limit for an edit that the editor asks the user about.
        notebooks: The open notebooks.
    """

    def __init__(
        self,
        documents: Documents,
        client: Client,
        disk: Workspace,
        *,
        apply_timeout_s: float,
        confirm_timeout_s: float = CONFIRM_S,
        notebooks: Notebooks | None = None,
    ) -> None:
        self._documents = documents
        self._notebooks = notebooks or Notebooks(documents)
        self._client = client
        self._disk = disk
        self.roots, self.resolve = disk.roots, disk.resolve
        self.watch = BufferWatch(disk.watch, client.watch_folder)
        documents.on_change(self.watch.note)
        limits = AnswerLimits(apply_timeout_s, confirm_timeout_s)
        self._edits = BufferEdits(documents, client, limits)
        self._creation = FileCreation(client, disk, limits)
        self._deletion = FileDeletion(client, disk, limits)
        self._agreement = DiskAgreement(disk)
        self._locks = PathLocks()

    async def read(self, path: Path) -> Snapshot:
        """Read the buffer of an open file; for a closed file, read the disk."""
        notebook = self._notebooks.at(path)
        if notebook is not None and (cells := self._notebooks.snapshot(notebook)) is not None:
            return cells
        document = self._documents.at(path)
        if document is None:
            return await self._disk.read(path)
        note = await self._agreement.note(document, path)
        text, stamp = await document.stamped()
        if path.suffix == SUFFIX and (cells_of_it := shown_text(document)) is not text:
            text, stamp = cells_of_it, TextStamp(digest(cells_of_it), stamp.version)
            note = about_cells(text)
        return Snapshot(
            path=path,
            text=text,
            stamp=stamp,
            origin="buffer",
            unsaved=document.dirt != "clean",
            notes=tuple(filter(None, (STALE if document.is_stale else "", note))),
        )

    async def write(
        self,
        path: Path,
        base: Snapshot | None,
        text: str,
        *,
        label: str,
        marks: ChangeMarks = UNMARKED,
    ) -> AppliedChange:
        """Change a buffer with a versioned edit, or a closed file on disk; one change at a time."""
        async with self._locks.hold(path):
            notebook = self._notebooks.at(path)
            if notebook is not None and self._notebooks.text(notebook) is not None:
                return await self._notebooks.write(
                    notebook, base, text, label=label, edits=self._edits, disk=self._disk
                )
            document = self._documents.at(path)
            if document is not None:
                return await self._change(document, path, base, text, label, marks=marks)
            if base is None:
                return await self._create(path, text, label, marks)
            return await self._disk.write(path, base, text, label=label)

    async def within(self, path: Path, look: Callable[[Large], T]) -> T:
        """Examine a large file on disk; see ``Workspace``."""
        return await self._disk.within(path, look)

    async def splice(
        self, path: Path, change: Callable[[Large], tuple[Large, R]], *, label: str
    ) -> tuple[TextStamp, R]:
        """Change a large file on disk, or in its open buffer."""
        async with self._locks.hold(path):
            if self._documents.at(path) is not None:
                raise EditRefused(f"{path.name!r} is open in the editor; read_file it again")
            return await self._disk.splice(path, change, label=label)

    async def line_end(self, path: Path, text: str) -> LineEnd:
        """Return the line end for a text; see ``Workspace``."""
        return await self._disk.line_end(path, text)

    async def keep(self, snapshot: Snapshot) -> Path | None:
        """Back up a file; see ``Workspace``."""
        return await self._disk.keep(snapshot)

    async def remove(
        self, path: Path, base: Snapshot, *, label: str, marks: ChangeMarks = UNMARKED
    ) -> Path | None:
        """Delete an open file through the editor, and a closed file on disk; see ``Workspace``."""
        async with self._locks.hold(path):
            document = self._documents.at(path)
            if document is None:
                return await self._disk.remove(path, base, label=label)
            if document.is_stale:
                raise EditRefused(f"{path.name!r} was not deleted: {STALE}")
            if document.text != base.text:
                raise TextMoved(f"{path.name!r} was changed in the editor; it was not deleted")
            return await self._deletion.remove(document, path, base, label, marks)

    def noting(self) -> Callable[[], Noted]:
        """Record saved files and changed buffers from now on; see ``Workspace``."""
        saves = dict(self._documents.n_saves)
        texts = {one.path: shown_text(one) for one in self._documents if one.path is not None}

        def noted() -> Noted:
            now = {one.path: shown_text(one) for one in self._documents if one.path is not None}
            n_saves = self._documents.n_saves
            return Noted(
                saved=frozenset(path for path in n_saves if n_saves[path] != saves.get(path, 0)),
                changed=frozenset(path for path in now if texts.get(path, now[path]) != now[path]),
                buffers=now,
            )

        return noted

    async def late_edits(self) -> tuple[Path, ...]:
        """Return files to which the editor applied an edit late, each only once.

        A late edit is applied after its time-out, or after its turn was stopped.
        """
        return await self._edits.late_edits()

    def unsaved(self) -> Mapping[Path, str]:
        """Return the texts of buffers that differ from the disk."""
        notebooks = (
            (one.path, self._notebooks.text(one)) for one in self._notebooks if one.is_dirty
        )
        return {
            **{path: text for path, text in notebooks if text is not None},
            **{
                document.path: shown_text(document)
                for document in self._documents
                if document.path is not None and document.dirt != "clean" and not document.is_chat
            },
        }

    async def settle(self) -> Settlement:
        """Save buffers; the user's own unsaved text is never written without consent."""
        dirty = [one for one in self._documents if one.path is not None and one.dirt != "clean"]
        dirty = [one for one in dirty if not one.is_chat]  # commands do not read chats
        notebooks = [one for one in self._notebooks if one.is_dirty]
        if (dirty or notebooks) and self._client.features.has("save"):
            await self._client.save((*(one.uri for one in dirty), *(one.uri for one in notebooks)))
        saved = [one.path for one in notebooks if not one.is_dirty]
        stale = [one.path for one in notebooks if one.is_dirty]
        for document in dirty:
            assert document.path is not None
            if document.dirt == "agent" and not document.is_stale:
                async with self._locks.hold(document.path):
                    await self._agreement.put(document, document.path)
            (saved if document.dirt == "clean" else stale).append(document.path)
        return Settlement(saved=tuple(saved), stale=tuple(stale))

    async def changed_under_buffers(self) -> tuple[Path, ...]:
        """Return open files that another program changed on disk; each change is returned once."""
        return await self._agreement.changed(tuple(self._documents))

    async def _change(
        self,
        document: Document,
        path: Path,
        base: Snapshot | None,
        text: str,
        label: str,
        *,
        marks: ChangeMarks,
    ) -> AppliedChange:
        if base is None:
            raise EditRefused(f"{path.name!r} is open in the editor already; read and edit it")
        if document.is_stale:
            raise EditRefused(
                f"{path.name!r} was not edited: {STALE}; it is safe again when the user has closed "
                "it and opened it again"
            )
        if shown_text(document) != base.text:
            raise TextMoved(
                f"{path.name!r} was changed in the editor meanwhile; nothing was edited; "
                "read_file it again"
            )
        _note_agent(document, base.text, text)
        told = edited_text(document, text)
        change = await self._edits.change(document, path, told, label, marks)
        if path.suffix != SUFFIX:
            return change
        after = shown_text(document)
        stamp = TextStamp(digest(after), document.version)
        return msgspec.structs.replace(change, before=base.text, after=after, stamp=stamp)

    async def _create(self, path: Path, text: str, label: str, marks: ChangeMarks) -> AppliedChange:
        made = await self._creation.empty_file(path, text, label, marks)
        document = self._documents.at(path)
        if document is not None and not document.text:  # the editor opened the new file immediately
            _note_agent(document, "", text)
            told = new_notebook(text) if path.suffix == SUFFIX else text
            change = await self._edits.change(document, path, told, label)
            if path.suffix == SUFFIX:
                change = msgspec.structs.replace(change, after=shown_text(document))
        else:
            try:
                change = await self._disk.write(path, made, text, label=label)
            except ToolError as error:
                if made is None:
                    raise
                raise type(error)(
                    f"{error}; the editor has made the file, and it is empty"
                ) from error
        return msgspec.structs.replace(change, before=None)


def _note_agent(document: Document, before: str, text: str) -> None:
    """Record lines that the agent writes into a chat, because the user did not type them."""
    if document.is_chat:
        known = {line.strip() for line in before.split("\n")}
        document.by_agent |= {line.strip() for line in text.split("\n")} - known


class _KnownDocument(msgspec.Struct):
    document: Document
    state: FileState | None
    held: Held
    told: Held = None


class DiskAgreement:
    """Compares open documents with their files.

    Args:
        disk: Reads and writes files.
        look: Returns the state of a file; runs in a thread.
    """

    def __init__(
        self, disk: Workspace, look: Callable[[Path], FileState | None] = state_of
    ) -> None:
        self._disk = disk
        self._look = look
        self._known: dict[str, _KnownDocument] = {}

    async def note(self, document: Document, path: Path) -> str:
        """Return a note for the reader of a buffer about its file on disk; may be empty."""
        if path.suffix == SUFFIX:
            return ""  # A notebook on disk is read as cells, but the buffer contains the JSON.
        state = await asyncio.to_thread(self._look, path)
        match await self._agrees(document, path, state):
            case "yes":
                return ""
            case "gone":
                return "the file is not on disk any more; the editor's text is shown"
            case "changed":
                return (
                    "the file on disk is newer than the editor's text: somebody else has changed "
                    "it; the editor's text is shown"
                )

    async def changed(self, documents: Sequence[Document]) -> tuple[Path, ...]:
        """Return open files that another program changed on disk; each change is returned once."""
        open_files = [
            (one, one.path)
            for one in documents
            if one.path is not None and one.path.suffix != SUFFIX
        ]
        self._known = {one.uri: self._known[one.uri] for one in documents if one.uri in self._known}
        paths = [path for _, path in open_files]
        states = await asyncio.to_thread(lambda: [self._look(path) for path in paths])
        changed = []
        for (document, path), state in zip(open_files, states, strict=True):
            if await self._agrees(document, path, state) == "yes":
                continue
            known = self._known[document.uri]
            if known.told != known.held:
                known.told = known.held
                changed.append(path)
        return tuple(changed)

    async def put(self, document: Document, path: Path) -> None:
        """Write a buffer's text to disk for commands to read, unless a change would be lost.

        The file must still have the text that the buffer started from. The editor is not notified,
        because saving the buffer later changes nothing.
        """
        if path.suffix == SUFFIX:
            return
        text = document.text
        try:
            on_disk = await self._disk.read(path)
            if unbroken(on_disk.text) != unbroken(text):
                if await _digest_of(on_disk) != await document.origin():
                    return
                await self._disk.write(path, on_disk, _ended(text, on_disk.text), label="Indwell")
        except ToolError:
            return  # the file is deleted or binary, so another program changed the file
        document.agrees(text)
        if document.text == text:  # If the texts differ, the user has typed in the meantime.
            document.dirt = "clean"

    async def _agrees(self, document: Document, path: Path, state: FileState | None) -> Agrees:
        agreed = document.n_agreed
        held = await self._held(document, path, state)
        origin = await document.origin()
        if held is None or held == origin or (held == "" and origin in _NOTHING):
            return "yes"
        text, stamp = await document.stamped()
        now = stamp.digest if "\r" not in text else await digested(text, unbroken)
        if held == now:  # the buffer was reloaded or saved a moment ago
            document.agrees(text)
            if document.text is text:
                document.dirt = "clean"
            return "yes"
        if document.n_agreed != agreed:
            return "yes"  # the file was saved in the meantime, so the result is outdated
        return "changed" if held else "gone"

    async def _held(self, document: Document, path: Path, state: FileState | None) -> Held:
        """Return the text on disk, which is read only if the file's state has changed."""
        known = self._known.get(document.uri)
        if known is None or known.document is not document:
            known = self._known[document.uri] = _KnownDocument(document, state=None, held=None)
        elif state is not None and state.is_certain and known.state == state:
            return known.held
        known.state = state
        known.held = "" if state is None else await self._read(path)
        return known.held

    async def _read(self, path: Path) -> Held:
        try:
            snapshot = await self._disk.read(path)
        except ToolError:
            return None
        return await _digest_of(snapshot) if snapshot.lossless else None


async def _digest_of(snapshot: Snapshot) -> str:
    if "\r" not in snapshot.text:
        return snapshot.stamp.digest
    return await digested(snapshot.text, unbroken)


def _ended(text: str, like: str) -> str:
    r"""Return ``text`` with ``\r\n`` if all lines of ``like`` end with it; editors may hide it."""
    if "\r" in text or "\r\n" not in like or like.count("\n") != like.count("\r\n"):
        return text
    return text.replace("\n", "\r\n")
