"""One edit of an open buffer: versioned, bounded in time, and looked at afterwards (editor §4).

What the editor answers is a hint: some apply and never answer, some answer and do not apply. The
text itself decides.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from indwell.errors import EditRefused
from indwell.lsp.client import Client
from indwell.lsp.documents import Document, Documents
from indwell.lsp.positions import to_position
from indwell.workspace.base import Change, Stamp, digest
from indwell.workspace.diff import line_edits
from indwell.workspace.lines import document_lines

# Editors gather changes before they tell: 150 ms in Neovim, and about 3 s while it redraws
# "-- VISUAL --" over a message. Waiting costs nothing where the change comes.
AFTER_CHECK_S = 8.0


class BufferEdits:
    """Sends edits to the editor, one at a time for each call.

    Args:
        documents: What the editor has open.
        client: Takes the edits.
        apply_timeout_s: How long the editor may take to answer.
        after_check_s: How long it may take from its yes to telling of the change.
    """

    def __init__(
        self,
        documents: Documents,
        client: Client,
        *,
        apply_timeout_s: float,
        after_check_s: float = AFTER_CHECK_S,
    ) -> None:
        self._documents = documents
        self._client = client
        self._apply_timeout_s = apply_timeout_s
        self._after_check_s = after_check_s

    async def change(self, document: Document, path: Path, text: str, label: str) -> Change:
        """Make the buffer read ``text``.

        Raises:
            EditRefused: The editor did not take the edit; the buffer is untouched by it.
        """
        before, version = document.text, document.version
        was_clean = document.dirt != "user"
        if text == before:
            return Change(path=path, before=before, after=before, stamp=document.stamp)
        edit = versioned_edit(document, text, self._documents.encoding)
        problem = await self._send(document, edit, label, expected=text)
        if self._documents.get(document.uri) is not document:
            raise EditRefused(
                f"{path.name!r} was closed in the editor while it was edited, so nobody can say "
                "whether the edit was taken; read_file it again"
            )
        if document.text == text:
            document.dirt = "agent" if was_clean else "user"
            return Change(path=path, before=before, after=text, stamp=document.stamp)
        if document.version == version:
            if problem:
                raise EditRefused(f"{problem}; the text of {path.name!r} is untouched")
            raise EditRefused(
                "the editor took the edit, but has told of no change; "
                f"read_file {path.name!r} before anything else"
            )
        if problem or is_missing(before, text, document.text):
            raise EditRefused(
                f"{problem or 'the editor dropped the edit'}, and {path.name!r} was changed "
                "meanwhile; read_file it again"
            )
        # The stamp is of what was proposed, so the next edit asks for a new read.
        return Change(
            path=path,
            before=before,
            after=document.text,
            stamp=Stamp(digest=digest(text), version=document.version),
            verified=False,
            note="the text now differs from the proposal: the user or the editor changed it at "
            "the same time; read_file it before the next edit",
        )

    async def _send(
        self, document: Document, edit: types.WorkspaceEdit, label: str, *, expected: str
    ) -> str:
        """Send an edit until the text shows it, or the editor says no; gives what went wrong."""
        answer = asyncio.ensure_future(self._client.apply_edit(edit, label))
        version = document.version
        try:
            async with asyncio.timeout(self._apply_timeout_s):
                await self._first(answer, document, expected)
            if document.text == expected or not answer.done():
                return ""
            result = answer.result()
        except TimeoutError:
            return f"the editor did not answer the edit within {self._apply_timeout_s:g} s"
        except JsonRpcException as error:
            return f"the editor refused the edit ({error})"
        finally:
            if not answer.done():
                answer.cancel()
            elif not answer.cancelled():
                answer.exception()  # seen: where the text has decided, the answer is no matter
        if result is not None and not result.applied:
            reason = f" ({result.failure_reason})" if result.failure_reason else ""
            return f"the editor refused the edit{reason}"
        await self._until_changed(document, expected, version)
        return ""

    async def _first(
        self,
        answer: asyncio.Future[types.ApplyWorkspaceEditResult | None],
        document: Document,
        expected: str,
    ) -> None:
        """Return when the editor has answered or the text is as expected, whichever is first."""
        while not answer.done() and document.text != expected:
            change = asyncio.ensure_future(self._documents.changed())
            waiting: set[asyncio.Future[Any]] = {answer, change}
            try:
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            finally:
                change.cancel()

    async def _until_changed(self, document: Document, expected: str, version: int) -> None:
        """Wait a moment for the change that an applied edit must bring."""
        try:
            async with asyncio.timeout(self._after_check_s):
                while document.text != expected and document.version == version:
                    await self._documents.changed()
        except TimeoutError:
            return  # the caller compares the text


def is_missing(before: str, proposed: str, after: str) -> bool:
    """Does nothing of a proposal stand in the text, and all that it replaces still do?

    Neovim drops an edit of another version than its own, and answers that it was applied.
    """
    old, new, now = (Counter(document_lines(text)) for text in (before, proposed, after))
    gained, lost = now - old, old - now
    return not (new - old) & gained and not (old - new) & lost


def versioned_edit(document: Document, text: str, encoding: str) -> types.WorkspaceEdit:
    """The minimal edits from a document's text to ``text``, bound to its exact version."""
    edits = [
        types.TextEdit(
            range=types.Range(
                start=to_position(document.lines, start, encoding),
                end=to_position(document.lines, end, encoding),
            ),
            new_text=replacement,
        )
        for start, end, replacement in line_edits(document.text, text)
    ]
    identifier = types.OptionalVersionedTextDocumentIdentifier(
        uri=document.uri, version=document.version
    )
    return types.WorkspaceEdit(
        document_changes=[types.TextDocumentEdit(text_document=identifier, edits=list(edits))]
    )
