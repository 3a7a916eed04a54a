"""Finds the programs that run in a folder, on Linux."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TypeVar

Answer = TypeVar("Answer")


def programs(folder: Path) -> list[str]:
    """Return the programs that run in a folder."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdecimal():
            try:
                if (process / "cwd").readlink() == folder:
                    found.append(process.name)
            except OSError:
                continue  # the process has ended, or belongs to another user
    return found


async def seen_running(
    folder: Path, call: Callable[[], Coroutine[object, object, Answer]]
) -> asyncio.Task[Answer]:
    """Start a call, and return the task once a program of the call runs in the folder.

    A program may start and end between two checks. In that case the call is made again.

    An AssertionError is raised if no program of 200 calls was seen.
    """
    for _ in range(200):
        task = asyncio.create_task(call())
        while not task.done():
            if programs(folder):
                return task
            await asyncio.sleep(0)
        await task
    raise AssertionError(f"no program was seen in {folder}")
