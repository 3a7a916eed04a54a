"""What compaction wants done next: a rewrite that is ready, or a summary to be asked for."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from indwell.context.history import Splice
from indwell.messages import Block, Message


class Spill(msgspec.Struct, frozen=True):
    """A text that was cut, to be on disk before the step is taken (H21).

    Attributes:
        name: File name in the session's spill folder.
        text: All of it.
    """

    name: str
    text: str


class Step(msgspec.Struct, frozen=True):
    """A rewrite that is ready.

    Attributes:
        layer: Name of the layer that made it.
        splices: Ascending, not overlapping; indices before any of them is made.
        spills: Written before the step is taken.
        note: What the user is told; empty if nothing is worth a word.
    """

    layer: str
    splices: tuple[Splice, ...]
    spills: tuple[Spill, ...] = ()
    note: str = ""


class SummaryPlan(msgspec.Struct, frozen=True):
    """A summary that a model (or extraction) writes; ``summary.apply_summary`` makes the step.

    Attributes:
        layer: Name of the layer that wants it.
        start: First live message that it stands for.
        stop: The one behind the last.
        source: What it is made of: the originals, never a summary (H26).
        kept: Blocks that stay word for word: the user's words, pinned ones.
        range: What it stands for, in words for its head, such as ``turns 3 to 17``.
        target: Tokens that it should have: a fifth of the region's.
        most_characters: Of the source's text that a summariser may see; 0: all.
        most_of_message: The same for one message; 0: all.
        spills: Written before its step is taken: words of the user that no longer fit.
    """

    layer: str
    start: int
    stop: int
    source: tuple[Message, ...]
    kept: tuple[Block, ...]
    range: str
    target: int
    most_characters: int = 0
    most_of_message: int = 0
    spills: tuple[Spill, ...] = ()


Action: TypeAlias = Step | SummaryPlan
