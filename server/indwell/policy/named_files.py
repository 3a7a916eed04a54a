"""The files that a command names in its words, and those that it runs. By text alone, no boundary.

A program can reach files that no word names; what keeps it from them is the sandbox.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence

from indwell.policy.commands.verdict import Part

MOST_SCRIPTS = 8  # of one command; more make no line that anybody reads

_RUNNERS = frozenset(
    [
        *(".", "ash", "bash", "bun", "dash", "deno", "fish", "ksh", "lua", "node", "perl", "php"),
        *("pwsh", "python", "python2", "python3", "ruby", "sh", "source", "ts-node", "tsx", "zsh"),
    ]
)
"""Programs whose first word that is no option is a file to run."""

_WRAPPERS = frozenset(
    ["chronic", "command", "doas", "env", "exec", "nice", "nohup", "setsid", "sudo", "time"]
)

_NO_FILE = frozenset(["-", "-c", "-e", "-m", "--eval", "-p", "--print"])
"""Options of runners behind which no file stands, but a text or a module's name."""


def named_files(parts: Iterable[Part], cwd: str, roots: Sequence[str]) -> tuple[str, ...]:
    """Every word that may be a file, relative to the workspace where it lies in it."""
    return tuple(_relative(path, roots) for path in named_paths(parts, cwd, roots))


def named_paths(parts: Iterable[Part], cwd: str, roots: Sequence[str]) -> tuple[str, ...]:
    """Every word that may be a file, as an absolute path."""
    words = dict.fromkeys(word for part in parts for one in part.words for word in _paths_in(one))
    return tuple(_absolute(word, cwd, roots) for word in words)


def run_files(parts: Iterable[Part], cwd: str, roots: Sequence[str]) -> tuple[str, ...]:
    """Files in the workspace that are run as they are at that moment, relative to its first root.

    Such as ``./build.sh`` and the file of ``python tools/make.py``.
    """
    found = (_run_by(part.words) for part in parts)
    names = (
        _relative(_absolute(word, cwd, roots), roots)
        for word in found
        if word and word.isprintable()
    )
    inside = dict.fromkeys(name for name in names if not name.startswith(("/", "../")))
    return tuple(inside)[:MOST_SCRIPTS]


def _run_by(words: Sequence[str]) -> str:
    rest = list(words)
    while rest and (posixpath.basename(rest[0]) in _WRAPPERS or _is_assignment(rest[0])):
        rest = [*rest[1:]]
        while rest and rest[0].startswith("-"):
            rest = rest[1:]
    if not rest:
        return ""
    if "/" in rest[0]:
        return rest[0]
    if rest[0] not in _RUNNERS or _NO_FILE.intersection(rest[1:]):
        return ""
    return next((word for word in rest[1:] if not word.startswith("-")), "")


def _is_assignment(word: str) -> bool:
    name, equals, _ = word.partition("=")
    return bool(equals) and name.isidentifier()


def _paths_in(word: str) -> tuple[str, ...]:
    """A word, and what stands behind the equals sign of an option."""
    _, equals, value = word.partition("=")
    return (word, value) if equals and value else (word,)


def _absolute(word: str, cwd: str, roots: Sequence[str]) -> str:
    return posixpath.normpath(posixpath.join(cwd or (roots[0] if roots else "/"), word))


def _relative(path: str, roots: Sequence[str]) -> str:
    for root in roots:
        if path == root:
            return "."
        if path.startswith(f"{root.rstrip('/')}/"):
            return path[len(root.rstrip("/")) + 1 :]
    return path
