"""What a confined command can do, and how well this machine can hold it. Pure values."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

Level: TypeAlias = Literal["S3", "S3m", "S2", "S1", "S0"]
"""From the best to none: bubblewrap and seccomp, Seatbelt, Landlock and seccomp, limits of the
process only, nothing (Windows, unknown shells)."""


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


class Confinement(msgspec.Struct, frozen=True):
    """The bounds of one command. Paths are absolute and resolved.

    Attributes:
        writable: Folders that it may write to: the workspace's roots.
        protected: Files and folders beneath them that it may not change, nor create if missing.
        hidden: Files and folders whose contents it may not see.
        hosts: Names it may reach through the proxy; empty is none at all.
        unix_sockets: May it make sockets of the family AF_UNIX?
    """

    writable: tuple[str, ...]
    protected: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    unix_sockets: bool = False
