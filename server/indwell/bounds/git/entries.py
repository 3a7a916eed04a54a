"""Finds protected files that enter git's index or commits without appearing in a folder.

``git update-index --cacheinfo`` and ``git commit`` write no protected file, but a later checkout by
the user does. ``git replace`` gives another object an existing name. Git's entries before and after
a command are therefore compared. The index and the refs are read only if their stamps differ.
``git_program`` runs git without any setting that runs a program.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import msgspec

from indwell.bounds.git.git_program import TIME_S, run_git
from indwell.bounds.git.known_state import GitEntry, GitNote, KeptFile, RepositoryState
from indwell.bounds.git.store import NO_OBJECT, Store, UnreadableStore, faults, refs_of, store_of
from indwell.errors import ToolError
from indwell.files.contents.reading import read_bytes
from indwell.files.spelling import quoted
from indwell.policy.paths import is_protected
from indwell.workspace.git.repository import around, nested, repository_of

FILE_B = 16 << 20  # the limit of bytes for a protected file that is compared with its entry
# The limit of remembered entries that the user has decided on; other sessions may ask about older
# ones again.
MOST_ENDED = 200


class GitEntries:
    """Finds the entries that Indwell's commands added to git; one object per session.

    Args:
        roots: Returns the trusted folders of the workspace, resolved.
        note: The record on disk that survives this process.
        runs_on: Returns whether a background command that may change a repository is running.

    Attributes:
        waiting: The entries that the user has not accepted.
    """

    def __init__(
        self,
        roots: Callable[[], Sequence[Path]],
        note: GitNote | None = None,
        runs_on: Callable[[], bool] = lambda: False,
    ) -> None:
        self._roots = roots
        self._note = note or GitNote(None)
        self._runs_on = runs_on
        self._before: Mapping[Path, RepositoryState | str] = {}
        self._kept = KeptFile()
        self._untold: tuple[GitEntry, ...] = ()
        # entries that the user has decided on, but that other sessions have not learned of yet
        self._ended: tuple[GitEntry, ...] = ()
        self._one_at_a_time = asyncio.Lock()
        self.waiting: tuple[GitEntry, ...] = ()

    @property
    def in_git(self) -> tuple[str, ...]:
        """The protected files whose entries the user has not accepted, described in words."""
        return tuple(one.words for one in self.waiting if one.kind in _NAMED)

    @property
    def unchecked(self) -> tuple[str, ...]:
        """Other entries that the user has not accepted, described in words."""
        return tuple(one.words for one in self.waiting if one.kind not in _NAMED)

    async def news(self) -> tuple[GitEntry, ...]:
        """Return the entries that Indwell's commands added since the last call."""
        async with self._one_at_a_time:
            await self._take_over()
            if await asyncio.to_thread(self._note.is_open):
                await self._compare()
                await self._keep()
            return self._told()

    async def begin(self) -> None:
        """Note that a command of Indwell that may change a repository begins.

        Changes made while no command ran are the user's, and are not compared.
        """
        async with self._one_at_a_time:
            await self._take_over()
            if await asyncio.to_thread(self._note.is_open):
                await self._compare()
            else:
                self._before = await self._states(self._before, is_quick=True)
                await self._forget_gone()
            # Write the note before the file ``open-…``, because the file has no meaning without the
            # note.
            await self._keep()
            await asyncio.to_thread(self._note.open)

    async def look(self, *, fetches: bool = False, is_quick: bool = False) -> tuple[GitEntry, ...]:
        """Find new entries since the last comparison; each is kept until it is accepted or removed.

        Args:
            fetches: Whether the command may use the network; fetched content is allowed.
            is_quick: Whether the command could not write to git's store.
        """
        async with self._one_at_a_time:
            await self._look(fetches=fetches, is_quick=is_quick)
            return self._told()

    @contextlib.asynccontextmanager
    async def around(self) -> AsyncIterator[None]:
        """Run a check or hook; entries that it adds to git are reported before the next command."""
        await self.begin()
        yield
        await self.settle()

    async def settle(self) -> None:
        """Compare now, so that the entries are reported before the next command."""
        async with self._one_at_a_time:
            await self._look()

    async def agree(self, entries: Iterable[GitEntry]) -> None:
        """Note that the user has accepted these entries."""
        async with self._one_at_a_time:
            agreed = set(entries)
            if any(one.kind == "note" for one in agreed):
                await asyncio.to_thread(self._note.forget_damaged)
            self._wait_for(one for one in self.waiting if one not in agreed)
            await self._keep()

    async def _look(self, *, fetches: bool = False, is_quick: bool = False) -> None:
        await self._take_over()
        # Read the flag first, because a background command may end during the comparison.
        runs_on = self._runs_on()
        await self._compare(fetches=fetches, is_quick=is_quick and not runs_on)
        await self._keep()
        if not runs_on:
            await asyncio.to_thread(self._note.close)

    async def _compare(self, *, fetches: bool = False, is_quick: bool = False) -> None:
        """Find entries that are new since the last comparison, and remember them as unreported."""
        before = self._before
        after = await self._states(before, is_quick=is_quick)
        found: list[GitEntry] = []
        for holder, state in after.items():
            was = before.get(holder)
            if state is was:
                continue
            if isinstance(state, str):
                found.append(_unread(holder, state))
                continue
            known = was if isinstance(was, RepositoryState) else RepositoryState()
            try:
                # all objects of a new repository are new, so they are not examined
                if was is not None:
                    found += await self._faults(holder, known, state, fetches=fetches)
                found += await self._new(holder, known, state, fetches=fetches)
            except UnreadableStore as error:
                # The next comparison examines the repository again.
                after[holder] = words = _unreadable(holder, error)
                found.append(_unread(holder, words))
        self._before = after
        await self._forget_gone()
        self._add(found)

    def _told(self) -> tuple[GitEntry, ...]:
        told, self._untold = self._untold, ()
        return told

    def _add(self, found: Iterable[GitEntry]) -> None:
        new = tuple(one for one in dict.fromkeys(found) if one not in self.waiting)
        self.waiting = (*self.waiting, *new)
        self._untold = (*self._untold, *new)

    def _wait_for(self, kept: Iterable[GitEntry]) -> None:
        """From now on, only these entries wait for the user's acceptance."""
        left = tuple(kept)
        self._ended = (*self._ended, *(one for one in self.waiting if one not in left))
        self.waiting = left
        self._untold = tuple(one for one in self._untold if one in left)

    async def _take_over(self) -> None:
        """Continue from the state that another Indwell process has recorded."""
        news = await asyncio.to_thread(self._note.news)
        if news is not None:
            self._before = {Path(holder): state for holder, state in news.states.items()}
            waiting = dict.fromkeys((*news.waiting, *self.waiting))
            self.waiting = tuple(one for one in waiting if one not in news.ended)
            self._untold = tuple(one for one in self._untold if one in self.waiting)
            self._ended = news.ended
        if damaged := await asyncio.to_thread(lambda: self._note.damaged):
            words = (
                "a newer Indwell wrote the note of changes that you did not agree to, so this one "
                f"cannot read it; update Indwell; the note is {damaged!r}"
                if self._note.is_newer
                else "Indwell's note of changes that you did not agree to cannot be read; the "
                f"damaged note is {damaged!r}"
            )
            self._add([GitEntry("note", "", "", words, "", damaged)])

    async def _keep(self) -> None:
        ended = dict.fromkeys(one for one in self._ended if one not in self.waiting)
        self._ended = tuple(ended)[-MOST_ENDED:]
        states = {str(holder): state for holder, state in self._before.items()}
        kept = KeptFile(states, self.waiting, self._ended)
        if kept != self._kept:
            await asyncio.to_thread(self._note.keep, kept)
            self._kept = kept

    async def _states(
        self, known: Mapping[Path, RepositoryState | str], *, is_quick: bool
    ) -> dict[Path, RepositoryState | str]:
        roots = tuple(self._roots())
        holders = await asyncio.to_thread(_holders, roots)
        states: dict[Path, RepositoryState | str] = {}
        for holder in holders:
            try:
                states[holder] = await self._state(holder, known.get(holder), is_quick=is_quick)
            except (UnreadableStore, OSError) as error:
                words = _unreadable(holder, error)
                before = known.get(holder)
                # The user was already told about the unreadable repository.
                states[holder] = before if before == words else words
        return states

    async def _state(
        self, holder: Path, known: RepositoryState | str | None, *, is_quick: bool
    ) -> RepositoryState:
        was = known if isinstance(known, RepositoryState) else RepositoryState()
        stamps, tips, replaced = await asyncio.to_thread(refs_of, holder)
        repository = await asyncio.to_thread(repository_of, holder)
        folders = repository.folders if repository is not None else ()
        roots = tuple(self._roots())
        store = await asyncio.to_thread(store_of, folders, roots, was.store, is_quick=is_quick)
        if known is was and was.stamps == stamps:
            is_same = store is was.store
            return was if is_same else msgspec.structs.replace(was, store=store)
        index: dict[str, str] = {}
        for entry in (await self._git(holder, "ls-files", "--stage", "-z")).split(b"\0"):
            head, _, name = entry.partition(b"\t")
            path = os.fsdecode(name)
            if name and self._is_protected(holder, path):
                mode, blob, stage = head.decode("ascii", "replace").split()
                index[path if stage == "0" else f"{path}\0{stage}"] = f"{mode[:2]} {blob}"
        return RepositoryState(stamps, tips, index, replaced, store)

    async def _new(
        self, holder: Path, was: RepositoryState, now: RepositoryState, *, fetches: bool
    ) -> list[GitEntry]:
        found = [
            (path.partition("\0")[0], blob, "the index")
            for path, blob in now.index.items()
            if was.index.get(path) != blob
        ]
        tips = sorted(now.tips - was.tips)
        if tips:
            found += await self._committed(holder, tips, sorted(was.tips), fetches=fetches)
        entries = [
            GitEntry("replacement", "", other, f"{_REPLACED} {name[:10]}", str(holder), name)
            for name, other in now.replaced.items()
            if was.replaced.get(name) != other
        ]
        for path, blob, where in dict.fromkeys(found):
            if await self._is_known(holder, path, blob, was):
                continue
            shown = self._shown(holder, path)
            entries.append(GitEntry("file", shown, blob, where, str(holder), path))
        return entries

    async def _faults(
        self, holder: Path, was: RepositoryState, now: RepositoryState, *, fetches: bool
    ) -> list[GitEntry]:
        """Return new files of the object store whose content does not match their names."""
        new = {path for path, one in now.store.files.items() if was.store.files.get(path) != one}
        if fetches:  # In this file, git records how much history a host has sent.
            new = {path for path in new if not path.endswith("/shallow")}
        if not new:
            return []

        async def run(words: Sequence[str], seconds: float) -> str:
            try:
                await self._git(holder, *words, seconds=seconds)
            except UnreadableStore as error:
                return str(error)
            return ""

        return [
            GitEntry(
                *("store", "", _mark(now.store, one.path)),
                f"{self._shown(holder, one.path)!r}: {one.words}",
                *(str(holder), one.path),
            )
            for one in await faults(new, run)
        ]

    async def _committed(
        self, holder: Path, tips: Sequence[str], old: Sequence[str], *, fetches: bool
    ) -> list[tuple[str, str, str]]:
        """Return the protected files in new commits, by path, blob and commit."""
        there = await self._existing(holder, [*tips, *old])
        wanted = "".join(
            [
                *(f"{one}\n" for one in tips if one in there),
                *(f"^{one}\n" for one in old if one in there),
            ]
        )
        excluded = ["--not", "--remotes"] if fetches else []
        commits = await self._git(holder, "rev-list", "--stdin", *excluded, stdin=wanted.encode())
        if not commits.strip():
            return []
        told = await self._git(
            holder,
            *("diff-tree", "--stdin", "-r", "-c", "--root", "--raw", "-z", "--no-renames"),
            *("--no-ext-diff", "--no-textconv", "--full-index"),
            stdin=commits,
        )
        return [
            (path, blob, f"commit {commit[:10]}")
            for commit, path, blob in _changes(told)
            if self._is_protected(holder, path)
        ]

    async def _existing(self, holder: Path, names: Sequence[str]) -> frozenset[str]:
        """Return the names that lead to an existing commit."""
        asked = "".join(f"{one}^{{commit}}\n" for one in names)
        told = await self._git(
            holder, "cat-file", "--batch-check=%(objecttype) %(objectname)", stdin=asked.encode()
        )
        lines = told.decode("utf-8", "replace").splitlines()
        return frozenset(
            name for name, line in zip(names, lines, strict=False) if line.startswith("commit ")
        )

    async def _is_known(self, holder: Path, path: str, entry: str, was: RepositoryState) -> bool:
        """Return whether this content was already in git at this path, or in the user's file."""
        mode, _, blob = entry.partition(" ")
        if was.index.get(path) == entry:
            return True
        if mode == "10" and blob in await asyncio.to_thread(_hashes, holder / path, holder):
            return True
        asked = "".join(f"{tip}:{path}\n" for tip in sorted(was.tips))
        if "\n" in path or not asked:
            return False
        told = await self._git(holder, "cat-file", "--batch-check", stdin=os.fsencode(asked))
        return any(line.startswith(blob.encode()) for line in told.splitlines())

    async def _forget_gone(self) -> None:
        """Drop entries that are no longer in the index or in a commit with a ref."""
        self._wait_for([one for one in self.waiting if await self._still(one)])

    async def _still(self, one: GitEntry) -> bool:
        """Return whether the index or a commit still contains the entry."""
        if one.kind == "note":
            return await asyncio.to_thread(os.path.lexists, one.inner)
        state = self._before.get(Path(one.repository))
        if isinstance(state, str) or state is None:
            return state is not None
        match one.kind:
            case "unread":
                return False
            case "replacement":
                return state.replaced.get(one.inner) == one.blob
            case "store":
                return _mark(state.store, one.inner) == one.blob
            case "file" if one.where == "the index":
                return one.blob in (state.index.get(f"{one.inner}{at}") for at in _STAGES)
            case _:
                return await self._is_reached(Path(one.repository), one.where, state)

    async def _is_reached(self, holder: Path, where: str, state: RepositoryState) -> bool:
        commit = where.removeprefix("commit ")
        try:
            there = await self._existing(holder, sorted(state.tips))
            asked = f"{commit}\n" + "".join(f"^{one}\n" for one in sorted(there))
            left = await self._git(holder, "rev-list", "--stdin", "-1", stdin=asked.encode())
        except UnreadableStore:
            return True
        return not left.strip()

    async def _git(
        self, holder: Path, *words: str, stdin: bytes = b"", seconds: float = TIME_S
    ) -> bytes:
        """Run git and return its output.

        Raises:
            Unreadable: Git cannot be run, or did not finish.
        """
        return await run_git(
            holder, *words, never_in=tuple(self._roots()), stdin=stdin, seconds=seconds
        )

    def _is_protected(self, holder: Path, path: str) -> bool:
        return is_protected(path) or is_protected(self._shown(holder, path))

    def _shown(self, holder: Path, path: str) -> str:
        whole = holder / path
        for root in self._roots():
            if whole.is_relative_to(root):
                return whole.relative_to(root).as_posix()
        return str(whole)


_REPLACED = "a replacement of git's object"
_NAMED = frozenset({"file", "replacement"})
_STAGES = ("", "\0001", "\0002", "\0003")


def _unreadable(holder: Path, error: Exception) -> str:
    return f"git's data in {quoted(holder)} could not be read: {error}"


def _unread(holder: Path, words: str) -> GitEntry:
    return GitEntry("unread", "", "", words, str(holder), "")


def _mark(store: Store, path: str) -> str:
    """Return a value that changes when another file replaces this file of the store."""
    return repr(store.files.get(path))


def _holders(roots: Sequence[Path]) -> tuple[Path, ...]:
    found = (one for root in roots for one in (*around(root), *nested(root)[0]))
    return tuple(one for one in dict.fromkeys(found) if _is_gits(one))


def _is_gits(holder: Path) -> bool:
    """Return whether git accepts the folder as a repository (``is_git_directory`` in setup.c).

    When a folder becomes a repository later, all of its protected entries are new.
    """
    repository = repository_of(holder)
    if repository is None or not repository.folders:
        return True  # another program is changing the folder at the moment
    return all(
        any(os.path.lexists(folder / name) for folder in repository.folders)
        for name in ("HEAD", "objects", "refs")
    )


def _hashes(path: Path, holder: Path) -> frozenset[str]:
    """Return git's possible names for the file's content, also with converted line ends."""
    try:
        data = read_bytes(path, (holder,), FILE_B)
    except ToolError:
        return frozenset()
    return frozenset(
        make(b"blob %d\0" % len(text) + text).hexdigest()
        for text in (data, data.replace(b"\r\n", b"\n"))
        for make in (partial(hashlib.sha1, usedforsecurity=False), hashlib.sha256)
    )


def _changes(told: bytes) -> Iterator[tuple[str, str, str]]:
    """Yield each change in raw ``diff-tree`` output, except deletions: commit, path and entry."""
    commit = ""
    fields = iter(told.split(b"\0"))
    for field in fields:
        text = os.fsdecode(field)
        if not text.startswith(":"):
            commit = text.strip() or commit
            continue
        n_parents = len(text) - len(text.lstrip(":"))
        words = text[n_parents:].split()
        path = os.fsdecode(next(fields, b""))
        mode, blob = words[n_parents], words[2 * n_parents + 1]
        if blob not in NO_OBJECT:
            yield commit, path, f"{mode[:2]} {blob}"
