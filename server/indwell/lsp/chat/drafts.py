"""Whose words stand at the end of each open chat: what the editor tells, held to the disk."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

from indwell.errors import ToolError, UserError
from indwell.files import read_own
from indwell.lsp.chat.files import LIMIT_B
from indwell.lsp.chat.provenance import Provenance
from indwell.lsp.chat.remembered import remember, remembered
from indwell.lsp.documents import Document, unbroken
from indwell.lsp.host import Host
from indwell.workspace.base import digest

SAVING_S = 0.3  # from an editor's write to its word of it


@dataclass(slots=True, eq=False)
class _Known:
    document: Document
    provenance: Provenance
    text: str
    n_saves: int
    saved: str  # digest of what the editor read or wrote last


class Drafts:
    """Tells words that the user typed from all others.

    Args:
        host: Of the editor.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._known: dict[Path, _Known] = {}

    def look(self, path: Path) -> Document | None:
        """A chat was opened, changed, saved or closed; gives it if it was opened."""
        document, known = self._host.documents.at(path), self._known.get(path)
        if document is None:
            self._known.pop(path, None)
            return None
        n_saves = self._host.documents.n_saves[path]
        if known is None or known.document is not document:
            text, state = document.text, self._state()
            provenance = Provenance(text, remembered(state, path) if state else "")
            self._known[path] = _Known(document, provenance, text, n_saves, _digest(text))
            return document
        if document.text is not known.text:
            n_pasted = len(known.provenance.pasted)
            known.provenance.changed(document.text, document.by_agent)
            known.text = document.text
            if len(known.provenance.pasted) > n_pasted:
                self._host.chores.begin(self._compare(known, path))
        if n_saves != known.n_saves:
            known.n_saves, known.saved = n_saves, _digest(known.text)
            self._keep(path, known.provenance)
        return None

    async def is_foreign(self, document: Document) -> bool:
        """Would words go out that the user is not known to have typed?"""
        known = self._of(document)
        if known is None or document.path is None:
            return True
        await self._compare(known, document.path)
        return known.provenance.is_foreign

    def vouch(self, document: Document, words: str) -> None:
        """The user has sent these words, or said that they are to be sent."""
        known = self._of(document)
        if known is not None:
            known.provenance.vouch(words)

    def _of(self, document: Document) -> _Known | None:
        known = self._known.get(document.path) if document.path is not None else None
        return known if known is not None and known.document is document else None

    async def _compare(self, known: _Known, path: Path) -> None:
        """Was the disk written by somebody else, and loaded by the editor?"""
        try:
            data = await asyncio.to_thread(read_own, path, LIMIT_B)
        except (ToolError, OSError):
            return
        disk = data.decode("utf-8", "replace")
        if not await self._is_saved(known, _digest(disk)):
            known.provenance.loaded(disk)

    async def _is_saved(self, known: _Known, held: str) -> bool:
        """Does the disk hold what the editor read or wrote last? It writes before it says so."""
        try:
            async with asyncio.timeout(SAVING_S):
                while known.saved != held:
                    await self._host.documents.changed()
        except TimeoutError:
            return False
        return True

    def _keep(self, path: Path, provenance: Provenance) -> None:
        known, state = provenance.digest, self._state()
        if known and state is not None:
            remember(state, path, known)  # at once: a server that ends right then lets go of chores

    def _state(self) -> Path | None:
        try:
            return self._host.backend.shown_folder().parent
        except UserError:
            return None


def _digest(text: str) -> str:
    """Of a text as editors and disks both have it: line breaks and the end aside."""
    return digest(unbroken(text).removeprefix("\ufeff").rstrip())
