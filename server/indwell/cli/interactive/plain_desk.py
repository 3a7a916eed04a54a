"""Reads one line at a time, for screen readers and pipes: nothing moves, nothing is coloured.

The terminal itself edits the line. Text appears below it, as the terminal writes it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

from rich.console import Console

from indwell.cli.interactive.desk import LOOK_S, PASTE_S, Line
from indwell.cli.terminal.stdin import forget_typed
from indwell.context.untrusted_text import visible

if sys.platform == "win32":

    @contextmanager
    def reading(take: Callable[[bytes], None]) -> Iterator[None]:
        """Pass each typed line to ``take`` from a thread, until the context ends."""
        loop = asyncio.get_running_loop()

        def read() -> None:
            line = "\n"
            while line:
                try:
                    line = sys.stdin.readline()
                except (OSError, ValueError):
                    line = ""
                with contextlib.suppress(RuntimeError):  # the session has ended
                    loop.call_soon_threadsafe(take, line.encode())

        threading.Thread(target=read, daemon=True).start()
        yield

    @contextmanager
    def single_keys() -> Iterator[None]:
        """Do nothing, because a Windows console is read line by line."""
        yield

else:
    import termios

    @contextmanager
    def reading(take: Callable[[bytes], None]) -> Iterator[None]:
        """Pass typed bytes to ``take``, until the context ends."""
        loop, number = asyncio.get_running_loop(), sys.stdin.fileno()

        def read() -> None:
            try:
                data = os.read(number, 65_536)
            except OSError:
                data = b""
            if not data:
                loop.remove_reader(number)
            take(data)

        loop.add_reader(number, read)
        try:
            yield
        finally:
            loop.remove_reader(number)

    @contextmanager
    def single_keys() -> Iterator[None]:
        """Receive each key at once, and let the terminal show no key, until the context ends."""
        number = sys.stdin.fileno()
        before = termios.tcgetattr(number)
        changed = termios.tcgetattr(number)
        changed[3] &= ~(termios.ICANON | termios.ECHO)
        termios.tcsetattr(number, termios.TCSANOW, changed)
        try:
            yield
        finally:
            termios.tcsetattr(number, termios.TCSANOW, before)


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
        self._last_key = 0.0
        self._rest = b""
        self._last_line = float("-inf")
        self._n_heard = 0
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
        with reading(self._read):
            await self._end.wait()

    def leave(self) -> None:
        """End the reading of lines."""
        self._end.set()

    def refresh(self) -> None:
        """Do nothing, because nothing moves."""

    def show_live(self, text: str) -> None:
        """Do nothing, because a plain terminal shows a paragraph only when it is complete."""
        del text

    def put_draft(self, words: str) -> None:
        """Show the text, because a plain terminal cannot put text into the input line."""
        self._console.print(
            f"Your words were: {visible(words)}", markup=False, emoji=False, soft_wrap=True
        )

    @asynccontextmanager
    async def asking(self) -> AsyncIterator[None]:
        """Use no line as a prompt until the context ends."""
        self._is_asking = True
        try:
            yield
        finally:
            self._is_asking = False

    async def typed(self, prompt: str) -> str | None:
        """Show a prompt, and return the line that the user types after a short pause."""
        self._answer = asyncio.get_running_loop().create_future()
        sys.stdout.write(visible(prompt))
        sys.stdout.flush()
        try:
            await self._silence()
            return await self._answer
        finally:
            self._answer, self._is_open = None, False

    async def _silence(self) -> None:
        """Drop typed keys until a moment passes without a key; the answer is read afterwards."""
        self._is_open, self._rest = False, b""
        forget_typed()
        with single_keys():
            self._last_key = time.monotonic()
            while (left := self._last_key + LOOK_S - time.monotonic()) > 0:  # noqa: ASYNC110
                await asyncio.sleep(left)
        forget_typed()
        self._is_open = True

    def _read(self, data: bytes) -> None:
        """Process typed bytes; no bytes mean that the input has ended."""
        if self._answer is not None and not self._is_open:
            # The user typed this key before a screen reader could read the question aloud.
            self._last_key = time.monotonic()
            if data:
                return
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._heard(line.decode("utf-8", "replace") + "\n")
        if not data:
            self._heard("")

    def _heard(self, line: str) -> None:
        if not line:
            if self._answer is not None and not self._answer.done():
                self._answer.set_result(None)
            self.leave()
            return
        self._n_heard += 1
        at = self._n_heard
        words = line.rstrip("\r\n")
        if self._answer is not None and not self._answer.done():
            self._last_line = time.monotonic()
            self._answer.set_result(words)
            return
        since, self._last_line = time.monotonic() - self._last_line, time.monotonic()
        if words.strip() and not self._is_asking:
            self._keep(words.strip())
            typed = Line(words.strip(), is_alone=since >= PASTE_S)
            if typed.words.startswith("!"):
                asyncio.get_running_loop().call_later(PASTE_S, self._take_later, typed, at)
            else:
                self._take(typed)

    def _take_later(self, line: Line, at: int) -> None:
        """Take a line, and note whether more input came just after the line."""
        self._take(line._replace(is_alone=line.is_alone and self._n_heard == at))
