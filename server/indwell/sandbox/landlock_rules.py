"""Which places a command held by Landlock may reach: the rules, from a confinement. Pure.

Landlock can only allow: a rule is for a folder and all that is in it, and no other takes a part
out again. So a hidden place is left out by allowing all that stands beside it, and beside each
folder on the way to it. For writing that does not work (what lets a file be made beside `.git` lets
it be made in there), so protected files are looked at after the run instead; `LIMITS` says so.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

import msgspec

from indwell.files.handles import Child
from indwell.sandbox.confinement import Confinement

EXECUTE = 1 << 0  # linux/landlock.h, as all numbers here
WRITE_FILE = 1 << 1
READ_FILE = 1 << 2
READ_DIR = 1 << 3
REMOVE_DIR = 1 << 4
REMOVE_FILE = 1 << 5
MAKE_CHAR = 1 << 6
MAKE_DIR = 1 << 7
MAKE_REG = 1 << 8
MAKE_SOCK = 1 << 9
MAKE_FIFO = 1 << 10
MAKE_BLOCK = 1 << 11
MAKE_SYM = 1 << 12
REFER = 1 << 13
TRUNCATE = 1 << 14
IOCTL_DEV = 1 << 15
ALL = (1 << 16) - 1
"""What is refused wherever no rule allows it: everything that ABI 6 knows."""

FOR_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
"""What a rule for something that is no folder may name; more is an error of the kernel's."""

READ = EXECUTE | READ_FILE | READ_DIR
WRITE = ALL & ~(READ | MAKE_CHAR | MAKE_BLOCK | IOCTL_DEV)

LIMITS = (
    "protected files such as `.git/config` are looked at only after a command that may write",
    "modes, owners and times of files elsewhere can be changed, where the user may",
    "what a command makes beside a hidden file, it cannot read again",
)
"""What it cannot hold and bubblewrap can, for people (`safety.md` §3.3)."""

_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_SHUT = ("/dev", "/run", "/tmp", "/var/tmp", "/var/run", "/lost+found")  # noqa: S108 - closed here
_OPEN = ("/run/current-system", "/run/opengl-driver")  # programs, on NixOS


class Rule(msgspec.Struct, frozen=True):
    """What may be done with a place and all that is in it."""

    path: str
    access: int


def rules_of(
    confinement: Confinement, scratch: str, children: Callable[[str], Sequence[Child]]
) -> tuple[Rule, ...]:
    """The rules for a command.

    Args:
        confinement: Its bounds.
        scratch: A folder of its own for temporary files; absolute and resolved.
        children: What stands in a folder; ``OSError`` if that cannot be seen.
    """
    hidden = frozenset(confinement.hidden)
    outside = hidden | frozenset(_SHUT)
    roots = dict.fromkeys((*confinement.writable, *confinement.readable))
    readable = [*_beside("/", outside, children)]
    for root in (*roots, *_OPEN):  # also those in a place that is shut, such as a project in /tmp
        # One may lie in a hidden folder, as a project in the home folder does.
        within = [one for one in hidden if one == root or not _is_in_one(root, (one,))]
        readable += _beside(root, within, children)
    return (
        *(Rule(path, READ) for path in dict.fromkeys(readable)),
        *(Rule(root, READ_DIR) for root in roots if root not in hidden),
        *(Rule(path, READ) for one in confinement.shown for path in _shown(one, hidden, children)),
        *(Rule(root, WRITE) for root in confinement.writable),
        *(Rule(device, READ_FILE | WRITE_FILE | TRUNCATE) for device in _DEVICES),
        Rule(scratch, READ | WRITE),
    )


def _shown(
    folder: str, hidden: frozenset[str], children: Callable[[str], Sequence[Child]]
) -> Iterator[str]:
    """A folder that may be read although it lies in a hidden one, without what is hidden in it."""
    return _beside(folder, [one for one in hidden if not _is_in_one(folder, (one,))], children)


def _beside(
    folder: str, shut: Collection[str], children: Callable[[str], Sequence[Child]]
) -> Iterator[str]:
    """The largest places in ``folder`` that hold none of ``shut`` and are in none of them."""
    if _is_in_one(folder, shut):
        return
    inside = [one for one in shut if one.startswith(folder.rstrip("/") + "/")]
    if not inside:
        yield folder
        return
    try:
        found = children(folder)
    except OSError:  # then there is nothing in it for the command either
        return
    for child in found:
        path = f"{folder.rstrip('/')}/{child.name}"
        if child.is_folder:
            yield from _beside(path, inside, children)
        elif path not in shut:
            yield path


def _is_in_one(path: str, shut: Collection[str]) -> bool:
    return any(path == one or path.startswith(one.rstrip("/") + "/") for one in shut)
