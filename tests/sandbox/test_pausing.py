"""A command can be paused with all its processes, and then continues."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from indwell.sandbox import spawn
from indwell.sandbox.confinement import Confinement, Guarded, Hear, Hold
from support.bubblewrap import needs_bubblewrap

pytestmark = needs_bubblewrap

DAEMONS = """
import os, sys, time
for name in ("child", "daemon"):
    if os.fork() == 0:
        if name == "daemon":
            os.setsid()
            if os.fork():
                os._exit(0)
        while True:
            with open(name, "a") as file:
                file.write("x")
            time.sleep(0.001)
print("ready", flush=True)
while True:
    if os.fork() == 0:
        with open("bomb", "a") as file:
            file.write("x")
        os._exit(0)
    os.wait()
"""


IN_FLIGHT = 4
"""Writes of this many processes that the kernel may end after they were told to stop."""


class Held:
    """The reports to the watch of a command."""

    def __init__(self) -> None:
        self.hold: Hold | None = None

    @contextlib.contextmanager
    def watched(self, _hear: Hear, hold: Hold) -> Iterator[None]:
        self.hold = hold
        yield

    async def stop(self, who: str) -> None:
        """Pause the command; a fork bomb may fork faster than a busy machine stops processes."""
        while not await self.stand(who, is_still=True):
            pass

    async def stand(self, who: str, *, is_still: bool) -> bool:
        assert self.hold is not None
        return await asyncio.to_thread(self.hold, who, is_still=is_still)


def sizes(folder: Path) -> list[int]:
    return [(folder / name).stat().st_size for name in ("child", "daemon", "bomb")]


def grown(before: list[int], after: list[int]) -> int:
    return sum(after) - sum(before)


def all_grew(folder: Path, before: list[int]) -> bool:
    return all(now > was for now, was in zip(sizes(folder), before, strict=True))


async def until(is_so: Callable[[], bool]) -> None:
    while not is_so():  # noqa: ASYNC110 - files of another process tell nobody
        await asyncio.sleep(0.01)


async def test_all_processes_of_a_command_are_paused_until_the_last_request_ends(
    tmp_path: Path,
) -> None:
    (tmp_path / "p.py").write_text(DAEMONS)
    held, is_ready, stop = Held(), asyncio.Event(), asyncio.Event()
    bounds = Confinement(writable=(str(tmp_path),), look=lambda: Guarded(watched=held.watched))
    running = asyncio.create_task(
        spawn(
            f"{sys.executable} p.py",
            cwd=tmp_path,
            timeout_s=None,
            confinement=bounds,
            on_chunk=lambda _chunk: is_ready.set(),
            stop=stop,
        )
    )
    await is_ready.wait()
    await until(lambda: all((tmp_path / name).exists() for name in ("child", "daemon", "bomb")))
    for _ in range(3):
        await held.stop("a")
        await held.stop("b")
        before = sizes(tmp_path)
        await asyncio.sleep(0.2)
        assert await held.stand("a", is_still=False)
        await asyncio.sleep(0.2)
        assert grown(before, sizes(tmp_path)) <= IN_FLIGHT
        before = sizes(tmp_path)
        assert await held.stand("b", is_still=False)
        await until(functools.partial(all_grew, tmp_path, before))
    await held.stop("a")
    stop.set()
    finished = await running
    assert finished.exit_code
    assert await held.stand("a", is_still=True), "it has ended, so nothing is stopped"
