"""The program ``rg``: where it is, which files it goes through, and what it writes, by pieces."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import TypeVar

from indwell.errors import ToolError
from indwell.sandbox import Finished, find_program, run_program

WALK = ("--no-config", "--hidden", "--no-require-git", "--color=never")
"""Ignore files count, also outside of a git repository; hidden files are files like others. Links
are never followed: that is ripgrep's default."""

T = TypeVar("T")

_ERRORS_B = 3_000  # of its complaints and of its output, which is taken as it comes


def ripgrep(never_in: Sequence[Path]) -> str:
    """The program's path.

    Args:
        never_in: The workspace's folders.

    Raises:
        ToolError: It is not installed.
    """
    found = find_program("rg", never_in)
    if found is None:
        raise ToolError(
            "ripgrep (rg) was not found beside Python or on PATH; install it with "
            "'pip install ripgrep' or the system's packages, or search with bash"
        )
    return str(found)


async def listen(
    options: Sequence[str],
    *,
    cwd: Path,
    never_in: Sequence[Path],
    timeout_s: float,
    take: Callable[[bytes], bool],
    enough: asyncio.Event | None = None,
    stdin: bytes = b"",
) -> Finished:
    """Run ripgrep and hand over what it writes, in order, until that is enough.

    Args:
        options: What follows the options of ``WALK``.
        cwd: Where it runs.
        never_in: The workspace's folders: ripgrep runs without a sandbox, so it is none of theirs.
        timeout_s: Seconds until it is ended.
        take: Takes the next bytes and says whether they were enough; runs in a thread, so that
            the event loop stays free, one call at a time.
        enough: Set as soon as ``take`` said so; ripgrep ends a few milliseconds later.
        stdin: What it reads from standard input.

    Raises:
        ToolError: There is no ripgrep, or ``cwd`` cannot be used.
        asyncio.CancelledError: Once ripgrep has ended.
    """
    intake = _Intake(take, enough or asyncio.Event())
    work = asyncio.create_task(intake.work())
    try:
        finished = await run_program(
            [ripgrep(never_in), *WALK, *options],
            cwd=cwd,
            timeout_s=timeout_s,
            limit_b=_ERRORS_B,
            on_chunk=intake.feed,
            enough=intake.enough,
            stdin=stdin,
            alone=True,  # of --pre and --search-zip, which start others, none is given
        )
        intake.close()
        await work
    finally:
        work.cancel()
        await asyncio.wait({work})
    return finished


async def together(*searches: Coroutine[object, object, T]) -> list[T]:
    """Run searches at the same time and wait for all, also if one fails or we are cancelled.

    Raises:
        ToolError: The first that one of them raised.
    """
    ended = await asyncio.gather(*searches, return_exceptions=True)
    return [_good(one) for one in ended]


def _good(ended: T | BaseException) -> T:
    if isinstance(ended, BaseException):
        raise ended
    return ended


class _Intake:
    """Pieces between the event loop and a thread; while that works, they gather."""

    def __init__(self, take: Callable[[bytes], bool], enough: asyncio.Event) -> None:
        self.enough = enough
        self._take = take
        self._pieces: list[bytes] = []
        self._came = asyncio.Event()
        self._is_closed = False

    def feed(self, data: bytes) -> None:
        if not self.enough.is_set():
            self._pieces.append(data)
            self._came.set()

    def close(self) -> None:
        self._is_closed = True
        self._came.set()

    async def work(self) -> None:
        while not self._is_closed or self._pieces:
            await self._came.wait()
            self._came.clear()
            data = b"".join(self._pieces)
            self._pieces.clear()
            if not data:
                continue
            is_enough = await asyncio.to_thread(self._take, data)
            if is_enough:
                self.enough.set()
                self._pieces.clear()
                return
