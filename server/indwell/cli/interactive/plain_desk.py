"""A line at a time without cursor movements, colours or moving parts, for screen readers and pipes.

The terminal itself edits the line. Text appears below it, as the terminal writes it.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from rich.console import Console

from indwell.cli.interactive.desk import LOOK_S, Line
from indwell.cli.terminal.stdin import forget_typed
from indwell.context.untrusted_text import visible


class PlainDesk:
    """Implements ``Desk``.

    Args:
        take: Receives each submitted line.
        keep: Stores a submitted line.
    """

    def __init__(self, *, take: Callable[[Line], None], keep: Callable[[str], None]) -> None:
        self._take, self._keep = take, keep
        self._answer: asyncio.Future[str | None] | None = None
        self._is_asking = False
        self._is_open = False
        self._last_line = 0.0
        self._end: asyncio.Event = asyncio.Event()
        self._console = Console(
            file=sys.stdout,
            force_terminal=False,
            color_system=None,
            no_color=True,
            width=100_000,
            highlight=False,
        )

    @property
    def console(self) -> Console:
        """The console for everything that is shown."""
        return self._console

    async def run(self) -> None:
        """Read lines until ``leave`` or the end of input."""
        loop = asyncio.get_running_loop()

        def read() -> None:
            while True:
                try:
                    line = sys.stdin.readline()
                except (OSError, ValueError):
                    line = ""
                with contextlib.suppress(RuntimeError):  # the session has ended
                    loop.call_soon_threadsafe(self._heard, line)
                if not line:
                    return

        threading.Thread(target=read, daemon=True).start()
        await self._end.wait()

    def leave(self) -> None:
        """End the reading of lines."""
        self._end.set()

    def refresh(self) -> None:
        """Do nothing, because nothing moves."""

    def show_live(self, text: str) -> None:
        """Do nothing: a paragraph is shown when it is complete."""
        del text

    def put_draft(self, words: str) -> None:
        """Show the words, because a plain terminal cannot put them into the line."""
        self._console.print(
            f"Your words were: {visible(words)}", markup=False, emoji=False, soft_wrap=True
        )

    @asynccontextmanager
    async def asking(self) -> AsyncIterator[None]:
        """Take no line as a prompt until the end."""
        self._is_asking = True
        try:
            yield
        finally:
            self._is_asking = False

    async def typed(self, prompt: str) -> str | None:
        """Show a prompt, and return the line that is typed after a moment."""
        self._answer = asyncio.get_running_loop().create_future()
        sys.stdout.write(visible(prompt))
        sys.stdout.flush()
        try:
            await self._silence()
            return await self._answer
        finally:
            self._answer, self._is_open = None, False

    async def _silence(self) -> None:
        """Drop what is typed until a moment passes without a line; the answer comes after it."""
        self._is_open, self._last_line = False, time.monotonic()
        forget_typed()
        while (left := self._last_line + LOOK_S - time.monotonic()) > 0:  # noqa: ASYNC110
            await asyncio.sleep(left)
        forget_typed()  # a line that was begun
        self._is_open = True

    def _heard(self, line: str) -> None:
        if not line:
            if self._answer is not None and not self._answer.done():
                self._answer.set_result(None)
            self.leave()
            return
        words = line.rstrip("\r\n")
        if self._answer is not None and not self._answer.done():
            if self._is_open:
                self._answer.set_result(words)
            self._last_line = time.monotonic()
            return
        if words.strip() and not self._is_asking:
            self._keep(words.strip())
            self._take(Line(words.strip()))
