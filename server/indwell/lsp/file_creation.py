"""New files by the editor, where it makes them as part of an edit (EDT-11, EDT-14).

The editor makes the empty file, so that its tree shows it and its extensions hear of it; the text
goes to disk, so that no editor opens it unsaved (``docs/decisions/0006``).
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from indwell.errors import EditRefused, ToolError
from indwell.files import exists
from indwell.lsp.client import Client
from indwell.lsp.resource_operation import refusal
from indwell.lsp.workspace_edits import creation
from indwell.workspace.base import Snapshot, Workspace


class FileCreation:
    """Makes new files.

    Args:
        client: Makes them empty, if it can.
        disk: Where they are looked for.
        timeout_s: How long the editor may take to answer.
    """

    def __init__(self, client: Client, disk: Workspace, *, timeout_s: float) -> None:
        self._client = client
        self._disk = disk
        self._timeout_s = timeout_s

    async def empty_file(self, path: Path, text: str, label: str) -> Snapshot | None:
        """Let the editor make a file for ``text``; None if that is for the disk to do.

        Raises:
            EditRefused: Something stands there by now; nothing was overwritten.
            ToolError: The editor said no.
        """
        if not await self._is_for_the_editor(path, text):
            return None
        await self._ask(path, label)
        try:
            made = await self._disk.read(path)
        except ToolError:
            return None  # it did not answer, failed, or does not do what it declares
        if made.text:
            raise EditRefused(
                f"{path.name!r} is not empty although it is new: the editor or somebody else has "
                "filled it; read_file it, and edit what stands there"
            )
        return made

    async def _is_for_the_editor(self, path: Path, text: str) -> bool:
        """Can it make this file; and can the disk take the text, so that none is left empty?"""
        if not self._client.features.create_files:
            return False
        try:
            text.encode()
        except UnicodeEncodeError:
            return False  # the disk says why
        # Not every editor makes the folders too.
        return await asyncio.to_thread(lambda: path.parent.is_dir() and not exists(path))

    async def _ask(self, path: Path, label: str) -> None:
        """Let the editor make the empty file; what it says of it is looked at on disk.

        Raises:
            ToolError: It said no.
        """
        annotated = self._client.features.annotations
        edit = creation(path.as_uri(), annotated=annotated, label=label)
        reason = await refusal(self._client, edit, label, self._timeout_s)
        if reason is not None:
            raise ToolError(f"the editor refused to create {path.name!r}{reason}")
