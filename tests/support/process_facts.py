"""Reads the kernel's data about a process (Linux): memory, threads, time, descendants."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple


class Facts(NamedTuple):
    """A process's data at one moment; ``peak_b`` is the process's highest memory use."""

    rss_b: int
    peak_b: int
    n_threads: int
    n_fds: int
    cpu_s: float


def facts(pid: int) -> Facts:
    """Read the data of a running process.

    Raises:
        OSError: The process does not exist.
    """
    folder = Path("/proc") / str(pid)
    lines = (folder / "status").read_text(encoding="utf-8").splitlines()
    status = dict(line.split(":", 1) for line in lines if ":" in line)
    return Facts(
        rss_b=_kilobytes(status["VmRSS"]),
        peak_b=_kilobytes(status["VmHWM"]),
        n_threads=int(status["Threads"]),
        n_fds=len(os.listdir(folder / "fd")),  # noqa: PTH208 - a count, without a Path for each
        cpu_s=cpu_s(pid),
    )


def cpu_s(pid: int) -> float:
    """Return the processor time that a process used, in user and kernel mode."""
    # The name in brackets may contain blanks; utime and stime are fields 14 and 15 (proc(5)).
    fields = (Path("/proc") / str(pid) / "stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def forget_peak(pid: int) -> None:
    """Reset ``peak_b`` to the current memory."""
    (Path("/proc") / str(pid) / "clear_refs").write_bytes(b"5")


def descendants(pid: int) -> list[int]:
    """Return all descendants of a process whose parents the kernel still knows."""
    found: list[int] = []
    queue = [pid]
    while queue:
        one = queue.pop()
        for task in Path(f"/proc/{one}/task").glob("*/children"):
            try:
                children = [int(word) for word in task.read_text(encoding="utf-8").split()]
            except OSError:
                continue  # The process ended during the search.
            found += children
            queue += children
    return found


def _kilobytes(text: str) -> int:
    return int(text.split(maxsplit=1)[0]) * 1024
