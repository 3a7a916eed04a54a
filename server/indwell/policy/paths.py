"""Recognises secret and protected paths, by components, without case, in NFC."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase, translate
from functools import cache, lru_cache
from typing import TYPE_CHECKING

import msgspec

from indwell.context.untrusted_text import shows_nothing
from indwell.policy import protected_names

if TYPE_CHECKING:
    from wcmatch.glob import WcMatcher


class _Names(msgspec.Struct, frozen=True):
    """Names as `protected_names` writes them, ready to be compared.

    Attributes:
        folders: Folders, with all that is in them.
        files: Files by their whole name.
        runs: By its first component, what stands right below it; the last may have a ``*``.
        beginnings: What names of files begin with.
        endings: What names of files end with.
        like: All names of files with a ``*`` elsewhere.
    """

    folders: frozenset[str]
    files: frozenset[str]
    runs: Mapping[str, tuple[tuple[str, ...], ...]]
    beginnings: tuple[str, ...]
    endings: tuple[str, ...]
    like: re.Pattern[str]

    def hold(self, components: tuple[str, ...]) -> bool:
        """Is a path of these folded components one of the names, or in one?"""
        if not components:
            return False
        name = components[-1]
        return (
            name in self.files
            or not self.folders.isdisjoint(components)
            or name.startswith(self.beginnings)
            or name.endswith(self.endings)
            or self.like.fullmatch(name) is not None
            or any(
                _begins_with(components[at + 1 :], rest)
                for at, part in enumerate(components)
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
    every = [one for table in tables for names in table.values() for one in names.split()]
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
    )


def _elsewhere(plain: Sequence[str]) -> Iterator[str]:
    """Names with a star that is neither at the beginning nor at the end alone."""
    return (one for one in plain if "*" in one.strip("*") or one.count("*") > 1)


LISTED = _compiled(protected_names.PROTECTED, protected_names.INSTALLED, protected_names.STARTERS)
INSTALLED = _compiled(protected_names.INSTALLED)
HARMLESS = _compiled(protected_names.HARMLESS)
_PROGRAMS = _compiled(protected_names.INSTALLED, protected_names.STARTERS)
CHATS = ".chat.md"
"""What names of chat documents end with: words at their end may go out as the user's."""


def is_protected(path: str) -> bool:
    """Does changing this file change what runs or is trusted? By its name, wherever it lies."""
    return LISTED.hold(_folded(path))


def is_unknown(name: str, harmless: tuple[str, ...] = ()) -> bool:
    """Is it a name with a dot in front of which nobody here knows what loads it?

    At the root of a repository tools look for such: there it is protected, with all that is in it.

    Args:
        name: The name, or a path of which the first one counts.
        harmless: Names that the user declares harmless. A protected name stays protected, as that
            is asked by ``is_protected``.
    """
    plain = (*_folded(name), "")[0]
    is_dot_name = plain.startswith(".") and plain != ".."
    if not is_dot_name or HARMLESS.hold((plain,)):
        return False
    return not any(fnmatchcase(plain, one) for one in _all_plain(harmless))


def is_at_root_unknown(path: str, harmless: tuple[str, ...] = ()) -> bool:
    """Is it, or is it in, such a file or folder at the root? The path begins at the root."""
    if path.startswith(("/", "\\")):
        return False
    return is_unknown((*_folded(path), "")[0], harmless)


def is_installed(path: str) -> bool:
    """Is it a program that a package manager installs, which it may change with the user's yes?"""
    return INSTALLED.hold(_folded(path))


def is_program(path: str) -> bool:
    """Is it a program of the workspace, so that a command may name it just to run it?"""
    return _PROGRAMS.hold(_folded(path))


def loader_of(path: str) -> str:
    """Who loads a protected file, for people; empty if no name of the list tells."""
    components = _folded(path)
    return next((who for who, names in _loaders() if names.hold(components)), "")


@cache
def _loaders() -> tuple[tuple[str, _Names], ...]:
    """Each program that loads protected files, with the names it loads."""
    tables = (protected_names.PROTECTED, protected_names.INSTALLED, protected_names.STARTERS)
    return tuple((who, _compiled({who: one})) for table in tables for who, one in table.items())


def is_chat(path: str) -> bool:
    """Does it name a chat document?"""
    components = _folded(path)
    return bool(components) and components[-1].endswith(CHATS)


def is_beneath(path: str, folders: tuple[str, ...]) -> bool:
    """Does an absolute path lie in one of these absolute folders, or is it one? By component."""
    parts = _folded(path)
    return any(parts[: len(own)] == own for own in map(_folded, folders))


def is_inside(path: str, folders: tuple[str, ...]) -> bool:
    """The same where a yes widens: exact, so a name that only looks alike lies elsewhere."""
    parts = exact_parts(path)
    return any(parts[: len(own)] == own for own in map(exact_parts, folders))


@lru_cache(maxsize=4096)
def exact_parts(path: str) -> tuple[str, ...]:
    r"""Components as the disk has them; on Windows alone ``\`` stands between them."""
    plain = path.replace("\\", "/") if sys.platform == "win32" else path
    return tuple(part for part in plain.split("/") if part not in {"", "."})


def matches_any(path: str, globs: tuple[str, ...]) -> bool:
    """Does a path match one of ``globs``?

    As in ignore files: a pattern is for any folder unless it begins with a slash, one that ends
    with a slash is for all that lies in that folder, and ``!`` in front takes a name out again,
    here whatever the order.
    """
    return bool(matching_glob(path, globs))


def matching_glob(path: str, globs: tuple[str, ...]) -> str:
    """The first of ``globs`` that a path matches, as in ``matches_any``; empty if it does not."""
    components = _folded(path)
    if not components or not globs:
        return ""
    at = _matches("/".join(components), _all_plain(globs))
    return globs[at] if at is not None else ""


@lru_cache(maxsize=4096)
def _matches(path: str, globs: tuple[str, ...]) -> int | None:
    """The place of the first glob that hits, if none takes the path out again."""
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
    """The pattern for a path that has no slash in front."""
    whole = f"{pattern}**" if pattern.endswith("/") else pattern
    if whole.startswith("/"):
        return whole[1:]
    return f"**/{whole.removeprefix('./')}"


@lru_cache(maxsize=4096)
def _folded(path: str) -> tuple[str, ...]:
    """Components without case; macOS and Windows see ``.VSCode`` and ``.vscode`` as one folder."""
    parts = _plain(path).replace("\\", "/").split("/")
    return tuple(part.rstrip(". ") or part for part in parts if part not in {"", "."})


@lru_cache(maxsize=64)
def _all_plain(globs: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(_plain, globs))


def _plain(text: str) -> str:
    """Without case, composed, and without the invisible characters that some disks ignore."""
    seen = text if text.isascii() else "".join(one for one in text if not shows_nothing(one))
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", seen).casefold())
