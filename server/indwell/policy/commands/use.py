"""What running a program comes to, as the tables of programs say it."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from indwell.policy.commands.words import Word

Kind: TypeAlias = Literal["reads", "writes", "network", "destroys", "privileged", "unknown"]
"""From harmless to not known. ``writes`` is what a sandbox keeps in the workspace."""


class Use(msgspec.Struct, frozen=True):
    """A use of a program.

    Attributes:
        kind: The worst that it does.
        reason: Why it is not harmless, half a sentence for people.
        reads: Words that are paths to read.
        writes: Words that are paths to write.
        is_here: It reads the folder it runs in.
        is_deep: It reads the contents of all files beneath what it reads.
        skips_hidden: Then without names that begin with a dot.
        only: Then only files whose names match one of these globs; empty for all.
        takes_any: Words that only a run can tell make no difference.
        hosts: Where it connects to.
        inner: Words of commands that it runs.
        texts: Shell texts that it runs.
        is_work: It builds, tests or runs other programs; that it changes files is by the way.
        moves_to: Where it moves files that it takes away elsewhere.
        takes_up: It may replace files of the workspace that no word names, also protected ones.
        is_past: It reads what was committed, which no sandbox hides.
        installs: It puts programs where editors and shells start them from (`.venv/bin`).
        is_unbound: No sandbox gives it what it needs to reach other machines, such as keys.
    """

    kind: Kind
    reason: str = ""
    reads: tuple[Word, ...] = ()
    writes: tuple[Word, ...] = ()
    is_here: bool = False
    is_deep: bool = False
    skips_hidden: bool = False
    only: tuple[str, ...] = ()
    takes_any: bool = False
    hosts: tuple[str, ...] = ()
    inner: tuple[tuple[Word, ...], ...] = ()
    texts: tuple[str, ...] = ()
    is_work: bool = False
    moves_to: tuple[Word, ...] = ()
    takes_up: bool = False
    is_past: bool = False
    is_unbound: bool = False
    installs: bool = False


def writing(reason: str, *writes: Word) -> Use:
    """A use that changes files."""
    return Use("writes", reason, writes=writes)


def working(reason: str, *texts: str) -> Use:
    """A use that runs what nobody here knows, such as a build or a script."""
    return Use("writes", reason, texts=texts, is_work=True)
