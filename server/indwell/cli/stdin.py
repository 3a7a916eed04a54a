"""Prompts on standard input: one text to its end, or a line of JSON for each."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
from collections.abc import AsyncIterator

import msgspec

from indwell.errors import UserError

MOST_B = 16 << 20  # of one text or line; a prompt of that size no model takes
_PIECE_B = 64 << 10


class WrongInput(UserError):
    """What stands on standard input is no prompt."""


class _Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One prompt."""

    text: str


async def stdin_text() -> str:
    """All of it.

    Raises:
        WrongInput: It is too long, or there is nothing.
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
        raise WrongInput("there are no words; write what to do, or leave out `-`")
    return text


async def stdin_prompts() -> AsyncIterator[str]:
    """The words of one line after the other, each as soon as it is there.

    Raises:
        WrongInput: A line is no prompt; says which one, and why.
    """
    number = 0
    async for line in _lines():
        number += 1
        if not line.strip():
            continue
        try:
            words = msgspec.json.decode(line, type=_Line).text
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise WrongInput(
                f'line {number} is no prompt such as {{"text": "mend it"}}: {error}'
            ) from error
        if not words.strip():
            raise WrongInput(f"line {number} has no words; write what to do")
        yield words


async def _lines() -> AsyncIterator[bytes]:
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
    """What comes next; empty at the end. In a thread that nobody waits for when we end before it.

    Read from the descriptor: a buffer that such a thread holds could not be closed at our end.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[bytes] = loop.create_future()

    def tell(piece: bytes | OSError) -> None:
        if answer.done():
            return
        if isinstance(piece, OSError):
            answer.set_exception(WrongInput(f"it cannot be read ({piece.strerror})"))
        else:
            answer.set_result(piece)

    def read() -> None:
        piece: bytes | OSError
        try:
            piece = os.read(sys.stdin.fileno(), _PIECE_B)
        except OSError as error:
            piece = error
        with contextlib.suppress(RuntimeError):  # the loop has ended: nobody waits any more
            loop.call_soon_threadsafe(tell, piece)

    threading.Thread(target=read, daemon=True).start()
    return await answer
