"""What git runs or obeys for a folder, as items of trust: hooks, and what configurations run.

Blocks: call it in a thread where it may.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from indwell.errors import ToolError
from indwell.files import list_folder
from indwell.settings.redaction import redacted
from indwell.settings.trusted_files import Seen, seen
from indwell.workspace.known import SHOWN_LINES, by_its_times, known_file, name_in
from indwell.workspace.obeyed import Executable
from indwell.workspace.repository import (
    GIT,
    HOOKS,
    Configuration,
    Repository,
    around,
    nested,
    repository_of,
)

MOST_HOOKS = 100  # of one folder
CONFIGURATION_CHARACTERS = 64_000  # a longer one is known as a whole, branches and all


def git_executables(root: Path) -> Iterator[Executable]:
    """Of the repository that ``root``, a real path, belongs to, and of all beneath it."""
    for holder in around(root):
        git = holder / GIT
        if git.is_symlink() or git.is_file():  # a worktree or a submodule: it says where
            pointer = known_file(root, git, "programs", [holder])
            yield from [pointer] if pointer else []
        yield from _of(root, holder)
    holders, is_whole = nested(root)
    for holder in holders:
        yield from _of(root, holder)
    if not is_whole:
        yield Executable(f"{GIT}/… (of all repositories in it)", "programs", Seen(""))


def _of(root: Path, holder: Path) -> Iterator[Executable]:
    repository = repository_of(holder)
    if repository is None:
        return
    for one in repository.configurations:
        yield from _configuration(root, repository, one)
    for folder in repository.hooks:
        yield from _hooks(root, repository, folder)
    for path in repository.programs:
        found = known_file(root, path, "programs", [holder])
        yield from [found] if found else []
    if not repository.is_whole:
        yield Executable(f"{name_in(root, holder / GIT)}/…", "programs", Seen(""))


def _configuration(root: Path, repository: Repository, one: Configuration) -> Iterator[Executable]:
    """The executing part; nothing if there is none."""
    name = name_in(root, one.path)
    near = (repository.holder, root, *repository.folders)
    if one.text is None:
        yield Executable(name, "programs", by_its_times(one.path))
        return
    if len(one.text) > CONFIGURATION_CHARACTERS:
        yield Executable(name, "programs", seen(one.text.encode("utf-8", "surrogatepass")))
        return
    counting = [line for line in one.part.lines if not _is_own_tree(line, repository, one)]
    if not counting:
        return
    text = "\n".join(counting).encode("utf-8", "surrogatepass")
    if not any(one.real.is_relative_to(folder) for folder in near):
        yield Executable(name, "programs", by_its_times(one.path))  # of the user's own: not shown
        return
    lines = tuple(map(_without_keys, counting)) if len(counting) <= SHOWN_LINES else ()
    yield Executable(name, "programs", seen(text, lines=lines), lines)


def _is_own_tree(line: str, repository: Repository, one: Configuration) -> bool:
    """Does it say of a submodule's repository where its own working tree is?"""
    key, _, value = line.partition(" = ")
    if key != "core.worktree" or "\0" in value:
        return False
    return os.path.realpath(one.real.parent / value) == os.path.realpath(repository.holder)


def _hooks(root: Path, repository: Repository, folder: Path) -> Iterator[Executable]:
    is_all = root.is_relative_to(folder)  # not a folder of hooks, but the workspace
    within = (repository.holder, root, *repository.folders)
    n_found = 0
    for name in _names(folder):
        if name.endswith(".sample") or (is_all and name not in HOOKS):
            continue
        n_found += 1
        if n_found > MOST_HOOKS:
            yield Executable(f"{name_in(root, folder)}/…", "programs", Seen(""))
            return
        found = known_file(root, folder / name, "programs", within)
        yield from [found] if found else []


def _names(folder: Path) -> tuple[str, ...]:
    """The files in it; where nobody may list them, those that git would run without listing."""
    try:
        return tuple(one.name for one in list_folder(folder, [folder]) if not one.is_folder)
    except ToolError:
        return tuple(sorted(HOOKS))


def _without_keys(line: str) -> str:
    """A line of a configuration as it may be shown and kept."""
    key = line.partition("=")[0]
    return f"{key}= (not shown)" if "header" in key.lower() else redacted(line)
