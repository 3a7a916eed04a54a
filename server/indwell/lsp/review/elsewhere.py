"""What another editor, or a terminal, took back on the disk while a buffer here still holds it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from indwell.lsp.documents import Documents
from indwell.review.ledger import ReviewLedger

RELOAD_S = 2.0  # for an editor that loads changed files anew by itself

SAID = (
    "{name} was changed on disk by a verdict in another editor or a terminal, and the buffer "
    "still holds what was taken back: load the file anew"
)


class Elsewhere:
    """Takes in what other processes judged, and says where a buffer is not what they left.

    Args:
        documents: What the editor has open.
        tell: Shows a sentence to the user.
        reload_s: How long the editor has to load a file anew before something is said.
    """

    def __init__(
        self, documents: Documents, tell: Callable[[str], None], *, reload_s: float = RELOAD_S
    ) -> None:
        self._documents = documents
        self._tell = tell
        self._reload_s = reload_s

    async def hear(self, ledger: ReviewLedger) -> None:
        """Take in what they wrote."""
        before = {path: len(ledger.hunks(path)) for path in ledger.paths()}
        if not await ledger.refresh():
            return
        later = asyncio.get_running_loop().call_later
        for path, number in before.items():
            if len(ledger.hunks(path)) < number and self._is_left(ledger, path):
                later(self._reload_s, self._say, ledger, path)

    def _is_left(self, ledger: ReviewLedger, path: Path) -> bool:
        """Is the file open, with nothing typed, and other than the records have it?"""
        document = self._documents.at(path)
        if document is None or document.dirt != "clean":
            return False
        return ledger.recorded(path) != document.text

    def _say(self, ledger: ReviewLedger, path: Path) -> None:
        if self._is_left(ledger, path):
            self._tell(SAID.format(name=path.name))
