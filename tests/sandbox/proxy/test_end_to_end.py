"""SBX-19, SBX-20 through the real sandbox: a command, its bounds, the proxy, a server outside."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from indwell.sandbox.confine.strength import find_bwrap
from indwell.sandbox.confinement import Confinement
from indwell.sandbox.spawn import spawn
from support.bubblewrap import needs_bubblewrap
from support.web_server import FETCH, WORDS, web_server

SERVER = Path(__file__).resolve().parents[3] / "server"


async def ran(tmp_path, command: str, *hosts: str) -> str:
    bounds = Confinement(writable=(str(tmp_path),), hosts=hosts)
    finished = await spawn(command, cwd=tmp_path, timeout_s=60, confinement=bounds)
    return finished.output


@needs_bubblewrap
async def test_a_sandboxed_command_reaches_only_named_hosts(tmp_path) -> None:
    async with web_server() as (port, heard):
        command = FETCH.format(port=port)
        assert WORDS in await ran(tmp_path, command, f"localhost:{port}")
        assert heard[0].startswith(b"GET /x HTTP/1.1\r\nHost: localhost:")
        past_rules = f"NO_PROXY= no_proxy= {command}"
        assert "Refused by the sandbox" in await ran(tmp_path, past_rules, "other.example")
        bounds = Confinement(writable=(str(tmp_path),), hosts=("other.example",))
        finished = await spawn(past_rules, cwd=tmp_path, timeout_s=60, confinement=bounds)
        assert finished.notes == (f"the sandbox refused connections to localhost:{port}",)
        assert "refused" in (await ran(tmp_path, command)).lower()
        assert len(heard) == 1


@needs_bubblewrap
async def test_sbx_20_without_a_host_there_is_no_proxy_and_no_network(tmp_path) -> None:
    said = await ran(tmp_path, "env | grep -ic _proxy=; cat /proc/net/dev | grep -c :")
    assert said.split() == ["0", "1"]  # the command's own loopback


@needs_bubblewrap
async def test_network_access_by_proxy_changes_no_other_sandbox_rule(tmp_path) -> None:
    """The starter leaves no process, no descriptor and no variable behind."""
    show = "ls -l /proc/self/fd | grep -c socket; ps -e | grep -c python"
    show += "; grep SigIgn /proc/self/status"
    with_way, without = [await ran(tmp_path, show, *hosts) for hosts in (("a.example",), ())]
    assert with_way == without
    said = await ran(tmp_path, "echo x > /etc/indwell-test; ls /etc/indwell-test", "*")
    assert "Read-only file system" in said


@needs_bubblewrap
def test_a_machine_without_bubblewrap_reports_that_instead_of_running_with_network() -> None:
    code = (
        "import asyncio, pathlib\n"
        "from indwell.sandbox.confinement import Confinement\n"
        "from indwell.sandbox.spawn import spawn\n"
        "bounds = Confinement(writable=('/tmp',), hosts=('a.example',))\n"
        "asyncio.run(spawn('true', cwd=pathlib.Path('/tmp'), timeout_s=9, confinement=bounds))\n"
    )
    program = find_bwrap()
    hiding = [program, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    hiding += ["--ro-bind", "/dev/null", program]
    done = subprocess.run(
        [*hiding, sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(SERVER)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 1
    assert "ToolError: there is no network for commands without bubblewrap" in done.stderr
