"""Reads a line that a person types at the terminal, and asks yes-or-no questions."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import TextIO, TypeVar

from indwell.cli import STOPPED

if sys.platform != "win32":
    import termios

MOST_TRIES = 5  # after so many other inputs the user is not answering
YES_OR_NO: Mapping[str, bool] = {"y": True, "yes": True, "n": False, "no": False, "": False}

T = TypeVar("T")


class _Keyboard:
    """The only reading thread; a read cannot be stopped, so it serves the next question.

    Attributes:
        hear: Receives the line for the current question; None without a question.
        since: When the question was asked, in seconds.
        is_read: Is the thread waiting for a line?
    """

    def __init__(self) -> None:
        self.hear: Callable[[str | None], None] | None = None
        self.since = 0.0
        self.is_read = False
        self._lock = threading.Lock()

    def put(self, prompt: str, hear: Callable[[str | None], None]) -> None:
        """Pass the next typed line to ``hear``."""
        with self._lock:
            _forget_typed()
            self.hear, self.since = hear, time.monotonic()
            was_read, self.is_read = self.is_read, True
        if was_read:  # the thread of an unanswered question still reads
            sys.stdout.write(prompt)
            sys.stdout.flush()
        else:
            threading.Thread(target=self._read, args=(prompt,), daemon=True).start()

    def drop(self, hear: Callable[[str | None], None]) -> None:
        """Withdraw the question."""
        with self._lock:
            if self.hear is hear:
                self.hear = None

    def _read(self, prompt: str) -> None:
        while True:
            try:
                line: str | None = input(prompt)
            except EOFError:
                line = None
            typed = time.monotonic()
            with self._lock:
                if self.hear is None or typed >= self.since:
                    self.is_read = False
                    if self.hear is not None:
                        self.hear(line)
                    return
            prompt = ""  # the user typed it before the current question


_KEYBOARD = _Keyboard()


async def chosen(
    prompt: str, meanings: Mapping[str, T], tell_again: Callable[[], None]
) -> T | None:
    """The meaning of the typed word; for other words, ask again.

    None without an answer: at the end of input, or after ``MOST_TRIES`` other words. The caller
    must store nothing then.

    Args:
        prompt: Shown before each line.
        meanings: Keyed by the word in lower case; "" is Enter alone.
        tell_again: Shows the possible words.
    """
    for _ in range(MOST_TRIES):
        typed = await typed_line(prompt)
        if typed is None:
            return None
        if (word := typed.strip().lower()) in meanings:
            return meanings[word]
        tell_again()
    return None


async def typed_line(prompt: str) -> str | None:
    """Read a line from the terminal; None at the end of input.

    A thread of its own reads it, so that Ctrl-C need not wait for it.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[str | None] = loop.create_future()

    def tell(line: str | None) -> None:
        if not answer.done():
            answer.set_result(line)

    def hear(line: str | None) -> None:
        with contextlib.suppress(RuntimeError):  # the event loop has ended, so nobody waits
            loop.call_soon_threadsafe(tell, line)

    _KEYBOARD.put(prompt, hear)
    try:
        return await answer
    finally:
        _KEYBOARD.drop(hear)


def _forget_typed() -> None:
    """Drop keys that were typed before the question was visible: they do not answer it."""
    if sys.platform != "win32":
        with contextlib.suppress(termios.error, ValueError):  # not a terminal
            termios.tcflush(sys.stdin, termios.TCIFLUSH)


def yes_or_no(question: str, more: Mapping[str, bool] | None = None) -> int:
    """0 if the user says yes, 1 if not, 130 after Ctrl-C.

    Args:
        question: The question; "[y/N]" is appended.
        more: Other words for yes or no.
    """
    try:
        return 0 if says_yes(lambda: input(f"{question} [y/N] "), sys.stdout, more) else 1
    except KeyboardInterrupt:
        print()
        return STOPPED


def says_yes(
    ask: Callable[[], str], stream: TextIO, more: Mapping[str, bool] | None = None
) -> bool:
    """Ask until the answer is yes or no; the end of input and too many other words mean no.

    Args:
        ask: Shows the question and returns the typed line.
        stream: Where the question is shown.
        more: Other words for yes or no.
    """
    known = {**YES_OR_NO, **(more or {})}
    for _ in range(MOST_TRIES):
        try:
            typed = ask().strip().lower()
        except EOFError:
            stream.write("\n")
            return False
        if typed in known:
            return known[typed]
        stream.write("Type y for yes, or n (or Enter) for no.\n")
        stream.flush()
    return False
