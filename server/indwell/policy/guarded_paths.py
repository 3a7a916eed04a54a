"""Finds the paths of a workspace that are protected from commands, even among 100,000 paths."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable
from typing import Literal, TypeAlias

from indwell.files.spelling import HERE, folded
from indwell.lazy_pattern import lazy_pattern
from indwell.policy import protected_names
from indwell.policy.paths import (
    is_at_root_unknown,
    is_installed,
    is_listed_protected,
    is_protected,
    listed_matching_glob,
)

Kind: TypeAlias = Literal["", "protected", "hidden", "denied"]

GIT_OBEYS = (
    *("config", "config.worktree", "commondir", "hooks", "info/attributes", "modules"),
    *("worktrees", "info/grafts", "objects/info/alternates", "objects/info/http-alternates"),
    *("branches", "remotes"),
)
"""Files that git runs or obeys in a ``.git`` folder; commits change only other files there.

``modules`` and ``worktrees`` contain such folders again. A file ``commondir`` names another folder
for git's configuration, so no such file may appear. ``info/grafts`` and the alternates make git use
other objects or commits; ``branches`` and ``remotes`` name other hosts.
"""

SHUT = frozenset(
    [
        ".git",  # ``GIT_OBEYS`` covers this folder.
        *("node_modules", "__pycache__", "site-packages", ".tox", ".nox", "bower_components"),
        *(".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis", ".gradle", ".terraform"),
    ]
)
"""Folders of installed or generated files. No editor or agent obeys their contents, except
repositories; see ``is_repository_sign``.
"""

BARE = "HEAD"
"""The file that makes a folder with ``objects`` and ``refs`` a repository.

Git obeys its ``config`` in every command in that folder.
"""

_REPOSITORIES = frozenset({".git", ".hg", ".jj"})

INSIDE = "x"
"""A name that no rule mentions.

If a rule applies to this name in a folder, the rule applies to all names there.
"""

_SPECIAL = lazy_pattern(r"[*?]+")


_FOLDS = HERE != "linux"


def kind_of(
    deny: tuple[str, ...],
    edits: tuple[str, ...] = (),
    harmless: tuple[str, ...] = (),
    *,
    folds: bool = _FOLDS,
) -> Callable[[str], Kind]:
    """Return a function that returns the kind of a path relative to the workspace's folder.

    The path must consist of names that a disk listed, without 8.3 names and streams.

    Args:
        deny: Globs of hidden files, as in the settings.
        edits: Globs of files that the user's rules protect from changes; a pattern for a folder's
            contents includes the folder.
        harmless: Unlisted dot names that the user declares harmless.
        folds: Whether the disk ignores case, so that git finds ``head`` for ``HEAD``.
    """
    folders = tuple(
        one.removesuffix("**").removesuffix("/") for one in edits if one.endswith("/**")
    )
    changing = (*edits, *filter(None, folders))
    may_match, may_be_denied = _prefilter(deny), _prefilter(changing)

    def kind(path: str) -> Kind:
        if may_match(path) and listed_matching_glob(path, deny):
            return "hidden"
        if may_be_denied(path) and listed_matching_glob(path, changing):
            return "denied"
        is_guarded = is_listed_protected(path) or is_at_root_unknown(path, harmless)
        is_guarded = is_guarded or is_bare(path.rpartition("/")[2], folds=folds)
        return "protected" if is_guarded else ""

    return kind


def ordinary_of(deny: tuple[str, ...], edits: tuple[str, ...] = ()) -> Callable[[str], bool]:
    """Return a test for names that no rule mentions; a path of only such names has no kind.

    The test may wrongly return False, but never wrongly True. The test is fast enough for the
    million names in a scan of a large workspace.

    Args:
        deny: As in ``kind_of``.
        edits: As in ``kind_of``.
    """
    tables = (protected_names.PROTECTED, protected_names.INSTALLED, protected_names.STARTERS)
    listed = (one for table in tables for names in table.values() for one in names)
    parts = [one.split("/")[0] for one in listed] + [BARE.casefold(), *HOLD_PROGRAMS]
    parts += [_telling(one) for one in (*deny, *edits) if not one.startswith("!")]
    exact = frozenset(one for one in parts if not _SPECIAL.search(one))
    begins: dict[str, tuple[str, ...]] = {}
    ends: dict[str, tuple[str, ...]] = {}
    for one in parts:
        first, last = _SPECIAL.split(one)[0], _SPECIAL.split(one)[-1]
        if one in exact:
            continue
        if first:
            begins[first[0]] = (*begins.get(first[0], ()), first)
        elif last:
            ends[last[-1]] = (*ends.get(last[-1], ()), last)
        else:
            return lambda _name: False
    begins["."], ends["."], ends[" "] = (".",), (".",), (" ",)

    def is_ordinary(name: str) -> bool:
        small = name.lower()
        first, last = small[0], small[-1]
        return not (
            small in exact
            or (first in begins and small.startswith(begins[first]))
            or (last in ends and small.endswith(ends[last]))
            or not small.isascii()
            or "\\" in small
        )

    # A name inside a folder shows whether everything in the folder is hidden.
    return is_ordinary if is_ordinary(INSIDE) else lambda _name: False


def _telling(glob: str) -> str:
    """Return the part of a glob that one name of a matching path must match; ``*`` if unknown."""
    if "[" in glob or "\\" in glob:
        return "*"
    parts = [one for one in folded(glob).split("/") if one not in {"", ".", "**"}]
    return max(parts, key=lambda one: len(_SPECIAL.sub("", one)), default="*")


def is_guarded(path: str, harmless: tuple[str, ...] = ()) -> bool:
    """Return whether the path is protected, unlisted, or makes its folder a repository.

    The path is relative to the workspace's folder; an absolute path is judged by its names.
    ``harmless`` contains dot names that the user knows.
    """
    is_listed = is_protected(path) or is_at_root_unknown(path, harmless)
    return is_listed or is_bare(path.rpartition("/")[2])


def is_bare(name: str, *, folds: bool = _FOLDS) -> bool:
    """Return whether a file of this name makes its folder a bare repository.

    Args:
        name: The file's name.
        folds: Whether the disk ignores case; disks of Windows and macOS mostly do.
    """
    return name == BARE or (folds and name.upper() == BARE)


HOLD_PROGRAMS = frozenset([".venv", "venv", ".virtualenv"])


def is_posing(path: str) -> bool:
    """Return whether editors start programs from a folder of this path.

    A link or a file at this path could lead editors to other programs, so the path is guarded, too.
    """
    return path.rpartition("/")[2].casefold() in HOLD_PROGRAMS


def is_repository_sign(name: str, *, folds: bool = _FOLDS) -> bool:
    """Return whether a file or folder of this name makes its folder a repository.

    Programs that open a file or a shell beneath the folder obey the repository's settings, even
    among installed files.
    """
    return is_bare(name, folds=folds) or (name[:1] == "." and name.casefold() in _REPOSITORIES)


def is_obeyed_by_git(path: str) -> bool:
    """Return whether git runs or obeys this path, relative to a repository's folder."""
    small = path.casefold()
    return any(small == one or small.startswith(f"{one}/") for one in GIT_OBEYS)


def _prefilter(deny: tuple[str, ...]) -> Callable[[str], bool]:
    """Return a fast first test for globs, which all matches and only 1 % of other paths pass."""
    wanted = [folded(one).removeprefix("./") for one in deny if not one.startswith("!")]
    plain = [one for one in wanted if "/" not in one and "[" not in one and "\\" not in one]
    names = re.compile("|".join(fnmatch.translate(one) for one in plain) or r"(?!)")
    pieces = [max(_SPECIAL.split(one), key=len) for one in wanted if one not in plain]
    if any("[" in one or "\\" in one for one in wanted):
        pieces.append("")

    def may_match(path: str) -> bool:
        plain = path.casefold() if _is_plain(path) else _compared(path)
        name = plain.rpartition("/")[2].rstrip(". ") or plain
        whole = f"/{plain}/"
        return names.match(name) is not None or any(one in whole for one in pieces)

    return may_match


def _is_plain(path: str) -> bool:
    """Return whether all names of the path are compared unchanged, except for case."""
    whole = f"{path}/"
    return path.isascii() and not any(one in whole for one in ("//", "./", " /"))


def _compared(path: str) -> str:
    """Return a path without empty names, trailing dots and blanks, as in `policy.paths`."""
    names = (one for one in folded(path).split("/") if one not in {"", "."})
    return "/".join(one.rstrip(". ") or one for one in names)


def is_set_aside(path: str) -> bool:
    """Return whether a command's new file of this name is moved aside, because it is protected.

    A ``package.json`` stays, because builds write it into their output and no tool loads it by
    itself.
    """
    name = path.casefold().rpartition("/")
    return not (name[1] and name[2] == "package.json")


def is_minor(path: str) -> bool:
    """Return whether guarding this path may be given up if there are too many such paths."""
    return not is_set_aside(path) or (is_installed(path) and path.count("/") > 1)


def set_aside_name(name: str) -> str:
    """Return a new name for a file that is moved aside; no program loads a file of that name."""
    return f"quarantined-{name}.txt"


def topmost(paths: Iterable[str]) -> tuple[str, ...]:
    """Return the sorted paths that do not lie inside another path of the list."""
    kept: list[str] = []
    for path in sorted(paths, key=lambda one: one.split("/")):
        if not kept or not path.startswith(f"{kept[-1]}/"):
            kept.append(path)
    return tuple(kept)
