"""Makes a worktree: copies the user's files as they are now, and adds the copy to git.

Git checks out no file, so git runs no filter and no hook: Indwell copies the bytes on disk, with
the user's uncommitted changes. Git only adds the copy to the repository's list of worktrees.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import TypeAlias

import msgspec

from indwell.bounds.git.git_program import run_git
from indwell.bounds.git.store import UnreadableStore
from indwell.bounds.secrets import SecretPlaces, denied_name
from indwell.errors import TooLarge, ToolError, UserError
from indwell.files.append_log import AppendLog
from indwell.files.listing import exists, linked_mark
from indwell.files.private import remove_own_tree
from indwell.files.spelling import quoted
from indwell.files.tree_copy import Copier, CopyMark, link_target, new_private_folder
from indwell.policy.paths import matches_any
from indwell.policy.rules import Subject, globs_of
from indwell.sandbox import find_program
from indwell.service.sessions.worktrees.record import Worktree, WorktreeStore
from indwell.settings.model import Settings
from indwell.tools.searching.ripgrep import listen
from indwell.workspace.git.repository import GIT, Repository, around, is_bare, repository_of

MOST_FILES = 50_000
MOST_B = 1 << 30  # the limit for all files together, in bytes; each file is stored twice
Globs: TypeAlias = tuple[tuple[str, ...], ...]
"""Lists of globs. A ``!`` glob takes names out of its own list only."""
_Copied: TypeAlias = tuple[dict[str, CopyMark], tuple[str, ...]]
_LIST_S = 120.0
_NAMED = 5
_UNFINISHED: Mapping[str, str] = {
    "MERGE_HEAD": "a merge",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "BISECT_LOG": "a bisection",
}
"""Files in git's own folder that exist while git waits for the user."""


class CopySource(msgspec.Struct, frozen=True):
    """The folder that a worktree copies: the whole repository, or the user's folder without git.

    Attributes:
        top: The copied folder.
        repository: The repository, or None outside of git.
        commit: The commit that is checked out, or empty if there is no commit.
    """

    top: Path
    repository: Repository | None = None
    commit: str = ""


class _Omissions:
    """Collects what is not copied, for a sentence to the user."""

    def __init__(self) -> None:
        self._names: dict[str, list[str]] = {}

    def add(self, why: str, name: str) -> None:
        self._names.setdefault(why, []).append(name)

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(f"{why}: {_named(names)}" for why, names in self._names.items())


def _named(names: Sequence[str]) -> str:
    shown = ", ".join(map(quoted, names[:_NAMED]))
    return shown + (f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else "")


async def source_of(folder: Path) -> CopySource:
    """Return what has to be copied for a session in ``folder``.

    Raises:
        UserError: The folder cannot get a worktree now; the message says why.
    """
    holders = await asyncio.to_thread(around, folder)
    if not holders:
        return CopySource(folder)
    top = holders[-1]
    if await asyncio.to_thread(is_bare, top):
        raise UserError(
            f"{quoted(top)} is a bare repository without files; open a folder with a checkout"
        )
    repository = await asyncio.to_thread(repository_of, top)
    if repository is None or not repository.folders:
        raise UserError(
            f"the repository in {quoted(top)} cannot be read; repair it, then try again"
        )
    if await asyncio.to_thread(find_program, "git", (folder,)) is None:
        raise UserError(
            "git is not installed, so no worktree can be made in this repository; install git, or "
            "work without a worktree"
        )
    own = repository.folders[0]
    for name, what in _UNFINISHED.items():
        if exists(own / name):
            raise UserError(f"{what} is in progress in {quoted(top)}; finish or abort it first")
    try:
        unmerged = await _git(top, "ls-files", "-z", "--unmerged", limit_b=1 << 20)
    except UnreadableStore as error:
        raise _failed(error) from error
    if unmerged:
        raise UserError(
            f"{quoted(top)} has files with merge conflicts; resolve the conflicts first"
        )
    return CopySource(top, repository, await _commit(top))


async def _commit(top: Path) -> str:
    """Return the commit that is checked out, or empty if the branch has no commit yet."""
    try:
        said = await _git(top, "rev-parse", "--quiet", "--verify", "HEAD^{commit}")
    except UnreadableStore:
        return ""
    return said.decode("ascii", "replace").strip()


async def listed_files(top: Path, *, is_git: bool) -> tuple[str, ...]:
    """Return the files of a folder that git would not ignore, relative to the folder.

    Raises:
        UserError: The files cannot be listed, or there are too many.
    """
    try:
        found = await (_in_git(top) if is_git else _outside_git(top))
    except UnreadableStore as error:
        raise _failed(error) from error
    except ToolError as error:
        raise UserError(f"the files of {quoted(top)} cannot be listed: {error}") from error
    if len(found) > MOST_FILES:
        raise UserError(
            f"{quoted(top)} has {len(found):,} files; a worktree may have {MOST_FILES:,}. Open a "
            "smaller folder, or work without a worktree"
        )
    return found


async def _in_git(top: Path) -> tuple[str, ...]:
    said = await _git(top, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    return tuple(dict.fromkeys(os.fsdecode(one).rstrip("/") for one in said.split(b"\0") if one))


async def _outside_git(top: Path) -> tuple[str, ...]:
    pieces: list[bytes] = []

    def take(data: bytes) -> bool:
        pieces.append(data)
        return False

    finished = await listen(
        ["--files", "--null", "--glob=!.git", "--no-ignore-dot", "--no-ignore-parent"],
        cwd=top,
        never_in=(top,),
        timeout_s=_LIST_S,
        take=take,
    )
    if finished.timed_out:
        raise UserError(f"{quoted(top)} has too many files to list; open a smaller folder")
    names = (os.fsdecode(one) for one in b"".join(pieces).split(b"\0") if one)
    return tuple(dict.fromkeys(one.removeprefix("./") for one in names))


async def make_worktree(
    store: WorktreeStore, folder: Path, deny: Globs, *, made_at: str
) -> tuple[Worktree, AppendLog]:
    """Copy the user's files; return the complete worktree, and the lock of this process.

    Args:
        store: The worktrees of the folder.
        folder: The user's folder, resolved.
        deny: The patterns of files that must not be copied.
        made_at: The current time.

    Raises:
        UserError: No worktree can be made; the message says why, and nothing is left behind.
    """
    source = await source_of(folder)
    is_git = source.repository is not None
    names = await listed_files(source.top, is_git=is_git)
    made = await asyncio.to_thread(
        store.create, source.top, made_at=made_at, is_git=bool(source.commit)
    )
    lock = await asyncio.to_thread(store.lock, made)
    if lock is None:  # Another process has just started, and removes the incomplete copy.
        raise UserError("the new worktree was removed by another process; try again")
    try:
        return await _filled(store, made, source, names, deny), lock
    except BaseException:
        await asyncio.shield(remove_worktree(store, made))
        lock.close()
        raise


async def _filled(
    store: WorktreeStore,
    made: Worktree,
    source: CopySource,
    names: Iterable[str],
    deny: Globs,
) -> Worktree:
    try:
        if source.commit:
            await _add_to_git(source, made)
        else:
            await asyncio.to_thread(new_private_folder, Path(made.tree))
        files, left = await _in_thread(partial(_copied, store, made, names, deny))
        if source.commit:
            await _git(Path(made.tree), "read-tree", "HEAD")
    except UnreadableStore as error:
        raise _failed(error) from error
    except OSError as error:
        raise UserError(f"no worktree could be made ({error.strerror or error})") from error
    if source.repository is not None and not source.commit:
        left = ("the repository has no commit yet, so the copy is not part of git", *left)
    whole = msgspec.structs.replace(made, is_whole=True, left_out=left)
    await asyncio.to_thread(store.save_files, made, files)
    await asyncio.to_thread(store.save, whole)
    return whole


async def _add_to_git(source: CopySource, made: Worktree) -> None:
    """Add the new folder to the repository's worktrees; git checks out no file.

    Raises:
        UnreadableStore: Git refuses.
        UserError: Git's entry is not in the repository's own folder.
    """
    assert source.repository is not None
    entries = source.repository.folders[-1] / "worktrees"
    if link_target(entries) is not None:
        raise UserError(
            f"{quoted(entries)} is a link, so git would write elsewhere; remove the link"
        )
    words = ("worktree", "add", "--quiet", "--no-checkout", "--detach", made.tree, source.commit)
    await _git(source.top, *words)
    await asyncio.to_thread(pointer_of, made)


def pointer_of(worktree: Worktree) -> Path | None:
    """Return the file ``.git`` of a copy, which leads to git's entry, or None outside of git.

    Raises:
        UserError: The file does not lead into the repository's own folder.
    """
    if not worktree.is_git:
        return None
    here, there = repository_of(Path(worktree.tree)), repository_of(Path(worktree.top))
    if here and there and here.folders and there.folders:
        entries = there.folders[-1] / "worktrees"
        if here.folders[0].parent == entries and here.folders[-1] == there.folders[-1]:
            return Path(worktree.tree) / GIT
    raise UserError(
        f"git's entry for the worktree {worktree.id} is not in the repository of "
        f"{quoted(worktree.top)}; its files are in {quoted(worktree.tree)}"
    )


def _copied(
    store: WorktreeStore,
    made: Worktree,
    names: Iterable[str],
    deny: Globs,
    stopping: threading.Event,
) -> _Copied:
    """Copy the files; blocks. Returns the copies' marks, and what was left out."""
    top, tree, base = Path(made.top), Path(made.tree), store.base(made)
    new_private_folder(base)
    files: dict[str, CopyMark] = {}
    left = _Omissions()
    copier = Copier(top, (tree, base), MOST_B)
    links = _Links(top, deny)
    for name in names:
        if stopping.is_set():
            break
        place = top / name
        leads_to = link_target(place)
        why = _left_out(made, name, deny) or links.why(place, name, leads_to)
        if why:
            left.add(why, name)
            continue
        try:
            if leads_to is not None:
                if not copier.copy_link(name, leads_to):
                    left.add("links that the system does not let Indwell create", name)
            elif exists(place):
                files[name] = copier.copy(name)
        except TooLarge as error:
            raise UserError(
                f"the files of {quoted(top)} are larger than {MOST_B >> 30} GB; open a smaller "
                "folder, or work without a worktree"
            ) from error
        except ToolError:
            left.add("files that cannot be read", name)
    copier.make_folder(made.root)
    return files, left.words


class _Links:
    """Finds symbolic links that lead out of the folder, and hard links to denied files."""

    def __init__(self, top: Path, deny: Globs) -> None:
        self._top, self._deny = top, deny
        self._secret: dict[tuple[str, ...], tuple[str, ...]] = {}

    def why(self, place: Path, name: str, leads_to: str | None) -> str:
        """Return why a link or a file with several names is not copied, or an empty text; blocks.

        Args:
            place: The path in the user's folder.
            name: The path relative to the copied folder.
            leads_to: The target, if the path is a symbolic link.
        """
        if leads_to is not None:
            return "" if _stays_inside(name, leads_to) else "links that lead out of the folder"
        if linked_mark(place) is None or not any(self._matches(place, one) for one in self._deny):
            return ""
        return "hard links to files that a deny rule hides"

    def _matches(self, place: Path, globs: tuple[str, ...]) -> bool:
        if globs not in self._secret:
            self._secret[globs] = SecretPlaces([self._top], lambda: globs).look()
        return bool(denied_name(place, [self._top], self._secret[globs], globs))


def _left_out(worktree: Worktree, name: str, deny: Globs) -> str:
    """Return why a file is not copied, or an empty text."""
    if not is_utf8(name):
        return "names that are not UTF-8"
    if not is_plain(name):
        return "names that git does not allow"
    if is_denied(worktree, name, deny):
        return "files that a deny rule hides"
    place = Path(worktree.top) / name
    is_folder = place.is_dir() and link_target(place) is None
    return "submodules and nested repositories" if is_folder else ""


def is_plain(name: str) -> bool:
    """Return whether a name leads to a file of the folder; a forged index may have any names."""
    path = Path(name)
    return not path.anchor and not any(one == ".." or one.casefold() == GIT for one in path.parts)


def denied_globs(settings: Settings, *subjects: Subject) -> Globs:
    """Return the globs of files that no model may see, and of the user's rules for ``subjects``."""
    return settings.deny, *(globs_of(one, settings.rules_deny) for one in subjects)


def is_denied(worktree: Worktree, name: str, deny: Globs) -> bool:
    """Return whether a pattern matches a file, by its relative or absolute name in the folder."""
    return any(_matches(worktree, name, one) for one in deny)


def _matches(worktree: Worktree, name: str, deny: tuple[str, ...]) -> bool:
    place, folder = Path(worktree.top) / name, Path(worktree.folder)
    near = place.relative_to(folder).as_posix() if place.is_relative_to(folder) else name
    if matches_any(near, deny):
        return True
    # A pattern without an inner slash matches the last names, which both spellings share.
    far = tuple(one for one in deny if one[:1] in {"/", "~"} or "/" in one.strip("/"))
    return matches_any(str(place), far)


def is_utf8(name: str) -> bool:
    """Return whether JSON can contain the name."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _stays_inside(name: str, leads_to: str) -> bool:
    """Return whether the target of a link is inside the copied folder, by the written names.

    A ``..`` behind another name does not count as inside, because that name may be a link.
    """
    target, folders = Path(leads_to), Path(name).parts[:-1]
    n_up = len(tuple(takewhile("..".__eq__, target.parts)))
    if not leads_to or target.anchor or n_up > len(folders) or not is_utf8(leads_to):
        return False
    names = (*folders[: len(folders) - n_up], *target.parts[n_up:])
    return ".." not in names and names[:1] != (GIT,)


async def remove_worktree(store: WorktreeStore, worktree: Worktree) -> None:
    """Delete a worktree and its entry in git; the user's folder is not touched.

    Raises:
        UserError: The files cannot be deleted.
    """
    if worktree.is_git:
        try:
            await _git(Path(worktree.top), "worktree", "remove", "--force", worktree.tree)
        except UnreadableStore:
            # Without git, the entry stays until git itself removes entries of missing worktrees.
            await asyncio.to_thread(remove_own_tree, Path(worktree.tree))
    try:
        await asyncio.to_thread(store.forget, worktree)
    except OSError as error:
        raise UserError(
            f"the worktree {worktree.id} could not be deleted ({error.strerror}); delete "
            f"{quoted(worktree.tree)}"
        ) from error


async def _in_thread(work: Callable[[threading.Event], _Copied]) -> _Copied:
    """Run ``work`` in a thread; if the caller is cancelled, stop the work and wait for its end."""
    stopping = threading.Event()
    task = asyncio.ensure_future(asyncio.to_thread(work, stopping))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        stopping.set()
        await asyncio.wait({task})
        raise


async def _git(top: Path, *words: str, limit_b: int = 64 << 20) -> bytes:
    """Run git in a repository, without monitors and attributes of the user's machine."""
    options = ["-c", "core.fsmonitor=false"]
    if words[0] != "worktree":  # A repository's setting could name another folder.
        options.append(f"--work-tree={top}")
    return await run_git(top, *words, never_in=(top,), options=options, limit_b=limit_b)


def _failed(error: UnreadableStore) -> UserError:
    return UserError(f"git cannot make a worktree here: {error}")
