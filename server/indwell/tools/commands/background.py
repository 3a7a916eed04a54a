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
"""Runs a command: takes who hears its output, what is set to stop it, and who hears what it made
although it may not."""


class Background(Protocol):
    """Keeps commands that outlive their calls."""

    async def start(self, command: str, run: Run, context: ToolContext) -> Outcome:
        """Let a command begin; the answer comes when it goes on, or has ended already.

        Raises:
            ToolError: It cannot begin, or too many run.
        """
        ...


class NoBackground:
    """Keeps none. Implements ``Background``."""

    async def start(self, command: str, run: Run, context: ToolContext) -> Outcome:
        """Refuse it.

        Raises:
            ToolError: Always.
        """
        del command, run, context
        raise ToolError("nothing can run on in the background here; run it without `background`")


NOWHERE = NoBackground()
