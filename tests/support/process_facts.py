"""Kernel facts about a process (Linux): memory, threads, descriptors, time, descendants."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple


class Facts(NamedTuple):
    """A process at one moment; ``peak_b`` is the most memory that it ever held."""

    rss_b: int
    peak_b: int
    n_threads: int
    n_fds: int
    cpu_s: float


def facts(pid: int) -> Facts:
    """Read them; the process must be there.

    Raises:
        OSError: It is not.
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
    """Processor time that a process used, its own and the kernel's for it."""
    # The name in brackets may hold blanks; utime and stime are fields 14 and 15 (proc(5)).
    fields = (Path("/proc") / str(pid) / "stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def forget_peak(pid: int) -> None:
    """Reset ``peak_b`` to the present memory."""
    (Path("/proc") / str(pid) / "clear_refs").write_bytes(b"5")


def descendants(pid: int) -> list[int]:
    """All processes below one, as far as the kernel still knows their parents."""
    found: list[int] = []
    queue = [pid]
    while queue:
        one = queue.pop()
        for task in Path(f"/proc/{one}/task").glob("*/children"):
            try:
                children = [int(word) for word in task.read_text(encoding="utf-8").split()]
            except OSError:
                continue  # ended while we looked
            found += children
            queue += children
    return found


def _kilobytes(text: str) -> int:
    return int(text.split(maxsplit=1)[0]) * 1024
