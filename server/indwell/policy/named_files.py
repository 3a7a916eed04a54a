"""The files that a command names, and those that it may run. By text alone, no boundary.

A program can reach files that no word names; what keeps it from them is the sandbox.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from indwell.policy.commands.folders import joined
from indwell.policy.commands.shell_words import STAR, UNKNOWN
from indwell.policy.commands.verdict import Part
from indwell.policy.paths import is_inside
from indwell.policy.project_files import project_files

MOST_SCRIPTS = 8  # of one command; more make no line that anybody reads
MOST_CANDIDATES = 2_000  # names that are looked at for them; 5 ms

_UNKNOWN = frozenset((STAR, UNKNOWN))  # in a word that only a run can tell
_IS_WORD = re.compile(r"[^\s;&|<>()\"'$=`]*")
_TOKEN = re.compile(r"[^\s;&|<>()\"'$=`]+")


def named_files(parts: Iterable[Part], cwd: str, roots: Sequence[str]) -> tuple[str, ...]:
    """Every word that may be a file, relative to the workspace where it lies in it."""
    return tuple(_relative(path, roots) for path in named_paths(parts, cwd, roots))


def named_paths(parts: Iterable[Part], cwd: str, roots: Sequence[str]) -> tuple[str, ...]:
    """Every word that may be a file, as an absolute path, seen from where its command runs."""
    found = (
        joined(folder, word)
        for part in parts
        for folder in part.folders or ("",)
        for one in _operands(part)
        for word in _paths_in(one)
    )
    return tuple(dict.fromkeys(_absolute(path, cwd, roots) for path in found))


def _operands(part: Part) -> tuple[str, ...]:
    """Its words, but for the name of a program: that is looked for on PATH, not in the folder."""
    first = part.words[0] if part.words else ""
    after = part.text[len(first) : len(first) + 1]
    is_program = "/" not in first and part.text.startswith(first) and after in {"", " ", "\t"}
    return part.words[1:] if is_program else part.words


class Bound(msgspec.Struct, frozen=True):
    """Files of the workspace that may decide what a command does, be they there or not.

    Attributes:
        names: Absolute.
        is_all: There are no more.
    """

    names: tuple[str, ...] = ()
    is_all: bool = True


def bound_files(parts: Iterable[Part], cwd: str, roots: Sequence[str]) -> Bound:
    """What of the workspace a command may run or obey as it is at that moment.

    Such as ``./build.sh``, ``make.py`` of ``timeout 9 python -W ignore make.py``, ``x`` of
    ``bash < x``, and the ``Makefile`` of ``make test``. One that is made later counts by then.
    """
    acting = [part for part in parts if part.rule != "removes"]  # what it removes it does not run
    names = dict.fromkeys(name for part in acting for name in _inside(part, cwd, roots))
    is_known = all(map(_is_known, acting))
    return Bound(tuple(names)[:MOST_CANDIDATES], is_known and len(names) <= MOST_CANDIDATES)


def _is_known(part: Part) -> bool:
    return bool(part.folders) and not any(map(_UNKNOWN.intersection, part.words))


def _candidates(words: Sequence[str]) -> tuple[str, ...]:
    """What of a command's words may be such a file, or the text of a command that names one."""
    texts = [text for word in words for text in (*_paths_in(word), *_attached(word))]
    inner = (word for word in words if not _IS_WORD.fullmatch(word))
    texts += [token for word in inner for token in _TOKEN.findall(word)]
    texts = [text for text in texts if text and text != "."]
    own = project_files(texts)
    folders = [text for text in texts if "/" in text or not text.startswith("-")] if own else []
    return (*texts, *own, *(f"{folder}/{name}" for folder in folders for name in own))


def _attached(word: str) -> tuple[str, ...]:
    """What stands right behind an option of one letter, as in ``-Csub``."""
    is_option = len(word) > 2 and word[0] == "-" and word[1] != "-"  # noqa: PLR2004
    return (word[2:],) if is_option else ()


def _inside(part: Part, cwd: str, roots: Sequence[str]) -> Iterator[str]:
    for text in _candidates(part.words):
        for folder in part.folders or ("",):
            path = _absolute(joined(folder, text), cwd, roots)
            if path.isprintable() and path not in roots and is_inside(path, tuple(roots)):
                yield path


def _paths_in(word: str) -> tuple[str, ...]:
    """A word, and what stands behind an option's equals sign, or a revision of ``git``."""
    behind = (word.partition(mark)[2] for mark in ("=", ":") if "://" not in word or mark == "=")
    return (word, *filter(None, behind))


def _absolute(word: str, cwd: str, roots: Sequence[str]) -> str:
    return posixpath.normpath(posixpath.join(cwd or (roots[0] if roots else "/"), word))


def _relative(path: str, roots: Sequence[str]) -> str:
    for root in roots:
        if path == root:
            return "."
        if path.startswith(f"{root.rstrip('/')}/"):
            return path[len(root.rstrip("/")) + 1 :]
    return path
