"""Limits the resources of a command, by kernel limits and by watching totals.

Kernel limits apply to each process of the command separately. Memory and the number of processes
are also limited in total, which ``LimitWatch`` measures.

Two figures of the whole machine are read ten times a second, which takes 0.1 ms. Only when these
figures are suspicious is the command itself measured. (RLIMIT_AS would break node and Java, which
reserve far more memory than they use.)
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
import time
from pathlib import Path

import msgspec

from indwell.sandbox.guard import guard
from indwell.sandbox.leftovers import here as leftovers

if sys.platform == "win32":
    import win32api

    from indwell.sandbox.leftovers import jobs
else:
    import resource

    from indwell.sandbox.leftovers.posix import IS_LINUX, ahead_of_others, bury, descendants
    from indwell.sandbox.leftovers.processes import (
        children,
        machine_ram_b,
        n_tasks,
        processes,
        ram_b,
    )

_LOCKS = 10  # The number is RLIMIT_LOCKS, which Linux ignores since 2.4.25; Python lacks the name.
_GRACE_CPU_S = 5  # KILL follows 5 s after the signal that can be caught.
_DISK_SHARE = 0.8
# The code is STATUS_QUOTA_EXCEEDED: a job ended the process because of its time.
_NO_QUOTA = 0xC0000044
_OOM_SCORE = 500  # The score is of 1,000; the kernel kills a command before the editor and Indwell.


class CommandLimits(msgspec.Struct, frozen=True):
    """The resource limits of a command; None means no limit.

    Attributes:
        cpu_s: Processor seconds of each process. By default all cores until the timeout, so that
            only leftover processes reach the limit; unlimited without a timeout.
        file_b: Bytes of each file that the command writes; at most 80 % of the free disk space.
        ram_b: Bytes of memory of all processes, or None for 80 % of the machine's memory.
        n_processes: Processes and threads in total; a build on 64 cores has some hundreds.
        n_files: Open files of each process. Watchers of big trees need tens of thousands. Old
            programs close every possible descriptor, which takes seconds for 10 ** 9.
    """

    cpu_s: int | None = None
    file_b: int = 10_000_000_000
    ram_b: int | None = None
    n_processes: int = 2_000
    n_files: int = 65_536


if sys.platform == "win32":

    def shell_prefix(limits: CommandLimits, mark: str, cwd: Path, timeout_s: float | None) -> str:
        """Return an empty text, because the job enforces the limits (``limit_run``)."""
        del limits, mark, cwd, timeout_s
        return ""

    def overrun(exit_code: int, limits: CommandLimits, timeout_s: float | None) -> str:
        """Name the limit of the job that an exit code points to; return an empty text for none."""
        cpu_s = limits.cpu_s or (timeout_s or 0) * (os.cpu_count() or 1)
        is_over = exit_code == _NO_QUOTA
        return f"over {cpu_s:,.0f} s of processor time" if is_over else ""

else:

    def shell_prefix(limits: CommandLimits, mark: str, cwd: Path, timeout_s: float | None) -> str:
        """Return shell text on one line that sets the limits for the shell and its children."""
        cpu_s = limits.cpu_s
        if timeout_s is not None:
            cpu_s = cpu_s or int(timeout_s * (os.cpu_count() or 1)) + 1
        settings = [
            "ulimit -c 0",
            *((f"ulimit -St {cpu_s}", f"ulimit -Ht {cpu_s + _GRACE_CPU_S}") if cpu_s else ()),
            f"ulimit -f {_file_b(limits.file_b, cwd) >> 10}",
            *_number("n", resource.RLIMIT_NOFILE, limits.n_files),
        ]
        if sys.platform.startswith("linux"):
            # A program inside another guarded program sets no mark of its own.
            if resource.getrlimit(_LOCKS)[1] == resource.RLIM_INFINITY:
                settings.insert(0, f"ulimit -x {mark}")
            # The kernel counts the user's processes and threads, which are at most those of the
            # machine. The kernel does not count for root, so `LimitWatch` counts.
            now = n_tasks()
            settings += _number("u", resource.RLIMIT_NPROC, now + limits.n_processes) if now else []
            settings.append(f"echo {_OOM_SCORE} >/proc/self/oom_score_adj")
        return f"{{ {'; '.join(settings)}; }} 2>/dev/null; "

    def overrun(exit_code: int, limits: CommandLimits, timeout_s: float | None) -> str:
        """Name the kernel limit that an exit code points to; return an empty text for none."""
        number = -exit_code if exit_code < 0 else exit_code - 128
        if number == signal.SIGXCPU:
            cpu_s = limits.cpu_s or (timeout_s or 0) * (os.cpu_count() or 1)
            return f"over {cpu_s:,.0f} s of processor time"
        if number == signal.SIGXFSZ:
            file_mb = limits.file_b / 1e6
            return f"a file of over {file_mb:,.0f} MB, or most of what is free on the disk"
        return ""

    def _number(letter: str, which: int, wanted: int) -> list[str]:
        """Set both limits; keep a tighter soft limit, and never raise a hard limit."""
        soft, hard = resource.getrlimit(which)
        tight = [wanted, *(one for one in (soft, hard) if one != resource.RLIM_INFINITY)]
        hardest = min(wanted, hard) if hard != resource.RLIM_INFINITY else wanted
        return [f"ulimit -S{letter} {min(tight)}", f"ulimit -H{letter} {hardest}"]


def _file_b(wanted: int, cwd: Path) -> int:
    try:
        free = shutil.disk_usage(cwd).free
    except OSError:  # The command itself reports the error.
        return wanted
    return max(min(wanted, int(free * _DISK_SHARE)), 1 << 20)


# In 0.1 s, a process fills a quarter of a gigabyte, or a fork bomb has 200 children.
LOOK_S = 0.1
_MANY = 64  # If there are 64 children, most have ended, because few commands run at once.
_SHARE = 0.8  # One command may use 80 % of the machine's memory.
_IDLE = 20  # The pause before the next measurement is 20 times the last one's duration.


if sys.platform == "win32":
    # The job allows 1.1 times the limit, because the watch ends the run earlier.
    _SLACK = 1.1

    def limit_run(
        run: leftovers.Run, limits: CommandLimits | None, timeout_s: float | None
    ) -> None:
        """Set the limits in the job before the program starts; a job cannot limit file sizes."""
        if limits is None:
            return
        cpu_s = limits.cpu_s
        if timeout_s is not None:
            cpu_s = cpu_s or int(timeout_s * (os.cpu_count() or 1)) + 1
        held = {
            "processes": limits.n_processes,
            "memory_b": int(_most_b(limits) * _SLACK),
            "cpu_s": (cpu_s or 0) + _GRACE_CPU_S if cpu_s else 0,
        }
        jobs.set_limits(run.job, held)

    def _most_b(limits: CommandLimits) -> int:
        return limits.ram_b or int(win32api.GlobalMemoryStatusEx()["TotalPhys"] * _SHARE)

    class LimitWatch:
        """Watches the totals of one run.

        Args:
            run: The run of a program that has not started yet.
            limits: The program's limits.
        """

        def __init__(self, run: leftovers.Run, limits: CommandLimits) -> None:
            # The exceeded limit as a phrase, after the run was ended because of the limit.
            self.overrun = ""
            self._run = run
            self._most_b = _most_b(limits)
            self._most_processes = limits.n_processes

        async def until_too_much(self, pid: int) -> None:
            """End the started program when the program exceeds a limit; may never return."""
            while not self.overrun:
                await asyncio.sleep(LOOK_S)
                told = win32api.GlobalMemoryStatusEx()
                is_full = told["TotalPhys"] - told["AvailPhys"] >= self._most_b
                if is_full and await asyncio.to_thread(self._memory_b) >= self._most_b:
                    self.overrun = f"over {self._most_b / 1e6:,.0f} MB of memory"
                elif jobs.n_active(self._run) >= self._most_processes:
                    self.overrun = f"over {self._most_processes:,} processes"
            leftovers.kill(pid, self._run)

        def _memory_b(self) -> int:
            return sum(map(jobs.memory_b, jobs.process_ids(self._run)))

else:

    def limit_run(
        run: leftovers.Run, limits: CommandLimits | None, timeout_s: float | None
    ) -> None:
        """Do nothing, because ``shell_prefix`` sets the limits."""
        del run, limits, timeout_s

    class LimitWatch:
        """Watches the totals of one run.

        Args:
            run: The run of a program that has not started yet.
            limits: The program's limits.
        """

        def __init__(self, run: leftovers.Run, limits: CommandLimits) -> None:
            # The exceeded limit as a phrase, after the run was ended because of the limit.
            self.overrun = ""
            self._run = run
            self._most_b = limits.ram_b or int(machine_ram_b()[0] * _SHARE)
            self._most_processes = limits.n_processes
            # Counted before the program starts: a fork bomb grows faster than the first look comes.
            self._fewest = n_tasks()

        async def until_too_much(self, pid: int) -> None:
            """End the started program when the program exceeds a limit; may never return."""
            pause_s = LOOK_S
            while IS_LINUX and not self.overrun:
                await asyncio.sleep(pause_s)
                guard.renew()
                if len(children() or ()) > _MANY:
                    await asyncio.to_thread(bury, self._run)
                is_full = 0 < self._most_b <= machine_ram_b()[1]
                now = n_tasks()
                self._fewest = min(self._fewest, now)  # other programs end, too
                if is_full or now - self._fewest >= self._most_processes:
                    began = time.monotonic()
                    # The run is ended in the same thread, because a growing fork bomb starves the
                    # event loop.
                    await asyncio.to_thread(self._end_excess, pid)
                    pause_s = max(LOOK_S, _IDLE * (time.monotonic() - began))
            if not IS_LINUX:
                await asyncio.get_running_loop().create_future()

        def _end_excess(self, pid: int) -> None:
            with ahead_of_others():
                young = tuple(processes(self._run.began))
                own = descendants(pid, self._run, young) | {pid}
                if sum(one.n_threads for one in young if one.pid in own) >= self._most_processes:
                    self.overrun = f"over {self._most_processes:,} processes and threads"
                elif sum(map(ram_b, own)) >= self._most_b:
                    self.overrun = f"over {self._most_b / 1e6:,.0f} MB of memory"
                if self.overrun:
                    leftovers.kill(pid, self._run)
                    leftovers.end_descendants(pid, self._run)
