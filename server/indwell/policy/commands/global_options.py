"""Options in front of a subcommand: a rule for ``git push`` means ``git -C . push`` too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from indwell.policy.commands.flags import names

_VALUED: Mapping[str, frozenset[str]] = {
    "git": names("-C -c --git-dir --work-tree --namespace --config-env --super-prefix --exec-path"),
}
"""Where it is known which of them take the next word; of others, each may."""

_MOST = 200  # words in front of a subcommand that are looked at


def without_options(words: Sequence[str]) -> list[list[str]]:
    """Every way in which a command may read without the options in front of its subcommand.

    Args:
        words: The program's name and its words.
    """
    name, rest = words[0], list(words[1:])
    found = []
    if rest and _is_option(rest[0]):
        starts = _starts_of_git(rest) if name in _VALUED else _starts(rest)
        found = [[name, *rest[at:]] for at in starts]
    behind = found[0][1:] if found and name in _VALUED else rest
    return [*found, [name, *(word for word in behind if not _is_option(word))]]


def _starts_of_git(rest: Sequence[str]) -> list[int]:
    at = 0
    while at < len(rest) and _is_option(rest[at]):
        at += 2 if rest[at] in _VALUED["git"] else 1
    return [at] if at < len(rest) else []


def _starts(rest: Sequence[str]) -> list[int]:
    """Where the subcommand may stand: behind an option, or behind its value."""
    found = []
    at = 0
    while at < min(len(rest), _MOST):
        if _is_option(rest[at]):
            at += 1
            continue
        found.append(at)
        if at + 1 < len(rest) and not _is_option(rest[at + 1]):
            return [*found, at + 1]
        at += 1
    return found[:4]


def _is_option(word: str) -> bool:
    return word.startswith(("-", "+"))
