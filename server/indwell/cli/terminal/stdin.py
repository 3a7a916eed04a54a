"""Reads prompts from standard input: one text up to its end, or a line of JSON each."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import os
import sys
import threading
from collections.abc import AsyncIterator

import msgspec

from indwell.errors import UserError

MOST_B = 16 << 20  # bytes of a text or line; no model takes a prompt of this size
_PIECE_B = 64 << 10


class WrongInput(UserError):
    """Standard input holds no valid prompt."""


class _PromptLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One prompt."""

    text: str


def is_typed() -> bool:
    """Is stdin a terminal? False if it was closed before the start."""
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
    async for given in _lines():
        number += 1
        line = given.removeprefix(codecs.BOM_UTF8) if number == 1 else given
        if not line.strip():
            continue
        try:
            words = msgspec.json.decode(line, type=_PromptLine).text
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            why = "it ends too early, or with half a character" if _is_cut(error) else error
            raise WrongInput(
                f'line {number} is no prompt such as {{"text": "mend it"}}: {why}'
            ) from error
        if not words.strip():
            raise WrongInput(f"line {number} has an empty prompt; write what to do")
        yield words


async def begun(prompts: AsyncIterator[str]) -> AsyncIterator[str]:
    """The same prompts, with the first one already read; raises its error."""
    first = await anext(prompts, None)

    async def all_of_them() -> AsyncIterator[str]:
        if first is not None:
            yield first
            async for one in prompts:
                yield one

    return all_of_them()


def _is_cut(error: Exception) -> bool:
    """Does msgspec report a truncated line? It says the same of half a character."""
    return "truncated" in str(error)


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
    """Read the next bytes, empty at the end, in a thread that the process need not wait for.

    It reads the descriptor: a buffer in use by that thread could not be closed at exit.
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
        except (OSError, ValueError) as error:  # closed in the meantime
            piece = error
        with contextlib.suppress(RuntimeError):  # the event loop has ended, so nobody waits
            loop.call_soon_threadsafe(tell, piece)

    threading.Thread(target=read, daemon=True).start()
    return await answer
