"""The texts of bases and diffs, from the ledger and what the files read now."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from indwell.errors import ToolError, UserError
from indwell.files import exists
from indwell.lsp.virtual.uris import Base, Diff, Span
from indwell.policy.approvals import one_line, visible
from indwell.review.hunk import Hunk
from indwell.review.ledger import ReviewLedger
from indwell.workspace.base import Workspace
from indwell.workspace.comparing.diff import unified_diff
from indwell.workspace.paths import display

MOST_CHARACTERS = 4_000_000  # of a diff of many files


class Changes:
    """Looks changes up; every path is checked against the workspace and the user's deny rules.

    Args:
        ledger: Of the workspace.
        workspace: Whose text counts: an open buffer's over the disk's.
        is_denied: Is a file, by its name as people read it, kept out of sight?
    """

    def __init__(
        self, ledger: ReviewLedger, workspace: Workspace, is_denied: Callable[[str], bool]
    ) -> None:
        self._ledger = ledger
        self._workspace = workspace
        self._is_denied = is_denied

    async def base(self, document: Base) -> str:
        """The file without what is pending, or before a turn; nothing if it did not exist.

        Raises:
            UserError: It may not be shown, or the agent changed nothing in it.
        """
        path, span = self._path(document.path), document.span
        await self._now(path)
        if span.turn:
            before = self._ledger.before(path, span.session, span.turn)
        elif span.session:
            return self._without(path, self._of(path, span)) or ""
        else:
            before = self._ledger.base(path)
        return before or ""

    async def diff(self, document: Diff) -> str:
        """What is pending as a unified diff, file by file; words where there is nothing.

        Raises:
            UserError: The one file that is named may not be shown, or was not changed by the agent.
        """
        one = self._path(document.path) if document.path else None
        pieces, size = [], 0
        for path in (one,) if one else self._ledger.paths():
            shown = display(path, self._workspace.roots)
            if self._is_denied(shown):
                pieces.append(f"# {shown}: not shown, a deny rule names it\n")
                continue
            if size > MOST_CHARACTERS:
                pieces.append(f"# {shown}: not shown, the document would be too long\n")
                continue
            piece = await self._diff(path, shown, document.span)
            pieces.append(piece)
            size += len(piece)
        return "".join(pieces) or "# Nothing is pending.\n"

    async def _diff(self, path: Path, shown: str, span: Span) -> str:
        try:
            now, problem = await self._now(path), ""
        except UserError as error:
            now, problem = None, str(error)
        hunks = self._of(path, span)
        opaque = [one for one in hunks if one.kind == "opaque"]
        words = "".join(f"# {shown}: {one_line(one.note)}\n" for one in opaque)
        if len(opaque) == len(hunks):
            return words
        if problem:
            return f"{words}# {shown}: {one_line(problem)}\n"
        return words + await asyncio.to_thread(_worded, self._without(path, hunks), now, shown)

    def _without(self, path: Path, hunks: Sequence[Hunk]) -> str | None:
        """What the file would read without these."""
        return self._ledger.rejection(path, tuple(one.id for one in hunks), force=True).text

    def _of(self, path: Path, span: Span) -> tuple[Hunk, ...]:
        """What is pending of a file, of those who are meant."""
        return tuple(hunk for hunk in self._ledger.hunks(path) if is_of(hunk, span))

    async def _now(self, path: Path) -> str | None:
        """What the file reads now, which the ledger learns too; None if it is not there.

        Raises:
            UserError: It cannot be read, or not as a text.
        """
        text: str | None = None
        try:
            text = (await self._workspace.read(path)).text
        except ToolError as error:
            if exists(path):
                raise UserError(str(error)) from error
        await self._ledger.synced(path, text)
        return text

    def _path(self, written: str) -> Path:
        """The file that a URI names.

        Raises:
            UserError: It is outside, may not be shown, or nothing is known of it.
        """
        try:
            path = self._workspace.resolve(written)
        except ToolError as error:
            raise UserError(str(error)) from error
        shown = display(path, self._workspace.roots)
        if self._is_denied(shown) or self._is_denied(visible(written)):
            raise UserError(f"{shown!r} is not shown, for a deny rule names it")
        if path not in self._ledger.known():
            raise UserError(f"the agent has changed nothing in {shown!r} that is still known")
        return path


def _worded(before: str | None, now: str | None, shown: str) -> str:
    """A diff that hides nothing; in a thread, for it takes a while in a long file."""
    return visible(unified_diff(before, now, shown).replace("\r\n", "\n"))


def is_of(hunk: Hunk, span: Span) -> bool:
    """Has it changes of a session, or of one turn of it? Without a session: of anybody."""
    if not span.session:
        return True
    return any(one.session == span.session and span.turn in {0, one.turn} for one in hunk.actors)
