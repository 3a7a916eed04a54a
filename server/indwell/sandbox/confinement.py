"""What a confined command can do, and how well this machine can hold it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

import msgspec

from indwell.errors import ToolError
from indwell.files.aside import Quarantine

Level: TypeAlias = Literal["S3", "S3m", "S2", "S1", "S0"]
"""From the best to none: bubblewrap and seccomp, Seatbelt, Landlock and seccomp, limits of the
process only, nothing (Windows, unknown shells)."""


Hear: TypeAlias = Callable[[tuple[str, ...]], None]
"""Hears what a running command made although it may not, a sentence each; in any thread."""


class Hold(Protocol):
    """Pauses a running command, or lets it go on; for any thread. See ``sandbox.leftovers``."""

    def __call__(self, who: str, *, is_still: bool) -> bool:
        """For one of those that may want it to stand still; False if it could not be stopped."""


Watched: TypeAlias = Callable[[Hear, Hold], AbstractContextManager[None]]


def unwatched(_hear: Hear, _hold: Hold) -> AbstractContextManager[None]:
    """Nothing is watched."""
    return nullcontext()


class Strength(msgspec.Struct, frozen=True):
    """How well commands are held on this machine.

    Attributes:
        level: See ``Level``.
        reason: Why it is no better, and what would make it so, in a sentence for people; empty for
            the best.
        words: A few words for people, such as ``sandboxed (bubblewrap), no network``.
    """

    level: Level
    reason: str = ""
    words: str = ""


class Guarded(msgspec.Struct, frozen=True):
    """What a look at the disk found to be guarded from one command. Paths absolute and resolved.

    Attributes:
        protected: Files and folders beneath the writable ones that it may not change.
        minor: Such that nothing obeys by itself (a ``package.json`` deep down): held as far as
            there is room, and else looked at when the command has ended.
        missing: Folders that it may not make: ones that editors obey the moment they appear.
        hidden: Files and folders whose contents it may not see.
        scratch: See ``Confinement``.
        mask: See ``Confinement``.
        shown: See ``Confinement``.
        environment: See ``Confinement``.
        refused: Why no command can be held, a clause; empty if one can.
        settle: Looks again when all of the command has ended, puts aside what it made although it
            may not, and says so, a sentence each; blocks.
        settle_so_far: The same while the command runs; what it cannot mend waits for the end.
        watched: While it is entered, does ``settle_so_far`` the moment that a protected name
            appears, and tells what it put aside. The command stands still while names appear faster
            than they can be looked at.
        quarantine: Where it is written down if nobody could look at what the command made.
    """

    protected: tuple[str, ...] = ()
    minor: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    scratch: str = ""
    mask: str = ""
    shown: tuple[str, ...] = ()
    environment: Mapping[str, str] = {}
    refused: str = ""
    settle: Callable[[], tuple[str, ...]] = tuple
    settle_so_far: Callable[[], tuple[str, ...]] = tuple
    watched: Watched = unwatched
    quarantine: Quarantine | None = None


class Confinement(msgspec.Struct, frozen=True):
    """The bounds of one command. Paths are absolute and resolved.

    Attributes:
        writable: Folders that it may write to: the workspace's roots; none to read only.
        protected: Files and folders beneath them that it may not change.
        hidden: Files and folders whose contents it may not see.
        hosts: Names it may reach through the proxy; empty is none at all.
        unix_sockets: May it make sockets of the family AF_UNIX?
        readable: Folders that it sees wherever they lie; those it may write to it does anyway.
        scratch: A folder of the session's own that stands at /tmp; an empty one if not given.
        missing: Folders beneath the writable ones that it may not make.
        minor: See ``Guarded``.
        mask: An empty file that nobody may read, which stands where files are hidden; a device
            does if none is given.
        look: Finds what else is protected and hidden, just before the command runs; blocks.
        settle: See ``Guarded``; what ``look`` found brings its own.
        settle_so_far: As ``settle``.
        watched: As ``settle``.
        quarantine: As ``settle``.
        shown: Folders that it may read although they lie in hidden ones.
        environment: Variables that it gets besides those of every command.
    """

    writable: tuple[str, ...]
    protected: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    unix_sockets: bool = False
    readable: tuple[str, ...] = ()
    scratch: str = ""
    missing: tuple[str, ...] = ()
    minor: tuple[str, ...] = ()
    mask: str = ""
    look: Callable[[], Guarded] | None = None
    settle: Callable[[], tuple[str, ...]] = tuple
    settle_so_far: Callable[[], tuple[str, ...]] = tuple
    watched: Watched = unwatched
    quarantine: Quarantine | None = None
    shown: tuple[str, ...] = ()
    environment: Mapping[str, str] = {}


def showing(confinement: Confinement, folders: Sequence[Path]) -> Confinement:
    """The same bounds with folders that it may read as well, wherever they lie."""
    if not folders:
        return confinement
    return msgspec.structs.replace(confinement, shown=tuple(map(str, folders)))


def looked_up(confinement: Confinement) -> Confinement:
    """The same bounds with all that ``look`` finds; blocks.

    Raises:
        ToolError: It cannot see what is to be guarded.
    """
    if confinement.look is None:
        return confinement
    found = confinement.look()
    if found.refused:
        raise ToolError(
            f"nothing was run: {found.refused}; ask for it outside the sandbox, or let the user "
            "open a smaller folder"
        )
    return msgspec.structs.replace(
        confinement,
        protected=(*confinement.protected, *found.protected),
        hidden=(*confinement.hidden, *found.hidden),
        missing=(*confinement.missing, *found.missing),
        minor=(*confinement.minor, *found.minor),
        scratch=confinement.scratch or found.scratch,
        mask=confinement.mask or found.mask,
        shown=tuple(dict.fromkeys((*confinement.shown, *found.shown))),
        environment={**confinement.environment, **found.environment},
        look=None,
        settle=found.settle,
        settle_so_far=found.settle_so_far,
        watched=found.watched,
        quarantine=found.quarantine,
    )
