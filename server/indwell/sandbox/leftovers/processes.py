"""Reads process data from /proc (Linux): parents, sessions, marks, memory.

The files are opened by plain paths, because only the kernel creates files in /proc.
"""

from __future__ import annotations

import mmap
import os
import re
import sys
import time
from collections.abc import Iterator

import msgspec

from indwell.lazy_pattern import lazy_pattern

MARK = "INDWELL_RUN"
_LIMIT_B = 4 << 20  # The limit is in bytes; ARG_MAX of Linux is 2 MB by default.
_PIECE_B = 1 << 16
_PSS = lazy_pattern(rb"^(?:Pss|SwapPss):\s+(\d+) kB", re.MULTILINE)
_BEGAN = 19  # This is the index of starttime, field 22 of proc(5); two fields precede the bracket.


class Process(msgspec.Struct, frozen=True):
    """A process as described by /proc/PID/stat.

    Attributes:
        pid: The process id.
        is_dead: Whether the process has ended, but perhaps was not reaped yet.
        parent: The process id of the parent.
        group: The id of the process group.
        session: The id of the session.
        began: The time of the start, in clock ticks since boot.
        n_threads: The number of threads, each of which counts as a process for kernel limits.
    """

    pid: int
    is_dead: bool
    parent: int
    group: int
    session: int
    began: int
    n_threads: int = 1


def processes(since: int = 0) -> Iterator[Process]:
    """Yield all processes that started at ``since`` (clock ticks) or later; 15 µs each."""
    with os.scandir("/proc") as found:
        numbers = [one.name for one in found if one.name.isdecimal()]
    for number in numbers:
        process = process_of(int(number))
        if process is not None and process.began >= since:
            yield process


def ticks_now() -> int:
    """Return the time that ``Process.began`` counts: clock ticks since boot; 0 except on Linux."""
    if sys.platform != "linux":
        return 0
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK"))


def process_of(pid: int) -> Process | None:
    """Describe one process; return None if there is no process with this id."""
    # The fields after the name in brackets are state, parent, group, session, …; proc(5) counts
    # from 1.
    fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    if len(fields) <= _BEGAN:
        return None
    return Process(
        pid=pid,
        is_dead=fields[0] in {b"Z", b"X"},
        parent=int(fields[1]),
        group=int(fields[2]),
        session=int(fields[3]),
        began=int(fields[_BEGAN]),
        n_threads=int(fields[17]),
    )


def children() -> list[int] | None:
    """List Indwell's children in order of arrival; return None if unknown.

    The kernel gives orphans to the first thread of a process. A child stays listed until it is
    reaped.
    """
    path = f"/proc/{os.getpid()}/task/{os.getpid()}/children"
    numbers = [int(number) for number in _read(path).split()]
    # A kernel without CONFIG_PROC_CHILDREN lacks this file.
    return numbers if numbers or os.access(path, os.F_OK) else None


def mark_of(pid: int) -> bytes:
    """Read a process's mark from the limit of file locks, which the kernel ignores.

    Unlike an environment, a limit survives ``env -i``, ``sudo`` and a daemon's cleanup.
    """
    before, _, after = _read(f"/proc/{pid}/limits").partition(b"Max file locks")
    return after.split(maxsplit=1)[0] if before and after.strip() else b""


def is_marked(pid: int, mark: str) -> bool:
    """Return whether a process has this mark, in a limit or in its environment."""
    return mark_of(pid) == mark.encode() or (
        f"{MARK}={mark}".encode() in _read(f"/proc/{pid}/environ").split(b"\0")
    )


def has_words(pid: int) -> bool:
    """Return whether a process has arguments or has ended; a starting process has none yet."""
    process = process_of(pid)
    return process is None or process.is_dead or bool(_read(f"/proc/{pid}/cmdline"))


def ram_b(pid: int) -> int:
    """Return the memory of a process, with its part of shared memory.

    If that part is unreadable, all of the shared memory counts.
    """
    kilobytes = _PSS.findall(_read(f"/proc/{pid}/smaps_rollup"))
    if kilobytes:
        return sum(map(int, kilobytes)) << 10
    pages = _read(f"/proc/{pid}/statm").split()
    return int(pages[1]) * mmap.PAGESIZE if len(pages) > 1 else 0


def n_tasks() -> int:
    """Count processes and threads of the whole machine; return 0 if unknown."""
    words = _read("/proc/loadavg").split()
    return int(words[3].partition(b"/")[2]) if len(words) > 3 else 0  # noqa: PLR2004 - the fourth


def machine_ram_b() -> tuple[int, int]:
    """Return the memory that this process may use, and the used part; zeros if unknown.

    In a container, the values are those of its control group, which counts caches as used.
    """
    lines = (line.split() for line in _read("/proc/meminfo").splitlines())
    kilobytes = {words[0]: int(words[1]) for words in lines if len(words) > 1}
    total = kilobytes.get(b"MemTotal:", 0) << 10
    used = total - (kilobytes.get(b"MemAvailable:", 0) << 10)
    own = _read("/proc/self/cgroup").rpartition(b"0::")[2].strip().decode("utf-8", "replace")
    for folder, most, now in (
        (f"/sys/fs/cgroup{own}", "memory.max", "memory.current"),
        ("/sys/fs/cgroup", "memory.max", "memory.current"),
        ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
    ):
        limit = _read(f"{folder}/{most}").strip()
        if limit.isdigit() and int(limit) < total:
            return int(limit), int(_read(f"{folder}/{now}").strip() or 0)
    return total, used


def _read(path: str) -> bytes:
    """Read a kernel file; return empty bytes if the file is gone or unreadable."""
    pieces: list[bytes] = []
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    except OSError:
        return b""
    try:
        while len(pieces) * _PIECE_B < _LIMIT_B and (piece := os.read(descriptor, _PIECE_B)):
            pieces.append(piece)
    except OSError:  # The process ended, or now belongs to another user.
        return b""
    finally:
        os.close(descriptor)
    return b"".join(pieces)
