"""The interface by which ``bash`` starts a background command."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Protocol, TypeAlias

from indwell.errors import ToolError
from indwell.sandbox import Finished
from indwell.sandbox.capture import OnChunk
from indwell.tools.base import Outcome, ToolContext

Running: TypeAlias = Coroutine[None, None, Finished]
Run: TypeAlias = Callable[[OnChunk, asyncio.Event, Callable[[str], None]], Running]
"""Runs a command; takes a receiver of its output, an event that stops it, and a receiver of what it
did without permission.
"""


class Background(Protocol):
    """Keeps commands that outlive their calls."""

    async def start(self, command: str, run: Run, context: ToolContext) -> Outcome:
        """Start a command, and answer when it runs on or has already ended.

        Raises:
            ToolError: It cannot start, or too many commands run.
        """
        ...


class NoBackground:
    """Keeps no command. Implements ``Background``."""

    async def start(self, command: str, run: Run, context: ToolContext) -> Outcome:
        """Refuse the command.

        Raises:
            ToolError: Always.
        """
        del command, run, context
        raise ToolError("nothing can run on in the background here; run it without `background`")


NOWHERE = NoBackground()
