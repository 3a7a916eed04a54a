"""Creates and deletes files through an editor that supports this as part of an edit."""

from __future__ import annotations

import asyncio
from pathlib import Path

from indwell.errors import EditRefused, TextMoved, ToolError
from indwell.files import exists
from indwell.lsp.editor.client import Client
from indwell.lsp.messages.lsprotocol_types import types
from indwell.lsp.wire.envelope import RequestError
from indwell.lsp.workspace.buffer_edits import GRACE_S
from indwell.lsp.workspace.documents import Document, digested, unbroken
from indwell.lsp.workspace.edits import creation, deletion, seen
from indwell.workspace.base import Snapshot, Workspace


async def refusal(
    client: Client, edit: types.WorkspaceEdit, label: str, timeout_s: float
) -> str | None:
    """Why the editor refused, in parentheses, or empty; None if it did not refuse.

    Without a refusal the caller checks the disk.
    """
    answer = asyncio.ensure_future(client.apply_edit(edit, label))
    answer.add_done_callback(seen)
    try:
        await asyncio.wait({answer}, timeout=timeout_s)
    except asyncio.CancelledError:
        client.withdraw(edit)
        await asyncio.wait({answer}, timeout=GRACE_S)
        raise
    if not answer.done():
        client.withdraw(edit)
        answer.cancel()
        return None
    try:
        result = answer.result()
    except RequestError:
        return None
    if result is None or result.applied:
        return None
    return f" ({result.failure_reason})" if result.failure_reason else ""


class FileCreation:
    """Creates files.

    Args:
        client: The editor, which creates empty files if it can.
        disk: The files on disk.
        timeout_s: How long the editor may take to answer, in seconds.
    """

    def __init__(self, client: Client, disk: Workspace, *, timeout_s: float) -> None:
        self._client = client
        self._disk = disk
        self._timeout_s = timeout_s

    async def empty_file(self, path: Path, text: str, label: str) -> Snapshot | None:
        """Let the editor create a file for ``text``; None if the caller must create it on disk.

        Raises:
            EditRefused: The file exists by now; nothing was overwritten.
            ToolError: The editor refused.
        """
        if not await self._is_for_the_editor(path, text):
            return None
        await self._ask(path, label)
        try:
            made = await self._disk.read(path)
        except ToolError:
            return None  # no answer, an error, or the editor cannot do what it declares
        if made.text:
            raise EditRefused(
                f"{path.name!r} is not empty although it is new: the editor or somebody else has "
                "filled it; read_file it, and edit what stands there"
            )
        return made

    async def _is_for_the_editor(self, path: Path, text: str) -> bool:
        """Whether the editor can create this file, and the disk can take the text."""
        if not self._client.features.create_files:
            return False
        try:
            text.encode()
        except UnicodeEncodeError:
            return False  # writing to the disk gives the reason
        # Some editors do not create folders.
        return await asyncio.to_thread(lambda: path.parent.is_dir() and not exists(path))

    async def _ask(self, path: Path, label: str) -> None:
        """Let the editor create the empty file; the caller checks the disk.

        Raises:
            ToolError: The editor refused.
        """
        annotated = self._client.features.annotations
        edit = creation(path.as_uri(), annotated=annotated, label=label)
        reason = await refusal(self._client, edit, label, self._timeout_s)
        if reason is not None:
            raise ToolError(f"the editor refused to create {path.name!r}{reason}")


class FileDeletion:
    """Deletes files that the editor has open.

    Args:
        client: The editor, which deletes files if it can.
        disk: The files on disk.
        timeout_s: How long the editor may take to answer, in seconds.
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
            TextMoved: The buffer or its file has another text.
            EditRefused: The editor refused.
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
        """The file on disk, with the buffer's present or original text; None if it is missing.

        Raises:
            TextMoved: Another program has changed the file.
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
        """Let the editor delete the file; the caller checks the disk.

        Raises:
            EditRefused: The editor refused.
        """
        annotated = self._client.features.annotations
        edit = deletion(path.as_uri(), annotated=annotated, label=label)
        reason = await refusal(self._client, edit, label, self._timeout_s)
        if reason:  # without a refusal the disk decides
            raise EditRefused(f"the editor refused to delete {path.name!r}{reason}")


def _check(document: Document, path: Path, base: Snapshot) -> None:
    if document.text != base.text:
        raise TextMoved(f"{path.name!r} was changed in the editor meanwhile; it was not deleted")
