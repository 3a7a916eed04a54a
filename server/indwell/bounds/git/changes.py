"""Reads the changes of a repository's index or of its working tree for the model.

No program of the repository runs: filters are turned off by name, and diff drivers, monitors and
submodules are not used. Files that a rule hides, and files outside the workspace, are left out.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from indwell.bounds.git.git_program import run_git
from indwell.bounds.git.store import UnreadableStore
from indwell.errors import UserError
from indwell.workspace.git.repository import around

MOST_FILES = 200  # the limit of files whose changes are shown
MOST_UNTRACKED = 50  # the limit of names of untracked files
PATCH_B = 8 << 20  # the limit of bytes for one diff by git
PATCH_CHARACTERS = 40_000  # the limit of characters for all changes, about 12,000 tokens
# the limit of characters for one file's changes, if there are several files
FILE_CHARACTERS = 8_000
MOST_SUBJECTS = 10
SUBJECT_CHARACTERS = 100

_PLAIN = (
    *("--no-ext-diff", "--no-textconv", "--no-color", "--submodule=short"),
    *("--ignore-submodules=dirty", "--src-prefix=a/", "--dst-prefix=b/"),
    *("--find-renames", "-l200", "--ignore-cr-at-eol", "-U3"),
)
_WORDS = {
    "A": "new",
    "D": "deleted",
    "M": "changed",
    "T": "changed",
    "R": "renamed",
    "U": "merging",
}


class NoChanges(UserError):
    """The folder has no repository, or nothing has changed; the message says which."""


class ChangedFile(NamedTuple):
    """A changed file: git's status letter, the displayed path, and the path before a rename."""

    kind: str
    path: str
    before: str = ""

    @property
    def line(self) -> str:
        """The file's status and path on one line."""
        word = _WORDS.get(self.kind, "changed")
        return f"{word}: {self.before} -> {self.path}" if self.before else f"{word}: {self.path}"


class RepositoryChanges(NamedTuple):
    """The changes of a repository.

    Attributes:
        is_staged: Whether the changes are in the index, not in the working tree.
        files: The changed files that may be shown.
        patch: The diff, perhaps shortened.
        untracked: Untracked files, whose text is not in the diff.
        n_left_out: The number of changed files that are outside the workspace or hidden by a rule.
        subjects: The subjects of the last commits.
    """

    is_staged: bool
    files: tuple[ChangedFile, ...]
    patch: str
    untracked: tuple[str, ...] = ()
    n_left_out: int = 0
    subjects: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The changes as text for the model."""
        what = "of the index (staged for the next commit)" if self.is_staged else "of the tree"
        parts = [f"The changes {what}:", *(one.line for one in self.files)]
        parts += [f"new, not added to git: {one}" for one in self.untracked]
        if self.n_left_out:
            parts.append(f"({self.n_left_out} more changed files are not shown to you)")
        return "\n".join((*parts, "", self.patch)).rstrip()


Named = Callable[[Path], str | None]
"""Returns the displayed path of a file, or None if the model may not see the file."""


async def read_changes(
    folder: Path, *, named: Named, never_in: Sequence[Path]
) -> RepositoryChanges:
    """Read a repository's staged changes, or the changes of the working tree if none is staged.

    Args:
        folder: A trusted folder, resolved.
        named: Returns the displayed paths of the files that may be shown.
        never_in: The workspace's folders, from which git is never run.

    Raises:
        NoChanges: The folder has no repository, or nothing has changed.
        UserError: Git's data cannot be read.
    """
    holders = await asyncio.to_thread(around, folder)
    if not holders:
        raise NoChanges("this folder is in no git repository")
    reader = _Reader(holders[-1], folder, named, never_in)
    try:
        return await reader.read()
    except UnreadableStore as error:
        raise UserError(f"git's data cannot be read: {error}") from error


class _Reader:
    def __init__(self, holder: Path, folder: Path, named: Named, never_in: Sequence[Path]) -> None:
        self._holder, self._folder, self._named, self._never_in = holder, folder, named, never_in
        self._filters: tuple[str, ...] = ()

    async def read(self) -> RepositoryChanges:
        self._filters = tuple(await self._no_filters())
        for staged in (True, False):
            where = ("--cached",) if staged else ()
            told = await self._git("diff", "--name-status", "-z", *_PLAIN, *where)
            shown, paths, n_left_out = self._allowed(told)
            untracked = () if staged else await self._untracked()
            if not (shown or n_left_out or untracked):
                continue
            patch = await self._patch(where, paths) if paths else ""
            return RepositoryChanges(
                staged, shown, patch, untracked, n_left_out, await self._subjects()
            )
        raise NoChanges("nothing has changed since the last commit")

    async def _no_filters(self) -> Iterator[str]:
        """Return git options that turn off each filter in the repository's settings.

        Raises:
            UnreadableStore: The name of a filter cannot be part of an option.
        """
        told = await self._git("config", "--list", "--name-only", "-z")
        keys = (one.decode("utf-8", "replace") for one in told.split(b"\0"))
        names = {one.rpartition(".")[0] for one in keys if one.lower().startswith("filter.")}
        if any("=" in one or "\n" in one or "\ufffd" in one for one in names):
            raise UnreadableStore("a filter in its settings has a name that cannot be turned off")
        values = ("clean=", "smudge=", "process=", "required=false")
        return (
            part for one in sorted(names) for value in values for part in ("-c", f"{one}.{value}")
        )

    def _allowed(self, told: bytes) -> tuple[tuple[ChangedFile, ...], tuple[str, ...], int]:
        """Return the files that may be shown, their paths in git, and how many are left out."""
        shown: list[ChangedFile] = []
        paths: list[str] = []
        n_left_out = 0
        fields = iter([os.fsdecode(one) for one in told.split(b"\0")])
        for status in fields:
            if not status:
                continue
            names = [next(fields, "") for _ in range(2 if status[0] in "RC" else 1)]
            displayed = [self._named(self._holder / one) for one in names]
            given = [one for one, label in zip(names, displayed, strict=True) if label is not None]
            if len(given) < len(names) or len(shown) >= MOST_FILES:
                n_left_out += 1
                continue
            paths += given
            first, *later = (one or "" for one in displayed)
            shown.append(
                ChangedFile(status[0], later[0] if later else first, first if later else "")
            )
        return tuple(shown), tuple(paths), n_left_out

    async def _untracked(self) -> tuple[str, ...]:
        told = await self._git("ls-files", "--others", "--exclude-standard", "--directory", "-z")
        names = (self._named(self._holder / os.fsdecode(one)) for one in told.split(b"\0") if one)
        return tuple(one for one in names if one is not None)[:MOST_UNTRACKED]

    async def _patch(self, where: Sequence[str], paths: Sequence[str]) -> str:
        told = await self._git("diff", *_PLAIN, *where, "--", *paths, limit_b=PATCH_B)
        return bounded_patch(told.decode("utf-8", "replace"))

    async def _subjects(self) -> tuple[str, ...]:
        try:
            told = await self._git("log", f"-{MOST_SUBJECTS}", "--format=%s", "--no-show-signature")
        except UnreadableStore:
            return ()  # the repository has no commit yet
        lines = told.decode("utf-8", "replace").splitlines()
        return tuple(one[:SUBJECT_CHARACTERS] for one in lines if one.strip())

    async def _git(self, *words: str, limit_b: int = PATCH_B) -> bytes:
        return await run_git(
            self._holder,
            *words,
            never_in=self._never_in,
            options=(f"--work-tree={self._holder}", "-c", "core.fsmonitor=false", *self._filters),
            limit_b=limit_b,
            env={"GIT_LITERAL_PATHSPECS": "1"},
        )


def bounded_patch(patch: str) -> str:
    """Shorten the diff of each long file, and leave out files after the limit."""
    files = _by_file(patch)
    if len(patch) <= PATCH_CHARACTERS:
        return patch
    each = PATCH_CHARACTERS if len(files) == 1 else FILE_CHARACTERS
    kept: list[str] = []
    n_left = PATCH_CHARACTERS
    for number, one in enumerate(files):
        text = one
        if len(one) > each:
            whole = one[:each].rpartition("\n")[0]
            text = f"{whole}\n[… {len(one) - len(whole):,} characters of this file left out …]\n"
        if len(text) > n_left:
            kept.append(f"[… the changes of {len(files) - number} more files left out …]\n")
            break
        n_left -= len(text)
        kept.append(text)
    return "".join(kept)


def _by_file(patch: str) -> list[str]:
    parts = f"\n{patch}".split("\ndiff --git ")
    return [f"diff --git {one}".rstrip("\n") + "\n" for one in parts[1:]]
