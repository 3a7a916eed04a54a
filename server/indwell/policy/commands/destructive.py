"""Which programs, with which words, destroy a system, a home folder or a disk. Pure tables."""

from __future__ import annotations

import re

from indwell.policy.commands.shell_words import HOME, UNKNOWN, folder

_TOP = frozenset(
    [
        *("bin", "boot", "dev", "etc", "home", "lib", "lib32", "lib64", "opt", "proc", "root"),
        *("run", "sbin", "srv", "sys", "usr", "var", "nix", "snap"),
        *("Applications", "Library", "System", "Users", "Volumes", "private"),
    ]
)
"""Folders of the first level that a system, or all users' work, lives in; not ``/tmp``."""

_SECOND = re.compile(r"/(?:home|Users)/[^/]+|/usr/(?:bin|lib|lib64|libexec|local|sbin|share)")
_DEVICE = re.compile(
    r"/dev/(?:[shv]d[a-z]|xvd[a-z]|nvme\d|mmcblk\d|r?disk\d|md\d|dm-\d|loop\d|sr\d|nbd\d|rbd\d"
    r"|zram\d|ram\d|mapper/|disk/)"
)
_ALL_RIGHTS = re.compile(r"[0-7]?777|(?:a|ugo)?[+=](?:rwx|rwX|wrx|xrw)")
_FILTERS_NOTHING = re.compile(
    r"-(?:delete|depth|xdev|mount|mindepth|maxdepth|print0?|exec(?:dir)?)"
)


def is_device(path: str) -> bool:
    """Is it a disk or a part of one?"""
    return _DEVICE.match(path) is not None


def destroys(words: list[str], cwd: str) -> str:
    """Why a simple command ends a system, in words; empty if it does not.

    Args:
        words: The program's name and its words.
        cwd: Where it runs; empty if that is not known.
    """
    name, *rest = words
    options, operands = _sorted(rest)
    if name == "rm":
        return _removes(options, operands, cwd)
    if name == "find":
        return _finds(rest, cwd)
    if name == "chmod":
        return _opens(options, operands, cwd)
    if re.fullmatch(r"mkfs(?:\..+)?|mke2fs|mkswap|newfs(?:_.+)?", name) and operands:
        return "makes a new file system, over what is there"
    if name == "dd":
        targets = [word[3:] for word in rest if word.startswith("of=")]
    elif name in {"tee", "shred", "wipefs", "blkdiscard", "sponge"}:
        targets = operands
    elif name in {"cp", "mv", "install"}:
        targets = operands[-1:]
    else:
        return ""
    target = next(filter(is_device, targets), "")
    return f"writes over the device {target!r}" if target else ""


def _sorted(words: list[str]) -> tuple[list[str], list[str]]:
    """Options and operands; they may stand in any order, until ``--``."""
    options: list[str] = []
    operands: list[str] = []
    for at, word in enumerate(words):
        if word == "--":
            return options, operands + words[at + 1 :]
        (options if word.startswith("-") and len(word) > 1 else operands).append(word)
    return options, operands


def _has(options: list[str], letters: str, name: str) -> bool:
    """Is an option given: as a letter, in a bunch of letters, or by (the beginning of) its name?"""
    return any(
        name.startswith(one[2:]) and len(one) > 3  # noqa: PLR2004 - `--r` is a beginning
        if one.startswith("--")
        else any(letter in one for letter in letters)
        for one in options
    )


def _removes(options: list[str], operands: list[str], cwd: str) -> str:
    is_forced = _has(options, "f", "force")
    if not _has(options, "rR", "recursive"):
        return ""
    for one in operands:
        place = folder(one, cwd)
        if place in {"/", HOME} or (is_forced and _is_top(place)):
            return f"removes {_shown(place)} with all that is in it"
    return ""


def _finds(words: list[str], cwd: str) -> str:
    """``find`` that removes, and asks nothing of what it finds."""
    at = next((at for at, word in enumerate(words) if word[:1] in {"-", "(", "!"}), len(words))
    starts, tests = words[:at], [word for word in words[at:] if re.match(r"-[a-z]", word)]
    runs = [
        words[index + 1] for index, word in enumerate(words[:-1]) if word in {"-exec", "-execdir"}
    ]
    if "-delete" not in tests and "rm" not in runs:
        return ""
    if not all(_FILTERS_NOTHING.fullmatch(one) or re.match("-[rRf]+$", one) for one in tests):
        return ""
    place = next((p for p in (folder(one, cwd) for one in starts) if p == HOME or _is_root(p)), "")
    return f"removes {_shown(place)} with all that is in it" if place else ""


def _opens(options: list[str], operands: list[str], cwd: str) -> str:
    if not operands or not _ALL_RIGHTS.fullmatch(operands[0]):
        return ""
    is_deep = _has(options, "R", "recursive")
    for one in operands[1:]:
        place = folder(one, cwd)
        if place == "/" or (is_deep and (place == HOME or _is_top(place))):
            return f"lets everybody write to {_shown(place)}"
    return ""


def _is_root(place: str) -> bool:
    return place == "/" or _is_top(place)


def _is_top(place: str) -> bool:
    return UNKNOWN not in place and (place[1:] in _TOP or bool(_SECOND.fullmatch(place)))


def _shown(place: str) -> str:
    return "your home folder" if place == HOME else repr(place)
