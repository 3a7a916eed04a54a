"""Finds the paths of a workspace that are guarded from commands, quickly for 100,000 paths."""

from __future__ import annotations

import fnmatch
import re
import unicodedata
from collections.abc import Callable, Iterable
from typing import Literal, TypeAlias

from indwell.context.untrusted_text import shows_nothing
from indwell.lazy_pattern import lazy_pattern
from indwell.policy import protected_names
from indwell.policy.paths import is_at_root_unknown, is_installed, is_protected, matches_any

Kind: TypeAlias = Literal["", "protected", "hidden", "denied"]

GIT_OBEYS = (
    *("config", "config.worktree", "commondir", "hooks", "info/attributes", "modules"),
    *("worktrees", "info/grafts", "objects/info/alternates", "objects/info/http-alternates"),
    *("branches", "remotes"),
)
"""What git runs or obeys in a ``.git`` folder; all else there a commit may have to change.

``modules`` and ``worktrees`` hold such folders again. A file ``commondir`` sends git elsewhere for
its configuration, so none may appear either. ``info/grafts`` and the alternates send it to other
objects or commits, ``branches`` and ``remotes`` to other hosts."""

SHUT = frozenset(
    [
        ".git",  # see GIT_OBEYS
        *("node_modules", "__pycache__", "site-packages", ".tox", ".nox", "bower_components"),
        *(".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis", ".gradle", ".terraform"),
    ]
)
"""Folders of installed or made files. Nobody's editor or agent obeys what is in them, but for
repositories; see ``is_repository_sign``."""

BARE = "HEAD"
"""The file that makes a folder with ``objects`` and ``refs`` a repository, whose ``config`` git
obeys for whoever stands in that folder."""

_REPOSITORIES = frozenset({".git", ".hg", ".jj"})

INSIDE = "x"
"""A name that no rule speaks of: what is said of it in a folder is said of all there."""

_SPECIAL = lazy_pattern(r"[*?]+")


def kind_of(
    deny: tuple[str, ...], edits: tuple[str, ...] = (), harmless: tuple[str, ...] = ()
) -> Callable[[str], Kind]:
    """What tells the kind of a path that begins at the workspace's folder.

    Args:
        deny: Globs of files that are hidden, as in the settings.
        edits: Globs of files that the user's rules let nobody change; of a pattern for all that is
            in a folder, the folder too.
        harmless: Unknown dot names that the user declares harmless.
    """
    folders = tuple(
        one.removesuffix("**").removesuffix("/") for one in edits if one.endswith("/**")
    )
    changing = (*edits, *filter(None, folders))
    may_match, may_be_denied = _prefilter(deny), _prefilter(changing)

    def kind(path: str) -> Kind:
        if may_match(path) and matches_any(path, deny):
            return "hidden"
        if may_be_denied(path) and matches_any(path, changing):
            return "denied"
        return "protected" if is_guarded(path, harmless) else ""

    return kind


def ordinary_of(deny: tuple[str, ...], edits: tuple[str, ...] = ()) -> Callable[[str], bool]:
    """What tells a name that no rule speaks of: a path of such names alone is of no kind.

    It never says yes wrongly, and says no to some names that are of no kind either. It is fast
    enough for a million names, of which a look at a large workspace judges each.

    Args:
        deny: As in ``kind_of``.
        edits: As in ``kind_of``.
    """
    tables = (protected_names.PROTECTED, protected_names.INSTALLED, protected_names.STARTERS)
    listed = (one for table in tables for names in table.values() for one in names.split())
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
        folded = name.lower()
        first, last = folded[0], folded[-1]
        return not (
            folded in exact
            or (first in begins and folded.startswith(begins[first]))
            or (last in ends and folded.endswith(ends[last]))
            or not folded.isascii()
            or "\\" in folded
        )

    # Whether all in a folder is hidden is told by such a name in it.
    return is_ordinary if is_ordinary(INSIDE) else lambda _name: False


def _telling(glob: str) -> str:
    """The part of a glob that some name of a path must match; ``*`` if nothing is known."""
    if "[" in glob or "\\" in glob:
        return "*"
    parts = [one for one in _plain(glob).split("/") if one not in {"", ".", "**"}]
    return max(parts, key=lambda one: len(_SPECIAL.sub("", one)), default="*")


def is_guarded(path: str, harmless: tuple[str, ...] = ()) -> bool:
    """Is it protected, of a dot name that nobody knows, or what makes a folder a repository?

    The path begins at the workspace's folder; an absolute one is judged by its names alone.
    ``harmless`` holds dot names that the user knows.
    """
    is_listed = is_protected(path) or is_at_root_unknown(path, harmless)
    return is_listed or path.rpartition("/")[2] == BARE


HOLD_PROGRAMS = frozenset([".venv", "venv", ".virtualenv"])


def is_posing(path: str) -> bool:
    """Is it one of the folders that editors start programs from?

    As a link or a file it leads them elsewhere: then it is guarded like the programs themselves.
    """
    return path.rpartition("/")[2].casefold() in HOLD_PROGRAMS


def is_repository_sign(name: str) -> bool:
    """Does a file or folder of this name make a repository of the folder that it is in?

    That is obeyed by whoever only opens a file or a shell somewhere beneath, also in a folder of
    installed files.
    """
    return name == BARE or (name[:1] == "." and name.casefold() in _REPOSITORIES)


def is_obeyed_by_git(path: str) -> bool:
    """Does git run or obey what lies at this path from a repository's own folder on?"""
    folded = path.casefold()
    return any(folded == one or folded.startswith(f"{one}/") for one in GIT_OBEYS)


def _prefilter(deny: tuple[str, ...]) -> Callable[[str], bool]:
    """A quick look that never says no where a glob matches; one in a hundred paths passes it."""
    wanted = [_plain(one).removeprefix("./") for one in deny if not one.startswith("!")]
    plain = [one for one in wanted if "/" not in one and "[" not in one and "\\" not in one]
    names = re.compile("|".join(fnmatch.translate(one) for one in plain) or r"(?!)")
    pieces = [max(_SPECIAL.split(one), key=len) for one in wanted if one not in plain]
    if any("[" in one or "\\" in one for one in wanted):
        pieces.append("")

    def may_match(path: str) -> bool:
        folded = path.casefold() if _is_plain(path) else _compared(path)
        name = folded.rpartition("/")[2].rstrip(". ") or folded
        whole = f"/{folded}/"
        return names.match(name) is not None or any(one in whole for one in pieces)

    return may_match


def _plain(path: str) -> str:
    """As ``policy.paths`` compares names."""
    seen = path if path.isascii() else "".join(one for one in path if not shows_nothing(one))
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", seen).casefold())


def _is_plain(path: str) -> bool:
    """Has it only names that are compared as they are, but for case?"""
    whole = f"{path}/"
    return path.isascii() and not any(one in whole for one in ("//", "./", " /"))


def _compared(path: str) -> str:
    """Names of nothing, and dots and blanks at their ends, are left out, as in `policy.paths`."""
    names = (one for one in _plain(path).split("/") if one not in {"", "."})
    return "/".join(one.rstrip(". ") or one for one in names)


def is_set_aside(path: str) -> bool:
    """Is a file of this name put aside if a command made it? A protected one, if it is new.

    Builds write a ``package.json`` into what they make, which nothing obeys by itself.
    """
    name = path.casefold().rpartition("/")
    return not (name[1] and name[2] == "package.json")


def is_minor(path: str) -> bool:
    """Is it held only as far as there is room: deep down, and in each package of a workspace?"""
    return not is_set_aside(path) or (is_installed(path) and path.count("/") > 1)


def set_aside_name(name: str) -> str:
    """A name for what is put aside: one that nothing obeys."""
    return f"quarantined-{name}.txt"


def topmost(paths: Iterable[str]) -> tuple[str, ...]:
    """Those that lie in none of the others, sorted."""
    kept: list[str] = []
    for path in sorted(paths, key=lambda one: one.split("/")):
        if not kept or not path.startswith(f"{kept[-1]}/"):
            kept.append(path)
    return tuple(kept)
