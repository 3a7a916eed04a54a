"""What ``indwell review --json`` prints: one object, for programs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from indwell.cli.review_look import UNSAVED, Looked
from indwell.review.hunk import Actor, Hunk
from indwell.review.verdicts import Done


class HunkRow(msgspec.Struct, frozen=True):
    """A pending hunk; ``old`` and ``new`` are whole texts with their line ends."""

    id: str
    path: str
    line: int
    kind: str
    old: str
    new: str
    touched: bool
    note: str
    turns: tuple[Actor, ...]


class Kept(msgspec.Struct, frozen=True):
    """What was not done, and why; ``hunk`` is empty if it is about the whole file."""

    path: str
    why: str
    hunk: str = ""


class Report(msgspec.Struct, frozen=True):
    """What is pending, or what became of a verdict.

    Attributes:
        folder: The workspace.
        hunks: Pending ones, as they are afterwards.
        accepted: Ids that were accepted.
        rejected: Ids that were taken back.
        kept: What a verdict was not carried out for.
        unsaved: Files that an editor has not saved yet, with how many hunks.
        copies: Where the files of before are kept.
    """

    folder: str
    hunks: tuple[HunkRow, ...]
    accepted: tuple[str, ...] = ()
    rejected: tuple[str, ...] = ()
    kept: tuple[Kept, ...] = ()
    unsaved: dict[str, int] = {}
    copies: dict[str, str] = {}


def rows(hunks: Iterable[Hunk]) -> tuple[HunkRow, ...]:
    """Hunks as they are printed."""
    return tuple(
        HunkRow(
            id=one.id,
            path=named(one.path),
            line=one.line,
            kind=one.kind,
            old="".join(one.old),
            new="".join(one.new),
            touched=one.is_touched,
            note=one.note,
            turns=one.actors,
        )
        for one in hunks
    )


def kept_of(done: Done, looked: Looked) -> tuple[Kept, ...]:
    """Everything that was asked for and not done."""
    return (
        *(Kept(named(hunk.path), why, hunk.id) for hunk, why in done.kept),
        *(Kept(named(path), why) for path, why in done.failed),
        *(Kept("", "it is not pending any more", one) for one in done.unknown),
        *(Kept(named(path), UNSAVED) for path in looked.unsaved),
    )


def named(path: Path) -> str:
    """A path that JSON can carry."""
    return str(path)
