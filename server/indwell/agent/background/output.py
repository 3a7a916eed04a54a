"""What a background command writes: kept whole on disk up to a bound, its news for the model.

It is taken line by line, so that a secret is not torn where it is looked for. The event loop only
puts bytes aside; texts are made in threads.
"""

from __future__ import annotations

import asyncio
import codecs
from collections.abc import Awaitable, Callable

from indwell.tools.truncate import OUTPUT_LIMIT, OUTPUT_TAIL, plain

KEPT_CHARACTERS = 8_000_000  # of one command's output, on disk
SHOWN_CHARACTERS = 2_000  # of its end, for a list
MOST_WAITING_B = 4_000_000  # that are not made text yet; a command can write faster than that goes
_LONG_LINE_B = 65_536  # that has no end yet

Keep = Callable[[str], Awaitable[None]]


class News:
    """What the model has not seen yet: both ends, and how much was left out between them."""

    def __init__(self) -> None:
        self._head = ""
        self._tail = ""
        self._n_left_out = 0

    def add(self, text: str) -> None:
        """Take a text."""
        room = OUTPUT_LIMIT - len(self._head)
        if room > 0 and not self._tail:
            self._head, text = self._head + text[:room], text[room:]
        self._tail += text
        if len(self._tail) > OUTPUT_TAIL:
            self._n_left_out += len(self._tail) - OUTPUT_TAIL
            self._tail = self._tail[-OUTPUT_TAIL:]

    def take(self, where: str) -> str:
        """All of it; from here on it is no news. ``where`` says where the whole can be read."""
        head, tail, n = self._head, self._tail, self._n_left_out
        self._head, self._tail, self._n_left_out = "", "", 0
        if not n:
            return head + tail
        return f"{head}\n[… {n:,} characters left out{where} …]\n{tail}"


class Output:
    """The output of one command.

    Args:
        keep: Writes a piece to disk, or raises OSError; gets nothing that is over the bound.
        hide: A text without the secrets in it; called in a thread.
    """

    def __init__(self, keep: Keep, hide: Callable[[str], str]) -> None:
        self.tail = ""
        self.n_kept = 0  # characters on disk
        self.is_whole = True  # all of it is on disk
        self._keep = keep
        self._hide = hide
        self._waiting = bytearray()
        self._n_lost = 0
        self._news = News()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._taking = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    def feed(self, data: bytes) -> None:
        """Take what came; on the event loop."""
        room = MOST_WAITING_B - len(self._waiting)
        self._waiting += data[:room]
        self._n_lost += max(0, len(data) - room)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self.settle())

    async def settle(self, *, is_all: bool = False) -> None:
        """Make text of what came: of whole lines, or of all."""
        async with self._taking:
            while True:
                stop = len(self._waiting)
                if not is_all:
                    stop = self._waiting.rfind(b"\n") + 1 or (stop if stop > _LONG_LINE_B else 0)
                if not stop and not self._n_lost:
                    return
                data, self._waiting = bytes(self._waiting[:stop]), self._waiting[stop:]
                n_lost, self._n_lost = self._n_lost, 0
                text = await asyncio.to_thread(self._text, data)
                if n_lost:
                    text += f"\n[… {n_lost:,} bytes came too fast to be kept …]\n"
                await self._take(text)

    async def take_news(self, where: Callable[[], str]) -> str:
        """What was written since the last look, cut for the model."""
        await self.settle(is_all=True)
        return self._news.take(where())

    def _text(self, data: bytes) -> str:
        return self._hide(plain(self._decoder.decode(data)))

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
        except OSError:  # a full disk stops no command, and the newest lines are here anyway
            self.is_whole, self.n_kept = False, KEPT_CHARACTERS
