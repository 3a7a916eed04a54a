"""The named sub-agents that a workspace brings along, as they were when a turn began."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

TOOL = "agent"  # begins them


async def nobody() -> tuple[str, ...]:
    """There are none."""
    return ()


class Roster:
    """Those of the workspace; the user's own stand in the description of the tool.

    Attributes:
        lines: A short one each, harmless as it is.

    Args:
        find: Gives the lines of this moment; reads files.
    """

    def __init__(self, find: Callable[[], Awaitable[tuple[str, ...]]] = nobody) -> None:
        self.lines: tuple[str, ...] = ()
        self._find = find

    async def look(self) -> None:
        """Look again."""
        self.lines = await self._find()
