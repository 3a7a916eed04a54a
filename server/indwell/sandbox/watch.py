"""Watch what a command takes in all, while it runs: memory, and the number of its processes.

Two figures of the whole machine are looked at ten times a second, which takes 0.1 ms. Only if one
of them says that the command could be over its limits is looked at the command itself. (A limit of
address space, RLIMIT_AS, would stop node and Java, which reserve far more than they use.)
"""

from __future__ import annotations

import asyncio
import time

from indwell.sandbox.guard import guard
from indwell.sandbox.leftovers import (
    ahead_of_others,
    bury,
    descendants,
    end_descendants,
    signal_group,
)
from indwell.sandbox.limits import Limits
from indwell.sandbox.orphans import IS_LINUX, Run
from indwell.sandbox.processes import children, machine_memory_b, memory_b, n_tasks, processes

LOOK_S = 0.1  # in which a process fills a quarter of a gigabyte, or a bomb has 200 children
_MANY = 64  # children, most of which must be dead; the commands that run at once are few
_SHARE = 0.8  # of the machine's memory, for one command
_IDLE = 20  # times as long as a closer look takes, until the next one


class Watch:
    """Over one run.

    Args:
        pid: The program that was started.
        run: Its run.
        limits: What it may take.
    """

    def __init__(self, pid: int, run: Run, limits: Limits) -> None:
        self.overrun = ""  # in words, as soon as the run is ended for it
        self._pid = pid
        self._run = run
        self._most_b = limits.memory_b or int(machine_memory_b()[0] * _SHARE)
        self._most_processes = limits.n_processes

    async def until_too_much(self) -> None:
        """Wait until it takes more than its limits in all, and end it; if it never does, wait."""
        before = n_tasks()
        pause_s = LOOK_S
        while IS_LINUX and not self.overrun:
            await asyncio.sleep(pause_s)
            guard.renew()
            if len(children() or ()) > _MANY:
                await asyncio.to_thread(bury, self._run)
            is_full = 0 < self._most_b <= machine_memory_b()[1]
            if is_full or n_tasks() - before >= self._most_processes:
                began = time.monotonic()
                # Ended in the same thread: while a bomb grows, the event loop comes to nothing.
                await asyncio.to_thread(self._end_excess)
                pause_s = max(LOOK_S, _IDLE * (time.monotonic() - began))
        if not IS_LINUX:
            await asyncio.get_running_loop().create_future()

    def _end_excess(self) -> None:
        with ahead_of_others():
            young = tuple(processes(self._run.began))
            own = descendants(self._pid, self._run, young) | {self._pid}
            if sum(one.n_threads for one in young if one.pid in own) >= self._most_processes:
                self.overrun = f"over {self._most_processes:,} processes and threads"
            elif sum(map(memory_b, own)) >= self._most_b:
                self.overrun = f"over {self._most_b / 1e6:,.0f} MB of memory"
            if self.overrun:
                signal_group(self._pid, "SIGKILL")
                end_descendants(self._pid, self._run)
