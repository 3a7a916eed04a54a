"""Finds the files that git reads and runs for a folder, by git's own rules, without git."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

import msgspec

from indwell.errors import ToolError
from indwell.files.contents.reading import read_bytes
from indwell.files.disk_names import leads_abroad, real_path_here
from indwell.files.listing import exists
from indwell.files.watch.tree import Tree, listings_of
from indwell.lazy_pattern import lazy_pattern
from indwell.workspace.base import Workspace
from indwell.workspace.git.git_config import Executing, executing

GIT = ".git"
READ_B = 256 << 10  # The limit is in bytes of one file.
MOST_DEEP = 10  # The depth of includes is git's own limit.
MOST_CONFIGURATIONS = 50  # One repository has at most 50 configuration files.
MOST_REPOSITORIES = 1_000  # At most 1,000 repositories beneath one folder are examined.
MOST_PATH = 4_096  # Linux opens no longer path, in characters.

OBEYED = (
    *("config", "config.worktree", "commondir", "hooks", "info/attributes", "HEAD"),
    *("info/grafts", "objects/info/alternates", "objects/info/http-alternates"),
    *("branches", "remotes"),
)
"""Files in git's own folder that git runs or reads, including files that name other folders."""

HOOKS = frozenset(
    [
        *("applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit"),
        *("prepare-commit-msg", "commit-msg", "post-commit", "pre-rebase", "post-checkout"),
        *("post-merge", "pre-push", "pre-receive", "update", "proc-receive", "post-receive"),
        *("post-update", "reference-transaction", "push-to-checkout", "pre-auto-gc"),
        *("post-rewrite", "sendemail-validate", "fsmonitor-watchman", "p4-changelist"),
        *("p4-prepare-changelist", "p4-post-changelist", "p4-pre-submit", "post-index-change"),
    ]
)
"""The names of the hooks that git runs if its hooks folder is the whole workspace."""

_SIGNS = frozenset({GIT, "head"})
_SHUT = frozenset(
    {GIT, "node_modules", "__pycache__", "site-packages", ".tox", ".nox", "bower_components"}
)


class ConfigFile(msgspec.Struct, frozen=True):
    """A git configuration file.

    Attributes:
        path: The path that git opens.
        real: The resolved path.
        text: The content, or None if unreadable or too long.
        part: The relevant entries.
    """

    path: Path
    real: Path
    text: str | None
    part: Executing = Executing()


class Repository(msgspec.Struct, frozen=True):
    """The repository that git uses in ``holder``. All paths are absolute.

    Attributes:
        holder: The folder with ``.git``, or a bare repository.
        folders: Git's own folders, resolved: that of the working tree and the common folder.
        configurations: All existing configuration files, with those that others include.
        hooks: Folders of hooks, resolved, whether they exist or not.
        programs: Files in ``holder`` that a configuration names.
        is_whole: Whether everything was examined within the limits.
    """

    holder: Path
    folders: tuple[Path, ...]
    configurations: tuple[ConfigFile, ...]
    hooks: tuple[Path, ...]
    programs: tuple[Path, ...]
    is_whole: bool = True


class GitPlaces(msgspec.Struct, frozen=True):
    """The paths that git uses, absolute and resolved.

    Attributes:
        folders: Git's own folders, whatever their names, without folders that contain ``root``.
        obeyed: Files and folders that git runs or reads, whether they exist or not.
        holders: The folders that contain repositories.
    """

    folders: tuple[str, ...] = ()
    obeyed: tuple[str, ...] = ()
    holders: tuple[str, ...] = ()


def git_places(root: Path) -> GitPlaces:
    """Return the paths of ``root``'s repository, and of all repositories beneath ``root``."""
    base = Path(os.path.realpath(root))
    holders, _ = nested(base)
    found = [places_of(one, base) for one in (*around(base), *holders)]
    return GitPlaces(
        tuple(dict.fromkeys(path for one in found for path in one.folders)),
        tuple(dict.fromkeys(path for one in found for path in one.obeyed)),
        tuple(map(str, holders)),
    )


def places_of(holder: Path, root: Path | None = None) -> GitPlaces:
    """Return the paths of the repository in ``holder``, or empty if there is no repository."""
    repository = repository_of(holder)
    if repository is None:
        return GitPlaces()
    base = Path(os.path.realpath(root or holder))
    obeyed = [folder / name for folder in repository.folders for name in OBEYED]
    for one in repository.configurations:
        obeyed += [one.path, one.real]
    for folder in repository.hooks:
        whole = base.is_relative_to(folder)
        obeyed += [folder / name for name in sorted(HOOKS)] if whole else [folder]
    obeyed += repository.programs
    folders = [one for one in repository.folders if not base.is_relative_to(one)]
    return GitPlaces(tuple(map(str, folders)), tuple(map(str, dict.fromkeys(obeyed))))


def around(root: Path) -> tuple[Path, ...]:
    """Return the folders at or above ``root`` whose repository git may use."""
    found = []
    for one in (root, *root.parents):
        if not (exists(one / GIT) or is_bare(one)):
            continue
        found.append(one)
        if leads_abroad(one / GIT, (root,)):
            break
        if exists(one / "HEAD") or exists(one / GIT / "HEAD") or not (one / GIT).is_dir():
            break  # Git skips a ``.git`` that is not a repository.
    return tuple(found)


def nested(root: Path) -> tuple[tuple[Path, ...], bool]:
    """Return the folders beneath ``root`` that contain repositories, and whether all were found."""
    look = _tree(root).look()
    above = {one.path.rpartition("/")[0] for one in look.found} | {*look.unreadable}
    holders = [root / at for at in sorted(above - {""})]
    real = [one for one in holders if exists(one / GIT) or is_bare(one)]
    return tuple(real[:MOST_REPOSITORIES]), len(real) <= MOST_REPOSITORIES


def is_bare(folder: Path) -> bool:
    """Return whether git would use the folder itself as a repository."""
    if not exists(folder / "HEAD"):
        return False
    return exists(folder / "commondir") or all(exists(folder / one) for one in ("objects", "refs"))


def repository_of(holder: Path) -> Repository | None:
    """Describe the repository that git finds in ``holder``, or return None if there is none."""
    if exists(holder / GIT):
        own = _pointed(holder)
    elif is_bare(holder):
        own = Path(os.path.realpath(holder))
    else:
        return None
    if own is None:
        return Repository(holder, (), (), (), ())
    common = _at(own, _text(own / "commondir") or "") or own
    folders = tuple(dict.fromkeys((own, common)))
    names = [folder / name for folder in folders for name in ("config", "config.worktree")]
    configurations = tuple(_configurations(holder, names))
    whole = len(configurations) < MOST_CONFIGURATIONS
    return Repository(
        holder=holder,
        folders=folders,
        configurations=configurations,
        hooks=tuple(dict.fromkeys(_hooks(holder, folders, configurations))),
        programs=tuple(dict.fromkeys(_programs(holder, configurations))),
        is_whole=whole,
    )


def _pointed(holder: Path) -> Path | None:
    """Return the folder that is ``.git``, or to which a file ``.git`` points, or None."""
    git = holder / GIT
    if leads_abroad(git, (holder,)):
        return None
    if git.is_dir():
        return Path(os.path.realpath(git))
    text = _text(git) or ""
    return _at(holder, text.removeprefix("gitdir:")) if text.startswith("gitdir:") else None


def _configurations(holder: Path, names: Iterable[Path]) -> Iterator[ConfigFile]:
    """Yield all existing files and the files that they include, each once."""
    waiting, known = [(one, 0) for one in names], set[Path]()
    for path, depth in waiting:  # The list grows during the loop.
        is_abroad = leads_abroad(path, (holder,))
        real = path if is_abroad else Path(os.path.realpath(path))
        if real in known or not exists(path) or (not is_abroad and real.is_dir()):
            continue
        known.add(real)
        if len(known) > MOST_CONFIGURATIONS:
            return
        text = None if is_abroad else _text(path)
        part = executing(text) if text is not None else Executing()
        yield ConfigFile(path, real, text, part)
        if depth < MOST_DEEP:
            # Depending on its version, git continues from the opened path or from the resolved
            # path.
            found = (_at(base, one) for one in part.includes for base in (path.parent, real.parent))
            waiting += [(one, depth + 1) for one in dict.fromkeys(found) if one is not None]


def _hooks(
    holder: Path, folders: Iterable[Path], configurations: Iterable[ConfigFile]
) -> Iterator[Path]:
    own = (folder / "hooks" for folder in folders)
    yield from (Path(os.path.realpath(one)) for one in own if not leads_abroad(one, (holder,)))
    for one in configurations:
        yield from filter(None, (_at(holder, text) for text in one.part.hooks))


def _programs(holder: Path, configurations: Iterable[ConfigFile]) -> Iterator[Path]:
    """Yield files in the working tree that a setting names: ``diff.external = tools/diff.sh``."""
    top = Path(os.path.realpath(holder))
    words = dict.fromkeys(
        word for one in configurations for value in one.part.values for word in _words(value)
    )
    for word in list(words)[:MOST_CONFIGURATIONS]:
        path = _at(holder, word)
        if path is not None and path.is_relative_to(top) and path.is_file():
            yield path


def _words(value: str) -> list[str]:
    try:
        return shlex.split(value.removeprefix("!"))
    except ValueError:
        return value.split()


def _at(base: Path, written: str) -> Path | None:
    """Resolve a path from one of git's files; return None for an invalid or remote path."""
    text = written.strip()
    if not text or "\0" in text or len(text) > MOST_PATH:
        return None
    try:
        return Path(real_path_here(base / os.path.expanduser(text), (base,)))  # noqa: PTH111 - may fail
    except (OSError, ValueError):
        return None


def _text(path: Path) -> str | None:
    """Read a file through any links, as git does; return None if unreadable."""
    real = Path(os.path.realpath(path))
    try:
        return read_bytes(real, [real.parent], READ_B).decode("utf-8", "replace")
    except ToolError:
        return None


@lru_cache(maxsize=16)
def _tree(root: Path) -> Tree:
    return Tree(
        root,
        lambda path: path.rpartition("/")[2].casefold() in _SIGNS,
        _SHUT,
        is_ordinary=lambda name: name.casefold() not in _SIGNS,
        listings=listings_of(root),
    )


_REF = "ref: refs/heads/"
_COMMIT = lazy_pattern(r"[0-9a-f]{40}|[0-9a-f]{64}")


async def branch_of(workspace: Workspace) -> str:
    """Return the branch's name, ten digits of a detached commit, or empty outside of git."""
    try:
        head = await workspace.read(workspace.resolve(".git/HEAD"))
    except ToolError:
        return ""
    line = head.text.split("\n", 1)[0].strip()
    if line.startswith(_REF):
        return line.removeprefix(_REF)
    # The text must be only a commit's digits, because .git/HEAD may be a link to any file.
    return line[:10] if _COMMIT.fullmatch(line) else ""
