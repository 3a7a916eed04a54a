"""Takes the files back together with a conversation, and asks where the user has to decide."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from indwell.lsp.client import Client
from indwell.lsp.documents import Document
from indwell.lsp.saving import clean_ones, save_ours
from indwell.review.ledger import ReviewLedger
from indwell.review.rewound import conflict, question, told, unrecorded
from indwell.review.verdicts import Done, planned_rewind, rewind_files
from indwell.workspace.base import Workspace

NO = "No"
TAKE_BACK = "Take them back"
KEEP = "Keep mine"
RESTORE = "Restore"


class FilesBack:
    """The files of one rewind: what is planned is asked for first, and done afterwards.

    Args:
        ledger: Whose changes stand where.
        workspace: The user's files.
        client: Who is asked.
        timeout_s: How long a question waits; no answer is the first one.
        document: The open document of a file, if it is open.
    """

    def __init__(
        self,
        ledger: ReviewLedger,
        workspace: Workspace,
        client: Client,
        *,
        timeout_s: float,
        document: Callable[[Path], Document | None] = lambda _path: None,
    ) -> None:
        self._ledger = ledger
        self._workspace = workspace
        self._client = client
        self._timeout_s = timeout_s
        self._document = document

    async def is_wanted(self, session: str, turn: int, *, files: bool | None) -> bool:
        """Are files to be taken back? Asks where nobody said, unless the editor has its own ways.

        Args:
            session: Whose changes.
            turn: Up to whose end they stay.
            files: What was said with the command.
        """
        if files is not None or self._client.features.has("events"):
            return files is True
        plans = await planned_rewind(self._ledger, self._workspace, session, turn)
        if not plans:
            return False
        words = f"Indwell: {question(plans, self._workspace.roots)}"
        chosen = await self._client.allow(words, (NO, TAKE_BACK), self._timeout_s)
        return chosen == TAKE_BACK

    async def take(self, session: str, turn: int) -> tuple[str, ...]:
        """Do it; gives what became of it, a sentence each.

        What would lose the user's work is asked about once, with all files named.
        """
        clean = clean_ones(self._document, self._ledger.known())
        done = await rewind_files(self._ledger, self._workspace, session, turn)
        if done.kept:
            plans = await planned_rewind(self._ledger, self._workspace, session, turn)
            words = f"Indwell: {conflict(done, self._workspace.roots)}"
            chosen = await self._client.allow(words, (KEEP, RESTORE), self._timeout_s)
            if chosen == RESTORE:
                more = await rewind_files(
                    self._ledger,
                    self._workspace,
                    session,
                    turn,
                    force=True,
                    agreed={one.path: one.before for one in plans if one.kept},
                )
                done = _both(done, more)
        await save_ours(self._client, clean)
        return told(done, self._workspace.roots)

    def unrecorded(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """What to say of files that the session changed and the ledger does not know."""
        words = unrecorded(names, self._ledger.known(), self._workspace.roots)
        return (words,) if words else ()


def _both(first: Done, then: Done) -> Done:
    """What two steps did together; what the second one settled is not kept any more."""
    return msgspec.structs.replace(
        then,
        hunks=(*first.hunks, *then.hunks),
        failed=(*first.failed, *then.failed),
        copies=(*first.copies, *then.copies),
    )
