"""Replaces the editor in tests: one buffer, and a chosen reaction to each edit.

The class replaces ``indwell.lsp.editor.client.Client`` in tests that only edit and save.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from lsprotocol import types

from indwell.lsp.messages.features import ClientFeatures
from indwell.lsp.wire import sync
from indwell.lsp.wire.base_protocol import RequestError
from indwell.lsp.workspace.documents import Documents
from indwell.translation import ENGLISH
from indwell.workspace.text import document_lines
from support.editor_texts import to_offset

Result = types.ApplyWorkspaceEditResult


class StubEditor:
    """One open file; ``behave`` reacts to each edit.

    Args:
        path: The file; the file need not exist.
        text: The text of the opened buffer.
        encoding: The negotiated position encoding.
    """

    def __init__(self, path: Path, text: str, *, encoding: str = "utf-16") -> None:
        self.path = path
        self.text = text
        self.version = 1
        self.documents = Documents()
        self.documents.encoding = encoding
        self.features = ClientFeatures()
        self.translation = ENGLISH
        self.sent: list[tuple[types.WorkspaceEdit, str]] = []
        self.withdrawn: list[types.WorkspaceEdit] = []
        self.on_withdraw: Callable[[types.WorkspaceEdit], None] = lambda _edit: None
        self.was_sent = asyncio.Event()
        self.behave: Callable[[types.WorkspaceEdit], Awaitable[Result | None]] = self.applies
        self.open_again()

    def open_again(self) -> None:
        """Open the file again, even if the file is open."""
        item = sync.OpenedDocument(self.path.as_uri(), "python", self.version, self.text)
        self.document = self.documents.open(item)

    async def apply_edit(self, edit: types.WorkspaceEdit, label: str) -> Result | None:
        """Replace ``Client.apply_edit``."""
        self.sent.append((edit, label))
        self.was_sent.set()
        return await self.behave(edit)

    def withdraw(self, edit: types.WorkspaceEdit) -> None:
        """Replace ``Client.withdraw``."""
        self.withdrawn.append(edit)
        self.on_withdraw(edit)

    async def watch_folder(self, _folder: Path) -> bool:
        """Replace ``Client.watch_folder``; this editor watches no folder."""
        return False

    async def save(self, uris: tuple[str, ...]) -> tuple[str, ...]:
        """Replace ``Client.save``."""
        assert uris == (self.document.uri,)
        self.path.write_bytes(self.text.encode())
        self.documents.saved(self.document.uri)
        return uris

    def type_text(self, start: int, end: int, new: str) -> None:
        """Replace characters, as the user does."""
        self._take(self.text[:start] + new + self.text[end:])

    def take(self, edit: types.WorkspaceEdit) -> bool:
        """Apply an edit, unless the edit is for another version of the document."""
        (change,) = edit.document_changes or ()
        assert isinstance(change, types.TextDocumentEdit)
        assert change.text_document.uri == self.document.uri
        if change.text_document.version != self.version:
            return False
        lines, text = document_lines(self.text), self.text
        for one in reversed(change.edits):
            start = to_offset(lines, one.range.start, self.documents.encoding)
            end = to_offset(lines, one.range.end, self.documents.encoding)
            text = text[:start] + one.new_text + text[end:]
        self._take(text)
        return True

    async def applies(self, edit: types.WorkspaceEdit) -> Result:
        """Apply the edit and confirm it, as most editors do."""
        if self.take(edit):
            return Result(applied=True)
        return Result(applied=False, failure_reason="the document has changed")

    async def refuses(self, _edit: types.WorkspaceEdit) -> Result:
        """Refuse the edit, as when the user declines."""
        return Result(applied=False, failure_reason="the user said no")

    async def fails(self, _edit: types.WorkspaceEdit) -> Result:
        """Answer with an error."""
        raise RequestError("method not found", -32601)

    async def applies_and_fails(self, edit: types.WorkspaceEdit) -> Result:
        """Apply the edit, and answer with an error."""
        self.take(edit)
        return await self.fails(edit)

    async def applies_silently(self, edit: types.WorkspaceEdit) -> Result:
        """Apply the edit, and never answer (like Vim with ALE)."""
        self.take(edit)
        return await self.ignores(edit)

    async def ignores(self, _edit: types.WorkspaceEdit) -> Result:
        """Neither apply nor answer the edit."""
        await asyncio.Event().wait()
        raise AssertionError

    async def lies(self, _edit: types.WorkspaceEdit) -> Result:
        """Confirm the edit without applying it."""
        return Result(applied=True)

    async def answers_nothing(self, _edit: types.WorkspaceEdit) -> None:
        """Answer with a null result."""

    async def applies_later(self, edit: types.WorkspaceEdit) -> Result:
        """Answer first, and report the change later (like Neovim, which collects changes)."""
        asyncio.get_running_loop().call_soon(self.take, edit)
        return Result(applied=True)

    async def is_typed_in_before(self, edit: types.WorkspaceEdit) -> Result:
        """Let the user type before the edit is applied."""
        self.type_text(0, 0, "# mine\n")
        return await self.applies(edit)

    async def drops_it_for_typing(self, edit: types.WorkspaceEdit) -> Result:
        """Let the user type first, drop the edit, and still confirm it (like Neovim)."""
        self.type_text(0, 0, "# mine\n")
        assert not self.take(edit)
        return Result(applied=True)

    async def is_typed_in_after(self, edit: types.WorkspaceEdit) -> Result:
        """Let the user type after the edit and before the editor's answer."""
        self.take(edit)
        self.type_text(0, 0, "# mine\n")
        return Result(applied=True)

    def _take(self, text: str) -> None:
        self.text = text
        self.version += 1
        whole = sync.TextChange(text=text)
        self.documents.change(self.document.uri, self.version, [whole])
