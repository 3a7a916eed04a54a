"""The program ``rg``: its place, the files that it searches, and its output in pieces."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import TypeVar

from indwell.errors import ToolError
from indwell.sandbox import Finished, find_program, run_program

WALK = ("--no-config", "--hidden", "--no-require-git", "--color=never")
"""Ignore files count, also outside of a git repository; hidden files count as files. Links are
never followed, which is ripgrep's default.
"""

T = TypeVar("T")

_ERRORS_B = 3_000  # bytes of its error messages and output, taken as they come


def ripgrep(never_in: Sequence[Path]) -> str:
    """Return the program's path.

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
    """Run ripgrep and pass on what it writes, in order, until that is enough.

    Args:
        options: Further options behind those of ``WALK``.
        cwd: The folder in which it runs.
        never_in: The workspace's folders; ripgrep runs without a sandbox, so it may come from none
            of them.
        timeout_s: Seconds until it is stopped.
        take: Takes the next bytes and returns whether they were enough; called in a thread, one
            call at a time, so that the event loop stays free.
        enough: Set as soon as ``take`` returns True; ripgrep ends a few milliseconds later.
        stdin: Its standard input.

    Raises:
        ToolError: There is no ripgrep, or ``cwd`` cannot be used.
        asyncio.CancelledError: The caller was cancelled; ripgrep has ended.
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
            alone=True,  # it starts other programs only with --pre and --search-zip
        )
        intake.close()
        await work
    finally:
        work.cancel()
        await asyncio.wait({work})
    return finished


async def together(*searches: Coroutine[object, object, T]) -> list[T]:
    """Run searches at the same time and wait for all, even if one fails or the caller is cancelled.

    Raises:
        ToolError: The first error of a search.
    """
    ended = await asyncio.gather(*searches, return_exceptions=True)
    return [_good(one) for one in ended]


def _good(ended: T | BaseException) -> T:
    if isinstance(ended, BaseException):
        raise ended
    return ended


class _Intake:
    """Passes pieces from the event loop to a thread; they queue while the thread works."""

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
