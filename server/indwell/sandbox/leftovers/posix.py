"""Ends or pauses a program with everything it started, even outside its group, on POSIX.

Each run (a program with its descendants) has a random number, its mark. The descendants inherit the
mark twice: in the environment, and as a resource limit without effect. A signal to the program's
process group misses children that began their own session. On Linux, the mark in /proc finds these
children (`safety.json` PRC-01: killing only the group left 4 of 7). An orphaned process without a
mark becomes Indwell's child.

A child can clear its environment and leave its session. When the child's parent ends, the kernel
makes the child Indwell's child, because Indwell is a "subreaper". An orphan belongs to the run
during which the orphan started. If several runs could have started an orphan, the last of these
runs kills it. Programs that the sandbox itself started are never killed this way, nor is any
process in Indwell's session, which children of a run cannot join. Children of other parts of
Indwell are therefore safe unless they lead a session.

A command that creates files faster than they can be checked is paused until they are checked.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import functools
import os
import select
import signal
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager

import msgspec

from indwell.sandbox.leftovers.processes import (
    Process,
    children,
    has_words,
    is_marked,
    process_of,
    processes,
    ticks_now,
)

assert sys.platform != "win32"

_DYING_S = 0.003
_QUIET = 3  # A single empty scan of /proc proves nothing, so three scans in a row must be empty.
# The search takes at most 5 s for processes that fork; a fork bomb of 200 needs less than one.
SEARCH_S = 5.0


def signal_group(pid: int, name: str) -> bool:
    """Send a signal, such as ``SIGTERM``, to a process group; return False for an empty group."""
    try:
        os.killpg(pid, getattr(signal, name))
    except ProcessLookupError:
        return False
    except PermissionError:  # On macOS, a group that has only zombies raises this error.
        return False
    return True


def is_alive(pid: int) -> bool:
    """Return whether there is a process with this id, perhaps of another user."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


async def ask_to_end(pid: int, run: Run, grace_s: float, *, is_wrapped: bool) -> bool:
    """Send TERM to a program; return whether to wait for the program's end.

    In a sandbox, the target is the group of the sandbox's child, not the sandbox's own group. The
    sandbox leads another session and, as the first process of its namespace, ignores every signal
    but KILL.

    Args:
        pid: The started program.
        run: The program's run.
        grace_s: Seconds that the caller waits afterwards.
        is_wrapped: Whether the program runs in a sandbox.
    """
    del grace_s
    if is_wrapped:
        await asyncio.to_thread(_signal_wrapped, pid, run, "SIGTERM")
    else:
        signal_group(pid, "SIGTERM")
    return True


def kill(pid: int, run: Run) -> None:
    """Kill the process group of a program; ``end_descendants`` finds the others."""
    del run
    signal_group(pid, "SIGKILL")


def _signal_wrapped(pid: int, run: Run, name: str) -> None:
    for one in processes(run.began) if IS_LINUX else ():
        if one.parent == pid and one.session == one.pid:
            signal_group(one.pid, name)


class LeftoverRun(msgspec.Struct, frozen=True):
    """Processes that a run left running.

    Attributes:
        n: How many processes were killed.
        is_gone: Whether certainly no process is left; False if the search took too long.
    """

    n: int
    is_gone: bool = True


def end_descendants(pid: int, run: Run) -> LeftoverRun:
    """Kill a run's remaining processes until none is found.

    Of Indwell's children, only the orphans of this run are reaped. The call blocks: on Linux it
    scans /proc, which takes about 15 µs for each process, and longer for young processes.

    Args:
        pid: The started program, which led its own session and group.
        run: The program's run, which starts no more processes.
    """
    over(run)
    if not IS_LINUX:
        return LeftoverRun(int(signal_group(pid, "SIGKILL")))
    found: set[int] = set()
    enough_at = time.monotonic() + SEARCH_S
    n_quiet = 0
    with ahead_of_others():
        while n_quiet < _QUIET and time.monotonic() < enough_at:
            is_alive = _end_those_alive(pid, run, found)
            is_certain = _end_orphans(run, found, enough_at)
            n_quiet = 0 if is_alive else _QUIET if is_certain else n_quiet + 1
    return LeftoverRun(len(found), n_quiet == _QUIET)


def end_wrapped(pid: int, run: Run) -> LeftoverRun:
    """End what is left of a program that entered a process namespace.

    When the first process of that namespace is killed, the kernel ends all other processes of the
    namespace. No search is needed. The call blocks.
    """
    over(run)
    until = time.monotonic() + SEARCH_S
    for number in children() or ():
        process = None if is_started(number) else process_of(number)
        if process is not None and is_orphan_of(run, process):
            _signal(number, signal.SIGKILL)
            _see_end(number, until)
    if _end_orphans(run, set(), until):
        return LeftoverRun(0)
    return end_descendants(pid, run)


def _see_end(pid: int, until: float) -> None:
    if sys.platform != "linux":
        return
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:  # The process was reaped.
        return
    try:
        ending = select.poll()
        ending.register(descriptor, select.POLLIN)
        ending.poll(max(0, int((until - time.monotonic()) * 1_000)))
    finally:
        os.close(descriptor)


def _end_orphans(run: Run, found: set[int], enough_at: float) -> bool:
    """Kill the orphans among Indwell's children; return True if certainly none is left.

    A process that forks and exits repeatedly has another id by the time /proc is read. But one
    process of such a chain is always a child of Indwell. A dead child stays in the list of children
    until it is reaped. A list without any orphan, dead or alive, therefore proves that no orphan
    was left.
    """
    while time.monotonic() < enough_at:
        numbers = children()
        if numbers is None:
            return False
        alive: set[int] = set()
        is_clear = True
        # The newest processes come first, because in a chain each process starts the next one.
        for number in reversed(numbers):
            if is_started(number):
                continue
            process = process_of(number)
            # Orphans may have been missed: this one was reaped, or it is a program that starts.
            if process is None or (process.is_dead and _alone and process.began >= run.began):
                is_clear = False
            elif not is_orphan_of(run, process):
                _reap_remainder(process)
            else:
                is_clear = False
                if process.is_dead:
                    _wait_for(process)
                else:
                    alive.add(number)
                    _signal(number, signal.SIGKILL)
        if is_clear:
            return True
        if (alive and alive <= found) or _alone:
            time.sleep(_DYING_S)
        found |= alive
    return False


def bury(run: Run) -> None:
    """Reap the dead orphans of a running run, because the system needs their process ids again."""
    for number in children() or ():
        process = None if is_started(number) else process_of(number)
        if process is None or not process.is_dead:
            continue
        if is_orphan_of(run, process):
            _wait_for(process)
        else:
            _reap_remainder(process)


def _signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _end_those_alive(pid: int, run: Run, found: set[int]) -> bool:
    """Scan once and kill the processes found; return False if there were none."""
    young = tuple(processes(run.began))
    alive = descendants(pid, run, young)
    if alive and alive <= found:
        time.sleep(_DYING_S)  # Killed processes need processor time to exit.
    found |= alive
    # All processes are stopped first, because the others could replace a process that is killed.
    for name in (signal.SIGSTOP, signal.SIGKILL) if len(alive) > 1 else (signal.SIGKILL,):
        for one in alive:
            _signal(one, name)
    for process in young:
        if process.is_dead and (
            process.session == pid or process.pid in found or is_orphan_of(run, process)
        ):
            _wait_for(process)
    return bool(alive)


@contextlib.contextmanager
def ahead_of_others() -> Iterator[None]:
    """Raise this thread's priority if possible, as root.

    A fork bomb with many sessions gets processor time for each session; once, such a bomb blocked
    Indwell for two minutes. For users other than root, the kernel limits the number of processes.
    """
    if sys.platform != "linux":
        yield
        return
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except OSError:
        yield
        return
    try:
        yield
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def descendants(pid: int, run: Run, young: Sequence[Process]) -> set[int]:
    """Find living processes that a run started, by session, mark or parent; without ``pid``.

    Args:
        pid: The started program.
        run: The program's run.
        young: All processes that are not older than the run.
    """
    living = [one for one in young if not one.is_dead and not is_started(one.pid)]
    found = {
        one.pid
        for one in living
        if one.session == pid or is_marked(one.pid, run.mark) or is_orphan_of(run, one)
    } - {pid}
    while more := {one.pid for one in living if one.parent in found | {pid}} - found - {pid}:
        found |= more
    return found


def _wait_for(process: Process) -> None:
    """Reap a dead child process unless asyncio does."""
    if process.parent == os.getpid() and not is_started(process.pid):
        with contextlib.suppress(ChildProcessError):
            os.waitpid(process.pid, os.WNOHANG)


IS_LINUX = sys.platform.startswith("linux")
_PR_SET_DUMPABLE = 4  # The value comes from linux/prctl.h.
_PR_SET_CHILD_SUBREAPER = 36
_STARTS_S = 1.0  # For 1 s after ``exec``, a program may seem to have no arguments.
_LOOK_S = 0.001


class Run(msgspec.Struct, frozen=True):
    """One program that the sandbox runs.

    Attributes:
        mark: A random decimal number that all descendants inherit.
        began: Clock ticks since boot; 0 on systems without them.
    """

    mark: str
    began: int


_going_on: set[Run] = set()  # The set has the runs of the whole process, which is one subreaper.
_ending: set[Run] = set()  # The set has the runs whose processes are being searched for.
_alone: set[str] = set()  # The set has the marks of ``alone`` runs whose program is starting.
_started: set[int] = set()  # The set has the programs that asyncio reaps.


@asynccontextmanager
async def running(mark: str, *, alone: bool = False) -> AsyncIterator[Run]:
    """Register a run until its program has ended; an ``alone`` run starts no other program."""
    prepare()
    run = Run(mark, ticks_now())
    if alone:
        _alone.add(mark)
    else:
        _going_on.add(run)
    try:
        yield run
    finally:
        _alone.discard(mark)
        _going_on.discard(run)
        _ending.discard(run)


def over(run: Run) -> None:
    """Record the end of a run, so that later processes do not belong to the run."""
    _ending.add(run)
    _going_on.discard(run)


def adopt(pid: int, run: Run, *, has_ui: bool = True) -> None:
    """Add a program that was just started to its run."""
    del has_ui
    waited_for(pid)
    _alone.discard(run.mark)


def waited_for(pid: int) -> None:
    """Record that other code reaps this child process."""
    _started.add(pid)


def ended(pid: int) -> None:
    """Forget a program that was reaped; the system may use its process id again."""
    _started.discard(pid)


def is_started(pid: int) -> bool:
    """Return whether the sandbox started this program and has not reaped it yet."""
    return pid in _started


def is_orphan_of(run: Run, process: Process) -> bool:
    """Return whether an orphan became Indwell's child, and only ``run`` can have started it."""
    if process.began < run.began or not _is_adopted(process):
        return False
    # A starting program has a mark, but no known process id. A dead program has no readable mark.
    if alone := tuple(_alone):
        if process.is_dead:
            return False
        _await_words(process.pid)
    if any(is_marked(process.pid, mark) for mark in alone):
        return False
    others = [other for other in tuple(_going_on) if other != run and other.began <= process.began]
    return not others or is_marked(process.pid, run.mark)


def _is_adopted(process: Process) -> bool:
    """Return whether a process is Indwell's child and in no session of Indwell's own programs."""
    is_child = process.parent == os.getpid() and process.pid not in _started
    return is_child and process.session != os.getsid(0)


def _reap_remainder(process: Process) -> None:
    """Reap a dead orphan that no run can have started that goes on or is being ended.

    The kernel may kill the first process of a sandbox after its run is over, and while a program
    starts, a dead orphan cannot be told from that program. Such orphans would stay for ever.
    """
    runs = tuple(_going_on) + tuple(_ending)
    is_nobodys = _is_adopted(process) and all(process.began < run.began for run in runs)
    if process.is_dead and is_nobodys and not _alone:
        _wait_for(process)


def _await_words(pid: int) -> None:
    """Wait until a starting process has arguments and an environment. Blocks.

    The parent learns that ``exec`` succeeded before the kernel writes arguments and environment,
    which are empty until then. The wait lasts until the program gets a processor.
    """
    until = time.monotonic() + _STARTS_S
    while not has_words(pid) and time.monotonic() < until:
        time.sleep(_LOOK_S)


@functools.cache
def prepare() -> None:
    """Make this process a subreaper, and make its /proc entries unreadable to other processes.

    Otherwise a command could read Indwell's environment with its keys in /proc/$PPID/environ; root
    can read it anyway. If the system refuses either request, processes are still found by their
    group, session and mark.
    """
    if IS_LINUX:
        prctl = ctypes.CDLL(None).prctl
        prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


PAUSE_SEARCH_S = 0.2  # The search takes at most 0.2 s for processes that fork.


class Pause:
    """Pauses and resumes a run, which may begin later; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._run: tuple[int, Run] | None = None
        self._wanted_by: set[str] = set()
        self._stopped: set[tuple[int, int]] = set()  # The set has process ids with start times.

    def begin(self, pid: int, run: Run) -> None:
        """Record that the program was started; pause it if a pause was requested."""
        with self._lock:
            self._run = (pid, run)

    def end(self) -> None:
        """Record that the program has ended, because its process id may be used again."""
        with self._lock:
            self._run = None
            self._stopped.clear()

    def hold(self, who: str, *, is_still: bool) -> bool:
        """Pause the run, or resume it unless another caller wants a pause; blocks.

        Returns:
            Whether pausing succeeded; False if processes appear faster than they can be stopped.
        """
        with self._lock:
            if is_still:
                self._wanted_by.add(who)
                return self._stop()
            self._wanted_by.discard(who)
            if not self._wanted_by:
                self._go_on()
            return True

    def _stop(self) -> bool:
        """Stop all processes, until a scan finds no new one."""
        if self._run is None:
            return True
        if not IS_LINUX:
            return signal_group(self._run[0], "SIGSTOP")
        pid, run = self._run
        until = time.monotonic() + PAUSE_SEARCH_S
        seen: set[tuple[int, int]] = set()
        with ahead_of_others():
            while True:
                young = tuple(one for one in processes(run.began) if not one.is_dead)
                own = descendants(pid, run, young) | {pid}
                now = {(one.pid, one.began) for one in young if one.pid in own}
                for number, _ in now:
                    _signal(number, signal.SIGSTOP)
                self._stopped |= now
                # Each process was stopped twice, so no process could wake another one.
                if now <= seen:
                    return True
                seen |= now
                if time.monotonic() > until:
                    return False

    def _go_on(self) -> None:
        stopped, self._stopped = self._stopped, set()
        if self._run is None:
            return
        pid, run = self._run
        if not IS_LINUX:
            signal_group(pid, "SIGCONT")
            return
        for one in processes(run.began):
            if (one.pid, one.began) in stopped:
                _signal(one.pid, signal.SIGCONT)
