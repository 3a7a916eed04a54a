"""The user's files through the editor: buffers over the disk, edits with exact versions."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TypeVar

import msgspec

from indwell.errors import EditRefused, TextMoved, ToolError
from indwell.lsp.editor.client import Client
from indwell.lsp.workspace.buffer_edits import BufferEdits
from indwell.lsp.workspace.disk_agreement import DiskAgreement
from indwell.lsp.workspace.documents import Document, Documents
from indwell.lsp.workspace.file_operations import FileCreation, FileDeletion
from indwell.service.mentions import is_chat
from indwell.workspace.base import (
    AppliedChange,
    Noted,
    PathLocks,
    Settlement,
    Snapshot,
    TextStamp,
    Watch,
    Workspace,
)
from indwell.workspace.large import Large


class EditorWatch:
    """Changes of open documents, and those of files on disk; implements ``Watch``.

    An editor that can watch files does so, folder by folder as files in them are followed, so that
    a big build elsewhere is no traffic. For all others the disk is watched from here.

    Args:
        documents: What the editor has open.
        disk: Hears of the files on disk.
        ask: Asks the editor to tell of the files of one folder; False if it does not.
    """

    def __init__(
        self, documents: Documents, disk: Watch, ask: Callable[[Path], Awaitable[bool]]
    ) -> None:
        self._disk = disk
        self._ask = ask
        self._followed: set[Path] = set()
        self._changed: set[Path] = set()
        self._folders: dict[Path, asyncio.Task[bool]] = {}
        documents.on_change(self._note)

    def follow(self, path: Path) -> None:
        """Hear of this file from now on; on the event loop."""
        if path in self._followed:
            return
        self._followed.add(path)
        asking = self._folders.get(path.parent)
        if asking is None:
            self._folders[path.parent] = asyncio.ensure_future(self._watch(path.parent))
        elif asking.done() and not asking.cancelled() and not asking.result():
            self._disk.follow(path)

    def changed(self) -> frozenset[Path]:
        """Followed files that may have changed since the last call."""
        changed, self._changed = frozenset(self._changed), set()
        return changed | self._disk.changed()

    def close(self) -> None:
        """Follow nothing any more."""
        self._followed.clear()
        for asking in self._folders.values():
            asking.cancel()
        self._folders.clear()
        self._disk.close()

    def _note(self, path: Path) -> None:
        if path in self._followed:
            self._changed.add(path)

    async def _watch(self, folder: Path) -> bool:
        if await self._ask(folder):
            return True
        for path in [one for one in self._followed if one.parent == folder]:
            self._disk.follow(path)
        return False


T = TypeVar("T")
R = TypeVar("R")

STALE = (
    "the editor's messages about this file came in an impossible order, so what stands here may "
    "not be what the editor shows"
)


class EditorWorkspace:
    """Buffers over ``disk``; implements ``Workspace``.

    Args:
        documents: What the editor has open.
        client: Takes edits and saves.
        disk: The layer below, for closed files.
        apply_timeout_s: How long the editor may take to answer an edit.
    """

    def __init__(
        self, documents: Documents, client: Client, disk: Workspace, *, apply_timeout_s: float
    ) -> None:
        self._documents = documents
        self._client = client
        self._disk = disk
        self.watch = EditorWatch(documents, disk.watch, client.watch_folder)
        self._edits = BufferEdits(documents, client, apply_timeout_s=apply_timeout_s)
        self._creation = FileCreation(client, disk, timeout_s=apply_timeout_s)
        self._deletion = FileDeletion(client, disk, timeout_s=apply_timeout_s)
        self._agreement = DiskAgreement(disk)
        self._locks = PathLocks()

    @property
    def roots(self) -> tuple[Path, ...]:
        """Those of the disk."""
        return self._disk.roots

    def resolve(self, path: str) -> Path:
        """As the disk does."""
        return self._disk.resolve(path)

    async def read(self, path: Path) -> Snapshot:
        """The buffer if the file is open, else the disk."""
        document = self._documents.at(path)
        if document is None:
            return await self._disk.read(path)
        note = await self._agreement.note(document, path)
        text, stamp = await document.stamped()
        return Snapshot(
            path=path,
            text=text,
            stamp=stamp,
            origin="buffer",
            unsaved=document.dirt != "clean",
            notes=tuple(filter(None, (STALE if document.is_stale else "", note))),
        )

    async def write(
        self, path: Path, base: Snapshot | None, text: str, *, label: str
    ) -> AppliedChange:
        """Change a buffer by one versioned edit, or a closed file on disk; one at a time each."""
        async with self._locks.hold(path):
            document = self._documents.at(path)
            if document is not None:
                return await self._change(document, path, base, text, label)
            if base is None:
                return await self._create(path, text, label)
            return await self._disk.write(path, base, text, label=label)

    async def within(self, path: Path, look: Callable[[Large], T]) -> T:
        """Look into a large file on disk; see ``Workspace``."""
        return await self._disk.within(path, look)

    async def splice(
        self, path: Path, plan: Callable[[Large], tuple[Large, R]], *, label: str
    ) -> tuple[TextStamp, R]:
        """Change a large file on disk; what is open is changed through its buffer."""
        async with self._locks.hold(path):
            if self._documents.at(path) is not None:
                raise EditRefused(f"{path.name!r} is open in the editor; read_file it again")
            return await self._disk.splice(path, plan, label=label)

    async def keep(self, snapshot: Snapshot) -> Path | None:
        """As the disk does."""
        return await self._disk.keep(snapshot)

    async def remove(self, path: Path, base: Snapshot, *, label: str) -> Path | None:
        """Delete a file: by the editor where it is open, else on disk; see ``Workspace``."""
        async with self._locks.hold(path):
            document = self._documents.at(path)
            if document is None:
                return await self._disk.remove(path, base, label=label)
            if document.is_stale:
                raise EditRefused(f"{path.name!r} was not deleted: {STALE}")
            if document.text != base.text:
                raise TextMoved(f"{path.name!r} was changed in the editor; it was not deleted")
            return await self._deletion.remove(document, path, base, label)

    def noting(self) -> Callable[[], Noted]:
        """What the editor saves, and whose buffers change, from now on."""
        saves = dict(self._documents.n_saves)
        texts = {one.path: one.text for one in self._documents if one.path is not None}

        def noted() -> Noted:
            now = {one.path: one.text for one in self._documents if one.path is not None}
            n_saves = self._documents.n_saves
            return Noted(
                saved=frozenset(path for path in n_saves if n_saves[path] != saves.get(path, 0)),
                changed=frozenset(path for path in now if texts.get(path, now[path]) != now[path]),
                buffers=now,
            )

        return noted

    async def late_edits(self) -> tuple[Path, ...]:
        """Files in which the editor has applied an edit that was given up before; each told once.

        It took longer than the time-out, or the turn was stopped.
        """
        return await self._edits.late_edits()

    def unsaved(self) -> Mapping[Path, str]:
        """Buffers that the disk does not agree with."""
        return {
            document.path: document.text
            for document in self._documents
            if document.path is not None and document.dirt != "clean" and not is_chat(document.uri)
        }

    async def settle(self) -> Settlement:
        """Save what may be saved; the user's own unsaved text is never written without consent."""
        dirty = [one for one in self._documents if one.path is not None and one.dirt != "clean"]
        dirty = [one for one in dirty if not is_chat(one.uri)]  # no command reads those
        if dirty and self._client.features.has("save"):
            await self._client.save(tuple(one.uri for one in dirty))
        saved: list[Path] = []
        stale: list[Path] = []
        for document in dirty:
            assert document.path is not None
            if document.dirt == "agent" and not document.is_stale:
                async with self._locks.hold(document.path):
                    await self._agreement.put(document, document.path)
            (saved if document.dirt == "clean" else stale).append(document.path)
        return Settlement(saved=tuple(saved), stale=tuple(stale))

    async def changed_under_buffers(self) -> tuple[Path, ...]:
        """Open files that somebody else has changed on disk; each change is told once."""
        return await self._agreement.changed(tuple(self._documents))

    async def _change(
        self, document: Document, path: Path, base: Snapshot | None, text: str, label: str
    ) -> AppliedChange:
        if base is None:
            raise EditRefused(f"{path.name!r} is open in the editor already; read and edit it")
        if document.is_stale:
            raise EditRefused(
                f"{path.name!r} was not edited: {STALE}; it is safe again when the user has closed "
                "it and opened it again"
            )
        if document.text != base.text:
            raise TextMoved(
                f"{path.name!r} was changed in the editor meanwhile; nothing was edited; "
                "read_file it again"
            )
        _note_agent(document, base.text, text)
        return await self._edits.change(document, path, text, label)

    async def _create(self, path: Path, text: str, label: str) -> AppliedChange:
        made = await self._creation.empty_file(path, text, label)
        document = self._documents.at(path)
        if document is not None and not document.text:  # and the editor has opened it at once
            _note_agent(document, "", text)
            change = await self._edits.change(document, path, text, label)
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
    """What the agent writes into a chat are no words of the user's."""
    if is_chat(document.uri):
        known = {line.strip() for line in before.split("\n")}
        document.by_agent |= {line.strip() for line in text.split("\n")} - known
