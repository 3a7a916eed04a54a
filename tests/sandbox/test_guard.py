from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from faults.escape_tree import WAYS, asleep, grown, tree
from indwell.sandbox import spawn
from indwell.sandbox.guard import Guard, guard

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
KILLED = str(Path(__file__).parent / "killed_server.py")

PATIENCE_S = 60.0  # seconds; only a failing test waits so long


def started(command: str) -> subprocess.Popen[bytes]:
    """Start Indwell's own process, which runs a command."""
    return subprocess.Popen([sys.executable, KILLED, command], start_new_session=True)


async def gone(number: int) -> float:
    """Wait until no process sleeps any longer; return the duration."""
    began = time.monotonic()
    async with asyncio.timeout(60):
        while asleep(number):  # noqa: ASYNC110 - /proc tells nobody
            await asyncio.sleep(0.005)
    return time.monotonic() - began


@pytest.mark.parametrize("to", ["the process", "its group"])
async def test_prc_03_a_command_ends_with_a_killed_server(to: str) -> None:
    number = 800_001
    server = started(tree(number))
    await grown(number)
    (os.kill if to == "the process" else os.killpg)(server.pid, signal.SIGKILL)
    assert server.wait() == -signal.SIGKILL
    await gone(number)
    assert len(WAYS) == 7


async def test_prc_03_a_command_ends_with_a_server_that_exits() -> None:
    number = 800_002
    started(f"/bin/sleep {number} & kill $PPID; wait").wait()
    await gone(number)


def guards(parent: int) -> list[int]:
    """Return the children of ``parent`` that are guards."""
    found = []
    for one in Path("/proc").iterdir():
        if one.name.isdecimal():
            try:
                words = (one / "cmdline").read_bytes()
                fields = (one / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == parent and b"trap '' HUP INT TERM\nruns=" in words:
                found.append(int(one.name))
    return found


async def test_the_guard_is_one_small_shell_that_no_command_sees(tmp_path: Path) -> None:
    finished = await spawn("ls -l /proc/self/fd | grep -c pipe:", cwd=tmp_path, timeout_s=20)
    assert finished.output == "2\n"  # the guard adds no text
    assert guard._shell is not None
    before = guard._shell.pid
    for _ in range(3):
        assert (await spawn("sleep 99 & :", cwd=tmp_path, timeout_s=20)).left_running == 1
    assert guard._shell.pid == before
    assert before in guards(os.getpid())


def new_guards(first: set[int]) -> set[int]:
    """Return the new guards; a starting process has no arguments for a moment."""
    until = time.monotonic() + PATIENCE_S
    while not (found := set(guards(os.getpid())) - first) and time.monotonic() < until:
        os.sched_yield()
    return found


def test_a_guard_that_was_killed_is_replaced(tmp_path: Path) -> None:
    lone = Guard()
    lone.watch("123456789012345678")
    first = set(guards(os.getpid()))
    assert lone._shell is not None
    lone._shell.kill()
    lone._shell.wait()
    lone.watch("123456789012345679")
    assert len(new_guards(first)) == 1
    lone.forget("123456789012345678")
    lone.forget("123456789012345679")
    lone.close()
    assert not set(guards(os.getpid())) - first


def test_a_guard_killed_while_a_command_runs_is_replaced_at_the_next_check() -> None:
    lone = Guard()
    lone.renew()
    assert lone._shell is None
    lone.watch("323456789012345678")
    lone.watch("323456789012345679")
    for change in (lone.renew, lambda: lone.forget("323456789012345679")):
        before = lone._shell
        assert before is not None
        before.kill()
        before.wait()
        change()
        assert lone._shell is not None
        assert lone._shell.poll() is None
        assert lone._shell is not before
    lone.forget("323456789012345678")
    lone.close()


def test_a_guard_kills_its_processes_if_the_server_dies(tmp_path: Path) -> None:
    lone, mark = Guard(), "223456789012345678"
    sleeper = subprocess.Popen(["/bin/sleep", "800003"], env={"INDWELL_RUN": mark})
    other = subprocess.Popen(["/bin/sleep", "800003"])
    lone.watch(mark)
    lone.close()
    assert sleeper.wait(10) == -signal.SIGKILL
    assert other.poll() is None
    other.kill()
    other.wait()
