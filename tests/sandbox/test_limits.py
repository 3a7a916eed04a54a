from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from indwell.sandbox import CommandLimits, Finished, spawn
from indwell.sandbox.limits import shell_prefix
from indwell.sandbox.program import run_program
from indwell.sandbox.starting import Launch, StartedProgram, start_plainly

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
AS_NOBODY = str(Path(__file__).parent / "as_nobody.py")


async def run(command: str, cwd: Path, **limits: int) -> Finished:
    return await spawn(command, cwd=cwd, timeout_s=30, limits=CommandLimits(**limits))


async def test_prc_09_processor_time_is_bounded_and_reported(tmp_path: Path) -> None:
    finished = await run("while :; do :; done", tmp_path, cpu_s=1)
    assert (finished.overrun, finished.timed_out) == ("over 1 s of processor time", False)


async def test_prc_09_a_file_that_fills_the_disk_is_bounded_and_reported(tmp_path: Path) -> None:
    finished = await run("head -c 5000000 /dev/zero >x", tmp_path, file_b=2_000_000)
    assert finished.overrun.startswith("a file of over 2 MB")
    assert (tmp_path / "x").stat().st_size <= 2_000_000


async def test_prc_09_memory_of_all_processes_together_is_bounded_and_reported(
    tmp_path: Path,
) -> None:
    hog = f"{sys.executable} -c 'import time; x = bytearray(60 << 20); time.sleep(30)'"
    finished = await run(f"{hog} & setsid {hog} & {hog} & wait", tmp_path, ram_b=130_000_000)
    assert (finished.overrun, finished.exit_code) == ("over 130 MB of memory", -9)
    assert finished.seconds < 20


async def test_a_command_within_its_limits_runs_to_its_end(tmp_path: Path) -> None:
    finished = await run("sleep 0.5; ulimit -c; cat /proc/self/oom_score_adj", tmp_path)
    assert (finished.output, finished.overrun, finished.exit_code) == ("0\n500\n", "", 0)


@pytest.mark.skipif(os.geteuid() != 0, reason="the kernel counts the processes of other users")
@pytest.mark.parametrize(
    "bomb",
    [
        "f() { [ $1 -gt 0 ] && { f $(($1 - 1)) | f $(($1 - 1)) & }; sleep 20; }; f 9; wait",
        (
            'export -f f 2>/dev/null; f() { [ $1 -gt 0 ] && { setsid bash -c "$(declare -f f); '
            'f $(($1 - 1))" & setsid bash -c "$(declare -f f); f $(($1 - 1))" & }; sleep 20; }; '
            "f 8; wait"
        ),
    ],
)
async def test_prc_08_a_fork_bomb_by_root_is_counted_and_ended(tmp_path: Path, bomb: str) -> None:
    """A fork bomb of bounded size: 2 to the power of 8 or 9, if nothing stops it."""
    finished = await run(bomb, tmp_path, n_processes=100)
    assert finished.overrun == "over 100 processes and threads", finished
    assert finished.seconds < 15
    after = await run("echo usable", tmp_path)
    assert (after.output, after.left_running) == ("usable\n", 0)


async def test_processes_that_start_before_the_first_look_count(tmp_path: Path) -> None:
    """A busy machine may let a fork bomb run for a second before the first look."""
    most, many = 200, 250  # more than other programs of this machine start and end meanwhile
    grown = tmp_path / "grown"

    async def start(launch: Launch) -> StartedProgram:
        program = await start_plainly(launch)
        async with asyncio.timeout(60):
            while not grown.exists():  # noqa: ASYNC110 - the disk tells nobody
                await asyncio.sleep(0.01)
        return program

    text = f"for n in $(seq {many}); do sleep 20 & done; : > grown; wait"
    finished = await run_program(
        ["bash", "-c", text],
        cwd=tmp_path,
        timeout_s=30,
        limits=CommandLimits(n_processes=most),
        start=start,
    )
    assert finished.overrun == f"over {most} processes and threads", finished


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("bomb", "held\nusable\n0\n"),
        ("environ", "cat: Permission denied\n1\n"),
        ("memory", "True\n"),
    ],
)
def test_prc_08_fork_bombs_of_an_ordinary_user_are_stopped_and_indwells_variables_stay_hidden(
    what: str, said: str
) -> None:
    ended = subprocess.run(
        [sys.executable, AS_NOBODY, what],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, "OPENAI_API_KEY": "sk-canary"},
    )
    assert (ended.stdout, ended.returncode) == (said, 0), ended.stderr


def test_no_limit_of_a_command_exceeds_the_limit_of_the_server(tmp_path: Path) -> None:
    import resource  # noqa: PLC0415 - there is none on Windows

    text = shell_prefix(CommandLimits(n_files=10**9), "1", tmp_path, 10)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert f"ulimit -Hn {min(10**9, hard)}" in text
    # on the command's first line, so that line numbers in messages stay correct
    assert "\n" not in text
