"""Programs that run other commands, and shells that run a text."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence

from indwell.lazy_pattern import lazy_pattern
from indwell.policy.shell.items import Options, ParsedOptions, UnknownOption, given, options
from indwell.policy.shell.words import UNKNOWN, Word

SHELLS = frozenset(["sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "fish"])

_WRAPPERS: Mapping[str, tuple[Options, int]] = {
    "env": (options("i0", "u", "ignore-environment null", "unset"), 0),
    "command": (options("p"), 0),
    "builtin": (options(), 0),
    "exec": (options("cl", "a"), 0),
    "nohup": (options(), 0),
    "setsid": (options("fw", "", "fork wait", ""), 0),
    "nice": (options("#", "n", "", "adjustment"), 0),
    "ionice": (options("t", "cn", "ignore", "class classdata"), 0),
    "time": (options("pv", "f", "portability verbose", "format"), 0),
    "timeout": (options("v", "ks", "foreground preserve-status verbose", "kill-after signal"), 1),
    "stdbuf": (options("", "ioe", "", "input output error"), 0),
    "xargs": (
        options(
            "0rtx",
            "InPLdsaE",
            "null no-run-if-empty verbose exit",
            "max-args max-procs delimiter",
        ),
        0,
    ),
    "sudo": (options("nEHSkb", "ugpCDhRrTtU", "non-interactive preserve-env", "user group"), 0),
    "doas": (options("n", "uC"), 0),
    "busybox": (options(), 0),
    "toybox": (options(), 0),
    "chrt": (options("bfior", "", "", ""), 1),
    "taskset": (options("c"), 1),
    "watch": (options("dtbegcx", "n", "", "interval"), 0),
    "parallel": (options("", "j", "", "jobs"), 0),
    "flock": (options("nsxu", "w"), 1),
    "caffeinate": (options("dims"), 0),
    "unbuffer": (options(), 0),
    "npx": (options("y", "", "yes no-install", ""), 0),
}
"""Their options, and the number of words before the program."""

QUIET = frozenset(
    ["command", "nohup", "nice", "ionice", "timeout", "stdbuf", "time", "xargs", "env"]
)
"""Wrappers that add nothing to what they run."""

_ASSIGNED = lazy_pattern(r"\w+\+?=")


def program_name(word: Word) -> str:
    """Return the name of a well-known program; empty for one in the workspace or an unknown one."""
    if not word.is_literal:
        return ""
    folder, _, name = word.text.rpartition("/")
    if folder and posixpath.normpath(folder) not in {"/bin", "/usr/bin", "/usr/local/bin"}:
        return ""
    return name if "/" not in word.text or word.text.startswith("/") else ""


def base_name(word: Word) -> str:
    """Return the last part of a program's path."""
    return posixpath.basename(word.text)


def unwrapped(words: Sequence[Word]) -> tuple[Word, ...] | None:
    """Return what a wrapper runs; None if it is no wrapper, empty if it runs nothing.

    Raises:
        UnknownOption: The wrapper has an unknown option.
    """
    if not words:
        return None
    name = base_name(words[0])
    if name not in _WRAPPERS:
        return None
    known, n_before = _WRAPPERS[name]
    behind = list(words[1:])
    if name == "command" and behind and behind[0].text in {"-v", "-V"}:
        return None
    inner = list(given(behind, known, permutes=False).operands)
    if name in {"env", "sudo", "doas"}:
        while inner and _ASSIGNED.match(inner[0].text):
            inner.pop(0)
    return tuple(inner[n_before:])


def sets_variables(words: Sequence[Word]) -> bool:
    """Does ``env`` set variables for what it runs?"""
    return base_name(words[0]) == "env" and any(_ASSIGNED.match(word.text) for word in words[1:])


def fed_by_xargs(words: Sequence[Word], inner: Sequence[Word]) -> tuple[Word, ...]:
    """Return what ``xargs`` runs, with marks for the words that it inserts or appends."""
    places = [one for one in _given_to_xargs(words).values("-I") if one]
    fed = [
        Word(word.source, tuple(_with_marks(one, places) for one in word.options), word.splits)
        for word in inner
    ]
    return (*fed, Word("…", (UNKNOWN,), splits=True))


def read_by_xargs(words: Sequence[Word]) -> tuple[Word, ...]:
    """Return the file from which ``xargs -a`` takes words."""
    return tuple(Word(one, (one,)) for one in _given_to_xargs(words).values("-a"))


def _given_to_xargs(words: Sequence[Word]) -> ParsedOptions:
    return given(words[1:], _WRAPPERS["xargs"][0], permutes=False)


def _with_marks(text: str, places: Sequence[str]) -> str:
    for place in places:
        text = text.replace(place, UNKNOWN)
    return text


def loosely_unwrapped(words: Sequence[Word]) -> list[tuple[Word, ...]]:
    """Return all commands that a wrapper's words may mean, to look for what is denied."""
    name = base_name(words[0]) if words else ""
    if name not in _WRAPPERS and not words[0].could_be_option:
        return []
    return [tuple(words[at:]) for at in range(1, min(len(words), 24))]


def shell_text(words: Sequence[Word]) -> Word | None:
    """Return the text that a shell is given with ``-c``."""
    if not words or base_name(words[0]).lower() not in SHELLS | {"su", "script"}:
        return None
    for at, word in enumerate(words[1:-1], start=1):
        if re.fullmatch(r"-[a-zA-Z]*c|--command", word.text):
            return words[at + 1]
    return None


def is_unknown_option(error: UnknownOption) -> str:
    """Word the refusal of an unknown option."""
    return f"its option {str(error)!r} is not known"
