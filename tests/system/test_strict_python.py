"""Tests SYS-07: the server with warnings as errors, in Python's and asyncio's debug modes.

How long a step blocks the event loop is measured by the benchmarks, because it depends on the
machine's load.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from support.editing import EDIT, READ, USAGE, Home, bash
from support.loopback_endpoint import HANG, LoopbackEndpoint, chunk, refuse, say, stream
from support.raw_client import raw_client

ROOT = Path(__file__).resolve().parents[2]
STRICT = (sys.executable, "-X", "dev", "-W", "error", "-m", "indwell", "serve", "--stdio")
BAD = re.compile(
    r"Warning|never awaited|never retrieved|was destroyed|unclosed|Traceback|Exception ignored"
)
WRITE = ("write_file", json.dumps({"path": "new.py", "content": "x = 1\n"}))
SCRIPT = [
    say("I look.", calls=[READ], usage=USAGE),
    say(calls=[EDIT, WRITE], usage=USAGE),
    bash("echo one"),
    say("Mended.", usage=USAGE),
    refuse(400, "no such model"),
    stream(chunk({"content": "half"}), HANG),
    bash("sleep 1000"),
]


async def test_a_session_raises_no_warning_under_pythons_strict_checks(tmp_path) -> None:
    home = Home(tmp_path)
    async with LoopbackEndpoint(SCRIPT) as endpoint:
        environment = home.environment(endpoint.base_url, PYTHONASYNCIODEBUG="1")
        async with raw_client(home, command=STRICT, environment=environment) as client:
            client.replies["workspace/applyEdit"] = lambda _params: {"applied": False}
            uri = client.open_shop()
            done = await client.prompt("mend it")
            assert done["result"]["ending"] == "done"
            assert (await client.prompt("again"))["result"]["ending"] == "failed"
            # The test cancels this turn while the model sends nothing.
            asked = client.ask("indwell/prompt", {"text": "hang"})
            await client.wait_until(lambda: "half" in str(client.of("indwell/event")))
            client.notify("$/cancelRequest", {"id": asked})
            await client.answer(asked)
            # This turn ends with the session while a command runs.
            client.ask("indwell/prompt", {"text": "sleep"})
            await client.wait_until(lambda: "sleep 1000" in str(client.of("indwell/event")))
            client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
            assert await client.say_goodbye() == 0
            assert BAD.findall(client.stderr) == [], client.stderr


async def test_every_module_imports_with_warnings_as_errors(tmp_path) -> None:
    home = Home(tmp_path)
    package = ROOT / "server" / "indwell"
    names = [
        ".".join(("indwell", *path.relative_to(package).with_suffix("").parts))
        for path in sorted(package.rglob("*.py"))
        if path.stem not in {"__init__", "__main__"}
    ]
    code = f"import importlib\nfor name in {names!r}: importlib.import_module(name)"
    command = (sys.executable, "-X", "dev", "-W", "error", "-c", code)
    async with raw_client(home, command=command, hello=False) as client:
        assert (await client.ended(timeout_s=40), client.stderr) == (0, "")


def test_no_script_runs_python_without_asserts() -> None:
    for path in [*(ROOT / "scripts").iterdir(), ROOT / ".ci" / "run", ROOT / "pyproject.toml"]:
        if path.is_file():
            text = path.read_text()
            assert re.search(r"python\S* +-O|PYTHONOPTIMIZE", text) is None, path


@pytest.mark.parametrize("text", ["ResourceWarning: unclosed <socket>", "Task was destroyed but"])
def test_the_search_for_forbidden_uses_finds_each_kind(text) -> None:
    assert BAD.search(text)
