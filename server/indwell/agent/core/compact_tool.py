"""The tool ``compact``, by which the model asks for compaction (H32)."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from indwell.tools.base import Outcome, Tool, ToolContext, ToolFacts

NAME = "compact"


class CompactionWish:
    """A request to compact the conversation before the next model call; ``fit`` takes it."""

    def __init__(self) -> None:
        self._is_open = False

    def want(self) -> None:
        """Request a compaction."""
        self._is_open = True

    def take(self) -> bool:
        """Return whether a compaction was requested, and clear the request."""
        was_open, self._is_open = self._is_open, False
        return was_open


class CompactArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the model says."""

    reason: Annotated[str, Meta(description="why now, briefly")] = ""


def make_compact(wish: CompactionWish) -> Tool[CompactArguments]:
    """The tool of the session that ``wish`` belongs to."""

    async def run(arguments: CompactArguments, context: ToolContext) -> Outcome:
        del arguments, context
        wish.want()
        return Outcome("older parts will be shortened before your next step", figure="asked")

    return Tool(
        name=NAME,
        description="Shorten the older parts of this conversation when a new phase of work "
        "begins or they distract. The user's words and the task stay.",
        arguments=CompactArguments,
        effect="read",
        facts=lambda given: ToolFacts(tool=NAME, effect="read", subject=given.reason),
        run=run,
    )
