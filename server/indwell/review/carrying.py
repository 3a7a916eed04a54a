"""Takes changes back in one file after the other, as long as a verdict is carried out.

Each file is read anew, and what is taken back is an inverse edit of exactly that text; if it moves
meanwhile, it is all planned again. The ledger is told after the workspace took the edit, so a kill,
a refusal or a cancellation in between leaves a change pending that still stands there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from indwell.errors import EditRefused, NotText, TextMoved, TooLarge, ToolError
from indwell.files import exists
from indwell.files.putting_back import put_back
from indwell.review.copies import Copies, restore
from indwell.review.hunk import Hunk, Opaque, Rejection
from indwell.review.ledger import ReviewLedger
from indwell.workspace.base import Snapshot, Workspace
from indwell.workspace.locks import PathLocks

TRIES = 3
COPIES = "copies"  # a folder beside the ledger's log
BUSY_S = 10.0  # for the agent's own write of the same file to end

OnFile: TypeAlias = Callable[[Path, int, int], None]
"""Hears of each file before it is dealt with: the file, its number from 1, how many there are."""

Plan: TypeAlias = Callable[[], Rejection]

_locks = PathLocks()  # two verdicts on one file of one process go one after the other


class Carrying:
    """One verdict while it is carried out.

    Args:
        ledger: What is pending.
        workspace: The user's files.
        on_file: Hears of each file.
        keeps: Keep a copy of each text before it is changed.

    Attributes:
        hunks: Those that it was carried out for.
        kept: Those that it was not, and why.
        failed: Files that could not be changed, and why.
        copies: Where the texts of before are kept, by file.
        unread: Files that are there and could not be read when they were looked at, and why.
    """

    def __init__(
        self,
        ledger: ReviewLedger,
        workspace: Workspace,
        on_file: OnFile | None,
        *,
        keeps: bool = False,
    ) -> None:
        self._ledger = ledger
        self._workspace = workspace
        self._on_file = on_file
        self._keeps = keeps
        self._bytes = Copies(ledger.folder / COPIES)
        self.hunks: tuple[Hunk, ...] = ()
        self.kept: list[tuple[Hunk, str]] = []
        self.failed: list[tuple[Path, str]] = []
        self.copies: list[tuple[Path, Path]] = []
        self.unread: dict[Path, str] = {}

    def begin(self, path: Path, number: int, total: int) -> None:
        """Tell who wants to know."""
        if self._on_file is not None:
            self._on_file(path, number, total)

    def find(self, hunk_id: str) -> Hunk | None:
        """As the ledger does."""
        return self._ledger.find(hunk_id)

    async def look(self, path: Path) -> Snapshot | None:
        """What the file reads now, which the ledger is told; None if there is none, or no text.

        Raises nothing: what cannot be read is left as it was known, and noted.
        """
        self.unread.pop(path, None)
        try:
            snapshot = await self._workspace.read(path)
        except ToolError as error:
            if isinstance(error, NotText | TooLarge) or await asyncio.to_thread(exists, path):
                self.unread[path] = _unreadable(error)
            else:
                self._ledger.sync(path, None)
            return None
        self._ledger.sync(path, snapshot.text)
        return snapshot

    async def take_back(self, path: Path, plan: Plan) -> None:
        """Do what is planned in one file; a failure is noted, and the next file is tried.

        Args:
            path: The file.
            plan: What would be done now.
        """
        try:
            await self._free(path)
            async with _locks.hold(path):
                await self._tried(path, plan)
        except ToolError as error:
            self.failed.append((path, _plainly(error)))

    async def _free(self, path: Path) -> None:
        """Wait until the agent's own write of a file is over.

        Raises:
            EditRefused: It takes too long.
        """
        if not self._ledger.is_busy(path):
            return
        ended = asyncio.Event()
        forget = self._ledger.on_change(ended.set)
        try:
            async with asyncio.timeout(BUSY_S):
                while self._ledger.is_busy(path):
                    await ended.wait()
                    ended.clear()
        except TimeoutError as error:
            words = f"the agent is changing {path.name!r} just now; try again"
            raise EditRefused(words) from error
        finally:
            forget()

    async def _tried(self, path: Path, plan: Plan) -> None:
        await asyncio.to_thread(self._refuse_odd, path)
        seen, why = set(), ""
        for _ in range(TRIES):
            snapshot = await self.look(path)
            seen.add(snapshot and snapshot.stamp)
            made = plan()
            if not made.hunks:
                self.kept += made.kept
                return
            if made.opaque is not None:
                await self._bytes_back(made, made.opaque)
                return
            if path in self.unread:
                raise EditRefused(self.unread[path])
            try:
                text = await self._applied(snapshot, made)
            except TextMoved as error:
                why = _plainly(error)
                continue  # somebody typed meanwhile: look at it again
            await self._ledger.rejected(made, text)
            self.hunks += made.hunks
            self.kept += made.kept
            return
        if len(seen) == 1:  # nobody did
            raise EditRefused(why)
        raise EditRefused(f"{path.name!r} is being changed all the time; try again")

    def _refuse_odd(self, path: Path) -> None:
        """Whatever the log says: through links nothing is changed. Blocks.

        Raises:
            ToolError: The path leads elsewhere.
        """
        try:
            is_so = not self._workspace.roots or self._workspace.resolve(str(path)) == path
        except ToolError as error:
            raise EditRefused(f"{path.name!r} leads out of the workspace now") from error
        if not is_so:
            raise EditRefused(f"{path.name!r} leads through a link to another file now")

    async def _applied(self, snapshot: Snapshot | None, made: Rejection) -> str | None:
        """Let the file read as planned; gives what it reads then."""
        path, label = made.path, f"Indwell: reject in {made.path.name}"
        if snapshot is None and made.text is None:
            return None
        if snapshot is None:
            assert made.text is not None
            return await self._made_again(path, made.text, label)
        if made.text is None:
            kept = await self._workspace.remove(path, snapshot, label=label)
            self._note_copy(path, kept)
            return None
        if self._keeps and snapshot.text != made.text:
            self._note_copy(path, await self._workspace.keep(snapshot))
        change = await self._workspace.write(path, snapshot, made.text, label=label)
        return change.after

    async def _made_again(self, path: Path, text: str, label: str) -> str:
        """A file that a command removed: with the bytes and the mode that it had, if known."""
        removed = await asyncio.to_thread(self._bytes.removed, path)
        if removed is None:
            return (await self._workspace.write(path, None, text, label=label)).after
        data = await asyncio.to_thread(self._bytes.get, removed.digest)
        roots = self._workspace.roots
        await asyncio.to_thread(lambda: put_back(path, data, roots, mode=removed.mode))
        snapshot = await self._workspace.read(path)
        if snapshot.text == text:
            return text
        return (await self._workspace.write(path, snapshot, text, label=label)).after

    async def _bytes_back(self, made: Rejection, change: Opaque) -> None:
        """Put back what has no lines, whole or not at all."""
        problem, roots = "", self._workspace.roots
        if made.path in self._workspace.unsaved():
            problem = "it is open in the editor, and not saved"
        else:
            try:
                await asyncio.to_thread(restore, made.path, roots, self._bytes, change)
            except TextMoved as error:
                problem = str(error)
        self.kept += made.kept
        if problem:
            self.kept += [(one, problem) for one in made.hunks]
            return
        await self._ledger.rejected(made, None)
        self.hunks += made.hunks

    def _note_copy(self, path: Path, kept: Path | None) -> None:
        if kept is not None:
            self.copies.append((path, kept))


def _unreadable(error: ToolError) -> str:
    """Why a file that is there has no text any more."""
    if isinstance(error, NotText):
        return "it is no text any more"
    if isinstance(error, TooLarge):
        return "it is too large by now"
    return _plainly(error)


def _plainly(error: ToolError) -> str:
    """An error in words for people: what the model is told to do is left out."""
    return str(error).partition("; read_file")[0]
