"""Where the commands of a text run: ``cd`` is followed as far as its words are known."""

from __future__ import annotations

import posixpath

from indwell.policy.commands.items import Simple
from indwell.policy.commands.shell_words import HOME, STAR, UNKNOWN

AT_START: tuple[str, ...] = ("",)
"""The folder in which the whole text runs; others are relative to it, or absolute."""

_MOST = 4  # folders at once; more are unknown
_CHANGING = frozenset(["cd", "pushd", "popd"])


def after_cd(simple: Simple) -> tuple[str, ...]:
    """Where what follows a command may run; empty if that is not known."""
    if not simple.words or not _CHANGING.intersection(simple.words[0].options):
        return simple.folders
    words = [word for word in simple.words[1:] if word.text not in {"--", "-P", "-L", "-e"}]
    if simple.words[0].text != "cd" or len(words) != 1 or not simple.words[0].is_literal:
        return () if words or simple.words[0].text != "cd" else (HOME,)
    (word,) = words
    if len(word.options) > 1 or word.splits or UNKNOWN in word.text or STAR in word.text:
        return ()
    if word.text in {"-", ""}:
        return ()
    found = tuple(dict.fromkeys(joined(folder, word.text) for folder in simple.folders))
    return found if len(found) <= _MOST else ()


def either(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    """All folders of both; unknown if one is, or if they are too many."""
    if one == other:
        return one
    both = tuple(dict.fromkeys((*one, *other))) if one and other else ()
    return both if len(both) <= _MOST else ()


def joined(folder: str, path: str) -> str:
    """A path as seen from a folder, without ``.`` and ``..`` where they can be taken out."""
    whole = path if path.startswith(("/", HOME)) or not folder else f"{folder}/{path}"
    if HOME in whole:
        return HOME + posixpath.normpath("/" + whole.partition(HOME)[2]) if "/" in whole else whole
    normal = posixpath.normpath(whole) if whole else ""
    return normal[1:] if normal.startswith("//") else normal
