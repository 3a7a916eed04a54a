"""Commands in the sandbox work like commands without a sandbox."""

from __future__ import annotations

import asyncio
import math
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from faults.escape_tree import asleep, grown, tree
from indwell.sandbox import CommandLimits, Finished, spawn
from indwell.sandbox.capture import Feed
from indwell.sandbox.confine.strength import (
    host,
    strength,
    strength_of_process,
    why_no_bubblewrap,
    without_bubblewrap,
)
from indwell.sandbox.confinement import Confinement, Guarded
from indwell.sandbox.spawn import spawn_server
from support.bubblewrap import needs_bubblewrap

LONG_S = 60.0


async def run(command: str, cwd: Path, **options: object) -> Finished:
    bounds = options.pop("bounds", None) or Confinement(writable=(str(cwd),))
    return await spawn(command, cwd=cwd, **{"timeout_s": LONG_S, "confinement": bounds, **options})


@needs_bubblewrap
async def test_output_exit_code_and_the_final_folder_are_reported(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    finished = await run(
        f"trap 'pwd >&{writing}' EXIT; mkdir d; cd d; echo out; echo err >&2; exit 3",
        tmp_path,
        pass_fds=(writing,),
    )
    os.close(writing)
    with os.fdopen(reading) as trail:
        assert trail.read() == f"{tmp_path}/d\n"
    assert (finished.exit_code, finished.output) == (3, "out\nerr\n")


@needs_bubblewrap
@pytest.mark.parametrize("code", [0, 1, 126, 127, 137, 143, 255])
async def test_prc_11_exit_codes_are_those_of_the_command(tmp_path: Path, code: int) -> None:
    assert (await run(f"exit {code}", tmp_path)).exit_code == code


@needs_bubblewrap
async def test_sbx_14_only_the_three_standard_streams_are_open(tmp_path: Path) -> None:
    finished = await run("for f in /proc/$$/fd/*; do [ -e $f ] && echo ${f##*/}; done", tmp_path)
    assert set(finished.output.split()) - {"255"} == {"0", "1", "2"}  # bash has its script open


@needs_bubblewrap
async def test_limits_hold_and_are_reported(tmp_path: Path) -> None:
    finished = await run("while :; do :; done", tmp_path, limits=CommandLimits(cpu_s=1))
    assert "processor time" in finished.overrun


@needs_bubblewrap
async def test_prc_07_processes_left_running_end_with_the_command(tmp_path: Path) -> None:
    finished = await run("setsid /bin/sleep 987753 & /bin/sleep 987753 & echo done", tmp_path)
    assert (finished.output, asleep(987753)) == ("done\n", [])
    assert finished.seconds < 5


@needs_bubblewrap
async def test_prc_01_a_time_out_ends_all_processes_after_a_moment_to_clean_up(
    tmp_path: Path,
) -> None:
    finished = await run(
        "trap 'echo bye; exit 3' TERM; setsid /bin/sleep 987752 & /bin/sleep 987752 & wait",
        tmp_path,
        timeout_s=0.5,
    )
    assert (finished.timed_out, finished.output, asleep(987752)) == (True, "bye\n", [])


@needs_bubblewrap
async def test_prc_02_a_cancel_ends_a_tree_of_escaping_processes(tmp_path: Path) -> None:
    ready = asyncio.Event()
    text = tree(987751)
    task = asyncio.create_task(run(text, tmp_path, on_chunk=lambda _: ready.set()))
    await ready.wait()
    await grown(987751)
    began = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (asleep(987751), time.monotonic() - began < 30) == ([], True)


KILLED = """
import asyncio, sys
from pathlib import Path
from indwell.sandbox import spawn
from indwell.sandbox.confinement import Confinement

cwd = Path(sys.argv[1])
asyncio.run(spawn("setsid /bin/sleep 987750 & /bin/sleep 987750", cwd=cwd, timeout_s=60,
                  confinement=Confinement(writable=(str(cwd),)),
                  on_chunk=lambda _: None))
"""


@needs_bubblewrap
async def test_prc_03_commands_end_with_a_killed_server(tmp_path: Path) -> None:
    server = await asyncio.create_subprocess_exec(sys.executable, "-c", KILLED, str(tmp_path))
    async with asyncio.timeout(LONG_S):
        while not asleep(987750):  # noqa: ASYNC110 - /proc tells nobody
            await asyncio.sleep(0.01)
        server.kill()
        await server.wait()
        while asleep(987750):  # noqa: ASYNC110 - as above
            await asyncio.sleep(0.01)


STUBBED = KILLED.replace(
    "Confinement(writable=(str(cwd),))",
    "Confinement(writable=(str(cwd),), missing=(f'{cwd}/.vscode', f'{cwd}/a b/.idea'))",
)


@needs_bubblewrap
@pytest.mark.skipif(shutil.which("flock") is None, reason="util-linux has flock")
async def test_placeholders_of_a_killed_server_are_removed_unless_the_user_filled_them(
    tmp_path: Path,
) -> None:
    (tmp_path / "a b").mkdir()
    stand_ins = [tmp_path / ".vscode", tmp_path / "a b" / ".idea"]
    server = await asyncio.create_subprocess_exec(sys.executable, "-c", STUBBED, str(tmp_path))
    async with asyncio.timeout(LONG_S):
        while not asleep(987750):  # noqa: ASYNC110 - /proc tells nobody
            await asyncio.sleep(0.01)
        assert [one.is_dir() for one in stand_ins] == [True, True]
        (stand_ins[0] / "settings.json").write_text("{}")
        server.kill()
        await server.wait()
        while stand_ins[1].exists():  # noqa: ASYNC110 - the disk tells nobody
            await asyncio.sleep(0.01)
    assert (stand_ins[0] / "settings.json").read_text() == "{}"


@needs_bubblewrap
async def test_sbx_06_20_a_command_has_only_its_own_loopback_network(tmp_path: Path) -> None:
    text = (
        "import socket, sys\n"
        "own = socket.create_server(('127.0.0.1', 0))\n"
        "socket.create_connection(own.getsockname()).close()\n"
        "print('own')\n"
        "try: socket.create_connection(('192.0.2.1', 80), 2)\n"
        "except OSError as error: print(error.strerror)\n"
        "one, other = socket.socketpair(); one.send(b'x'); print(other.recv(1))\n"
    )
    (tmp_path / "net.py").write_text(text)
    finished = await run(f"{sys.executable} -I net.py", tmp_path)
    assert finished.output == "own\nNetwork is unreachable\nb'x'\n"


@needs_bubblewrap
async def test_sbx_19_an_allowed_host_is_reachable_only_by_the_proxy(tmp_path: Path) -> None:
    text = (
        "import socket, urllib.request, urllib.error\n"
        "try: urllib.request.urlopen('http://other.example/', timeout=20)\n"
        "except urllib.error.HTTPError as error: print(error.code)\n"
        "try: socket.create_connection(('192.0.2.1', 80), 2)\n"
        "except OSError as error: print(error.strerror)\n"
    )
    (tmp_path / "net.py").write_text(text)
    bounds = Confinement(writable=(str(tmp_path),), hosts=("allowed.example",))
    finished = await run(f"{sys.executable} -I net.py", tmp_path, bounds=bounds)
    assert finished.output == "403\nNetwork is unreachable\n"
    assert "other.example" in " ".join(finished.notes)


@needs_bubblewrap
async def test_sec_10_sockets_of_agents_and_helpers_are_out_of_reach(tmp_path: Path) -> None:
    text = (
        "import socket\ntry: socket.socket(socket.AF_UNIX)\nexcept OSError as e: print(e.errno)\n"
    )
    (tmp_path / "unix.py").write_text(text)
    finished = await run(f"{sys.executable} -I unix.py; env | grep -c SOCK", tmp_path)
    assert finished.output == "1\n0\n"


@needs_bubblewrap
@pytest.mark.parametrize(
    "command",
    [
        "git init -q r && cd r && git -c user.name=a -c user.email=a@b commit -qm x --allow-empty",
        f"{sys.executable} -c 'import subprocess; subprocess.run([\"true\"], check=True)'",
        f"{sys.executable} -c 'import multiprocessing as m; p = m.get_context(\"fork\").Pool(2); p.map(abs, [1])'",  # noqa: E501 - one command
        f"{sys.executable} -c 'import asyncio; asyncio.run(asyncio.sleep(0))'",
        "f=$(mktemp) && echo x >$f && cat $f",
        "mkfifo p && (echo x >p &) && cat p",
        "exec 3<>/dev/null; echo x >&3",
    ],
)
async def test_ordinary_work_succeeds_inside_the_sandbox(tmp_path: Path, command: str) -> None:
    finished = await run(command, tmp_path)
    assert finished.exit_code == 0, finished.output


@needs_bubblewrap
async def test_sbx_05_a_protected_missing_folder_cannot_be_created_and_its_placeholder_is_removed(
    tmp_path: Path,
) -> None:
    missing = tmp_path / ".vscode"
    bounds = Confinement(writable=(str(tmp_path),), missing=(str(missing),))
    text = "mkdir .vscode 2>/dev/null; echo x >.vscode/settings.json; echo $?"
    first, second = await asyncio.gather(
        run(text, tmp_path, bounds=bounds), run(f"sleep 0.3; {text}", tmp_path, bounds=bounds)
    )
    assert [one.output.splitlines()[-1] for one in (first, second)] == ["1", "1"]
    assert list(tmp_path.iterdir()) == []


@needs_bubblewrap
async def test_a_placeholder_that_the_user_fills_during_the_command_stays(tmp_path: Path) -> None:
    missing = tmp_path / ".vscode"
    bounds = Confinement(writable=(str(tmp_path),), missing=(str(missing),))
    await run(
        "echo x", tmp_path, bounds=bounds,
        on_chunk=lambda _: (missing / "settings.json").write_text("{}"),
    )  # fmt: skip
    assert (missing / "settings.json").read_text() == "{}"


@needs_bubblewrap
async def test_sbx_15_the_session_folder_is_mounted_at_tmp(tmp_path: Path) -> None:
    if any(one.startswith("/tmp/") for one in host().kept):
        pytest.skip("our own Python stands in /tmp, which is therefore new for each command")
    home = Path("/var/lib") if os.geteuid() == 0 else Path.home()
    bounds = Confinement(writable=(), readable=(str(home),), scratch=str(tmp_path))
    assert (await run("echo x >/tmp/kept; ls /tmp", home, bounds=bounds)).output == "kept\n"
    assert (await run("cat /tmp/kept", home, bounds=bounds)).output == "x\n"
    assert (await run("cat kept", tmp_path)).output == "x\n"


@needs_bubblewrap
async def test_paths_found_before_a_command_are_protected_and_the_notices_after_it_are_reported(
    tmp_path: Path,
) -> None:
    (tmp_path / "kept").write_text("old")
    (tmp_path / "secret").write_text("canary")
    settled = []

    def look() -> Guarded:
        return Guarded(
            protected=(str(tmp_path / "kept"),),
            hidden=(str(tmp_path / "secret"), "/nonexistent/secret"),
            settle=lambda: settled.append(1) or ("it is told",),  # type: ignore[func-returns-value]
        )

    bounds = Confinement(writable=(str(tmp_path),), look=look)
    finished = await run("echo new >kept; cat secret", tmp_path, bounds=bounds)
    assert "canary" not in finished.output
    assert ((tmp_path / "kept").read_text(), finished.notes[-1]) == ("old", "it is told")
    assert settled == [1]


@needs_bubblewrap
async def test_the_checks_after_a_command_also_run_for_a_cancelled_command(tmp_path: Path) -> None:
    settled = asyncio.Event()
    loop = asyncio.get_running_loop()

    def settle() -> tuple[str, ...]:
        loop.call_soon_threadsafe(settled.set)
        return ()

    ready = asyncio.Event()
    bounds = Confinement(writable=(str(tmp_path),), look=lambda: Guarded(settle=settle))
    task = asyncio.create_task(
        run("echo ready; sleep 60", tmp_path, bounds=bounds, on_chunk=lambda _: ready.set())
    )
    await ready.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.wait_for(settled.wait(), LONG_S)


@needs_bubblewrap
async def test_paths_with_shell_characters_are_protected_like_others(tmp_path: Path) -> None:
    folder = tmp_path / "a b'\"$x\n--bind"
    folder.mkdir()
    (folder / "kept").write_text("old")
    bounds = Confinement(writable=(str(tmp_path),), protected=(str(folder / "kept"),))
    finished = await run("echo new >kept; echo $?", folder, bounds=bounds)
    assert (finished.output.splitlines()[-1], (folder / "kept").read_text()) == ("1", "old")


@needs_bubblewrap
async def test_a_sandbox_that_cannot_be_set_up_is_reported(tmp_path: Path) -> None:
    finished = await run("echo ran", tmp_path, bounds=Confinement(writable=("/nonexistent/w",)))
    assert "ran" not in finished.output
    assert finished.notes == ("the sandbox could not be set up, so nothing was run; try again",)


@needs_bubblewrap
def test_sbx_16_the_sandbox_is_tried_once() -> None:
    strength_of_process.cache_clear()
    assert strength().level == "S3"
    assert strength() is strength()
    assert strength_of_process.cache_info().misses == 1


@pytest.mark.parametrize(
    ("bwrap", "words"),
    [
        ("", "install the package `bubblewrap`"),
        ("/nonexistent/bwrap", "cannot be used"),
        ("/bin/false", "does not work here"),
    ],
)
def test_sbx_16_a_missing_or_broken_sandbox_is_reported(bwrap: str, words: str) -> None:
    assert words in why_no_bubblewrap(bwrap)


def test_sbx_16_a_system_that_forbids_namespaces_is_reported_in_plain_words(tmp_path: Path) -> None:
    fake = tmp_path / "bwrap"
    fake.write_text(
        "#!/bin/sh\necho 'bwrap: No permissions to create a new namespace' >&2; exit 1\n"
    )
    fake.chmod(0o755)
    assert "user namespaces" in why_no_bubblewrap(str(fake))


def test_sbx_16_without_bubblewrap_the_state_says_so() -> None:
    best = without_bubblewrap("bubblewrap is not installed", "")
    least = without_bubblewrap("bubblewrap is not installed", "the kernel is too old")
    assert (best.level, least.level) == ("S2", "S1")
    assert "Landlock" in best.words
    assert least.words == "not sandboxed"
    assert "bubblewrap is not installed" in best.reason
    assert "too old" in least.reason


def test_sbx_22_a_command_that_cannot_be_confined_does_not_run(tmp_path: Path) -> None:
    """A separate process plays a machine without a sandbox."""
    text = (
        "import asyncio, sys\nfrom pathlib import Path\n"
        "from indwell.errors import ToolError\n"
        "from indwell.sandbox.confinement import Confinement, Strength\n"
        "from indwell.sandbox import spawn\nfrom indwell.sandbox.confine import confined_run\n"
        "confined_run.strength = lambda: Strength('S1', 'nothing is there')\n"
        "try:\n asyncio.run(spawn('echo x >ran', cwd=Path(sys.argv[1]), timeout_s=9,\n"
        "   confinement=Confinement(writable=())))\n"
        "except ToolError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", text, str(tmp_path)], check=True, capture_output=True, text=True
    )
    assert "nothing is there" in done.stdout
    assert not (tmp_path / "ran").exists()


@needs_bubblewrap
async def test_sbx_26_the_sandbox_delays_a_command_by_milliseconds_only(tmp_path: Path) -> None:
    """The test takes the quickest run, since a busy machine delays the others."""
    quickest = {"plain": math.inf, "confined": math.inf}
    for number in range(100):  # a slower sandbox never reaches the limit, however often it is tried
        for kind, bounds in (("plain", None), ("confined", Confinement(writable=(str(tmp_path),)))):
            began = time.perf_counter()
            await spawn("true", cwd=tmp_path, timeout_s=LONG_S, confinement=bounds)
            quickest[kind] = min(quickest[kind], time.perf_counter() - began)
        if number >= 4 and quickest["confined"] - quickest["plain"] < 0.05:
            break
    assert quickest["confined"] - quickest["plain"] < 0.05


@needs_bubblewrap
async def test_a_server_cannot_make_the_loader_load_or_write_outside_of_its_sandbox(
    tmp_path: Path,
) -> None:
    (inside := tmp_path / "workspace").mkdir()
    env = {"LD_DEBUG": "files", "LD_DEBUG_OUTPUT": str(tmp_path / "trace"), "KEPT": "yes"}
    said: list[bytes] = []
    await spawn_server(
        ["sh", "-c", 'echo "$KEPT $LD_DEBUG_OUTPUT"'],
        cwd=inside,
        env=env,
        feed=Feed(),
        on_output=said.append,
        on_errors=lambda _: None,
        stop=asyncio.Event(),
        confinement=Confinement(writable=(str(inside),)),
        on_note=lambda _: None,
    )
    assert b"".join(said) == f"yes {tmp_path}/trace\n".encode()
    assert [one.name for one in tmp_path.iterdir()] == ["workspace"]
