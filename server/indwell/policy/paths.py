"""Recognises secret and protected paths by their names, ignoring case, in Unicode form NFC."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase, translate
from functools import cache, lru_cache
from itertools import repeat
from typing import TYPE_CHECKING

import msgspec

from indwell.files.spelling import (
    HERE,
    System,
    components,
    exact_parts,
    folded,
    has_more_readings,
    is_short_name,
    readings,
    slashed,
    stand_ins,
)
from indwell.lazy_pattern import lazy_pattern
from indwell.policy import protected_names

if TYPE_CHECKING:
    from wcmatch.glob import WcMatcher


class _Names(msgspec.Struct, frozen=True):
    """Names in the notation of `protected_names`, prepared for comparison.

    Attributes:
        folders: Folders with all their contents.
        files: Files by their whole name.
        runs: The names directly below each first component; the last name may have a ``*``.
        beginnings: Beginnings of file names.
        endings: Endings of file names.
        like: File names with a ``*`` in the middle.
        pieces: Every component of all names, for paths with 8.3 names.
    """

    folders: frozenset[str]
    files: frozenset[str]
    runs: Mapping[str, tuple[tuple[str, ...], ...]]
    beginnings: tuple[str, ...]
    endings: tuple[str, ...]
    like: re.Pattern[str]
    pieces: tuple[str, ...]

    def hold(self, path: str) -> bool:
        """Return whether a path, in any of its readings, is one of the names or inside one."""
        return self.have(components(path)) or (has_more_readings(path) and self.may_have(path))

    def may_have(self, path: str) -> bool:
        for names in readings(path):
            others = stand_ins(names, self.pieces)
            if others is None or self.have(names) or any(map(self.have, others)):
                return True
        return False

    def have(self, names: tuple[str, ...]) -> bool:
        """Return whether a path of case-folded names is one of the names or lies inside one."""
        if not names:
            return False
        name = names[-1]
        return (
            name in self.files
            or not self.folders.isdisjoint(names)
            or name.startswith(self.beginnings)
            or name.endswith(self.endings)
            or self.like.fullmatch(name) is not None
            or any(
                _begins_with(names[at + 1 :], rest)
                for at, part in enumerate(names)
                if part in self.runs
                for rest in self.runs[part]
            )
        )


def _begins_with(components: tuple[str, ...], rest: tuple[str, ...]) -> bool:
    found = components[: len(rest)]
    return len(found) == len(rest) and (
        found == rest or (found[:-1] == rest[:-1] and fnmatchcase(found[-1], rest[-1]))
    )


def _compiled(*tables: protected_names.Names) -> _Names:
    every = [one for table in tables for names in table.values() for one in names]
    runs: dict[str, list[tuple[str, ...]]] = {}
    for one in every:
        first, *rest = one.split("/")
        if rest and rest != [""]:
            runs.setdefault(first, []).append(tuple(rest))
    plain = [one for one in every if "/" not in one]
    return _Names(
        folders=frozenset(one[:-1] for one in every if one.endswith("/")),
        files=frozenset(one for one in plain if "*" not in one),
        runs={first: tuple(rest) for first, rest in runs.items()},
        beginnings=tuple(one[:-1] for one in plain if one.find("*") == len(one) - 1),
        endings=tuple(one[1:] for one in plain if one.startswith("*") and one.count("*") == 1),
        like=re.compile("|".join(map(translate, _elsewhere(plain))) or r"(?!)"),
        pieces=tuple(dict.fromkeys(piece for one in every for piece in one.split("/") if piece)),
    )


def _elsewhere(plain: Sequence[str]) -> Iterator[str]:
    """Return names with a star that is not only at the beginning or the end."""
    return (one for one in plain if "*" in one.strip("*") or one.count("*") > 1)


LISTED = _compiled(protected_names.PROTECTED, protected_names.INSTALLED, protected_names.STARTERS)
INSTALLED = _compiled(protected_names.INSTALLED)
HARMLESS = _compiled(protected_names.HARMLESS)
_PROGRAMS = _compiled(protected_names.INSTALLED, protected_names.STARTERS)
CHATS = ".chat.md"
"""The ending of chat documents' names.

Text at the end of such a document may be sent as the user's.
"""


def is_protected(path: str) -> bool:
    """Return whether a change of this file, by its name, affects trust or programs that run."""
    if LISTED.have(components(path)):
        return True
    # ``has_more_readings`` has the same condition.
    return (":" in path or "~" in path) and LISTED.may_have(path)


def is_listed_protected(path: str) -> bool:
    """Return the same as ``is_protected``, for names from a disk, which have one spelling."""
    return LISTED.have(components(path))


def is_unknown(name: str, harmless: tuple[str, ...] = ()) -> bool:
    """Return whether the path has a dot name that is not on any list.

    Tools look for such names at the root of a repository. At the root, unknown dot names are
    protected with all contents.

    Args:
        name: The name, or a path, of which only the first name is tested.
        harmless: Names that the user declares harmless. A protected name stays protected, because
            ``is_protected`` decides.
    """
    plain = (*components(name), "")[0]
    is_dot_name = plain.startswith(".") and plain != ".."
    if not is_dot_name or HARMLESS.have((plain,)):
        return False
    return not any(fnmatchcase(plain, one) for one in _all_plain(harmless))


def is_at_root_unknown(path: str, harmless: tuple[str, ...] = ()) -> bool:
    """Return whether the path is an unknown dot name at the root, or lies inside one.

    The path is relative to the root.
    """
    if path.startswith(("/", "\\")):
        return False
    return is_unknown((*components(path), "")[0], harmless)


def is_short_at_root(path: str, harmless: tuple[str, ...] = ()) -> bool:
    """Return whether the path is, or is inside, an 8.3 name at the root, perhaps of a dot name.

    Use this function only for unresolved paths of Windows; elsewhere ``notes~1`` is an ordinary
    name.
    """
    if path.startswith(("/", "\\")):
        return False
    name = (*components(path), "")[0]
    return is_short_name(name) and not any(fnmatchcase(name, one) for one in _all_plain(harmless))


def is_installed(path: str) -> bool:
    """Return whether a package manager installs the file, so that a yes allows changing it."""
    return INSTALLED.hold(path)


def is_program(path: str) -> bool:
    """Return whether the file is a program of the workspace that a command may run by its name."""
    return _PROGRAMS.hold(path)


def loader_of(path: str) -> str:
    """Return the program that loads a protected file, for people, or an empty text if unknown."""
    return next((who for who, names in _loaders() if names.hold(path)), "")


@cache
def _loaders() -> tuple[tuple[str, _Names], ...]:
    """Yield each program that loads protected files, with the names of these files."""
    tables = (protected_names.PROTECTED, protected_names.INSTALLED, protected_names.STARTERS)
    return tuple((who, _compiled({who: one})) for table in tables for who, one in table.items())


def is_chat(path: str) -> bool:
    """Return whether the path is that of a chat document."""
    return any(names[-1].endswith(CHATS) for names in readings(path) if names)


def is_beneath(path: str, folders: tuple[str, ...]) -> bool:
    """Return whether an absolute path is one of the folders or inside one, by whole components."""
    if HERE == "win32":
        path, folders = slashed(path), tuple(map(slashed, folders))
    parts = components(path)
    return any(parts[: len(own)] == own for own in map(components, folders))


def could_be_beneath(path: str, folders: tuple[str, ...]) -> bool:
    """Return whether any reading of the path is beneath a folder; used to deny access."""
    if is_beneath(path, folders):
        return True
    if not folders or not has_more_readings(path):
        return False
    names = tuple(dict.fromkeys(part for one in folders for part in components(one)))
    for reading in readings(path):
        others = stand_ins(reading, names)
        if others is None:
            return True
        if any(is_beneath("/".join(one), folders) for one in (reading, *others)):
            return True
    return False


def is_inside(path: str, folders: tuple[str, ...], system: System = HERE) -> bool:
    """Return whether the path is beneath a folder by exact names; used to grant access."""
    if system != HERE:
        parts = exact_parts(path, system)
        return any(parts[: len(own)] == own for own in map(exact_parts, folders, repeat(system)))
    parts = exact_parts(path)
    return any(parts[: len(own)] == own for own in map(exact_parts, folders))


def matches_any(path: str, globs: tuple[str, ...]) -> bool:
    """Return whether a path matches one of ``globs``, in any of its readings.

    The globs are those of ignore files. A pattern applies in any folder unless it begins with a
    slash. A pattern that ends with a slash applies to the folder's contents. A ``!`` glob excludes
    names, wherever it is in the list.
    """
    return bool(matching_glob(path, globs))


def matching_glob(path: str, globs: tuple[str, ...]) -> str:
    """Return the first of ``globs`` that a path matches, as in ``matches_any``, or no text."""
    names = components(path)
    if not names or not globs:
        return ""
    at = _matches("/".join(names), _all_plain(globs))
    if at is not None:
        return globs[at]
    return _possible_glob(path, globs) if ":" in path or "~" in path else ""


def listed_matching_glob(path: str, globs: tuple[str, ...]) -> str:
    """Return the same as ``matching_glob``, but with names compared unchanged.

    Use this function for rules that allow something, and for names that a disk listed.
    """
    names = components(path)
    if not names or not globs:
        return ""
    at = _matches("/".join(names), _all_plain(globs))
    return globs[at] if at is not None else ""


def _possible_glob(path: str, globs: tuple[str, ...]) -> str:
    """Return the first glob that the path matches in another reading, or an empty text."""
    plain = _all_plain(globs)
    pieces = _pieces(plain)
    for names in readings(path):
        others = stand_ins(names, pieces)
        if others is None:
            return next((one for one in globs if not one.startswith("!")), "")
        for one in (names, *others):
            at = _matches("/".join(one), plain)
            if at is not None:
                return globs[at]
    return ""


@lru_cache(maxsize=64)
def _pieces(globs: tuple[str, ...]) -> tuple[str, ...]:
    """Return the single names in globs; a set of characters becomes its first character."""
    wanted = (one for one in globs if not one.startswith("!"))
    names = (_SET.sub(r"\1", piece) for one in wanted for piece in one.split("/"))
    return tuple(dict.fromkeys(filter(None, names)))


_SET = lazy_pattern(r"\[[!^]?(.)[^\]]*\]")


@lru_cache(maxsize=4096)
def _matches(path: str, globs: tuple[str, ...]) -> int | None:
    """Return the index of the first matching glob, unless another glob excludes the path."""
    hits = (at for at, one in enumerate(globs) if not one.startswith("!") and _hits(path, one))
    at = next(hits, None)
    if at is None or any(_hits(path, one[1:]) for one in globs if one.startswith("!")):
        return None
    return at


def _hits(path: str, pattern: str) -> bool:
    return _matcher(pattern).match(path)


@lru_cache(maxsize=1024)
def _matcher(pattern: str) -> WcMatcher[str]:
    from wcmatch import glob  # noqa: PLC0415 - a tenth of what the first code action waits for

    flags = glob.GLOBSTAR | glob.DOTGLOB | glob.FORCEUNIX
    return glob.compile(_anywhere(pattern), flags=flags)


def _anywhere(pattern: str) -> str:
    """Return the pattern that matches in any folder, without a leading slash."""
    whole = f"{pattern}**" if pattern.endswith("/") else pattern
    if whole.startswith("/"):
        return whole[1:]
    return f"**/{whole.removeprefix('./')}"


@lru_cache(maxsize=64)
def _all_plain(globs: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(folded, globs))
