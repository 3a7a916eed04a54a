"""Files that go, by the editor where it does that as part of an edit and has the file open.

So its buffer goes with the file; of all others, and where the editor does not do it, the disk is
asked. A copy is kept before either.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from indwell.errors import EditRefused, TextMoved, ToolError
from indwell.files import exists
from indwell.lsp.client import Client
from indwell.lsp.documents import Document, digested, unbroken
from indwell.lsp.resource_operation import refusal
from indwell.lsp.workspace_edits import deletion
from indwell.workspace.base import Snapshot, Workspace


class FileDeletion:
    """Deletes files that the editor has open.

    Args:
        client: Deletes them, if it can.
        disk: Where they are looked for, and else deleted.
        timeout_s: How long the editor may take to answer.
    """

    def __init__(self, client: Client, disk: Workspace, *, timeout_s: float) -> None:
        self._client = client
        self._disk = disk
        self._timeout_s = timeout_s

    async def remove(
        self, document: Document, path: Path, base: Snapshot, label: str
    ) -> Path | None:
        """Delete the file of an open document, whose text was compared with ``base``.

        Raises:
            TextMoved: The buffer, or the disk below it, holds something else.
            EditRefused: The editor said no.
            ToolError: No copy can be kept, or the system refuses.
        """
        on_disk = await self._below(document, path)
        kept = await self._disk.keep(base)
        if self._client.features.delete_files and on_disk is not None:
            _check(document, path, base)
            await self._ask(path, label)
        if not await asyncio.to_thread(exists, path):
            return kept
        _check(document, path, base)
        if on_disk is not None:
            await self._disk.remove(path, on_disk, label=label)
        return kept

    async def _below(self, document: Document, path: Path) -> Snapshot | None:
        """What is on disk: what the buffer reads or started from, or nothing.

        Raises:
            TextMoved: Somebody else has changed it.
        """
        try:
            on_disk = await self._disk.read(path)
        except ToolError:
            if await asyncio.to_thread(exists, path):
                raise
            return None
        known = await digested(on_disk.text, unbroken)
        if unbroken(on_disk.text) != unbroken(document.text) and known != await document.origin():
            raise TextMoved(
                f"{path.name!r} holds another text on disk than in the editor; it was not deleted"
            )
        return on_disk

    async def _ask(self, path: Path, label: str) -> None:
        """Let the editor delete it; what became of it is looked at on disk.

        Raises:
            EditRefused: It said no.
        """
        annotated = self._client.features.annotations
        edit = deletion(path.as_uri(), annotated=annotated, label=label)
        reason = await refusal(self._client, edit, label, self._timeout_s)
        if reason:  # without one, the disk tells
            raise EditRefused(f"the editor refused to delete {path.name!r}{reason}")


def _check(document: Document, path: Path, base: Snapshot) -> None:
    if document.text != base.text:
        raise TextMoved(f"{path.name!r} was changed in the editor meanwhile; it was not deleted")
