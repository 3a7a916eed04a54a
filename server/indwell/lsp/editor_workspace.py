"""The user's files through the editor: buffers over disk, edits with exact versions (editor §4).

An open document is read and changed through the editor alone; a closed file through the disk.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from indwell.errors import EditRefused, TextMoved, ToolError
from indwell.lsp.buffer_edits import BufferEdits
from indwell.lsp.client import Client
from indwell.lsp.documents import Document, Documents
from indwell.workspace.base import Change, Settlement, Snapshot, Workspace, digest


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
        self._edits = BufferEdits(documents, client, apply_timeout_s=apply_timeout_s)

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
        return _snapshot(document, path)

    async def write(self, path: Path, base: Snapshot | None, text: str, *, label: str) -> Change:
        """Change a buffer by one versioned edit, or a closed file on disk."""
        document = self._documents.at(path)
        if document is None:
            return await self._disk.write(path, base, text, label=label)
        if base is None:
            raise EditRefused(f"{path.name!r} is open in the editor already; read and edit it")
        if document.stamp.digest != base.stamp.digest:
            raise TextMoved(
                f"{path.name!r} was changed in the editor meanwhile; nothing was edited; "
                "read_file it again"
            )
        return await self._edits.change(document, path, text, label)

    def unsaved(self) -> Mapping[Path, str]:
        """Buffers that the disk does not agree with."""
        return {
            document.path: document.text
            for document in self._documents
            if document.path is not None and document.dirt != "clean"
        }

    async def settle(self) -> Settlement:
        """Save what may be saved; the user's own unsaved text is never written without consent."""
        dirty = [one for one in self._documents if one.path is not None and one.dirt != "clean"]
        if dirty and self._client.features.has("save"):
            await self._client.save(tuple(one.uri for one in dirty))
        saved: list[Path] = []
        stale: list[Path] = []
        for document in dirty:
            assert document.path is not None
            if document.dirt == "agent":
                await self._put_on_disk(document)
            (saved if document.dirt == "clean" else stale).append(document.path)
        return Settlement(saved=tuple(saved), stale=tuple(stale))

    async def changed_under_buffers(self) -> tuple[Path, ...]:
        """Open files that somebody else has changed on disk."""
        return ()

    async def _put_on_disk(self, document: Document) -> None:
        """Write the agent's own text of a buffer, so that commands see it.

        Only over the text that the buffer started from. If something else is on disk, somebody
        changed the file since (EDT-10), or the editor opened the buffer with unsaved text that it
        had kept for the user; then the document stays as it is. The editor is not told: its buffer
        holds the same text, and saving it changes nothing.
        """
        assert document.path is not None
        text = document.text
        try:
            on_disk = await self._disk.read(document.path)
            if on_disk.text != text:
                if on_disk.stamp.digest != document.saved:
                    return
                await self._disk.write(document.path, on_disk, text, label="Indwell")
        except ToolError:
            return  # gone, or no text there: not what the buffer started from either
        document.saved = digest(text)
        if document.text == text:  # else somebody typed meanwhile
            document.dirt = "clean"


def _snapshot(document: Document, path: Path) -> Snapshot:
    return Snapshot(
        path=path,
        text=document.text,
        stamp=document.stamp,
        origin="buffer",
        unsaved=document.dirt != "clean",
    )
