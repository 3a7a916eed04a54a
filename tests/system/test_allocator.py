"""Tests SYS-01: the allocator uses one heap for any number of threads."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has arenas")

THREADS, ARENA_MB = 8, 64  # glibc reserves so many megabytes for each arena
GROWN = f"""
import sys, threading
from pathlib import Path
from indwell.wiring.preload import give_memory_back

def size_mb():
    words = Path("/proc/self/statm").read_text().split()
    return int(words[0]) * 4096 // 1_000_000

if sys.argv[1] == "told":
    give_memory_back()
threading.stack_size(1 << 20)
before, together = size_mb(), threading.Barrier({THREADS} + 1)

def work():
    kept = [bytearray(2_000) for _ in range(100)]
    together.wait()
    together.wait()

threads = [threading.Thread(target=work) for _ in range({THREADS})]
for one in threads:
    one.start()
together.wait()
print(size_mb() - before)
together.wait()
"""


def grown_mb(how: str) -> int:
    ran = subprocess.run(
        [sys.executable, "-c", GROWN, how], capture_output=True, text=True, check=True, timeout=60
    )
    return int(ran.stdout)


def test_threads_share_one_allocator_arena() -> None:
    assert grown_mb("told") < ARENA_MB
    assert grown_mb("not told") > ARENA_MB
