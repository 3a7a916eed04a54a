"""SEC-02, SEC-08: other programs cannot read Indwell's process, which leaves no core file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")

TAKEN = """
import os
from pathlib import Path
from indwell.sandbox.environment import own_environment
environment = own_environment()
first = Path("/proc/self/environ").read_bytes()
there = b"\\0".join(f"{n}={v}".encode() for n, v in os.environ.items())
print(environment["OPENAI_API_KEY"], environment["HTTPS_PROXY"], environment["PLAIN"])
print(first.count(b"canary"), b"PLAIN=shown" in first, b"PATH=/" in first)
print(there.count(b"canary"), os.environ["HTTPS_PROXY"], os.popen("env | grep -c canary").read())
"""


def ended(code: str, **environment: str) -> str:
    given = {"PATH": "/usr/bin:/bin", **environment}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=given, capture_output=True, text=True, check=True).stdout


@linux
def test_sec_02_a_key_is_read_once_and_then_is_in_no_environment() -> None:
    said = ended(
        TAKEN,
        OPENAI_API_KEY="canary-1",
        DB_PASSWORD="canary-2",
        HTTPS_PROXY="http://me:canary-3@proxy:1",
        PLAIN="shown",
    )
    assert said.splitlines()[:3] == [
        "canary-1 http://me:canary-3@proxy:1 shown",
        "0 True True",
        # The HTTP client reads its proxy from this process's environment; `popen` starts no child
        # process here.
        "1 http://me:canary-3@proxy:1 1",
    ]


@linux
def test_sec_02_an_empty_key_variable_and_a_repeated_one_are_removed() -> None:
    said = ended(TAKEN, OPENAI_API_KEY="canary-1", TOKEN_PROXY="", HTTPS_PROXY="", PLAIN="shown")
    assert said.splitlines()[1] == "0 True True"


NO_CORE = """
import os, resource, signal
from indwell.sandbox.environment import keep_private
keep_private()
print(resource.getrlimit(resource.RLIMIT_CORE)[0], flush=True)
child = os.fork()
if not child:
    print(resource.getrlimit(resource.RLIMIT_CORE)[0], flush=True)
    os.kill(os.getpid(), signal.SIGSEGV)
print(os.WCOREDUMP(os.waitpid(child, 0)[1]))
"""


@linux
def test_sec_08_neither_the_server_nor_a_child_leaves_a_core_file() -> None:
    assert ended(NO_CORE).split() == ["0", "0", "False"]


FILES = """
import resource
from indwell.sandbox.environment import allow_open_files
resource.setrlimit(resource.RLIMIT_NOFILE, {limits})
allow_open_files()
print(*resource.getrlimit(resource.RLIMIT_NOFILE))
"""


@linux
@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ("(256, 5000)", "4096 5000"),
        ("(256, 1000)", "1000 1000"),
        ("(256, 256)", "256 256"),
        ("(1024, 5000)", "1024 5000"),
    ],
)
def test_more_files_may_be_open_than_a_desktop_allows(limits: str, expected: str) -> None:
    assert ended(FILES.format(limits=limits)).strip() == expected


@linux
@pytest.mark.skipif(Path("/proc/self").stat().st_uid != 0, reason="becomes another user")
def test_sec_02_a_program_of_the_same_user_cannot_read_indwells_memory_or_environment() -> None:
    code = """
import ctypes, os, sys
from indwell.sandbox.environment import keep_private
os.setgroups([]), os.setgid(65534), os.setuid(65534)
ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # as every program begins; changing the user took it away

def neighbour():
    pid = os.getpid()
    if not os.fork():
        for name in ("environ", "mem", "auxv"):
            try:
                os.close(os.open(f"/proc/{pid}/{name}", os.O_RDONLY))
                print("opened", end=" ")
            except OSError as error:
                print(type(error).__name__, end=" ")
        sys.stdout.flush()
        os._exit(0)
    os.wait()

neighbour()
keep_private()
neighbour()
"""
    assert ended(code).split() == ["opened"] * 3 + ["PermissionError"] * 3
