"""What another editor, or a terminal, took back on the disk while a buffer here still holds it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

from indwell.lsp.documents import Document, Documents
from indwell.review.ledger import ReviewLedger
from indwell.service.chores import Chores

RELOAD_S = 2.0  # for an editor that loads changed files again by itself

SAID = (
    "{name} was changed on disk by a verdict in another editor or a terminal, and the buffer "
    "still shows the change that was taken back: load the file again"
)

Differs: TypeAlias = Callable[[Document], Awaitable[bool]]
"""Does the disk hold another text than the buffer that was opened or saved there?"""


class Elsewhere:
    """Takes in what other processes judged, and says where a buffer is not what they left.

    A file may lose hunks for other reasons while the log is read: the editor opens it, or the user
    ran ``git checkout``. So only a record that takes something back counts, and the disk is read
    before anything is said: another editor may not have saved its verdict yet.

    Args:
        documents: What the editor has open.
        chores: Own the wait for the editor.
        differs: Compares a buffer with the disk.
        tell: Shows a sentence to the user.
        reload_s: How long the editor has to load a file again before something is said.
    """

    def __init__(
        self,
        documents: Documents,
        chores: Chores,
        differs: Differs,
        tell: Callable[[str], None],
        *,
        reload_s: float = RELOAD_S,
    ) -> None:
        self._documents = documents
        self._chores = chores
        self._differs = differs
        self._tell = tell
        self._reload_s = reload_s

    async def hear(self, ledger: ReviewLedger) -> None:
        """Take in what they wrote."""
        before = {path: ledger.n_taken_back(path) for path in ledger.known()}
        await ledger.refresh()
        for path, number in before.items():
            if ledger.n_taken_back(path) > number and self._left(ledger, path) is not None:
                self._chores.begin(self._say(ledger, path))

    def _left(self, ledger: ReviewLedger, path: Path) -> Document | None:
        """The buffer of a file, if nothing is typed there and the records have another text."""
        document = self._documents.at(path)
        if document is None or document.dirt != "clean" or document.is_stale:
            return None
        return None if ledger.recorded(path) == document.text else document

    async def _say(self, ledger: ReviewLedger, path: Path) -> None:
        await asyncio.sleep(self._reload_s)
        document = self._left(ledger, path)
        if document is not None and await self._differs(document):
            self._tell(SAID.format(name=path.name))
