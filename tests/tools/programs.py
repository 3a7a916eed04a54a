"""Which programs run in a folder, as the system sees it (Linux)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TypeVar

Answer = TypeVar("Answer")


def programs(folder: Path) -> list[str]:
    """Programs that run in a folder, except those that have ended."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdecimal():
            try:
                if (process / "cwd").readlink() == folder:
                    found.append(process.name)
            except OSError:
                continue  # it has ended, or is not ours
    return found


async def seen_running(
    folder: Path, call: Callable[[], Coroutine[object, object, Answer]]
) -> asyncio.Task[Answer]:
    """A call whose program runs in the folder at this moment.

    A program may start and end between two looks, and the system tells nobody
    when one starts: such a call is made again.

    Raises AssertionError if none of 200 calls was seen.
    """
    for _ in range(200):
        task = asyncio.create_task(call())
        while not task.done():
            if programs(folder):
                return task
            await asyncio.sleep(0)
        await task
    raise AssertionError(f"no program was seen in {folder}")
