"""The bounds of a confined command, and how strongly this machine can enforce them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

import msgspec

from indwell.errors import ToolError
from indwell.files.quarantine import Quarantine

Level: TypeAlias = Literal["S3", "S3m", "S2", "S2w", "S1", "S0"]
"""The levels, from the strongest to none.

The levels are bubblewrap with seccomp; Seatbelt; Landlock with seccomp; Windows' tokens, for
commands that only read; only resource limits; and nothing (on Windows).
"""


Hear: TypeAlias = Callable[[tuple[str, ...]], None]
"""Called in any thread with notes about files that a running command planted."""


class Hold(Protocol):
    """Type of a function that pauses or resumes a running command; see ``sandbox.leftovers``."""

    def __call__(self, who: str, *, is_still: bool) -> bool:
        """Pause or resume for the caller ``who``; return False if the pause failed."""


Watched: TypeAlias = Callable[[Hear, Hold], AbstractContextManager[None]]


def unwatched(_hear: Hear, _hold: Hold) -> AbstractContextManager[None]:
    """Watch nothing; used as the default for ``watched``."""
    return nullcontext()


class Strength(msgspec.Struct, frozen=True):
    """The strongest confinement of commands on this machine.

    Attributes:
        level: See ``Level``.
        reason: A sentence for the user on why the level is not the strongest, and how to improve
            it, or empty for the strongest level.
        words: A short description for the user, such as ``sandboxed (bubblewrap), no network``.
    """

    level: Level
    reason: str = ""
    words: str = ""

    @property
    def is_whole(self) -> bool:
        """Return whether commands may write, build and test in the sandbox without a question."""
        return self.level in {"S3", "S3m"}

    @property
    def holds_writers(self) -> bool:
        """Return whether commands that write run in a sandbox; if not, each needs an approval."""
        return self.level in {"S3", "S3m", "S2"}

    @property
    def holds_readers(self) -> bool:
        """Return whether commands that only read run in a sandbox without write access."""
        return self.holds_writers or self.level == "S2w"

    @property
    def asks_for_all(self) -> bool:
        """Return whether Indwell asks about every command, because nothing confines commands."""
        return self.level == "S0"

    @property
    def cuts_network(self) -> bool:
        """Return whether the sandbox keeps every command from the network."""
        return self.holds_writers

    @property
    def hides_home(self) -> bool:
        """Return whether no command can read the keys in the home folder."""
        return self.holds_writers


class Guarded(msgspec.Struct, frozen=True):
    """The paths to protect from one command, from a scan of the disk; absolute and resolved.

    Attributes:
        protected: Files and folders in writable folders that the command may not change.
        minor: Protected files that no tool loads by itself (a ``package.json`` deep in the tree). A
            limited number is protected; others are checked after the command.
        missing: Folders that the command may not create, because editors load them at once.
        hidden: Files and folders whose contents the command may not read.
        scratch: See ``Confinement``.
        mask: See ``Confinement``.
        shown: See ``Confinement``.
        environment: See ``Confinement``.
        refused: Why no command can be confined, as a clause, or empty if commands can be confined.
        settle: Scans again after the command has ended, moves away planted files, and returns a
            sentence for each file; blocks.
        settle_so_far: Moves away planted files while the command runs; some files are only checked
            at its end.
        watched: A context in which ``settle_so_far`` runs as soon as a protected name appears, and
            its results are reported. The command is paused while names appear faster than they can
            be checked.
        quarantine: The record of a failed check of the command's files.
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
        writable: Folders that the command may write to: the workspace's roots, or empty for a
            read-only command.
        protected: Files and folders in writable folders that the command may not change.
        hidden: Files and folders whose contents the command may not read.
        hosts: Hosts that the command may reach through the proxy, or empty for no network.
        unix_sockets: Whether the command may create AF_UNIX sockets.
        readable: Folders that the command may read, even inside hidden folders; writable folders
            are always readable.
        scratch: The session's folder that is mounted at /tmp; by default an empty folder.
        missing: Folders in writable folders that the command may not create.
        minor: See ``Guarded``.
        mask: An empty, unreadable file that replaces hidden files; by default a device.
        look: A function that scans for more protected and hidden files right before the command
            runs; blocks.
        settle: See ``Guarded``; the result of ``look`` replaces this value.
        settle_so_far: See ``settle``.
        watched: See ``settle``.
        quarantine: See ``settle``.
        shown: Folders in hidden folders that the command may still read.
        environment: Variables in addition to those of every command.
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
    """Return the same bounds with more readable folders, even inside hidden folders."""
    if not folders:
        return confinement
    return msgspec.structs.replace(confinement, shown=tuple(map(str, folders)))


def looked_up(confinement: Confinement) -> Confinement:
    """Return the same bounds with everything that ``look`` finds; blocks.

    Raises:
    ToolError: The scan failed.
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
