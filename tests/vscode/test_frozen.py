"""The frozen server, which has its own Python and is part of some packages.

``scripts/freeze`` takes a minute of processor time, so CI does not build it. The tests use an
existing build; with INDWELL_TEST_LONG they make a new build (issue 23).
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.editing import Home
from support.loopback_endpoint import LoopbackEndpoint, say

ROOT = Path(__file__).resolve().parents[2]
START = ROOT / "scripts" / "frozen" / "start.py"
BUILT = ROOT / ".freeze" / "frozen" / f"indwell-server{'.exe' if sys.platform == 'win32' else ''}"
ANSWER_S = 3.0  # from the first start to the answer to `initialize`
# limit of the unpacked size; the first build had 145 MB, or 48 MB in the package
SIZE_B = 190_000_000
EVERYTHING = """
import importlib, math, pkgutil
import keyring, jsonschema, tree_sitter
import indwell.mcp.connection
from indwell.agent.features.skills.folders import SHIPPED
from indwell.navigation.syntax import _GRAMMARS
from indwell.providers import client, facts
from indwell.sandbox.environment import find_program
from indwell.sandbox.worker_processes import mapped
from indwell.wiring.preload import load_rest
load_rest()
client.warm_up()
facts.warm_up()
for one in _GRAMMARS.values():
    tree_sitter.Language(getattr(importlib.import_module(one.package), one.function)())
assert len(list(SHIPPED.iterdir())) > 2
assert find_program("rg").parent.samefile(sys.prefix)
assert list(mapped(math.sqrt, [float(n) for n in range(12)], n_workers=2))[9] == 3
print("all of it")
"""


def run(*words: str, **variables: str) -> str:
    env = {**os.environ, **variables}
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="module")
def server() -> str:
    if os.environ.get("INDWELL_TEST_LONG") is not None:
        subprocess.run([ROOT / "scripts" / "freeze"], check=True, timeout=1200)
    if not BUILT.exists():
        pytest.skip("no frozen server is built: scripts/freeze (issue 23)")
    return str(BUILT)


def test_the_frozen_server_runs_code_for_a_child_as_python_does() -> None:
    output = run(
        sys.executable, str(START), "-I", "-S", "-c", "import sys; print(sys.argv)", "3", "ls"
    )
    assert output == "['-c', '3', 'ls']"


def test_the_frozen_server_runs_a_module_as_python_does() -> None:
    assert run(sys.executable, str(START), "-m", "indwell", "--version").startswith("indwell ")
    table = run(sys.executable, str(START), "-B", "-m", "json.tool", "--help")
    assert "json.tool" in table


def test_no_child_of_the_frozen_server_inherits_the_variables_of_its_bundle() -> None:
    code = "import os; print(os.environ.get('LD_LIBRARY_PATH'), '_PYI_X' in os.environ)"
    before = {"_PYI_X": "1", "LD_LIBRARY_PATH": "/bundle", "LD_LIBRARY_PATH_ORIG": "/mine"}
    assert run(sys.executable, str(START), "-c", code, **before) == "/mine False"


@pytest.mark.timeout(1300)
def test_the_frozen_server_answers_within_three_seconds_and_contains_all_modules_and_programs(
    server: str, tmp_path: Path
) -> None:
    begun = time.monotonic()
    params = {"processId": None, "rootUri": None, "capabilities": {}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
    with subprocess.Popen(
        [server, "serve", "--stdio"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "INDWELL_STATE": str(tmp_path)},
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"Content-Length: {len(body)}\r\n\r\n{body}".encode())
        process.stdin.flush()
        assert process.stdout.readline().startswith(b"Content-Length")
        assert time.monotonic() - begun < ANSWER_S
        process.kill()
    assert run(server, "-I", "-c", f"import sys\n{EVERYTHING}") == "all of it"
    assert "with its own Python in" in run(server, "-I", "-c", DOCTOR)


DOCTOR = "from indwell.cli.doctor.machine import versions; print(versions()[0].sentence)"


def test_the_frozen_server_is_small(server: str) -> None:
    files = [one for one in Path(server).parent.rglob("*") if one.is_file()]
    assert sum(one.stat().st_size for one in files) < SIZE_B


async def test_the_frozen_server_runs_a_prompt_and_starts_an_mcp_server(
    server: str, tmp_path: Path
) -> None:
    home = Home(tmp_path)
    program = ROOT / "tests" / "support" / "small_mcp_server.py"
    home.configure(
        f"[mcp.small]\ncommand = {json.dumps(sys.executable)}\n"
        f"args = [{json.dumps(str(program))}]\n"
    )
    async with LoopbackEndpoint([say("Here I am.")]) as endpoint:
        for words, expected in (
            (("run", "--trust", "--json", "hello"), b"Here I am."),
            (("mcp", "test", "small"), b"tool_19"),
        ):
            process = await asyncio.create_subprocess_exec(
                *(server, *words),
                stdout=asyncio.subprocess.PIPE,
                cwd=home.workspace,
                env=home.environment(endpoint.base_url),
            )
            output, _ = await process.communicate()
            assert process.returncode == 0, output
            assert expected in output


async def test_the_frozen_server_serves_a_client_of_the_agent_client_protocol(
    server: str, tmp_path: Path
) -> None:
    params = {"protocolVersion": 1, "clientCapabilities": {}}
    asked = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    process = await asyncio.create_subprocess_exec(
        *(server, "acp"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "INDWELL_STATE": str(tmp_path)},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(asked).encode() + b"\n")
    answer = json.loads(await process.stdout.readline())
    assert answer["result"]["protocolVersion"] == 1
    process.stdin.close()
    await process.wait()
