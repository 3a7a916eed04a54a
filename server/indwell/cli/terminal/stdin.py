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

MOST_B = 16 << 20  # of one text or line; a prompt of that size no model takes
_PIECE_B = 64 << 10


class WrongInput(UserError):
    """What stands on standard input is no prompt."""


class _PromptLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One prompt."""

    text: str


def is_typed() -> bool:
    """Does somebody type there? Where it was closed before we began there is none at all."""
    return sys.stdin is not None and sys.stdin.isatty()


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
        raise WrongInput("it is empty; check the command before the pipe, or leave stdin out")
    return text


async def stdin_prompts() -> AsyncIterator[str]:
    """The words of one line after the other, each as soon as it is there.

    Raises:
        WrongInput: A line is no prompt; says which one, and why.
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
            raise WrongInput(f"line {number} has no words; write what to do")
        yield words


async def begun(prompts: AsyncIterator[str]) -> AsyncIterator[str]:
    """The same ones, of which the first is there already; raises what that one raises."""
    first = await anext(prompts, None)

    async def all_of_them() -> AsyncIterator[str]:
        if first is not None:
            yield first
            async for one in prompts:
                yield one

    return all_of_them()


def _is_cut(error: Exception) -> bool:
    """Was that said, as msgspec says it of half a character too?"""
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
    """What comes next; empty at the end. In a thread that nobody waits for when we end before it.

    Read from the descriptor: a buffer that such a thread holds could not be closed at our end.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[bytes] = loop.create_future()

    stdin = sys.stdin
    if stdin is None:
        raise WrongInput("it is closed; give it a file, a pipe or /dev/null")

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
        except (OSError, ValueError) as error:  # closed meanwhile
            piece = error
        with contextlib.suppress(RuntimeError):  # the loop has ended: nobody waits any more
            loop.call_soon_threadsafe(tell, piece)

    threading.Thread(target=read, daemon=True).start()
    return await answer
