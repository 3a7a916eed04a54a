"""Reads standard input: prompts from a program, and lines that a user types in the terminal."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import os
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import TextIO, TypeAlias, TypeVar

import msgspec

from indwell.cli import STOPPED
from indwell.cli.terminal.telling import told
from indwell.errors import UserError
from indwell.prepared_types import prepared

MOST_B = 16 << 20  # the limit of bytes for a text or line; no model accepts a prompt of this size
_PIECE_B = 64 << 10


class WrongInput(UserError):
    """Standard input contains no valid prompt."""


class _PromptLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A line of ``--stdin jsonl``, which contains one prompt."""

    text: str


def is_typed() -> bool:
    """Return whether stdin is a terminal, or False if stdin was closed before the start."""
    return sys.stdin is not None and sys.stdin.isatty()


async def stdin_text() -> str:
    """Read all of stdin.

    Raises:
        WrongInput: The text is too long or empty.
    """
    pieces: list[bytes] = []
    size = 0
    while piece := await _piece():
        pieces.append(piece)
        size += len(piece)
        if size > MOST_B:
            raise WrongInput(f"there are more than {MOST_B:,} bytes; send less")
    text = b"".join(pieces).decode("utf-8-sig", "replace")
    if not text.strip():
        raise WrongInput("it is empty; check the command before the pipe, or run without stdin")
    return text


async def stdin_prompts() -> AsyncIterator[str]:
    """Yield the prompt of each line as soon as it arrives.

    Raises:
        WrongInput: A line is not a prompt; the message names the line and the reason.
    """
    number = 0
    async for given in stdin_lines():
        number += 1
        line = given.removeprefix(codecs.BOM_UTF8) if number == 1 else given
        if not line.strip():
            continue
        try:
            words = msgspec.json.decode(line, type=prepared(_PromptLine)).text
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            why = "it ends too early, or with half a character" if _is_cut(error) else error
            raise WrongInput(
                f'line {number} is not a prompt such as {{"text": "fix it"}}: {why}'
            ) from error
        if not words.strip():
            raise WrongInput(f"line {number} has an empty prompt; write what to do")
        yield words


async def begun(prompts: AsyncIterator[str]) -> AsyncIterator[str]:
    """Read the first prompt, and raise its error; then return an iterator of all prompts."""
    first = await anext(prompts, None)

    async def all_of_them() -> AsyncIterator[str]:
        if first is not None:
            yield first
            async for one in prompts:
                yield one

    return all_of_them()


def _is_cut(error: Exception) -> bool:
    """Return whether msgspec reports a cut line; msgspec reports a lone surrogate the same way."""
    return "truncated" in str(error)


async def stdin_lines() -> AsyncIterator[bytes]:
    """Yield each line of stdin as soon as it arrives.

    Raises:
        WrongInput: A line is too long, or stdin is closed.
    """
    rest = b""
    while piece := await _piece():
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            yield line
        if len(rest) > MOST_B:
            raise WrongInput(f"a line has more than {MOST_B:,} bytes; send less")
    if rest:
        yield rest


async def _piece() -> bytes:
    """Read the next bytes in a daemon thread; return empty bytes at the end of stdin.

    The thread reads the descriptor, because a buffer in use cannot be closed at exit.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[bytes] = loop.create_future()

    stdin = sys.stdin
    if stdin is None:
        raise WrongInput("it is closed; connect a file, a pipe or /dev/null")

    def tell(piece: bytes | Exception) -> None:
        if answer.done():
            return
        if isinstance(piece, Exception):
            why = getattr(piece, "strerror", None) or piece
            answer.set_exception(WrongInput(f"it cannot be read ({why})"))
        else:
            answer.set_result(piece)

    def read() -> None:
        piece: bytes | Exception
        try:
            piece = os.read(stdin.fileno(), _PIECE_B)
        except (OSError, ValueError) as error:  # stdin was closed in the meantime
            piece = error
        with contextlib.suppress(RuntimeError):  # the event loop has ended, so no caller waits
            loop.call_soon_threadsafe(tell, piece)

    threading.Thread(target=read, daemon=True).start()
    return await answer


MOST_TRIES = 5  # After 5 invalid lines, the user counts as not answering.
_LETTERS = "Type y for yes, or n (or Enter) for no."
YES_OR_NO: Mapping[str, bool] = {"y": True, "yes": True, "n": False, "no": False, "": False}

T = TypeVar("T")
TypedLine: TypeAlias = Callable[[str], Awaitable[str | None]]
"""Shows a prompt; returns the line that the user types, or None at the end of input."""


class _Keyboard:
    """The only reader of stdin; a read cannot be stopped, so a read also serves later questions.

    Attributes:
        receive: Receives the answer to the current question, or None if there is no question.
        since: The time when the question was asked, in seconds.
        is_read: Whether the thread waits for a line.
    """

    def __init__(self) -> None:
        self.hear: Callable[[str | None], None] | None = None
        self.since = 0.0
        self.is_read = False
        self._lock = threading.Lock()

    def put(self, prompt: str, hear: Callable[[str | None], None]) -> None:
        """Pass the next typed line to ``hear``."""
        with self._lock:
            forget_typed()
            self.hear, self.since = hear, time.monotonic()
            was_read, self.is_read = self.is_read, True
        if was_read:  # the thread of an unanswered question is still reading
            _show(prompt)
        else:
            threading.Thread(target=self._read, args=(prompt,), daemon=True).start()

    def drop(self, hear: Callable[[str | None], None]) -> None:
        """Withdraw the question, so that a line typed for this question is ignored."""
        with self._lock:
            if self.hear is hear:
                self.hear = None

    def _read(self, prompt: str) -> None:
        if not sys.stdout.isatty():  # a prompt must not become a part of a script's answer
            _show(prompt)
            prompt = ""
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
            prompt = ""  # the user typed the line before the current question


def _show(prompt: str) -> None:
    """Write a prompt to the terminal."""
    stream = sys.stdout if sys.stdout.isatty() else sys.stderr
    stream.write(prompt)
    stream.flush()


_KEYBOARD = _Keyboard()


async def chosen(
    prompt: str,
    meanings: Mapping[str, T],
    tell_again: Callable[[], None],
    typed: TypedLine | None = None,
) -> T | None:
    """Ask until the user types a known word; return what the word stands for.

    The result is None at the end of input or after ``MOST_TRIES`` unknown words; the caller must
    then store no answer.

    Args:
        prompt: The text before each line.
        meanings: What each word in lower case stands for; the empty word is Enter alone.
        tell_again: Shows the known words.
        typed: Shows a prompt and reads a line; ``typed_line`` by default.
    """
    for _ in range(MOST_TRIES):
        line = await (typed or typed_line)(prompt)
        if line is None:
            return None
        if (word := line.strip().lower()) in meanings:
            return meanings[word]
        tell_again()
    return None


async def typed_line(prompt: str) -> str | None:
    """Read a line from the terminal; return None at the end of input.

    A separate thread reads the line, so that Ctrl-C need not wait.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[str | None] = loop.create_future()

    def tell(line: str | None) -> None:
        if not answer.done():
            answer.set_result(line)

    def hear(line: str | None) -> None:
        with contextlib.suppress(RuntimeError):  # the event loop has ended, so no caller waits
            loop.call_soon_threadsafe(tell, line)

    _KEYBOARD.put(prompt, hear)
    try:
        return await answer
    finally:
        _KEYBOARD.drop(hear)


if sys.platform == "win32":

    def forget_typed() -> None:
        """Drop keys pressed before the question was visible, because they are no answer."""
        import pywintypes
        import win32console

        with contextlib.suppress(pywintypes.error):  # stdin is not a console
            console = win32console.GetStdHandle(win32console.STD_INPUT_HANDLE)
            console.FlushConsoleInputBuffer()

    def keys_wait() -> bool:
        """Return whether typed keys wait to be read."""
        import msvcrt

        return msvcrt.kbhit()

else:
    import select
    import termios

    def forget_typed() -> None:
        """Drop keys pressed before the question was visible, because they are no answer."""
        with contextlib.suppress(termios.error, ValueError):  # stdin is not a terminal
            termios.tcflush(sys.stdin, termios.TCIFLUSH)

    def keys_wait() -> bool:
        """Return whether typed keys wait to be read."""
        return bool(select.select([sys.stdin], [], [], 0)[0])


def yes_or_no(question: str, more: Mapping[str, bool] | None = None) -> int:
    """Ask a question; return 0 for yes, 1 for no, 130 after Ctrl-C.

    Args:
        question: The question, to which "[y/N]" is appended.
        more: More words that count as yes or no.
    """
    try:
        return 0 if says_yes(lambda: input(f"{told(question)} [y/N] "), sys.stdout, more) else 1
    except KeyboardInterrupt:
        print()
        return STOPPED


def says_yes(
    ask: Callable[[], str], stream: TextIO, more: Mapping[str, bool] | None = None
) -> bool:
    """Ask until the answer is yes or no; the end of input and too many other words mean no.

    Args:
        ask: Shows the question and returns the typed line.
        stream: The stream for the question.
        more: More words that count as yes or no.
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
        stream.write(f"{told(_LETTERS)}\n")
        stream.flush()
    return False
