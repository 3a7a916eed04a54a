"""Finds the changes in a worktree, and brings them into the user's folder for review.

A merge has three sides: the file as it was copied, the file in the worktree, and the user's file as
it is now. Each change enters the review ledger of the user's folder before the file is written, so
the user can reject each hunk. A file with a conflict is left as it is, and stays in the worktree.
"""

from __future__ import annotations

import asyncio
import difflib
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import msgspec

from indwell.agent.permission.recorded_workspace import RecordedWorkspace
from indwell.errors import EditRefused, TextMoved, ToolError
from indwell.files.append_log import make_private_folder
from indwell.files.listing import exists
from indwell.files.private import remove_own, remove_own_tree, replace_durable, replace_own
from indwell.files.spelling import quoted
from indwell.files.tree_copy import (
    CopyMark,
    bytes_of,
    is_real_folder,
    link_target,
    mode_of,
    private_bytes,
    seen_values,
)
from indwell.files.user_files import ANY_MODE, delete_exactly, put_back
from indwell.policy.paths import is_beneath
from indwell.review.checkpoints.folder_comparison import FileChange, LedgerEntry, entry_of
from indwell.review.copies import Copies
from indwell.review.hunk import Actor, Opaque
from indwell.review.ledger import ReviewLedger
from indwell.review.verdicts import COPIES
from indwell.service.sessions.worktrees.record import Worktree, WorktreeStore
from indwell.service.sessions.worktrees.starting_state import (
    denied_globs,
    is_denied,
    is_plain,
    is_utf8,
    listed_files,
)
from indwell.settings.model import Settings
from indwell.workspace.base import Workspace
from indwell.workspace.comparing.merge import Conflict, merge
from indwell.workspace.encoding.notebook import SUFFIX
from indwell.workspace.encoding.rewriting import created
from indwell.workspace.git.repository import git_places, places_of, repository_of

MOST_B = 64 << 20  # the limit for one file, in bytes
LABEL = "Indwell: merge a worktree"
UNMERGEABLE = "a link, a folder, a device or too large"
CALL = "worktree"  # the id of the call that a merge's changes belong to
_TRIES = 3
_NAMED = 5
_RUNS = 0o111
_READS = 0o444
_MOST = 0o775  # A merge sets no other bits: no set-user-id, and no write access for everyone.


class WorktreeFile(msgspec.Struct, frozen=True):
    """A file that differs from the copy with which the worktree began.

    Attributes:
        name: The path relative to the copied folder.
        before: The bytes at the start, or None if there was no file.
        after: The bytes now, or None if there is no file.
        mode: The permissions of the file now.
        old_mode: The permissions at the start.
    """

    name: str
    before: bytes | None
    after: bytes | None
    mode: int = 0
    old_mode: int = 0

    @property
    def kind(self) -> str:
        """The letter for a list: added, deleted or modified."""
        return "A" if self.before is None else "D" if self.after is None else "M"


class WorktreeChanges(msgspec.Struct, frozen=True):
    """All changes in a worktree.

    Attributes:
        files: The changed files.
        unmergeable: Changed links and folders, and files over the limit.
    """

    files: tuple[WorktreeFile, ...] = ()
    unmergeable: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Return whether anything has changed."""
        return bool(self.files or self.unmergeable)


class Merged(msgspec.Struct, frozen=True):
    """The result of a merge: merged files, and files that stay in the worktree, with the reason."""

    done: tuple[str, ...] = ()
    kept: tuple[tuple[str, str], ...] = ()


async def changes_in(store: WorktreeStore, worktree: Worktree) -> WorktreeChanges:
    """Compare a worktree with the copy from which it began.

    Raises:
        UserError: The files cannot be listed or read.
    """
    is_there = await asyncio.to_thread(exists, Path(worktree.tree))
    if not is_there:
        return WorktreeChanges()
    # If the user deleted or moved the repository, the files of the worktree are still there.
    is_git = worktree.is_git and await asyncio.to_thread(_has_repository, Path(worktree.tree))
    names = await listed_files(Path(worktree.tree), is_git=is_git)
    return await asyncio.to_thread(_compared, store, worktree, names)


def _has_repository(tree: Path) -> bool:
    repository = repository_of(tree)
    return repository is not None and any(exists(one) for one in repository.folders[:1])


def _compared(store: WorktreeStore, worktree: Worktree, names: Sequence[str]) -> WorktreeChanges:
    tree, base = Path(worktree.tree), store.base(worktree)
    marks = store.files(worktree)
    files: list[WorktreeFile] = []
    unmergeable: list[str] = []
    for name, mark in marks.items():
        if mark.seen == seen_values(tree / name) and mark.seen[0]:
            continue
        try:
            before = private_bytes(base / name, MOST_B)
            after = None if is_real_folder(tree / name) else bytes_of(tree, name, MOST_B)
        except (OSError, ToolError):
            unmergeable.append(name)
            continue
        mode = mode_of(tree / name)
        is_run = after is not None and (mode ^ mark.mode) & _RUNS
        if before != after or is_run:
            files.append(WorktreeFile(name, before, after, mode, mark.mode))
    for name in names:
        if name in marks or not is_utf8(name):
            continue
        if (leads_to := link_target(tree / name)) is not None:
            is_old = link_target(Path(worktree.top) / name) == leads_to
            unmergeable += [] if is_old else [name]
            continue
        try:
            after = bytes_of(tree, name, MOST_B)
        except ToolError:
            unmergeable.append(name)
            continue
        if after is not None:
            files.append(WorktreeFile(name, None, after, mode_of(tree / name)))
    return WorktreeChanges(tuple(sorted(files, key=lambda one: one.name)), tuple(unmergeable))


class WorktreeMerge:
    """Brings the changes of a worktree into the user's folder.

    Args:
        store: The worktrees of the folder.
        worktree: The worktree.
        workspace: The user's files, with unsaved buffers.
        ledger: The review ledger of the user's folder.
        settings: The settings in force, whose deny rules hold.
        hide: Removes secrets from a text.
        private: See ``DiskWorkspace``.
    """

    def __init__(
        self,
        store: WorktreeStore,
        worktree: Worktree,
        workspace: Workspace,
        ledger: ReviewLedger,
        settings: Settings,
        *,
        hide: Callable[[str], str] = str,
        private: Path | None = None,
    ) -> None:
        self._store, self._worktree = store, worktree
        self._files, self._ledger, self._hide = workspace, ledger, hide
        self._deny = denied_globs(settings, "read", "edit")
        self._actor = Actor(worktree.session or worktree.id, max(worktree.turn, 1))
        self._recorded = RecordedWorkspace(
            workspace, ledger, self._actor, CALL, lambda: False, hide=hide
        )
        self._copies = Copies(ledger.folder / COPIES)
        self._private = private
        self._obeyed: tuple[str, ...] = ()
        self._noted = store.base(worktree).with_name("merging")
        self._interrupted = ""

    async def run(self, changes: WorktreeChanges) -> Merged:
        """Merge each file; a file that cannot be merged stays in the worktree.

        Raises:
            UserError: The worktree's list of files cannot be written.
        """
        done: list[str] = []
        kept = [(name, f"it is {UNMERGEABLE}; copy it yourself") for name in changes.unmergeable]
        marks = await asyncio.to_thread(self._store.files, self._worktree)
        noted = await asyncio.to_thread(private_bytes, self._noted, MOST_B)
        self._interrupted = (noted or b"").decode("utf-8", "replace")
        self._obeyed = await asyncio.to_thread(_obeyed_in_folder, self._worktree)
        # Deletions come first, because a folder may have taken the name of a deleted file.
        for one in sorted(changes.files, key=lambda one: one.after is not None):
            try:
                why = await self._merged(one)
                if not why:
                    # After a kill before this line, another merge changes nothing.
                    await asyncio.to_thread(self._keep_base, one)
            except (ToolError, OSError) as error:
                why = str(error)
            if why:
                kept.append((one.name, why))
                continue
            done.append(one.name)
            if one.after is None:
                marks.pop(one.name, None)
            else:
                marks[one.name] = CopyMark(one.mode)
            await asyncio.to_thread(self._store.save_files, self._worktree, marks)
        await asyncio.to_thread(remove_own, self._noted)
        return Merged(tuple(sorted(done)), tuple(kept))

    def _keep_base(self, one: WorktreeFile) -> None:
        base = self._store.base(self._worktree)
        place = base / one.name
        if one.after is None:
            remove_own(place)
            return
        # The base may still have a file of a folder's name, or an empty folder of a file's name.
        for above in Path(one.name).parents:
            if not is_real_folder(base / above):
                remove_own(base / above)
        if is_real_folder(place):
            remove_own_tree(place)
        make_private_folder(place.parent)
        replace_own(place, one.after)

    async def _merged(self, one: WorktreeFile) -> str:
        """Merge one file; return why it was left out, or an empty text."""
        place = Path(self._worktree.top) / one.name
        if not place.is_relative_to(self._worktree.folder):
            return f"it is outside of {quoted(self._worktree.folder)}"
        if not is_plain(one.name) or is_denied(self._worktree, one.name, self._deny):
            return "a deny rule protects it in your folder"
        path = self._files.resolve(str(place))
        if path != place:
            return "a link leads to another place in your folder"
        if is_beneath(str(path), self._obeyed):
            there = quoted(str(Path(self._worktree.tree) / one.name))
            return (
                f"git runs or obeys this file in your folder; look at {there}, and copy it yourself"
            )
        change = FileChange(one.name, one.before, one.after, one.mode)
        entry = await asyncio.to_thread(
            entry_of,
            Path(self._worktree.top),
            change,
            (Path(self._worktree.folder),),
            self._copies,
            self._hide,
        )
        if entry.is_lost:
            return (
                "its old bytes contain a secret or cannot be stored, so no undo would be possible"
            )
        if one.before == one.after:
            return await self._with_mode(one, path)
        is_text = entry.opaque is None and path.suffix != SUFFIX
        if is_text and one.before is None and not _is_plain(one.after, entry.after):
            is_text = False
        if not is_text:
            return await self._merged_bytes(one, path, entry)
        return await self._merged_text(entry, path) or await self._with_mode(one, path)

    async def _merged_text(self, entry: LedgerEntry, path: Path) -> str:
        for _ in range(_TRIES):
            try:
                return await self._text_once(entry, path)
            except TextMoved:
                continue
        return "your file keeps changing; try again"

    async def _text_once(self, entry: LedgerEntry, path: Path) -> str:
        is_there = await asyncio.to_thread(exists, path) or path in self._files.unsaved()
        if entry.before is None:
            assert entry.after is not None
            if not is_there:
                await self._recorded.write(path, None, entry.after, label=LABEL)
                return ""
            now = await self._files.read(path)
            return (
                "" if now.text == entry.after else "your folder has another file of this name now"
            )
        if not is_there:
            if entry.after is not None:
                return "you have deleted it meanwhile"
            await self._record_interrupted(path, entry.before)
            return ""
        now = await self._files.read(path)
        if entry.after is None:
            if now.text != entry.before:
                return "the session deleted it, and you have changed it meanwhile"
            await self._note(path)
            await self._recorded.remove(path, now, label=LABEL)
            return ""
        merged = await asyncio.to_thread(merge, entry.before, entry.after, now.text)
        if merged.conflicts:
            return _conflict_words(merged.conflicts)
        if merged.text != now.text:
            await self._recorded.write(path, now, merged.text, label=LABEL)
        return ""

    async def _merged_bytes(self, one: WorktreeFile, path: Path, entry: LedgerEntry) -> str:
        """Replace a file that is not text, if the user's file is unchanged."""
        if path in self._files.unsaved():
            return "it is not saved in the editor; save it first"
        now = await asyncio.to_thread(bytes_of, Path(self._worktree.top), one.name, MOST_B)
        opaque = entry.opaque
        if opaque is None:
            opaque = await asyncio.to_thread(self._opaque, one)
        if now == one.after:
            await self._record_interrupted(path, None, opaque)
            return ""
        if now != one.before:
            return "you have changed it meanwhile, and it cannot be merged by lines"
        await self._note(path)
        roots = self._files.roots
        try:
            if one.after is None:
                assert one.before is not None
                await asyncio.to_thread(delete_exactly, path, roots, one.before)
            else:
                put = partial(put_back, mode=one.mode & _MOST or ANY_MODE, private=self._private)
                await asyncio.to_thread(partial(put, path, one.after, roots, expected=one.before))
        except EditRefused as error:
            return str(error)
        await self._ledger.made(self._actor, CALL, path, None, None, accepted=False, opaque=opaque)
        return ""

    async def _note(self, path: Path) -> None:
        """Note durably which file is changed next, before the ledger has the change."""
        await asyncio.to_thread(replace_durable, self._noted, str(path).encode())

    async def _record_interrupted(
        self, path: Path, before: str | None, opaque: Opaque | None = None
    ) -> None:
        """Record the change of a merge that was killed between the change and its record."""
        if str(path) == self._interrupted and path not in self._ledger.paths():
            await self._ledger.made(
                self._actor, CALL, path, before, None, accepted=False, opaque=opaque
            )

    def _opaque(self, one: WorktreeFile) -> Opaque:
        """Store both versions of a file that cannot be merged line by line, such as a notebook."""
        before, after = (
            None if data is None else self._copies.put(data) for data in (one.before, one.after)
        )
        return Opaque("merged as a whole from a worktree", before, after, one.old_mode)

    async def _with_mode(self, one: WorktreeFile, path: Path) -> str:
        """Make the user's file executable, or not, as in the worktree."""
        if (
            one.after is None
            or not (one.mode ^ one.old_mode) & _RUNS
            or path in self._files.unsaved()
        ):
            return ""
        if one.before is None and not one.mode & _RUNS:
            return ""
        now = await asyncio.to_thread(bytes_of, Path(self._worktree.top), one.name, MOST_B)
        if now is not None:
            own = stat.S_IMODE((await asyncio.to_thread(path.lstat)).st_mode)
            # Only the right to run is taken over, for those who may read the user's file.
            mode = own | (own & _READS) >> 2 if one.mode & _RUNS else own & ~_RUNS
            put = partial(put_back, mode=mode, expected=now, private=self._private)
            await asyncio.to_thread(put, path, now, self._files.roots)
        return ""


def _obeyed_in_folder(worktree: Worktree) -> tuple[str, ...]:
    """Return the paths of the user's folder that git obeys there, but not in the copy; blocks.

    An example is a file that ``include.path`` names. Indwell did not ask when the session changed
    the file in the copy, and git would obey the merged file before the review.
    """
    asked = _names_in(worktree.tree, places_of(Path(worktree.tree)).obeyed)
    names = _names_in(worktree.top, git_places(Path(worktree.top)).obeyed)
    return tuple(str(Path(worktree.top) / one) for one in names if one not in asked)


def _names_in(root: str, paths: Sequence[str]) -> tuple[str, ...]:
    return tuple(os.path.relpath(one, root) for one in paths if is_beneath(one, (root,)))


def _is_plain(data: bytes | None, text: str | None) -> bool:
    """Return whether a new file with this text gets exactly these bytes."""
    try:
        return text is not None and created(text) == data
    except ValueError:
        return False


def _conflict_words(conflicts: Sequence[Conflict]) -> str:
    lines = ", ".join(str(one.theirs.line) for one in conflicts[:_NAMED])
    more = f" and {len(conflicts) - _NAMED} more" if len(conflicts) > _NAMED else ""
    return (
        f"you and the session changed the same lines (line {lines}{more} of your file); make these "
        "lines equal on one side, then merge again"
    )


def diff_of(changes: WorktreeChanges) -> str:
    """Return the changes as one diff; takes a while for large files."""
    others = "".join(f"{name}: {UNMERGEABLE}\n" for name in changes.unmergeable)
    return "".join(line for one in changes.files for line in _diff(one)) + others


def _diff(one: WorktreeFile) -> Iterator[str]:
    try:
        old, new = ((data or b"").decode() for data in (one.before, one.after))
    except UnicodeDecodeError:
        yield f"{one.name}: not text\n"
        return
    if one.before == one.after:
        yield f"{one.name}: mode {one.old_mode:o} -> {one.mode:o}\n"
    names = (
        ("/dev/null" if one.before is None else f"a/{one.name}"),
        ("/dev/null" if one.after is None else f"b/{one.name}"),
    )
    lines = (old.splitlines(keepends=True), new.splitlines(keepends=True))
    for line in difflib.unified_diff(*lines, *names):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
