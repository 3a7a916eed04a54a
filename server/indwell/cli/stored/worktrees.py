"""``indwell worktrees``: lists, compares, merges and removes the worktrees of a folder."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from indwell.bounds.folder_trust import FolderTrust
from indwell.cli.terminal.interruptible_work import wait_for
from indwell.cli.terminal.json_line import json_line
from indwell.cli.terminal.telling import tell
from indwell.context.untrusted_text import visible
from indwell.review.ledger import ReviewLedger
from indwell.sandbox.environment import own_environment
from indwell.service.sessions.review_ledgers import open_ledger
from indwell.service.sessions.worktrees.record import Worktree, WorktreeStore
from indwell.service.sessions.worktrees.worktrees import NO_WORKTREES, Worktrees, merged_words
from indwell.service.user_settings import read_settings
from indwell.settings.paths import undo_folder
from indwell.workspace.disk import DiskWorkspace


class WorktreeRow(msgspec.Struct, frozen=True):
    """A worktree for a program; ``changes`` maps each changed file to A, D or M."""

    name: str
    folder: str
    session: str
    title: str
    changes: dict[str, str]


def worktrees(options: argparse.Namespace) -> int:
    """Run the command; return 0 for success, 1 if some changes could not be merged.

    Raises:
        UserError: The command cannot be carried out.
    """
    return wait_for(_Command(options).run())


class _Command:
    """One call of ``indwell worktrees``."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._environment = own_environment()
        self._folder = _folder(Path.cwd().resolve(), self._environment)
        self.settings = read_settings(self._environment).settings
        self.workspace = DiskWorkspace([self._folder], private=undo_folder(os.environ))
        self._opened: list[ReviewLedger] = []

    def warn(self, notices: tuple[str, ...]) -> None:
        """Print notices on stderr; a list needs none, because it names all worktrees."""
        if self._options.action not in {None, "list"}:
            for one in notices:
                tell(visible(one), file=sys.stderr)

    async def run(self) -> int:
        book = Worktrees(self._environment, self, self._ledger, FolderTrust(self._environment))
        try:
            return await self._done(book)
        finally:
            for one in self._opened:
                await one.close()

    async def _done(self, book: Worktrees) -> int:
        options = self._options
        action: str = options.action or "list"
        if action == "list":
            await book.sweep()
            return await self._list(book)
        worktree = await book.named(options.which)
        if action == "merge":
            merged = await book.merge(worktree)
            words = json_line(merged) if options.json else visible(merged_words(worktree, merged))
            tell(words)
            if merged.done and not options.json:
                tell("review the changes with `indwell review`")
            return 1 if merged.kept else 0
        if action == "diff":
            return await self._diff(book, worktree)
        said = await book.remove(worktree, is_discarded=action == "discard")
        print(json_line({"removed": worktree.id}) if options.json else visible(said))
        return 0

    async def _list(self, book: Worktrees) -> int:
        if not self._options.json:
            tell(visible(await book.listed() or NO_WORKTREES))
            return 0
        rows = [await _row(book, one) for one in book.known]
        print(json_line({"worktrees": rows}))
        return 0

    async def _diff(self, book: Worktrees, worktree: Worktree) -> int:
        if self._options.json:
            print(json_line(await _row(book, worktree)))
        else:
            print(visible(await book.answer(f"diff {worktree.id}") or ""))
        return 0

    async def _ledger(self) -> ReviewLedger:
        if not self._opened:
            self._opened.append(await open_ledger(self._environment, self.workspace.roots))
        return self._opened[0]


def _folder(here: Path, environment: Mapping[str, str]) -> Path:
    """Return this folder, or the nearest parent that has worktrees."""
    places = (here, *here.parents)
    return next((one for one in places if WorktreeStore(environment, one).listed()), here)


async def _row(book: Worktrees, one: Worktree) -> WorktreeRow:
    changes = await book.changes(one)
    kinds = {file.name: file.kind for file in changes.files}
    return WorktreeRow(one.id, str(one.root), one.session, one.title, kinds)
