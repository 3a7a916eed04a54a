"""The worktrees of the open folder: makes, finds, merges and removes them.

No session changes the user's folder while it works in a worktree. The changes come into the folder
only when the user asks for a merge, and then await review like all other changes of the agent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec

from indwell import edges
from indwell.agent.core.session import Session
from indwell.bounds.folder_trust import FolderTrust
from indwell.errors import ToolError, UserError
from indwell.files.append_log import AppendLog
from indwell.files.listing import exists
from indwell.files.spelling import quoted
from indwell.review.ledger import ReviewLedger
from indwell.secrets import Secrecy
from indwell.service.sessions.worktrees.merging import (
    Merged,
    WorktreeChanges,
    WorktreeMerge,
    changes_in,
    diff_of,
)
from indwell.service.sessions.worktrees.record import Worktree, WorktreeStore
from indwell.service.sessions.worktrees.starting_state import (
    denied_globs,
    make_worktree,
    pointer_of,
    remove_worktree,
)
from indwell.service.turns.queue import APART, FRESH
from indwell.settings.model import Settings
from indwell.settings.paths import state_folder, undo_folder
from indwell.settings.trust_store import TrustStore
from indwell.workspace.base import Workspace
from indwell.workspace.worktree import WorktreeFiles

_NAMED = 5
NO_WORKTREES = (
    "this folder has no worktree; `/worktree new`, or the option `--worktree`, makes one for the "
    "next new session"
)


class WorkPlace(NamedTuple):
    """The files and the review ledger of one session; ``worktree`` is None in the user's folder."""

    workspace: Workspace
    ledger: ReviewLedger
    worktree: Worktree | None = None


class WorktreeOwner(Protocol):
    """Has the user's files and settings; the service implements this interface."""

    @property
    def workspace(self) -> Workspace:
        """The user's files."""
        ...

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        ...

    def warn(self, notices: tuple[str, ...]) -> None:
        """Show sentences to the user."""
        ...


class _Open(NamedTuple):
    """A worktree that this process uses."""

    files: WorktreeFiles
    ledger: ReviewLedger
    lock: AppendLog


class Worktrees:
    """The worktrees of the open folder, as one service uses them.

    Args:
        environment: The variables of the process.
        owner: Has the user's files and settings.
        ledger: Returns the review ledger of the user's folder.
        trust: Knows the trusted folders; a worktree is trusted as its folder is.

    Attributes:
        is_for_every_session: Whether each new session works in a worktree.
        is_for_next_session: Whether the next new session works in a worktree.
    """

    def __init__(
        self,
        environment: Mapping[str, str],
        owner: WorktreeOwner,
        ledger: Callable[[], Awaitable[ReviewLedger]],
        trust: FolderTrust,
    ) -> None:
        self.is_for_every_session = self.is_for_next_session = False
        self._environment, self._owner, self._ledger, self._trust = (
            environment,
            owner,
            ledger,
            trust,
        )
        self._open: dict[str, _Open] = {}
        self._told: dict[str, tuple[str, ...]] = {}
        self._changing = asyncio.Lock()

    @property
    def known(self) -> tuple[Worktree, ...]:
        """The worktrees of the folder, the oldest first; blocks to read small files."""
        return self._store.listed()

    @property
    def roots(self) -> tuple[Path, ...]:
        """The folders in which open sessions work, apart from the user's folder."""
        return tuple(one.files.roots[0] for one in self._open.values())

    async def place(self, target: str) -> WorkPlace:
        """Return where a session works.

        Args:
            target: The id of a stored session, ``new``, or ``worktree`` for a new session in a
                worktree.

        Raises:
            UserError: No worktree can be made, or another process uses the session's worktree.
        """
        is_new = target in FRESH
        if is_new and (target == APART or self.is_for_every_session or self.is_for_next_session):
            self.is_for_next_session = False
            return await self._made()
        place = await self.existing_place("" if is_new else target)
        return await self._made() if self.is_for_every_session and place.worktree is None else place

    async def existing_place(self, session: str) -> WorkPlace:
        """Return where a stored session works, without making a worktree.

        Raises:
            UserError: Another process uses the session's worktree, or its files are gone.
        """
        found = await self._of_session(session) if session else None
        if found is not None:
            return await self._opened(found)
        return WorkPlace(self._owner.workspace, await self._ledger())

    async def rewind_place(self, session: str) -> WorkPlace:
        """Return where a rewind restores files: in a worktree only before its changes are merged.

        Raises:
            UserError: See ``existing_place``; also if the worktree cannot be read.
        """
        found = await self._of_session(session)
        is_apart = found is not None and bool(await changes_in(self._store, found))
        return await self.existing_place(session if is_apart else "")

    async def record_session(self, place: WorkPlace, session: str) -> None:
        """Record that the session works in the worktree of ``place``."""
        if place.worktree is not None and place.worktree.session != session:
            worktree = msgspec.structs.replace(place.worktree, session=session)
            await asyncio.to_thread(self._store.save, worktree)

    async def record_turn(self, session: Session) -> None:
        """Record the last turn of a session, and tell the user which changes are not merged yet."""
        try:
            worktree = await self._of_session(session.id)
            if worktree is not None:
                worktree = await self._after_turn(worktree, session)
                await self._tell(worktree, await changes_in(self._store, worktree))
        except UserError as error:
            self._owner.warn((str(error),))

    async def close_place(self, place: WorkPlace, session: Session | None = None) -> None:
        """Close the worktree of a session that has ended, and remove the worktree if unchanged.

        Args:
            place: Where the session worked.
            session: The session, or None if it could not be opened.
        """
        if place.worktree is None:
            return
        async with self._changing:
            worktree = self._store.find(place.worktree.id)
            if worktree is not None and session is not None:
                worktree = await self._after_turn(worktree, session)
            opened = self._open.pop(place.worktree.id, None)
            if opened is not None:
                opened.files.watch.close()
                await opened.ledger.close()
            if worktree is not None:
                await self._settled(worktree, is_whole=worktree.is_whole)
            if opened is not None:
                opened.lock.close()

    async def sweep(self) -> None:
        """At the start, remove worktrees of ended processes without changes; name the others."""
        for one in await asyncio.to_thread(self._store.listed):
            async with self._changing:
                lock = None if one.id in self._open else self._store.lock(one)
                if lock is None:
                    continue
                try:
                    await self._settled(one, is_whole=one.is_whole)
                except UserError as error:
                    self._owner.warn((str(error),))
                finally:
                    lock.close()

    async def answer(self, words: str, session: str = "") -> str | None:
        """Carry out the user's words after ``/worktree``; return None if they are no command.

        Args:
            words: The words.
            session: The session in which the user wrote the words.

        Raises:
            UserError: The command cannot be carried out.
        """
        action, *names = words.split() or ["list"]
        if action == "new" and not names:
            self.is_for_next_session = True
            return "the next new session works in a worktree of its own; `/new` begins it"
        if action == "list" and not names:
            return await self.listed(session) or NO_WORKTREES
        if action not in {"diff", "merge", "remove", "discard"} or len(names) > 1:
            return None
        worktree = await self._named(names[0] if names else "", session)
        if action == "diff":
            changes = await changes_in(self._store, worktree)
            return await asyncio.to_thread(diff_of, changes) or f"{worktree.id} has no changes"
        if action == "merge":
            return merged_words(worktree, await self.merge(worktree))
        return await self.remove(worktree, is_discarded=action == "discard")

    async def listed(self, session: str = "") -> str:
        """Return a line for each worktree, or an empty text; ``session`` is the user's session."""
        lines = []
        for one in await asyncio.to_thread(self._store.listed):
            changes = await changes_in(self._store, one)
            whose = (
                "this session" if session and one.session == session else one.title or one.session
            )
            lines.append(f"{one.id}  {whose or 'no session'}: {change_words(changes)}; {one.root}")
        return "\n".join(lines)

    async def named(self, identifier: str) -> Worktree:
        """Return a worktree by its name; an empty name is the only worktree.

        Raises:
            UserError: There is no such worktree, or there are several.
        """
        return await self._named(identifier, "")

    async def changes(self, worktree: Worktree) -> WorktreeChanges:
        """Return the changes in a worktree."""
        return await changes_in(self._store, worktree)

    async def merge(self, worktree: Worktree) -> Merged:
        """Bring the changes of a worktree into the user's folder, where they await review.

        Raises:
            UserError: The worktree cannot be read.
        """
        async with self._changing:
            settings = self._owner.settings
            merge = WorktreeMerge(
                self._store,
                worktree,
                self._owner.workspace,
                await self._ledger(),
                settings,
                hide=Secrecy(lambda: self._owner.settings, (), self._environment).hide,
                private=undo_folder(self._environment),
            )
            merging = await asyncio.to_thread(self._store.lock, worktree, "merging-lock")
            if merging is None:
                raise UserError(f"another process merges the worktree {worktree.id}; try again")
            try:
                merged = await merge.run(await changes_in(self._store, worktree))
            finally:
                merging.close()
            if not merged.kept and worktree.id not in self._open:
                lock = self._store.lock(worktree)
                if lock is not None:
                    try:
                        await self._settled(worktree, is_whole=True)
                    finally:
                        lock.close()
            return merged

    async def remove(self, worktree: Worktree, *, is_discarded: bool) -> str:
        """Remove a worktree that no session uses; return a sentence for the user.

        Args:
            worktree: The worktree.
            is_discarded: Whether its changes are deleted, too.

        Raises:
            UserError: A session uses the worktree, or it has changes that would be lost.
        """
        async with self._changing:
            lock = None if worktree.id in self._open else self._store.lock(worktree)
            if lock is None:
                raise UserError(
                    f"a session uses the worktree {worktree.id}; begin another session (`/new`), "
                    "or end the process, then try again"
                )
            try:
                changes = await changes_in(self._store, worktree)
                if changes and not is_discarded:
                    raise UserError(
                        f"the worktree {worktree.id} has changes ({change_words(changes)}); bring "
                        f"them into the folder with `merge {worktree.id}`, or delete them with "
                        f"`discard {worktree.id}`"
                    )
                await self._removed(worktree)
            finally:
                lock.close()
        return f"removed the worktree {worktree.id}"

    @property
    def _store(self) -> WorktreeStore:
        return WorktreeStore(self._environment, self._owner.workspace.roots[0])

    async def _named(self, identifier: str, session: str) -> Worktree:
        known = await asyncio.to_thread(self._store.listed)
        if not identifier:
            own = [one for one in known if session and one.session == session]
            known_ones = own or list(known)
            if len(known_ones) == 1:
                return known_ones[0]
            if not known_ones:
                raise UserError(NO_WORKTREES)
        for one in known:
            if identifier in {one.id, one.session} and identifier:
                return one
        names = ", ".join(one.id for one in known) or "none"
        said = f"there is no worktree {identifier!r}" if identifier else "several worktrees exist"
        raise UserError(f"{said}; name one of: {names}")

    async def _after_turn(self, worktree: Worktree, session: Session) -> Worktree:
        now = msgspec.structs.replace(worktree, turn=session.turns, title=session.title)
        if now != worktree:
            await asyncio.to_thread(self._store.save, now)
        return now

    async def _of_session(self, session: str) -> Worktree | None:
        known = await asyncio.to_thread(self._store.listed)
        return next((one for one in known if one.session == session and one.is_whole), None)

    async def _made(self) -> WorkPlace:
        folder = self._owner.workspace.roots[0]
        now = edges.now().isoformat(timespec="seconds")
        deny = denied_globs(self._owner.settings, "read")
        made, lock = await make_worktree(self._store, folder, deny, made_at=now)
        place = await self._opened(made, lock)
        await self._take_unsaved(made, place.workspace)
        self._owner.warn(
            (f"this session works in the worktree {made.id}, a copy of the folder", *made.left_out)
        )
        return place

    async def _opened(self, worktree: Worktree, lock: AppendLog | None = None) -> WorkPlace:
        """Open a worktree for a session.

        Args:
            worktree: The worktree.
            lock: The lock that its maker holds, or None to take the lock now.

        Raises:
            UserError: Another process uses the worktree, or its files are gone.
        """
        if not await asyncio.to_thread(exists, worktree.root):
            raise UserError(
                f"the files of the worktree {worktree.id} are gone from {quoted(worktree.root)}; "
                f"`indwell worktrees discard {worktree.id}` lets the session work in the folder"
            )
        opened = self._open.get(worktree.id)
        if opened is None:
            lock = lock or await asyncio.to_thread(self._store.lock, worktree)
            if lock is None:
                raise UserError(f"another process uses the worktree {worktree.id}; end it first")
            files = WorktreeFiles(
                worktree.root, Path(worktree.folder), private=undo_folder(self._environment)
            )
            hide = Secrecy(lambda: self._owner.settings, (), self._environment).hide
            ledger = await ReviewLedger.open(self._store.ledger(worktree), files.roots, hide=hide)
            opened = self._open[worktree.id] = _Open(files, ledger, lock)
            pointer = await asyncio.to_thread(pointer_of, worktree)
            self._trust.trust_copy(files.roots[0], Path(worktree.folder), pointer)
        return WorkPlace(opened.files, opened.ledger, worktree)

    async def _take_unsaved(self, worktree: Worktree, files: Workspace) -> None:
        """Put the texts of unsaved buffers into the copy, as the user sees these files."""
        base = WorktreeFiles(self._store.base(worktree), Path(worktree.folder))
        for path, text in self._owner.workspace.unsaved().items():
            if not path.is_relative_to(worktree.top):
                continue
            name = path.relative_to(worktree.top).as_posix()
            for folder, target in ((Path(worktree.tree), files), (base.roots[0], base)):
                place = folder / name
                try:
                    now = await target.read(place)
                    await target.write(place, now, text, label="copy")
                except ToolError:  # The file was not copied, for a reason that the user was told.
                    break

    async def _settled(self, worktree: Worktree, *, is_whole: bool) -> None:
        """Remove a worktree without changes; otherwise tell the user about its changes."""
        changes = await changes_in(self._store, worktree) if is_whole else WorktreeChanges()
        if changes:
            await self._tell(worktree, changes)
        else:
            await self._removed(worktree)

    async def _removed(self, worktree: Worktree) -> None:
        await remove_worktree(self._store, worktree)
        answers = TrustStore(state_folder(self._environment))
        await asyncio.to_thread(answers.forget, worktree.root)

    async def _tell(self, worktree: Worktree, changes: WorktreeChanges) -> None:
        names = (*(f"{one.kind} {one.name}" for one in changes.files), *changes.unmergeable)
        if changes and self._told.get(worktree.id) != names:
            self._told[worktree.id] = names
            of = f" ({worktree.title})" if worktree.title else ""
            words = (
                f"the worktree {worktree.id}{of} has changes: {change_words(changes)}. Bring them "
                f"into the folder for review: `/worktree merge {worktree.id}`, or "
                f"`indwell worktrees merge {worktree.id}`"
            )
            self._owner.warn((words,))


def change_words(changes: WorktreeChanges) -> str:
    """Return the changed files in words."""
    names = [
        *(f"{one.kind} {quoted(one.name)}" for one in changes.files),
        *map(quoted, changes.unmergeable),
    ]
    if not names:
        return "no changes"
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def merged_words(worktree: Worktree, merged: Merged) -> str:
    """Return the result of a merge in words."""
    lines = []
    if merged.done:
        n_files = len(merged.done)
        files = "1 file awaits" if n_files == 1 else f"{n_files:,} files await"
        lines.append(
            f"{files} your review in the folder: {', '.join(map(quoted, merged.done[:20]))}"
        )
    lines += [f"not merged: {quoted(name)}: {why}" for name, why in merged.kept]
    if merged.kept:
        lines.append(f"the worktree {worktree.id} keeps these changes: {worktree.root}")
    return "\n".join(lines) or f"the worktree {worktree.id} has no changes"
