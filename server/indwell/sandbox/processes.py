"""Reads the kernel's data on processes (Linux): owners, descriptors, numbers.

The files of /proc are opened by their plain names: nobody but the kernel puts anything there.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

import msgspec

MARK = "INDWELL_RUN"
_LIMIT_B = 4 << 20  # ARG_MAX of Linux is 2 MB by default
_PIECE_B = 1 << 16
_PSS = re.compile(rb"^(?:Pss|SwapPss):\s+(\d+) kB", re.MULTILINE)
_BEGAN = 19  # starttime: field 22 of proc(5), of which two stand before the bracket


class Process(msgspec.Struct, frozen=True):
    """One line of /proc/PID/stat, as far as it matters.

    Attributes:
        pid: Its number.
        is_dead: Ended, and perhaps not yet waited for.
        parent: The number of its parent.
        group: The number of the process that leads its group.
        session: The number of the process that leads its session.
        began: When it started, in clock ticks since the system's start.
        n_threads: How many threads it has; each counts as a process for the kernel's limits.
    """

    pid: int
    is_dead: bool
    parent: int
    group: int
    session: int
    began: int
    n_threads: int = 1


def processes(since: int = 0) -> Iterator[Process]:
    """All processes that started at ``since`` (in clock ticks) or later; about 15 µs each."""
    with os.scandir("/proc") as found:
        numbers = [one.name for one in found if one.name.isdecimal()]
    for number in numbers:
        process = process_of(int(number))
        if process is not None and process.began >= since:
            yield process


def process_of(pid: int) -> Process | None:
    """What is said of one process; None if there is none of this number any more."""
    # Behind the name in brackets: state, parent, group, session, …; proc(5) counts from 1.
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
    """The children of ours that the kernel gave us, the latest last; None if it does not say.

    It gives them to the first thread of a process. Who is not waited for stays among them.
    """
    path = f"/proc/{os.getpid()}/task/{os.getpid()}/children"
    numbers = [int(number) for number in _read(path).split()]
    # A kernel without CONFIG_PROC_CHILDREN has no such file.
    return numbers if numbers or os.access(path, os.F_OK) else None


def mark_of(pid: int) -> bytes:
    """The mark among the limits of a process: its limit of file locks, which no kernel obeys.

    A limit outlives what an environment does not: ``env -i``, ``sudo``, a daemon that cleans up.
    """
    before, _, after = _read(f"/proc/{pid}/limits").partition(b"Max file locks")
    return after.split(maxsplit=1)[0] if before and after.strip() else b""


def is_marked(pid: int, mark: str) -> bool:
    """Does a process carry this mark, among its limits or in its environment?"""
    return mark_of(pid) == mark.encode() or (
        f"{MARK}={mark}".encode() in _read(f"/proc/{pid}/environ").split(b"\0")
    )


def has_words(pid: int) -> bool:
    """Has a process arguments, or has it ended? One that is being started has none yet."""
    process = process_of(pid)
    return process is None or process.is_dead or bool(_read(f"/proc/{pid}/cmdline"))


def memory_b(pid: int) -> int:
    """Bytes that a process holds, with its part of what it shares.

    If that is not told, as of programs that not everybody may read, with all that it shares.
    """
    kilobytes = _PSS.findall(_read(f"/proc/{pid}/smaps_rollup"))
    if kilobytes:
        return sum(map(int, kilobytes)) << 10
    pages = _read(f"/proc/{pid}/statm").split()
    return int(pages[1]) * os.sysconf("SC_PAGE_SIZE") if len(pages) > 1 else 0


def n_tasks() -> int:
    """Processes and threads of the whole machine; 0 if it is not told."""
    words = _read("/proc/loadavg").split()
    return int(words[3].partition(b"/")[2]) if len(words) > 3 else 0  # noqa: PLR2004 - the fourth


def machine_memory_b() -> tuple[int, int]:
    """The memory that there is for us, and how much of it is in use; zeros if it is not told.

    In a container that is what its control group may take, and that counts caches as in use.
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
    """A file of the kernel's; empty if it is gone, or not for us."""
    pieces: list[bytes] = []
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        while len(pieces) * _PIECE_B < _LIMIT_B and (piece := os.read(descriptor, _PIECE_B)):
            pieces.append(piece)
    except OSError:  # it ended, or was given to another user
        return b""
    finally:
        os.close(descriptor)
    return b"".join(pieces)
