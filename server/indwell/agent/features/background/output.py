"""Stores the output of a background command up to a limit, and keeps new output for the model.

Whole lines and whole private keys are decoded, so that the search for secrets never gets half a
secret. The model sees an unfinished line only up to the last blank. The event loop only queues
bytes. Threads decode the bytes in small parts with pauses, because a busy thread delays the event
loop. A command that writes faster than threads decode has to wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from indwell.lazy_pattern import lazy_pattern
from indwell.sandbox.capture import output_decoder
from indwell.secrets import open_key
from indwell.tools.truncate import OUTPUT_LIMIT, OUTPUT_TAIL, plain

KEPT_CHARACTERS = 8_000_000  # the limit of characters on disk for one command's output
# The limit of characters for the output's end in a list, and for an unfinished line.
SHOWN_CHARACTERS = 2_000
# The limit of bytes that wait for decoding, even if the writer ignores ``HELD_B``.
MOST_WAITING_B = 1_000_000
HELD_B = 1 << 18  # If more bytes wait for decoding, the command has to wait.
_PIECE_B = 1 << 15  # One step decodes 32 KB, which takes 1 ms.
_LONG_LINE_B = 65_536  # a longer unfinished line is decoded in parts
_MOST_PAUSE_S = 0.01  # the longest pause, in seconds, between two steps
_MOST_WORD_B = 4_096  # the limit of bytes for a word that is not split; secrets are shorter
_NO_WORD = lazy_pattern(rb"[^\w+/=.~:@-][\w+/=.~:@-]*\Z")
_BLANKS = (b" ", b"\t", b"\r")

Keep = Callable[[str], Awaitable[None]]


class News:
    """Collects new output for the model: the head, the tail, and the size of the omitted middle."""

    def __init__(self) -> None:
        self._head = ""
        self._tail = ""
        self._n_left_out = 0

    def add(self, text: str) -> None:
        """Append a text to the new output."""
        room = OUTPUT_LIMIT - len(self._head)
        if room > 0 and not self._tail:
            self._head, text = self._head + text[:room], text[room:]
        self._tail += text
        if len(self._tail) > OUTPUT_TAIL:
            self._n_left_out += len(self._tail) - OUTPUT_TAIL
            self._tail = self._tail[-OUTPUT_TAIL:]

    def take(self, where: str) -> str:
        """Return the new output and forget it; ``where`` names the file with the whole output."""
        head, tail, n = self._head, self._tail, self._n_left_out
        self._head, self._tail, self._n_left_out = "", "", 0
        if not n:
            return head + tail
        return f"{head}\n[… {n:,} characters left out{where} …]\n{tail}"


class Output:
    """Decodes and stores the output of one command.

    Args:
        keep: Writes text to disk or raises OSError; called only up to the limit.
        hide: Returns a text without its secrets; called in a thread.
    """

    def __init__(self, keep: Keep, hide: Callable[[str], str]) -> None:
        self.tail = ""
        self.n_kept = 0  # the number of characters that were written to disk
        self.is_whole = True  # whether the whole output is on disk
        self._keep = keep
        self._hide = hide
        self._waiting = bytearray()
        self._n_taken = 0  # the number of bytes that were decoded so far
        self._n_lost = 0
        self._is_losing = False  # whether bytes are dropped until the next line begins
        self._news = News()
        self._decoder = output_decoder()
        self._taking = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self._has_room: asyncio.Future[None] | None = None

    def feed(self, data: bytes) -> asyncio.Future[None] | None:
        """Queue bytes, on the event loop; if too many wait, return a future that ends the wait."""
        self._put(data)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._follow())
        if self._has_room is None and len(self._waiting) >= HELD_B:
            self._has_room = asyncio.get_running_loop().create_future()
        return self._has_room

    def _put(self, data: bytes) -> None:
        room = max(0, MOST_WAITING_B - len(self._waiting))
        if self._is_losing:
            start = data.find(b"\n") + 1
            if not start or len(data) - start > room:
                self._n_lost += len(data)
                return
            self._n_lost += start
            self._say_lost()
            self._is_losing, data = False, data[start:]
        self._waiting += data[:room]
        if len(data) > room:
            stop = _untorn(self._waiting)
            self._n_lost += len(data) - room + len(self._waiting) - stop
            self._is_losing = True
            del self._waiting[stop:]

    async def settle(self, *, is_end: bool = False) -> None:
        """Decode the complete lines among the received bytes; at the command's end, all bytes.

        The method ignores output that arrives during decoding, because a command may write without
        end.
        """
        async with self._taking:  # wait until the current step of decoding has ended
            self._say_lost()
            goal = self._n_taken + len(self._waiting)
        while self._n_taken < goal and await self._took(is_end=is_end):
            pass

    async def take_news(self, where: Callable[[], str]) -> str:
        """Return the output since the last call, cut for the model."""
        await self.settle()
        # Without the lock, a line that is decoded meanwhile would be returned twice.
        async with self._taking:
            shown = bytes(self._waiting[: _peek_stop(self._waiting)])
            line = await asyncio.to_thread(self._begun_line, shown) if shown else ""
            return self._news.take(where()) + line

    async def _follow(self) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            while await self._took():
                # The pause leaves half of the time to the event loop.
                await asyncio.sleep(min(loop.time() - began, _MOST_PAUSE_S))
                began = loop.time()
        finally:
            self._make_room()

    def _make_room(self) -> None:
        if self._has_room is not None:
            self._has_room.set_result(None)
            self._has_room = None

    async def _took(self, *, is_end: bool = False) -> bool:
        """Decode one part of the waiting bytes; return False if no bytes are waiting."""
        async with self._taking:
            stop = _stop(self._waiting) or (len(self._waiting) if is_end else 0)
            if not stop:
                return False
            data = bytes(self._waiting[:stop])
            del self._waiting[:stop]
            self._n_taken += stop
            if len(self._waiting) < HELD_B // 2:
                self._make_room()
            await self._take(await asyncio.to_thread(self._text, data))
            return True

    def _say_lost(self) -> None:
        """Add a note about lost output after the waiting output."""
        if self._n_lost:
            words = f"\n[… {self._n_lost:,} bytes came too fast to be kept …]\n"
            self._waiting += words.encode()
            self._n_lost = 0

    def _text(self, data: bytes) -> str:
        return self._hide(plain(self._decoder.decode(data)))

    def _begun_line(self, data: bytes) -> str:
        """Return the unfinished line; once finished, the line is returned again as a whole."""
        text = self._hide(plain(data.decode("utf-8", "replace")))
        return text if len(text) <= SHOWN_CHARACTERS else f"[…]{text[-SHOWN_CHARACTERS:]}"

    async def _take(self, text: str) -> None:
        self._news.add(text)
        self.tail = (self.tail + text)[-SHOWN_CHARACTERS:]
        room = KEPT_CHARACTERS - self.n_kept
        kept = text[:room]
        self.is_whole = self.is_whole and kept == text
        if not kept:
            return
        self.n_kept += len(kept)
        try:
            await self._keep(kept)
        except OSError:  # A full disk does not stop the command; the newest lines stay in memory.
            self.is_whole, self.n_kept = False, KEPT_CHARACTERS


def _stop(waiting: bytearray) -> int:
    """Return where a step of decoding may end: after whole lines, before an unfinished key.

    Such a position always exists if more bytes wait than a long line has.
    """
    stop = waiting.rfind(b"\n", 0, _PIECE_B) + 1
    if not stop:
        stop = waiting.find(b"\n", _PIECE_B, _LONG_LINE_B) + 1
    stop = _before_key(waiting, stop)
    if not stop and len(waiting) > _LONG_LINE_B:
        stop = _untorn(waiting[:_LONG_LINE_B])
        at = open_key(waiting[:stop].decode("latin-1"))
        stop = stop if at is None else at
    return stop


def _peek_stop(waiting: bytearray) -> int:
    """Return how many bytes of an unfinished line can be shown, or 0 if the line has ended."""
    if b"\n" in waiting:
        return 0
    return _before_key(waiting, max(map(waiting.rfind, _BLANKS)) + 1)


def _before_key(waiting: bytearray, stop: int) -> int:
    # Latin-1 has one character per byte, so positions stay the same.
    at = open_key(waiting[:stop].decode("latin-1"))
    return stop if at is None else waiting.rfind(b"\n", 0, at) + 1


def _untorn(data: bytearray) -> int:
    """Return a position between two words, or the end if no secret is as long as the last word."""
    start = max(data.rfind(b"\n") + 1, len(data) - _MOST_WORD_B)
    if start == len(data):
        return start
    found = _NO_WORD.search(data, start)
    if found is not None:
        return found.start() + 1
    return start if start > len(data) - _MOST_WORD_B else len(data)
