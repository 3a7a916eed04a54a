"""An editor in a few lines, on the same event loop: one buffer, and how it behaves when edited.

Stands in for ``indwell.lsp.editor.client.Client`` where only edits and saves are asked of it.
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
from indwell.workspace.text import document_lines
from support.editor_texts import to_offset

Result = types.ApplyWorkspaceEditResult


class StubEditor:
    """One open file; ``behave`` decides what becomes of an edit.

    Args:
        path: The file; it need not exist.
        text: What the buffer holds when it is opened.
        encoding: The negotiated position encoding.
    """

    def __init__(self, path: Path, text: str, *, encoding: str = "utf-16") -> None:
        self.path = path
        self.text = text
        self.version = 1
        self.documents = Documents()
        self.documents.encoding = encoding
        self.features = ClientFeatures()
        self.sent: list[tuple[types.WorkspaceEdit, str]] = []
        self.withdrawn: list[types.WorkspaceEdit] = []
        self.on_withdraw: Callable[[types.WorkspaceEdit], None] = lambda _edit: None
        self.was_sent = asyncio.Event()
        self.behave: Callable[[types.WorkspaceEdit], Awaitable[Result | None]] = self.applies
        self.open_again()

    def open_again(self) -> None:
        """Open the file, whether it is open or not."""
        item = sync.OpenedDocument(self.path.as_uri(), "python", self.version, self.text)
        self.document = self.documents.open(item)

    async def apply_edit(self, edit: types.WorkspaceEdit, label: str) -> Result | None:
        """What ``Client.apply_edit`` does."""
        self.sent.append((edit, label))
        self.was_sent.set()
        return await self.behave(edit)

    def withdraw(self, edit: types.WorkspaceEdit) -> None:
        """What ``Client.withdraw`` does."""
        self.withdrawn.append(edit)
        self.on_withdraw(edit)

    async def watch_folder(self, _folder: Path) -> bool:
        """What ``Client.watch_folder`` does: this editor watches nothing."""
        return False

    async def save(self, uris: tuple[str, ...]) -> tuple[str, ...]:
        """What ``Client.save`` does."""
        assert uris == (self.document.uri,)
        self.path.write_bytes(self.text.encode())
        self.documents.saved(self.document.uri)
        return uris

    def type_text(self, start: int, end: int, new: str) -> None:
        """The user replaces characters."""
        self._take(self.text[:start] + new + self.text[end:])

    def take(self, edit: types.WorkspaceEdit) -> bool:
        """Apply an edit, unless it is of another version."""
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
        """As most editors do."""
        if self.take(edit):
            return Result(applied=True)
        return Result(applied=False, failure_reason="the document has changed")

    async def refuses(self, _edit: types.WorkspaceEdit) -> Result:
        """The user said no."""
        return Result(applied=False, failure_reason="the user said no")

    async def fails(self, _edit: types.WorkspaceEdit) -> Result:
        """An error reply."""
        raise RequestError("method not found", -32601)

    async def applies_and_fails(self, edit: types.WorkspaceEdit) -> Result:
        """Applied, and then an error reply."""
        self.take(edit)
        return await self.fails(edit)

    async def applies_silently(self, edit: types.WorkspaceEdit) -> Result:
        """Applied, and never answered (Vim with ALE)."""
        self.take(edit)
        return await self.ignores(edit)

    async def ignores(self, _edit: types.WorkspaceEdit) -> Result:
        """Neither applied nor answered."""
        await asyncio.Event().wait()
        raise AssertionError

    async def lies(self, _edit: types.WorkspaceEdit) -> Result:
        """Answers that it was applied, and it was not."""
        return Result(applied=True)

    async def answers_nothing(self, _edit: types.WorkspaceEdit) -> None:
        """A null result."""

    async def applies_later(self, edit: types.WorkspaceEdit) -> Result:
        """Answers first, and tells of the change in the next breath (Neovim gathers changes)."""
        asyncio.get_running_loop().call_soon(self.take, edit)
        return Result(applied=True)

    async def is_typed_in_before(self, edit: types.WorkspaceEdit) -> Result:
        """The user is faster than the edit."""
        self.type_text(0, 0, "# mine\n")
        return await self.applies(edit)

    async def drops_it_for_typing(self, edit: types.WorkspaceEdit) -> Result:
        """The user is faster, the edit is dropped, and the answer is yes all the same (Neovim)."""
        self.type_text(0, 0, "# mine\n")
        assert not self.take(edit)
        return Result(applied=True)

    async def is_typed_in_after(self, edit: types.WorkspaceEdit) -> Result:
        """The user types on, right after the edit and before its answer."""
        self.take(edit)
        self.type_text(0, 0, "# mine\n")
        return Result(applied=True)

    def _take(self, text: str) -> None:
        self.text = text
        self.version += 1
        whole = sync.TextChange(text=text)
        self.documents.change(self.document.uri, self.version, [whole])
