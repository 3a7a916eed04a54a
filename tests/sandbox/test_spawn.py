from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from indwell.errors import ToolError
from indwell.files.private import read_own
from indwell.sandbox import Finished, run_program, spawn

LONG_S = 60.0
LONG = str(10_000_000 + os.getpid())
"""Seconds that no other program sleeps: another run of these tests has another number."""

ESCAPES = (
    f"sleep {LONG} & setsid sleep {LONG} & (setsid nohup sleep {LONG} >/dev/null 2>&1 &) ; "
    f"(sleep {LONG} & disown) ; env -i /bin/sleep {LONG} & "
)


async def run(command: str, cwd: Path, **options: object) -> Finished:
    return await spawn(command, cwd=cwd, **{"timeout_s": LONG_S, **options})


async def out_of_time(command: str, cwd: Path) -> Finished:
    """Run a command until its time is over; allow more time if it did not print `ready`."""
    for timeout_s in (0.5, 2, 10):
        finished = await run(command, cwd, timeout_s=timeout_s)
        if "ready" in finished.output:
            break
    return finished


def survivors() -> list[str]:
    """Return the processes that still sleep for so long."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                arguments = read_own(folder / "cmdline", 1 << 20).split(b"\0")
            except OSError:
                continue
            if LONG.encode() in arguments and b"sleep" in arguments[0]:
                found.append(folder.name)
    return found


async def test_output_and_exit_code_are_reported(tmp_path: Path) -> None:
    finished = await run("echo out; echo err >&2; exit 3", tmp_path)
    assert (finished.exit_code, finished.output, finished.timed_out) == (3, "out\nerr\n", False)


async def test_a_missing_command_is_reported_by_bash(tmp_path: Path) -> None:
    finished = await run("no-such-command", tmp_path)
    assert finished.exit_code == 127
    assert "no-such-command: command not found" in finished.output


async def test_a_signal_is_a_negative_exit_code(tmp_path: Path) -> None:
    assert (await run("kill -9 $$", tmp_path)).exit_code == -9


@pytest.mark.parametrize("size", [1, 5_000_000])
async def test_input_is_read_to_its_end_and_errors_can_be_separate(
    size: int, tmp_path: Path
) -> None:
    finished = await run("wc -c; echo err >&2", tmp_path, stdin=b"x" * size, merge_errors=False)
    assert (finished.output.strip(), finished.errors) == (str(size), b"err\n")


@pytest.mark.parametrize("command", ["exit 7", "exec <&-; exit 7", "head -c 1 >&2; exit 7"])
async def test_a_command_that_does_not_read_its_input_causes_no_error(
    command: str, tmp_path: Path
) -> None:
    finished = await run(command, tmp_path, stdin=b"x" * 5_000_000)
    assert finished.exit_code == 7


async def test_a_command_without_input_does_not_wait_for_a_terminal(tmp_path: Path) -> None:
    finished = await run("cat; read x; echo $?; (: < /dev/tty) 2>/dev/null; echo $?", tmp_path)
    assert finished.output == "1\n1\n"


async def test_no_key_reaches_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-1")
    monkeypatch.setenv("BASH_ENV", str(tmp_path / "evil"))
    (tmp_path / "evil").write_text("echo evil")
    finished = await run("env; cat /proc/self/environ", tmp_path)
    assert "canary" not in finished.output
    assert "evil" not in finished.output


async def test_a_huge_output_keeps_both_ends_and_its_size(tmp_path: Path) -> None:
    chunks: list[int] = []
    finished = await run(
        "echo begin; head -c 30000000 /dev/zero | tr '\\0' x; echo; echo end",
        tmp_path,
        limit_b=3_000,
        on_chunk=lambda data: chunks.append(len(data)),
    )
    assert (finished.total_b, sum(chunks)) == (30_000_011, 30_000_011)
    assert (len(finished.head), len(finished.tail), finished.cut_b) == (2_000, 1_000, 29_997_011)
    assert finished.head.startswith(b"begin\nxxx")
    assert finished.tail.endswith(b"xxx\nend\n")
    assert "[… 29,997,011 bytes left out …]" in finished.output


@pytest.mark.parametrize("size", [0, 1, 10, 11, 14, 15, 16, 100])
async def test_output_within_the_limit_is_kept_whole(tmp_path: Path, size: int) -> None:
    text = "".join(chr(97 + i % 26) for i in range(size))
    finished = await run(f"printf %s '{text}'", tmp_path, limit_b=15)
    kept = (text, "") if size <= 15 else (text[:10], text[-5:])
    assert (finished.head.decode(), finished.tail.decode()) == kept


async def test_prc_07_a_grandchild_that_keeps_the_pipe_open_delays_no_result(
    tmp_path: Path,
) -> None:
    finished = await run(f"sleep {LONG} & echo done", tmp_path)
    assert (finished.output, finished.left_running) == ("done\n", 1)
    assert not finished.timed_out
    assert survivors() == []


@pytest.mark.skipif(sys.platform != "linux", reason="finds escaped children in /proc")
async def test_a_time_out_ends_all_processes_including_those_in_other_groups(
    tmp_path: Path,
) -> None:
    command = f"{ESCAPES} trap '' TERM; echo ready; sleep {LONG}"
    finished = await out_of_time(command, tmp_path)
    assert (finished.timed_out, finished.exit_code) == (True, -9)
    assert survivors() == []


@pytest.mark.skipif(sys.platform != "linux", reason="finds escaped children in /proc")
async def test_cancelling_ends_all_processes_and_raises_the_cancellation(tmp_path: Path) -> None:
    command = f"{ESCAPES} echo ready; trap '' TERM; sleep {LONG}"
    ready = asyncio.Event()
    task = asyncio.create_task(run(command, tmp_path, on_chunk=lambda _: ready.set()))
    await ready.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert survivors() == []


async def test_the_output_before_a_time_out_is_kept(tmp_path: Path) -> None:
    finished = await out_of_time(f"echo ready; sleep {LONG}", tmp_path)
    assert (finished.output, finished.timed_out) == ("ready\n", True)


async def test_a_missing_folder_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="could not be started in .*gone.*: No such file"):
        await run("true", tmp_path / "gone")


@pytest.mark.parametrize("command", ["echo \0", "echo \ud800", "x" * 3_000_000])
async def test_a_command_that_no_system_accepts_is_reported(tmp_path: Path, command: str) -> None:
    with pytest.raises(ToolError, match="could not be started"):
        await run(command, tmp_path)


async def test_a_program_gets_its_input_and_keeps_its_errors_apart(tmp_path: Path) -> None:
    finished = await run_program(
        ["sh", "-c", "wc -c; echo bad >&2"], cwd=tmp_path, timeout_s=LONG_S, stdin=b"x" * 1_000_000
    )
    assert (finished.output.strip(), finished.errors) == ("1000000", b"bad\n")


async def test_much_input_for_a_program_that_does_not_read_delays_no_result(tmp_path: Path) -> None:
    finished = await run_program(["true"], cwd=tmp_path, timeout_s=LONG_S, stdin=b"x" * 10_000_000)
    assert (finished.exit_code, finished.timed_out) == (0, False)


async def test_a_program_is_ended_when_its_output_is_sufficient(tmp_path: Path) -> None:
    enough = asyncio.Event()
    finished = await run_program(
        ["yes"], cwd=tmp_path, timeout_s=LONG_S, on_chunk=lambda _: enough.set(), enough=enough
    )
    assert (finished.exit_code, finished.timed_out) == (-9, False)


def end_orphan(pid: int) -> None:
    """Kill a process whose parent is gone, and which is now a child of this process."""
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="what is left is only counted there")
async def test_no_search_for_children_is_made_after_a_program_that_is_said_to_start_none(
    tmp_path: Path,
) -> None:
    """Ending the program leaves a process that the program started all the same."""
    script = "setsid sleep 5 & echo $!; exec yes"
    for alone in (False, True):
        enough, heard = asyncio.Event(), bytearray()

        def hear(data: bytes, heard: bytearray = heard, enough: asyncio.Event = enough) -> None:
            heard += data
            enough.set()

        finished = await run_program(
            ["sh", "-c", script],
            cwd=tmp_path,
            timeout_s=LONG_S,
            on_chunk=hear,
            enough=enough,
            alone=alone,
        )
        assert finished.exit_code == -9
        sleeper = int(heard.split()[0])
        assert Path(f"/proc/{sleeper}").exists() == alone
    end_orphan(sleeper)


COUNTS = """
import asyncio, os, pathlib, sys
from indwell.sandbox import spawn
async def main():
    async def run():
        await spawn("echo $RANDOM", cwd=pathlib.Path(sys.argv[1]), timeout_s=60)
    await run()
    before = len(os.listdir("/dev/fd"))
    await asyncio.gather(*(run() for _ in range(20)))
    print(before, len(os.listdir("/dev/fd")))
asyncio.run(main())
"""


def test_many_commands_leave_no_descriptor_behind(tmp_path: Path) -> None:
    # The script runs in its own process, because other tests may release descriptors at any moment.
    command = [sys.executable, "-c", COUNTS, str(tmp_path)]
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    before, after = map(int, said.split())
    assert after <= before


BARE = (
    "env -i setsid /bin/sleep {0} >/dev/null 2>&1 & ",
    (
        f'{sys.executable} -c "import os; os.fork() and os._exit(0); os.setsid(); '
        "os.fork() and os._exit(0); os.execve('/bin/sleep', ['sleep', '{0}'], {{}})\" >/dev/null; "
    ),
)


@pytest.mark.skipif(sys.platform != "linux", reason="adopts orphans")
@pytest.mark.parametrize("escape", BARE)
@pytest.mark.parametrize("ending", ["end", "time-out", "cancel"])
async def test_no_process_survives_outside_the_session_and_without_the_marker_variable(
    tmp_path: Path, escape: str, ending: str
) -> None:
    command = escape.format(LONG) + "sleep 0.2; echo ready; "
    ready = asyncio.Event()
    if ending == "end":
        await run(command, tmp_path)
    elif ending == "time-out":
        await out_of_time(f"{command} sleep {LONG}", tmp_path)
    else:
        options = {"on_chunk": lambda _: ready.set()}
        task = asyncio.create_task(run(f"{command} sleep {LONG}", tmp_path, **options))
        await ready.wait()
        task.cancel()
        await asyncio.wait({task})
    assert survivors() == []


@pytest.mark.skipif(sys.platform != "linux", reason="prctl is Linux's")
async def test_the_server_hides_its_own_memory_and_variables_once_it_runs_commands(
    tmp_path: Path,
) -> None:
    await run("true", tmp_path)
    get_dumpable = 3  # linux/prctl.h defines the number
    assert ctypes.CDLL(None).prctl(get_dumpable, 0, 0, 0, 0) == 0
