"""Ends or pauses a program with everything it started, even outside its process group.

Each run has a random mark, which its descendants inherit twice: in the environment, and as a limit
that nothing obeys. A group signal misses children with a session of their own, and their parents
may be gone; on Linux the mark in /proc finds them (`safety.json` PRC-01: killing the group alone
left 4 of 7). What has no mark any more becomes a child of ours once it is an orphan.

A child can clear its environment and leave its session. When its parent ends, the kernel gives the
child to us (a "subreaper") and not to init. An orphan belongs to the run during which it started.
It is left alone while another run that could have started it goes on; the last one to end takes it
along. Programs that the sandbox itself started are never touched, nor is whatever shares our
session, as children of a run cannot. So children that another part of this process starts are
safe, as long as they lead no session of their own.

A command can make files faster than anybody can check them. It is paused meanwhile.
"""

from __future__ import annotations

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

from indwell.sandbox.processes import Process, children, has_words, is_marked, process_of, processes

_DYING_S = 0.003
_QUIET = 3  # looks at /proc that find nothing, where we cannot be certain
SEARCH_S = 5.0  # for what forks while it is searched for; a bomb of 200 is gone in less than one


def signal_group(pid: int, name: str) -> bool:
    """Send a signal, such as ``SIGTERM``, to a process group; False if nobody is left in it."""
    if sys.platform == "win32":
        return False
    try:
        os.killpg(pid, getattr(signal, name))
    except ProcessLookupError:
        return False
    except PermissionError:  # macOS says so of a group of zombies
        return False
    return True


def signal_wrapped(pid: int, run: Run, name: str) -> None:
    """Send a signal to what a sandbox runs, and not to the sandbox's own group.

    That is the group of its child, which leads a session, and as the first of its namespace hears
    no signal but KILL itself. Blocks.
    """
    for one in processes(run.began) if IS_LINUX else ():
        if one.parent == pid and one.session == one.pid:
            signal_group(one.pid, name)


class LeftoverRun(msgspec.Struct, frozen=True):
    """What a run left behind.

    Attributes:
        n: How many processes were killed.
        is_gone: Nothing of it is left; False if the time was over before that was certain.
    """

    n: int
    is_gone: bool = True


def end_descendants(pid: int, run: Run) -> LeftoverRun:
    """Kill what is left of a run, again until none is found.

    What has become a child of ours by that is waited for, and nothing else. Blocks: on Linux all
    of /proc is looked at, about 15 µs a process, and closer what is younger than the run.

    Args:
        pid: The program that was started, which led a session and group of its own.
        run: Its run, which starts nothing any more.
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
    """The same, when a program has ended that was the way into a namespace of processes.

    With the first process of that namespace, which is ours by then, the kernel ends all the others
    before it counts as dead; so nothing has to be searched for. Blocks.
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
    except OSError:  # it has been waited for
        return
    try:
        ending = select.poll()
        ending.register(descriptor, select.POLLIN)
        ending.poll(max(0, int((until - time.monotonic()) * 1_000)))
    finally:
        os.close(descriptor)


def _end_orphans(run: Run, found: set[int], enough_at: float) -> bool:
    """Kill the orphans among our own children, until there are none; True if that is certain.

    Something that forks and ends again and again has another number by the time all of /proc was
    read. But one process of it is a child of ours at any time: the others' parents live, or it
    was given to us. Who died stays our child until we wait for it, so a list of our children
    without any orphan, dead or alive, means that none was left when it was read.
    """
    while time.monotonic() < enough_at:
        numbers = children()
        if numbers is None:
            return False
        alive: set[int] = set()
        is_clear = True
        for number in reversed(numbers):  # the latest is the one that starts others
            if is_started(number):
                continue
            process = process_of(number)
            if process is None:  # waited for meanwhile, so that others may have been passed over
                is_clear = False
            elif is_orphan_of(run, process):
                is_clear = False
                if process.is_dead:
                    _wait_for(process)
                else:
                    alive.add(number)
                    _signal(number, signal.SIGKILL)
        if is_clear:
            return True
        if alive and alive <= found:
            time.sleep(_DYING_S)
        found |= alive
    return False


def bury(run: Run) -> None:
    """Wait for the dead orphans of a run that goes on: their numbers are needed again."""
    for number in children() or ():
        process = None if is_started(number) else process_of(number)
        if process is not None and process.is_dead and is_orphan_of(run, process):
            _wait_for(process)


def _signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _end_those_alive(pid: int, run: Run, found: set[int]) -> bool:
    """Look once, and kill what is there; False if it was nothing."""
    young = tuple(processes(run.began))
    alive = descendants(pid, run, young)
    if alive and alive <= found:
        time.sleep(_DYING_S)  # they have been killed, and need the processor for it
    found |= alive
    # Stopped first: what is killed one by one, others can replace meanwhile.
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
    """Let this thread run before whatever else wants to, where we may: as root.

    A bomb whose processes lead sessions of their own gets a share of the processors for each, and
    leaves us none: seen to win for two minutes. Of other users the kernel counts the processes.
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
    """The living ones that a run started, by session, mark, or parent; except ``pid``.

    Args:
        pid: The program that was started.
        run: Its run.
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
    """Let a dead child of ours go, unless asyncio waits for it."""
    if process.parent == os.getpid() and not is_started(process.pid):
        with contextlib.suppress(ChildProcessError):
            os.waitpid(process.pid, os.WNOHANG)


IS_LINUX = sys.platform.startswith("linux")
_PR_SET_DUMPABLE = 4  # linux/prctl.h
_PR_SET_CHILD_SUBREAPER = 36
_STARTS_S = 1.0  # that a program may take from ``exec`` to its words; then it has none
_LOOK_S = 0.001


class Run(msgspec.Struct, frozen=True):
    """One program that the sandbox runs.

    Attributes:
        mark: Random, a decimal number; what the program starts inherits it.
        began: In clock ticks since the system's start; 0 where there are none.
    """

    mark: str
    began: int


_going_on: set[Run] = set()  # of this process, as being a subreaper is
_alone: set[str] = set()  # marks of those that start nothing
_started: set[int] = set()  # programs whose end asyncio waits for


@asynccontextmanager
async def running(mark: str, *, alone: bool = False) -> AsyncIterator[Run]:
    """A run from before its program starts until its end; no orphan is its own if it is alone."""
    prepare()
    run = Run(mark, _ticks() if IS_LINUX else 0)
    if alone:
        _alone.add(mark)
    else:
        _going_on.add(run)
    try:
        yield run
    finally:
        _alone.discard(mark)
        _going_on.discard(run)


def over(run: Run) -> None:
    """What starts from now on is no longer this run's."""
    _going_on.discard(run)


def waited_for(pid: int) -> None:
    """Somebody else waits for this child of ours."""
    _started.add(pid)


def ended(pid: int) -> None:
    """Forget a program that was waited for; the system may use its process id again."""
    _started.discard(pid)


def is_started(pid: int) -> bool:
    """Is it a program that the sandbox started, not yet waited for?"""
    return pid in _started


def is_orphan_of(run: Run, process: Process) -> bool:
    """Was it given to us, and can only ``run`` have started it?"""
    is_ours = (
        process.parent == os.getpid()
        and process.session != os.getsid(0)
        and process.pid not in _started
        and process.began >= run.began
    )
    if not is_ours:
        return False
    # A program of ours that was started this moment has no known number yet, only its mark.
    alone = tuple(_alone)
    if alone and not process.is_dead:
        _await_words(process.pid)
    if any(is_marked(process.pid, mark) for mark in alone):
        return False
    others = [other for other in tuple(_going_on) if other != run and other.began <= process.began]
    return not others or is_marked(process.pid, run.mark)


def _await_words(pid: int) -> None:
    """Wait until a process that is being started has its arguments and environment. Blocks.

    Its starter already knows that ``exec`` works when the kernel has still to write both, and
    until then they read as empty. No program stays so for longer than it waits for a processor.
    """
    until = time.monotonic() + _STARTS_S
    while not has_words(pid) and time.monotonic() < until:
        time.sleep(_LOOK_S)


@functools.cache
def prepare() -> None:
    """Make this process a subreaper, and its /proc entries unreadable to other processes.

    The second keeps a command from reading our environment, keys and all, in
    /proc/$PPID/environ; root reads it anyway. Both are best effort: a system that refuses leaves
    us with process groups, sessions and marks.
    """
    if IS_LINUX:
        prctl = ctypes.CDLL(None).prctl
        prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def _ticks() -> int:
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK"))


PAUSE_SEARCH_S = 0.2  # for what forks while it is searched for


class Pause:
    """Over one run, which begins later; all of it may be called in any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._run: tuple[int, Run] | None = None
        self._wanted_by: set[str] = set()
        self._stopped: set[tuple[int, int]] = set()  # numbers, and when they began

    def begin(self, pid: int, run: Run) -> None:
        """The program was started; it stands still once somebody asks for that (again)."""
        with self._lock:
            self._run = (pid, run)

    def end(self) -> None:
        """The program has ended: its number may be given to another one."""
        with self._lock:
            self._run = None
            self._stopped.clear()

    def hold(self, who: str, *, is_still: bool) -> bool:
        """Stop it, or let it go on unless somebody else wants it to stand still; blocks.

        Returns:
            It is as ``who`` wants it; False if processes appear faster than they can be stopped.
        """
        if sys.platform == "win32":
            return not is_still
        with self._lock:
            if is_still:
                self._wanted_by.add(who)
                return self._stop()
            self._wanted_by.discard(who)
            if not self._wanted_by:
                self._go_on()
            return True

    def _stop(self) -> bool:
        """Stop all processes, until a look finds no other one."""
        if self._run is None:
            return True
        if not IS_LINUX:
            return _signalled_group(self._run[0], "SIGSTOP")
        pid, run = self._run
        until = time.monotonic() + PAUSE_SEARCH_S
        seen: set[tuple[int, int]] = set()
        with ahead_of_others():
            while True:
                young = tuple(one for one in processes(run.began) if not one.is_dead)
                own = descendants(pid, run, young) | {pid}
                now = {(one.pid, one.began) for one in young if one.pid in own}
                for number, _ in now:
                    _pause_signal(number, "SIGSTOP")
                self._stopped |= now
                if now <= seen:  # so each has been stopped twice: nobody was left to wake it
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
            _signalled_group(pid, "SIGCONT")
            return
        for one in processes(run.began):
            if (one.pid, one.began) in stopped:
                _pause_signal(one.pid, "SIGCONT")


def _pause_signal(pid: int, name: str) -> None:
    try:
        os.kill(pid, getattr(signal, name))
    except (ProcessLookupError, PermissionError):  # it has ended, or is not ours
        return


def _signalled_group(pid: int, name: str) -> bool:
    try:
        os.killpg(pid, getattr(signal, name))
    except (ProcessLookupError, PermissionError):
        return False
    return True
