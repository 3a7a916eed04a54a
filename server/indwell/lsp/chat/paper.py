"""Edits of chat documents: of the newest text, one at a time each, tried again where it moved."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from indwell.errors import EditRefused, TextMoved
from indwell.lsp.buffer_edits import BufferEdits
from indwell.lsp.client import Client
from indwell.lsp.documents import Document, Documents
from indwell.workspace.base import Change

MOST_TRIES = 8  # of one edit, against a user who types all the while
LABEL = ""  # Neovim prints a label of each edit, and these come ten times a second

Plan = Callable[[str], str]
"""What a text should read."""


class Paper:
    """Writes into open chat documents.

    Args:
        documents: What the editor has open.
        client: Takes the edits.
        timeout_s: How long the editor may take to answer one.
    """

    def __init__(
        self, documents: Documents, client: Client, timeout_s: Callable[[], float]
    ) -> None:
        self._documents = documents
        self._client = client
        self._timeout_s = timeout_s
        self._made: BufferEdits | None = None
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def change(self, document: Document, plan: Plan) -> Change | None:
        """Change a document; None if there was nothing to change.

        Raises:
            EditRefused: It was closed, or the editor did not take the edit.
        """
        async with self._locks[document.uri]:
            for _ in range(MOST_TRIES):
                if self._documents.get(document.uri) is not document:
                    raise EditRefused("the chat was closed")
                if document.is_stale:
                    raise EditRefused("the editor's messages about the chat came in a wrong order")
                text = document.text
                changed = plan(text)
                if changed == text:
                    return None
                try:
                    return await self._edits.change(
                        document, Path(document.path or "chat.md"), changed, LABEL
                    )
                except TextMoved:
                    continue
            raise EditRefused("the chat was changed again and again")

    @property
    def _edits(self) -> BufferEdits:
        if self._made is None:
            self._made = BufferEdits(
                self._documents, self._client, apply_timeout_s=self._timeout_s()
            )
        return self._made
