"""End a program with everything that it started, also what left its process group.

Each run has a random mark, which its descendants inherit twice: in the environment, and as a limit
that nothing obeys. A group signal misses children with a session of their own, and their parents
may be gone; on Linux the mark in /proc finds them (`safety.json` PRC-01: killing the group alone
left 4 of 7). What has no mark any more becomes a child of ours once it is an orphan.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
from collections.abc import Iterator, Sequence

import msgspec

from indwell.sandbox.orphans import IS_LINUX, Run, is_orphan_of, is_started, over
from indwell.sandbox.processes import Process, children, is_marked, process_of, processes

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


class Left(msgspec.Struct, frozen=True):
    """What a run left behind.

    Attributes:
        n: How many processes were killed.
        is_gone: Nothing of it is left; False if the time was over before that was certain.
    """

    n: int
    is_gone: bool = True


def end_descendants(pid: int, run: Run) -> Left:
    """Kill what is left of a run, again until none is found.

    What has become a child of ours by that is waited for, and nothing else. Blocks: on Linux all
    of /proc is looked at, about 15 µs a process, and closer what is younger than the run.

    Args:
        pid: The program that was started, which led a session and group of its own.
        run: Its run, which starts nothing any more.
    """
    over(run)
    if not IS_LINUX:
        return Left(int(signal_group(pid, "SIGKILL")))
    found: set[int] = set()
    enough_at = time.monotonic() + SEARCH_S
    n_quiet = 0
    with ahead_of_others():
        while n_quiet < _QUIET and time.monotonic() < enough_at:
            is_alive = _end_those_alive(pid, run, found)
            is_certain = _end_orphans(run, found, enough_at)
            n_quiet = 0 if is_alive else _QUIET if is_certain else n_quiet + 1
    return Left(len(found), n_quiet == _QUIET)


def end_wrapped(pid: int, run: Run) -> Left:
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
        return Left(0)
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
