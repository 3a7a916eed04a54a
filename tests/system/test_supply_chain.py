"""Tests SYS-08 and SYS-09: pinned packages, no later downloads, no secret in CI."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from indwell.sandbox.confine.strength import find_bwrap
from support.editing import Home
from support.raw_client import launched, raw_client

ROOT = Path(__file__).resolve().parents[2]
LOCKED = sorted((ROOT / "requirements").glob("*.txt"))
LISTEN = """
import sys
NETWORK = {"socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "urllib.Request"}
def listen(event, arguments):
    if event in NETWORK:
        sys.stderr.write(f"NETWORK {event} {arguments[-1]!r}\\n")
    if event in {"subprocess.Popen", "os.exec", "os.posix_spawn", "os.system"}:
        sys.stderr.write(f"PROCESS {event} {arguments[0]!r}\\n")
sys.addaudithook(listen)
"""


@pytest.mark.parametrize("path", LOCKED, ids=lambda path: path.name)
def test_every_requirement_has_one_version_and_its_hashes(path) -> None:
    text = re.sub(r"\\\n\s*", " ", path.read_text())
    lines = [
        line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")
    ]
    assert lines
    wrong = [
        line for line in lines if not re.match(r"[\w.\[\]-]+==\S+ .*--hash=sha256:\w{64}", line)
    ]
    assert wrong == []
    assert (
        re.search(r"https?://|--index-url|--extra-index|--trusted-host|git\+|file:", text) is None
    )


def test_the_setup_script_requires_hashes_and_builds_without_the_network() -> None:
    text = (ROOT / "scripts" / "setup").read_text()
    assert "--require-hashes" in text
    assert "--no-index" in text


async def test_a_scripted_session_opens_no_connection_and_starts_only_a_sandbox_trial(
    tmp_path,
) -> None:
    home = Home(tmp_path)
    async with raw_client(home, command=launched(LISTEN, "--scripted")) as client:
        client.open_shop()
        assert (await client.prompt())["result"]["ending"] == "done"
        assert await client.say_goodbye() == 0
        trial = f"PROCESS subprocess.Popen {find_bwrap()!r}"
        assert set(client.stderr.splitlines()) <= {trial}


async def test_the_listener_reports_processes_and_connections(tmp_path) -> None:
    code = (
        LISTEN
        + "import subprocess, socket\nsubprocess.run(['true'])\nsocket.getaddrinfo('127.0.0.1', 9)"
    )
    async with raw_client(Home(tmp_path), command=launched(code, "--scripted")) as client:
        words = [line.split()[0] for line in client.stderr.splitlines()]
        assert words == ["PROCESS", "NETWORK"]


def test_the_pipeline_has_no_secret_and_fetches_no_script() -> None:
    pipeline = [
        ROOT / ".ci" / "run",
        *(path for path in (ROOT / "scripts").iterdir() if path.is_file()),
    ]
    forge = (ROOT / ".github").rglob("*.y*ml")
    pipeline += [path for path in forge if "ISSUE_TEMPLATE" not in path.parts]  # no programs
    for path in pipeline:
        text = path.read_text()
        assert re.search(r"secrets\.|_TOKEN|_KEY\b|PASSWORD", text) is None, path
        assert re.search(r"\b(curl|wget)\b|\|\s*(ba)?sh\b|pull_request_target", text) is None, path
        if path.suffix in {".yml", ".yaml"}:
            assert re.search(
                r"^permissions:\s*(read-all|\{\}|\n\s+contents: read)", text, re.MULTILINE
            ), path
    assert "set -euo pipefail" in (ROOT / ".ci" / "run").read_text()
