"""Tests that Indwell and its libraries run no file of the workspace outside the sandbox (S-H6)."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.bubblewrap import needs_bubblewrap
from support.editing import READ, USAGE, Home, bash, editing, results
from support.loopback_endpoint import Answer, LoopbackEndpoint, Seen, endpoint_in_thread, say
from support.model_server import answering
from support.raw_client import launched, raw_client

NAMES = (
    *("uname", "ldconfig", "gcc", "cc", "ld", "objdump", "lsb_release", "arch", "ip", "ifconfig"),
    *("git", "rg", "bash", "sh", "env", "ls", "cat", "bwrap", "python", "python3", "strace", "id"),
    *("node", "xdg-open", "dbus-launch", "secret-tool", "stty", "less", "tput", "sandbox-exec"),
    *("code", "emacs", "nvim", "vim", "hx", "kak", "zed", "dpkg", "locale", "file", "hostname"),
)
"""What libraries and we start somewhere; the trace and the hook show any other as well."""
PLANTED = '#!/bin/sh\n/bin/echo "$0" >> "{mark}"\n/bin/echo planted\n'
BACKEND = """
import pathlib
pathlib.Path({mark!r}).write_text("a module of the workspace")
"""
LISTEN = """
import sys
def listen(event, arguments):
    if event in {"subprocess.Popen", "os.exec", "os.posix_spawn"}:
        sys.stderr.write(f"STARTS {arguments[0]!r}\\n")
    if event in {"os.system", "os.startfile", "ctypes.dlopen"} and arguments[0] is not None:
        sys.stderr.write(f"STARTS {arguments[0]!r}\\n")
    if event == "exec":
        sys.stderr.write(f"RUNS {arguments[0].co_filename!r}\\n")
sys.addaudithook(listen)
"""
GREP = ("grep", json.dumps({"pattern": "total"}))
WAYS = {
    "run": ("run", "--trust", "look"),
    "run in a restricted folder": ("run", "look"),
    "doctor": ("doctor",),
    "doctor --report": ("doctor", "--report"),
    "models": ("models",),
    "login": ("login", "--key-stdin", "{url}"),
    "review": ("review",),
    "trust": ("trust", "--list"),
    "permissions": ("permissions", "explain", "--", "git status && uname -a"),
    "sessions": ("sessions",),
    "skills": ("setup",),
}


def strace() -> str:
    """Return the path of strace; skip the test where strace may not trace."""
    program = shutil.which("strace", path="/usr/local/bin:/usr/bin:/bin")
    if program is not None:
        tried = subprocess.run(
            [program, "-o", os.devnull, "true"], capture_output=True, check=False
        )
        if tried.returncode == 0:
            return program
    if os.environ.get("CI") == "true" and sys.platform == "linux":
        pytest.fail("CI has to have strace, and may trace")
    pytest.skip("strace is not installed, or may not trace here")


class Trap(Home):
    """A workspace with an activated environment whose programs and modules are all planted."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.mark = self.folder / "mark"
        for at in (".venv/bin", "bin", "."):
            for name in NAMES:
                self.write(f"{at}/{name}", PLANTED.format(mark=self.mark)).chmod(0o755)
        backend = BACKEND.format(mark=str(self.mark))
        self.write("lib/planted_backend.py", backend)
        self.write("lib/distro.py", backend)
        self.write("lib/planted-1.0.dist-info/METADATA", "Name: planted\nVersion: 1.0\n")
        points = "[keyring.backends]\nplanted = planted_backend\n"
        self.write("lib/planted-1.0.dist-info/entry_points.txt", points)

    def environment(self, base_url: str = "", **more: str) -> dict[str, str]:
        """Return the environment after ``activate``; PATH also has relative and empty entries."""
        known = super().environment(base_url, **more)
        work = self.workspace
        path = (str(work / ".venv" / "bin"), "bin", "", known["PATH"])
        python = (str(work / "lib"), *filter(None, [known.get("PYTHONPATH")]))
        return {
            **known,
            "PATH": os.pathsep.join(path),
            "PYTHONPATH": os.pathsep.join(python),
            "VIRTUAL_ENV": str(work / ".venv"),
        }

    def is_sprung(self) -> str:
        """Return the planted files that ran outside the sandbox."""
        return self.mark.read_text() if self.mark.exists() else ""


@pytest.fixture
def trap(tmp_path: Path) -> Trap:
    return Trap(tmp_path)


def chat() -> list[Answer]:
    return [
        say("I look.", calls=[READ, GREP], usage=USAGE),
        bash("echo hello"),
        say("Seen.", usage=USAGE),
    ]


def endpoint() -> object:
    """Yield an endpoint that lists models and plays a turn."""
    turn = chat()

    def next_one(_seen: Seen) -> Answer:
        return turn.pop(0) if turn else say("Seen.", usage=USAGE)

    return answering({"data": [{"id": "loopback-model"}]}, chat=next_one)


@pytest.mark.parametrize("way", WAYS)
def test_no_command_line_executes_a_program_in_the_workspace(trap: Trap, way: str) -> None:
    tracer = strace()
    if way == "run in a restricted folder":
        trap.trusted = ()
    log = trap.folder / "trace"
    with endpoint_in_thread(endpoint()) as server:
        words = [one.format(url=server.base_url) for one in WAYS[way]]
        main = "import sys; from indwell.cli import main; sys.exit(main())"
        trace = [tracer, "-f", "-qq", "-s", "4096", "-e", "trace=execve,execveat", "-o", str(log)]
        ended = subprocess.run(
            [*trace, sys.executable, "-P", "-c", main, *words],
            cwd=trap.workspace,
            env=trap.environment(server.base_url),
            input=b"a-key-of-some-length\n" if way == "login" else b"",
            capture_output=True,
            timeout=120,
            check=False,
        )
    executed = re.findall(r'exec\w+\((?:\w+, )?"([^"]*)"', log.read_text())
    assert executed, (ended.stdout, ended.stderr)
    inside = [one for one in executed if not one.startswith("/") or str(trap.workspace) in one]
    assert inside == []
    assert trap.is_sprung() == ""


@pytest.mark.parametrize("is_trusted", [True, False])
async def test_the_server_starts_programs_only_by_full_paths_outside_the_workspace(
    trap: Trap, *, is_trusted: bool
) -> None:
    if not is_trusted:
        trap.trusted = ()
    async with LoopbackEndpoint(chat()) as server:
        environment = trap.environment(server.base_url, OPENAI_API_KEY="")
        async with raw_client(trap, command=launched(LISTEN), environment=environment) as client:
            client.open_shop()
            answer = await client.prompt()
            assert answer["result"]["ending"] == "done", client.stderr
            assert await client.say_goodbye() == 0
            told = client.stderr
    started = re.findall(r"STARTS b?'([^']*)'", told)
    assert any(Path(one).name in {"bash", "bwrap", "sh"} for one in started), told
    assert [one for one in started if not one.startswith("/")] == []
    every = started + re.findall(r"RUNS '([^']*)'", told)
    assert [one for one in every if one.startswith(str(trap.workspace))] == []
    assert trap.is_sprung() == ""


@needs_bubblewrap
async def test_commands_of_the_agent_still_find_the_programs_of_the_project(trap: Trap) -> None:
    trap.write(".venv/bin/tool", "#!/bin/sh\necho the tool of $VIRTUAL_ENV\n").chmod(0o755)
    trap.configure('[rules]\nallow = ["tool"]\n')
    script = [bash("tool; command -v tool"), say("ok", usage=USAGE)]
    async with LoopbackEndpoint(script) as server:
        async with editing(trap, environment=trap.environment(server.base_url)) as editor:
            await editor.ask("run the tool")
        (result,) = results(server.seen[-1])
    assert f"the tool of {trap.workspace}/.venv\n{trap.workspace}/.venv/bin/tool\n" in result
    assert trap.is_sprung() == ""
