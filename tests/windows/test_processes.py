"""Tests programs that Indwell starts on Windows: output, limits and end."""

from __future__ import annotations

import asyncio
import ctypes
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from indwell.errors import ToolError
from indwell.sandbox import BACKGROUND, CommandLimits, Finished, run_program, spawn
from indwell.sandbox.environment import program_in
from indwell.sandbox.leftovers import here as leftovers
from indwell.sandbox.starting import batch_files

pytestmark = pytest.mark.timeout(120)
LONG_S = 60.0
SLEEPER = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', {!r}])".format(
    "import time; time.sleep(600)"
)


async def ran(code: str, folder: Path, **more) -> Finished:
    return await run_program(
        [sys.executable, "-c", code], cwd=folder, **{"timeout_s": LONG_S, **more}
    )


def ends(pid: int, within_s: float = 0) -> bool:
    """Return whether the process with this id ends within the time."""
    kernel = ctypes.windll.kernel32
    kernel.OpenProcess.restype = ctypes.c_void_p
    handle = kernel.OpenProcess(0x100000, 0, pid)  # SYNCHRONIZE
    if not handle:
        return True
    try:
        return kernel.WaitForSingleObject(ctypes.c_void_p(handle), int(within_s * 1_000)) == 0
    finally:
        kernel.CloseHandle(ctypes.c_void_p(handle))


async def test_a_program_returns_its_output_errors_and_exit_code(tmp_path) -> None:
    code = "import sys; print(input()); print('grün €', file=sys.stderr); sys.exit(3)"
    finished = await ran(code, tmp_path, stdin="zwölf\n".encode())
    assert (finished.exit_code, finished.output) == (3, "zwölf\r\n")
    assert finished.errors.decode() == "grün €\r\n"


async def test_output_in_the_code_page_of_the_console_is_read(tmp_path) -> None:
    code = "import sys; sys.stdout.buffer.write('gr\\xfcn\\n'.encode('oem') + '€\\n'.encode())"
    assert (await ran(code, tmp_path)).output == "grün\n€\n"


async def test_much_input_and_output_pass_in_bounded_memory(tmp_path) -> None:
    code = "import sys; data = sys.stdin.buffer.read(); sys.stdout.buffer.write(data)"
    finished = await ran(code, tmp_path, stdin=b"x" * 3_000_000, limit_b=9_000)
    assert (finished.exit_code, finished.total_b, len(finished.head)) == (0, 3_000_000, 6_000)


async def test_unread_input_does_not_block_a_program(tmp_path) -> None:
    finished = await ran("import sys; sys.exit(4)", tmp_path, stdin=b"x" * 3_000_000)
    assert finished.exit_code == 4


async def test_a_time_out_ends_a_program_and_its_children(tmp_path) -> None:
    said: list[bytes] = []
    code = f"{SLEEPER}.pid\nprint(_, flush=True)\nimport time; time.sleep(600)"
    code = code.replace("subprocess.Popen", "_ = subprocess.Popen", 1)
    finished = await ran(code, tmp_path, timeout_s=4.0, on_chunk=said.append)
    assert (finished.timed_out, finished.exit_code, finished.may_run_on) == (True, 137, False)
    assert ends(int(b"".join(said)))


async def test_a_cancelled_program_ends_at_once(tmp_path) -> None:
    started = asyncio.Event()
    said: list[bytes] = []

    def hear(data: bytes) -> None:
        said.append(data)
        started.set()

    code = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
    task = asyncio.create_task(ran(code, tmp_path, on_chunk=hear))
    await started.wait()
    task.cancel()
    began = time.monotonic()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - began < 5
    assert ends(int(b"".join(said)))


async def test_processes_that_a_program_leaves_running_are_ended_and_counted(tmp_path) -> None:
    finished = await ran(SLEEPER, tmp_path)
    assert (finished.exit_code, finished.left_running, finished.may_run_on) == (0, 1, False)


async def test_too_many_processes_end_the_program(tmp_path) -> None:
    code = f"for _ in range(9):\n    {SLEEPER}\nimport time; time.sleep(600)"
    finished = await ran(code, tmp_path, limits=CommandLimits(n_processes=6))
    assert (finished.overrun, finished.left_running) == ("over 6 processes", 0)


async def test_too_much_memory_ends_the_program(tmp_path) -> None:
    code = "data = b'1' * 400_000_000\nimport time; time.sleep(600)"
    finished = await ran(code, tmp_path, limits=CommandLimits(ram_b=200_000_000))
    assert finished.overrun == "over 200 MB of memory"


async def test_a_paused_program_continues_after_it_is_resumed(tmp_path) -> None:
    pause = leftovers.Pause()
    said = bytearray()
    code = "import time\nwhile True: print('x', flush=True); time.sleep(0.01)"
    enough = asyncio.Event()
    begun = asyncio.Event()

    def hear(data: bytes) -> None:
        said.extend(data)
        begun.set()

    task = asyncio.create_task(
        ran(code, tmp_path, pause=pause, on_chunk=hear, enough=enough, limit_b=100)
    )
    await begun.wait()
    assert await asyncio.to_thread(pause.hold, "a test", is_still=True)
    await ran("", tmp_path)  # by then the earlier output has been read
    n_paused = len(said)
    await ran("", tmp_path)
    assert len(said) == n_paused
    assert await asyncio.to_thread(pause.hold, "a test", is_still=False)
    begun.clear()
    await begun.wait()
    enough.set()
    assert (await task).total_b > n_paused


KILLED = f"""
import asyncio, os, sys
from pathlib import Path
from indwell.sandbox import run_program

def hear(data):
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()

code = {SLEEPER.replace("subprocess.Popen", "_ = subprocess.Popen", 1)!r}
code += "\\nimport os, time; print(os.getpid(), _.pid, flush=True); time.sleep(600)"
asyncio.run(run_program([sys.executable, "-c", code], cwd=Path.cwd(), timeout_s=60, on_chunk=hear))
"""


def test_a_killed_server_takes_children_and_grandchildren_along(tmp_path) -> None:
    server = subprocess.Popen([sys.executable, "-c", KILLED], stdout=subprocess.PIPE, cwd=tmp_path)
    assert server.stdout is not None
    with server.stdout as said:
        child, grandchild = map(int, said.readline().split())
        assert not ends(child)
        assert not ends(grandchild)
        server.kill()
        server.wait()
        assert ends(child, LONG_S)
        assert ends(grandchild, LONG_S)


async def test_a_missing_program_and_a_missing_folder_are_reported(tmp_path) -> None:
    with pytest.raises(ToolError, match="'nonesuch' could not be started in .* not found on PATH"):
        await run_program(["nonesuch"], cwd=tmp_path, timeout_s=LONG_S)
    with pytest.raises(ToolError, match="could not be started in .*gone"):
        await ran("", tmp_path / "gone")


async def test_the_current_folder_is_never_searched(tmp_path) -> None:
    (tmp_path / "tool.cmd").write_bytes(b"@echo wrong\r\n")
    before = Path.cwd()
    os.chdir(tmp_path)
    try:
        assert program_in("tool", os.environ["PATH"]) is None
        with pytest.raises(ToolError, match="not found on PATH"):
            await run_program(["tool"], cwd=tmp_path, timeout_s=LONG_S)
    finally:
        os.chdir(before)
    assert program_in("tool", f".;{tmp_path}") == str(tmp_path / "tool.cmd")


async def test_a_batch_file_is_found_and_gets_its_arguments(tmp_path) -> None:
    tools = tmp_path / "with blank"
    tools.mkdir()
    (tools / "show.py").write_text("import sys; print(sys.argv[1:])", encoding="utf-8")
    (tools / "show.cmd").write_bytes(f'@"{sys.executable}" "%~dp0show.py" %*\r\n'.encode())
    words = ["run", "a b", "--x=1"]
    finished = await run_program(
        ["show", *words], cwd=tmp_path, timeout_s=LONG_S, env={"PATH": str(tools)}
    )
    assert (finished.exit_code, finished.output) == (0, f"{words}\r\n")


def test_the_first_program_on_path_says_whether_a_bare_name_is_a_batch_file(
    tmp_path, monkeypatch
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for place in (first / "one.cmd", first / "two.exe", second / "one.exe", second / "two.bat"):
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(b"")
    monkeypatch.setenv("PATH", f"{first};{second}")
    assert batch_files(("ONE", "two", "three"), ()) == ("one",)
    # PATH lacks the workspace's folders when a command runs unconfined.
    assert batch_files(("one", "two"), (first,)) == ("one", "two")


def test_a_process_is_known_to_be_alive_until_its_end() -> None:
    assert leftovers.is_alive(os.getpid())
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    assert leftovers.is_alive(process.pid)
    process.kill()
    process.wait()
    assert not leftovers.is_alive(process.pid)  # the process has ended, although its handle is open
    assert not leftovers.is_alive(2**40)


def test_a_library_finds_no_program_in_the_current_folder(tmp_path) -> None:
    shutil.copy(Path(os.environ["SYSTEMROOT"]) / "System32" / "cmd.exe", tmp_path / "uname.exe")
    code = (
        "import os, subprocess\nfrom indwell.own_path import own_path\nown_path.keep_out()\n"
        "print(os.environ['PATH'].startswith('.'))\n"
        "try: subprocess.run(['uname', '/c', 'echo', 'found'])\n"
        "except FileNotFoundError: print('not found')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, check=True
    )
    assert done.stdout.split() == [b"False", b"not", b"found"]


async def test_a_background_command_runs_on_until_it_is_stopped(tmp_path) -> None:
    stop, begun = asyncio.Event(), asyncio.Event()
    said: list[bytes] = []

    def hear(data: bytes) -> None:
        said.append(data)
        begun.set()

    (tmp_path / "serve.py").write_text(
        f"{SLEEPER.replace('subprocess.Popen', '_ = subprocess.Popen', 1)}\n"
        "import time; print(_.pid, flush=True); time.sleep(600)\n",
        encoding="utf-8",
    )
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    task = asyncio.create_task(
        spawn(
            "python serve.py",
            cwd=tmp_path,
            timeout_s=None,
            env={"PATH": path},
            on_chunk=hear,
            pool=BACKGROUND,
            stop=stop,
        )
    )
    await begun.wait()
    assert not task.done()
    stop.set()
    finished = await task
    assert (finished.timed_out, finished.may_run_on) == (False, False)
    assert ends(int(b"".join(said)))
