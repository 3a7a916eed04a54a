from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from indwell.sandbox import spawn
from indwell.sandbox.leftovers import here as leftovers
from indwell.sandbox.leftovers.processes import children, process_of, ticks_now
from indwell.sandbox.program import new_mark

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="finds escaped children in /proc")
COMET = f"{sys.executable} {Path(__file__).parent / 'comet.py'}"

# above the largest id of Linux; the next smaller number may be another program's
NOBODY = (1 << 22) + 1


def flying(trace: Path) -> list[str]:
    """Return the processes that run ``comet.py`` with this file, found by several scans."""
    found = []
    for _ in range(20):
        for one in Path("/proc").iterdir():
            if one.name.isdecimal():
                try:
                    words = (one / "cmdline").read_bytes()
                except OSError:
                    continue
                if os.fsencode(trace) in words.split(b"\0"):
                    found.append(one.name)
    return found


@pytest.mark.parametrize("with_environment", [True, False])
@pytest.mark.parametrize("way", ["ends by itself", "is cancelled", "beside another"])
async def test_prc_01_a_program_that_constantly_changes_its_process_id_is_ended(
    tmp_path: Path, way: str, *, with_environment: bool
) -> None:
    trace = tmp_path / "trace"
    ready = asyncio.Event()
    start = f"{'' if with_environment else 'env -i '}{COMET} 4 {trace} >/dev/null 2>&1 &"
    wait = "sleep 0.3" if way == "ends by itself" else "sleep 0.3; echo ready; sleep 20"
    run = asyncio.create_task(
        spawn(f"{start} {wait}", cwd=tmp_path, timeout_s=20, on_chunk=lambda _: ready.set())
    )
    other = asyncio.create_task(
        spawn("sleep 20" if way == "beside another" else ":", cwd=tmp_path, timeout_s=20)
    )
    if way == "ends by itself":
        finished = await run
        assert finished.left_running
        assert not finished.may_run_on
    else:
        await ready.wait()
        run.cancel()
        await asyncio.wait({run})
    assert flying(trace) == []
    other.cancel()
    await asyncio.wait({other})
    assert not trace.exists()


async def test_zombies_of_a_long_command_are_reaped_while_it_runs(tmp_path: Path) -> None:
    others = len(children() or ())  # earlier tests may have left them
    most = 0

    def hear(_: bytes) -> None:
        nonlocal most
        most = max(most, len(children() or ()) - others)

    command = "for i in {1..10}; do for j in {1..40}; do (:&); done; sleep 0.15; echo x; done"
    await spawn(command, cwd=tmp_path, timeout_s=20, on_chunk=hear)
    assert children() is not None
    assert most < 200


async def test_a_program_that_has_just_started_is_not_taken_for_an_orphan() -> None:
    """The rule holds even before the kernel has written the environment with the marker."""
    mark = new_mark()
    for _ in range(50):
        async with leftovers.running(new_mark()) as run, leftovers.running(mark, alone=True):
            begun = await asyncio.create_subprocess_exec(
                "/bin/sleep", "800009", env={"INDWELL_RUN": mark}, start_new_session=True
            )
            try:
                assert leftovers.end_descendants(NOBODY, run) == leftovers.LeftoverRun(0)
                process = process_of(begun.pid)
                assert process is not None
                assert not process.is_dead
            finally:
                with contextlib.suppress(ProcessLookupError):
                    begun.kill()
                await begun.wait()


def ended_program(mark: str) -> subprocess.Popen[bytes]:
    """Start a program, and return when it has ended; nobody has asked for its exit code yet."""
    env = {"INDWELL_RUN": mark}
    begun = subprocess.Popen(["/bin/true"], start_new_session=True, env=env)
    os.waitid(os.P_PID, begun.pid, os.WEXITED | os.WNOWAIT)
    return begun


async def test_a_program_that_ended_while_it_was_started_is_not_reaped_as_an_orphan() -> None:
    """Otherwise asyncio would get no exit code, and the caller would read a failure."""
    mark = new_mark()
    async with leftovers.running(new_mark()) as run, leftovers.running(mark, alone=True) as own:
        begun = ended_program(mark)
        search = asyncio.create_task(asyncio.to_thread(leftovers.end_descendants, NOBODY, run))
        leftovers.bury(run)
        process = process_of(begun.pid)
        assert process is not None
        assert process.is_dead
        leftovers.adopt(begun.pid, own)
        assert await search == leftovers.LeftoverRun(0)
        assert begun.wait() == 0
        leftovers.ended(begun.pid)


def dead_orphan() -> int:
    """Return an adopted process that has ended, and is older than all later runs."""
    leftovers.prepare()
    reading, writing = os.pipe()
    # The process ends after the shell, which could reap it otherwise.
    command = "exec 3<&0; setsid cat <&3 >/dev/null & echo $!"
    pid = int(subprocess.check_output(["/bin/sh", "-c", command], stdin=reading))
    os.close(reading)
    os.close(writing)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    orphan = process_of(pid)
    assert orphan is not None
    while ticks_now() <= orphan.began:
        time.sleep(0.01)
    return pid


async def test_a_dead_orphan_of_an_earlier_run_is_reaped_when_no_program_is_being_started() -> None:
    """Otherwise a server would keep each sandbox that died while another program was started."""
    pid = dead_orphan()
    async with leftovers.running(new_mark()) as run, leftovers.running(new_mark(), alone=True):
        leftovers.end_descendants(NOBODY, run)
        assert process_of(pid) is not None, "it may be the program that is being started"
    async with leftovers.running(new_mark()) as run:
        leftovers.end_descendants(NOBODY, run)
        assert process_of(pid) is None
