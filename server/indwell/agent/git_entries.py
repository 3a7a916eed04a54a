"""Protected files that come into git's index or commits, where no file of that name appears.

``git update-index --cacheinfo`` and ``git commit`` write no protected file; a later checkout of the
user's does. So does ``git replace``, which puts another object behind a name that stands. So the
entries are compared with those before a command: in proportion to what changed, for the index and
the refs are looked into only if their stamps are others.

Git is run for that by its absolute path, with no network, no hook, no monitor and no settings but
those of the repository, of which these commands obey none that runs a program.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from indwell.errors import ToolError
from indwell.files import read_bytes
from indwell.policy.paths import is_protected
from indwell.sandbox import find_program, run_program
from indwell.workspace.repository import around, nested, repository_of

OUTPUT_B = 64 << 20  # of one run of git; a repository with more entries cannot be compared
TIME_S = 60.0
FILE_B = 16 << 20  # of a protected file that is compared with its entry
REFS_B = 4 << 20  # of one file of refs
MOST_REFS = 20_000
_SHA = re.compile(r"\b[0-9a-f]{64}\b|\b[0-9a-f]{40}\b")
_PACKED_REPLACEMENT = re.compile(r"^([0-9a-f]+) refs/replace/(\S+)$", re.MULTILINE)
_NULL = frozenset({"0" * 40, "0" * 64})
_ALONE: Mapping[str, str] = {
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
}
_Stamp: TypeAlias = tuple[int, int, int, int] | None


class Entry(msgspec.Struct, frozen=True):
    """One protected file in git, or an object that git reads another one for.

    Attributes:
        path: From the workspace's folder on, or absolute; empty for a replaced object.
        blob: What it holds, as git names it; empty where git could not be read.
        where: ``the index``, or a commit.
        repository: The folder of the repository, absolute.
        inner: The path from there on, or the name of the replaced object.
    """

    path: str
    blob: str
    where: str
    repository: str
    inner: str

    @property
    def words(self) -> str:
        """For people and the model."""
        return f"{self.path!r} in {self.where}" if self.path else self.where


class _State(msgspec.Struct, frozen=True):
    """One repository at one moment.

    Attributes:
        stamps: Of the index and of what holds refs.
        tips: All objects that refs, heads and the stash's log name.
        index: Protected entries: their blobs by path.
        replaced: What git reads for an object instead of it, by the object's name.
    """

    stamps: tuple[tuple[str, _Stamp], ...]
    tips: frozenset[str]
    index: Mapping[str, str]
    replaced: Mapping[str, str]


class _Unreadable(Exception):
    """Git's data cannot be read, in words."""


class GitEntries:
    """What commands brought into git; one for a session.

    Args:
        roots: The workspace's folders that are trusted now, resolved.

    Attributes:
        waiting: Entries that the user has not agreed to.
    """

    def __init__(self, roots: Callable[[], Sequence[Path]]) -> None:
        self._roots = roots
        self._before: dict[Path, _State | str] = {}
        self._turn = -1
        self.waiting: tuple[Entry, ...] = ()

    async def begin(self, turn: int) -> None:
        """Note how it is before the first command of a turn.

        Not before each: what a check or a command that runs on did meanwhile would pass unseen.
        """
        if turn != self._turn:
            self._before, self._turn = await self._states(self._before), turn

    async def look(self, *, fetches: bool = False) -> tuple[Entry, ...]:
        """Entries that are new since the last look; they wait for ``agree`` or for their end.

        Args:
            fetches: The user let the command reach hosts: what other machines have is not its own.
        """
        before = self._before
        after = await self._states(before)
        found: list[Entry] = []
        for holder, state in after.items():
            was = before.get(holder)
            if state is was:
                continue
            if isinstance(state, str):
                found.append(Entry("", "", state, str(holder), ""))
                continue
            known = was if isinstance(was, _State) else _State((), frozenset(), {}, {})
            try:
                found += await self._new(holder, known, state, fetches=fetches)
            except _Unreadable as error:
                found.append(Entry("", "", str(error), str(holder), ""))
        self._before = after
        await self._forget_gone()
        new = tuple(one for one in dict.fromkeys(found) if one not in self.waiting)
        self.waiting = (*self.waiting, *new)
        return new

    def agree(self, entries: Iterable[Entry]) -> None:
        """The user has agreed to these."""
        agreed = set(entries)
        self.waiting = tuple(one for one in self.waiting if one not in agreed)

    async def _states(self, known: Mapping[Path, _State | str]) -> dict[Path, _State | str]:
        roots = tuple(self._roots())
        holders = await asyncio.to_thread(_holders, roots)
        states: dict[Path, _State | str] = {}
        for holder in holders:
            try:
                states[holder] = await self._state(holder, known.get(holder))
            except (_Unreadable, OSError) as error:
                states[holder] = f"git's data in {str(holder)!r} could not be read: {error}"
        return states

    async def _state(self, holder: Path, known: _State | str | None) -> _State:
        stamps, tips, replaced = await asyncio.to_thread(_refs, holder)
        if isinstance(known, _State) and known.stamps == stamps:
            return known
        index: dict[str, str] = {}
        for entry in (await self._git(holder, "ls-files", "--stage", "-z")).split(b"\0"):
            head, _, name = entry.partition(b"\t")
            path = os.fsdecode(name)
            if name and self._is_protected(holder, path):
                mode, blob, stage = head.decode("ascii", "replace").split()
                index[path if stage == "0" else f"{path}\0{stage}"] = f"{mode[:2]} {blob}"
        return _State(stamps, tips, index, replaced)

    async def _new(self, holder: Path, was: _State, now: _State, *, fetches: bool) -> list[Entry]:
        found = [
            (path.partition("\0")[0], blob, "the index")
            for path, blob in now.index.items()
            if was.index.get(path) != blob
        ]
        tips = sorted(now.tips - was.tips)
        if tips:
            found += await self._committed(holder, tips, sorted(was.tips), fetches=fetches)
        entries = [
            Entry("", other, f"{_REPLACED} {name[:10]}", str(holder), name)
            for name, other in now.replaced.items()
            if was.replaced.get(name) != other
        ]
        for path, blob, where in dict.fromkeys(found):
            if await self._is_known(holder, path, blob, was):
                continue
            entries.append(Entry(self._shown(holder, path), blob, where, str(holder), path))
        return entries

    async def _committed(
        self, holder: Path, tips: Sequence[str], old: Sequence[str], *, fetches: bool
    ) -> list[tuple[str, str, str]]:
        """Protected files that new commits bring in, by path, blob and commit."""
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
        """Those that lead to a commit and are there."""
        asked = "".join(f"{one}^{{commit}}\n" for one in names)
        told = await self._git(
            holder, "cat-file", "--batch-check=%(objecttype) %(objectname)", stdin=asked.encode()
        )
        lines = told.decode("utf-8", "replace").splitlines()
        return frozenset(
            name for name, line in zip(names, lines, strict=False) if line.startswith("commit ")
        )

    async def _is_known(self, holder: Path, path: str, entry: str, was: _State) -> bool:
        """Did git have this content under this name before, or does the user's file hold it?"""
        mode, _, blob = entry.partition(" ")
        if was.index.get(path) == entry:
            return True
        if mode == "10" and blob in await asyncio.to_thread(_hashes, holder / path, holder):
            return True
        asked = "".join(f"{tip}:{path}\n" for tip in sorted(was.tips))
        if "\n" in path or not asked:
            return False
        told = await self._git(holder, "cat-file", "--batch-check", stdin=asked.encode())
        return any(line.startswith(blob.encode()) for line in told.splitlines())

    async def _forget_gone(self) -> None:
        """What was taken out of the index again, or whose commit no ref leads to, waits no more."""
        kept = []
        for one in self.waiting:
            state = self._before.get(Path(one.repository))
            if isinstance(state, str) or not one.blob:
                still = isinstance(state, str)
            elif state is None:
                still = False
            elif not one.path:
                still = state.replaced.get(one.inner) == one.blob
            elif one.where == "the index":
                still = one.blob in (state.index.get(f"{one.inner}{at}") for at in _STAGES)
            else:
                still = await self._is_reached(Path(one.repository), one.where, state)
            kept += [one] if still else []
        self.waiting = tuple(kept)

    async def _is_reached(self, holder: Path, where: str, state: _State) -> bool:
        commit = where.removeprefix("commit ")
        try:
            there = await self._existing(holder, sorted(state.tips))
            asked = f"{commit}\n" + "".join(f"^{one}\n" for one in sorted(there))
            left = await self._git(holder, "rev-list", "--stdin", "-1", stdin=asked.encode())
        except _Unreadable:
            return True
        return not left.strip()

    async def _git(self, holder: Path, *words: str, stdin: bytes = b"") -> bytes:
        """What git says.

        Raises:
            _Unreadable: It cannot be run, or did not come to its end.
        """
        git = await asyncio.to_thread(find_program, "git", tuple(self._roots()))
        if git is None:
            raise _Unreadable("git is not installed")
        repository = await asyncio.to_thread(repository_of, holder)
        if repository is None or not repository.folders:
            raise _Unreadable("it is no repository any more")
        settings = ("-c", "core.hooksPath=/dev/null", "-c", "core.quotePath=false")
        try:
            ended = await run_program(
                [str(git), f"--git-dir={repository.folders[0]}", *settings, *words],
                cwd=holder,
                timeout_s=TIME_S,
                limit_b=OUTPUT_B,
                env=_ALONE,
                stdin=stdin,
                alone=True,
            )
        except ToolError as error:
            raise _Unreadable(str(error)) from error
        if ended.exit_code or ended.timed_out or ended.cut_b:
            said = ended.errors.decode("utf-8", "replace").strip().splitlines()
            raise _Unreadable(said[-1] if said else "git did not come to its end")
        return ended.head + ended.tail

    def _is_protected(self, holder: Path, path: str) -> bool:
        return is_protected(path) or is_protected(self._shown(holder, path))

    def _shown(self, holder: Path, path: str) -> str:
        whole = holder / path
        for root in self._roots():
            if whole.is_relative_to(root):
                return whole.relative_to(root).as_posix()
        return str(whole)


_REPLACED = "a replacement of git's object"
_STAGES = ("", "\0001", "\0002", "\0003")


def _holders(roots: Sequence[Path]) -> tuple[Path, ...]:
    found = (one for root in roots for one in (*around(root), *nested(root)[0]))
    return tuple(one for one in dict.fromkeys(found) if _is_gits(one))


def _is_gits(holder: Path) -> bool:
    """Would git take the folder for a repository (``is_git_directory`` of git's setup.c)?

    If a command makes a repository of the folder later, all protected entries are new.
    """
    repository = repository_of(holder)
    if repository is None or not repository.folders:
        return True  # somebody changes it right now
    return all(
        any(os.path.lexists(folder / name) for folder in repository.folders)
        for name in ("HEAD", "objects", "refs")
    )


def _refs(
    holder: Path,
) -> tuple[tuple[tuple[str, _Stamp], ...], frozenset[str], Mapping[str, str]]:
    """Stamps of the index and of all that names commits, the objects it names, and replacements."""
    repository = repository_of(holder)
    if repository is None or not repository.folders:
        return (), frozenset(), {}
    stamps: list[tuple[str, _Stamp]] = []
    tips: set[str] = set()
    replaced: dict[str, str] = {}
    replacements = {folder / "refs" / "replace" for folder in repository.folders}
    for at in _ref_files(repository.folders):
        stamps.append((str(at), _stamp(at)))
        if at.name == "index":
            continue
        if len(stamps) > MOST_REFS:
            raise _Unreadable(f"there are more than {MOST_REFS:,} refs")
        text = _text(at)
        tips.update(_SHA.findall(text))
        if at.name == "packed-refs":
            replaced |= {name: other for other, name in _PACKED_REPLACEMENT.findall(text)}
        elif at.parent in replacements:  # a loose ref counts before a packed one: it comes later
            replaced[at.name] = text.strip()
    return tuple(stamps), frozenset(tips - _NULL), replaced


def _ref_files(folders: Sequence[Path]) -> Iterator[Path]:
    """The index, heads of any name, and what lies in the folders of refs and worktrees."""
    for folder in folders:
        yield folder / "index"
        if (folder / "reftable").exists():
            raise _Unreadable("its refs are in a format (reftable) that Indwell does not read")
        yield folder / "packed-refs"
        yield folder / "logs" / "refs" / "stash"
        for one in sorted(folder.glob("*")):
            if one.name.isupper() and one.is_file():  # HEAD, FETCH_HEAD, any pseudo ref
                yield one
        for name in ("refs", "worktrees"):
            for above, _, names in os.walk(folder / name):
                for file in sorted(names):
                    if name == "refs" or file == "index" or file.isupper():
                        yield Path(above, file)


def _stamp(path: Path) -> _Stamp:
    try:
        now = path.lstat()
    except (OSError, ValueError):
        return None
    return (now.st_ino, now.st_size, now.st_mtime_ns, now.st_ctime_ns)


def _text(path: Path) -> str:
    if not path.exists():
        return ""
    try:
        return read_bytes(path, (path.parent,), REFS_B).decode("ascii", "replace")
    except ToolError as error:
        raise _Unreadable(str(error)) from error


def _hashes(path: Path, holder: Path) -> frozenset[str]:
    """The names that git would give the file's content, also with its line ends made plain."""
    try:
        data = read_bytes(path, (holder,), FILE_B)
    except ToolError:
        return frozenset()
    return frozenset(
        make(b"blob %d\0" % len(text) + text).hexdigest()
        for text in (data, data.replace(b"\r\n", b"\n"))
        for make in (_sha1, hashlib.sha256)
    )


def _sha1(data: bytes) -> Any:  # noqa: ANN401 - hashlib gives its type no public name
    return hashlib.sha1(data, usedforsecurity=False)


def _changes(told: bytes) -> Iterator[tuple[str, str, str]]:
    """Commit, path and entry of each change in the raw output of ``diff-tree``; no deletions."""
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
        if blob not in _NULL:
            yield commit, path, f"{mode[:2]} {blob}"
