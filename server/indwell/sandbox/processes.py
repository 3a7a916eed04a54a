"""End a program with everything that it started, also what left its process group.

Each run carries a random mark in its environment, which its descendants inherit. A group signal
misses children with a session of their own, and their parents may be gone; on Linux the mark in
/proc finds them (`safety.json` PRC-01: killing the group alone left 4 of 7), and what cleared its
environment as well becomes a child of ours once it is an orphan.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from indwell.errors import ToolError
from indwell.files import list_folder, read_own
from indwell.sandbox.orphans import IS_LINUX, Process, Run, is_orphan_of, is_started, over

MARK = "INDWELL_RUN"
_PROC = Path("/proc")
_ENVIRONMENT_LIMIT_B = 4 << 20  # ARG_MAX of Linux is 2 MB by default
_BEGAN = 19  # starttime: field 22, of which two stand before
_PASSES = 20  # a child may fork while it is searched for


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


def end_descendants(pid: int, run: Run) -> int:
    """Kill what is left of a run, again until none is found; gives how many.

    What has become a child of ours by that is waited for, and nothing else. Blocks: on Linux all
    of /proc is read, about 50 µs a process.

    Args:
        pid: The program that was started, which led a session and group of its own.
        run: Its run, which starts nothing any more.
    """
    over(run)
    if not IS_LINUX:
        return int(signal_group(pid, "SIGKILL"))
    found: set[int] = set()
    for _ in range(_PASSES):
        processes = tuple(_processes())
        alive = _descendants(pid, run, processes)
        found |= alive
        for one in alive:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(one, signal.SIGKILL)
        for process in processes:
            if process.is_dead and (
                process.session == pid or process.pid in found or is_orphan_of(run, process)
            ):
                _wait_for(process)
        if not alive:
            break
    return len(found)


def _descendants(pid: int, run: Run, processes: Sequence[Process]) -> set[int]:
    """The living ones that the run left, by session, mark, or parent; except ``pid``."""
    wanted = f"{MARK}={run.mark}".encode()
    living = [one for one in processes if not one.is_dead and not is_started(one.pid)]
    found = {
        one.pid
        for one in living
        if one.session == pid
        or is_orphan_of(run, one)
        or wanted in _read(str(one.pid), "environ").split(b"\0")
    } - {pid}
    while more := {one.pid for one in living if one.parent in found | {pid}} - found - {pid}:
        found |= more
    return found


def _wait_for(process: Process) -> None:
    """Let a dead child of ours go, unless asyncio waits for it."""
    if process.parent == os.getpid() and not is_started(process.pid):
        with contextlib.suppress(ChildProcessError):
            os.waitpid(process.pid, os.WNOHANG)


def _processes() -> Iterator[Process]:
    for one in list_folder(_PROC, [_PROC]):
        if not one.name.isdecimal():
            continue
        # Behind the name in brackets: state, parent, group, session, …; proc(5) counts from 1.
        fields = _read(one.name, "stat").rpartition(b")")[2].split()
        if len(fields) > _BEGAN:
            yield Process(
                pid=int(one.name),
                is_dead=fields[0] in {b"Z", b"X"},
                parent=int(fields[1]),
                session=int(fields[3]),
                began=int(fields[_BEGAN]),
            )


def _read(pid: str, name: str) -> bytes:
    """A file of a process; empty if that is gone, a zombie, or somebody else's."""
    try:
        return read_own(_PROC / pid / name, _ENVIRONMENT_LIMIT_B)
    except (OSError, ToolError):
        return b""
