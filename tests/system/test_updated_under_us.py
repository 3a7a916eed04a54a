"""Tests `pip install -U` during a server's run: the server reports it and continues."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import indwell
from indwell.installation import UPDATED, Installation
from support.editing import EDIT, MENDED, READ, SOURCE, USAGE, Home, bash, results
from support.loopback_endpoint import LoopbackEndpoint, say
from support.raw_client import RawClient, launched, raw_client

LISTEN = """
import logging
log = logging.getLogger("indwell.wiring.preload")
log.setLevel(logging.DEBUG)
log.addHandler(logging.StreamHandler())
"""
GREP = ("grep", json.dumps({"pattern": "total"}))


def removed(package: Path) -> None:
    """Remove the package, as during an update or when the environment is replaced."""
    shutil.rmtree(package)


def replaced(package: Path) -> None:
    """Replace the package, as after an update to an entirely different version."""
    for path in package.rglob("*.py"):
        path.unlink()
        path.write_text("raise ImportError('of another version')\n")
    for path in package.rglob("__pycache__"):
        shutil.rmtree(path)


async def until_all_is_loaded(client: RawClient) -> None:
    """Wait until all modules are loaded; the first prompt starts this loading."""
    async with asyncio.timeout(60):
        while "all modules are loaded" not in client.stderr:
            await client.request("indwell/status", {})


@pytest.mark.parametrize("happens", [removed, replaced])
async def test_turns_and_rewinds_work_after_an_update_and_advise_a_restart(
    tmp_path: Path, happens: Callable[[Path], None]
) -> None:
    home = Home(tmp_path)
    site = home.folder / "site" / "indwell"
    without_caches = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(indwell.__file__).parent, site, ignore=without_caches)
    script = [
        say("I look.", calls=[READ], usage=USAGE), say(calls=[EDIT], usage=USAGE), say("Done."),
        say("I look.", calls=[READ, GREP]), bash("echo hello"),
        say(calls=[("edit_file", json.dumps({"path": "shop.py", "edits": [
            {"old": "def total", "new": "def sum_of"}]}))]),
        say("Renamed."),
    ]  # fmt: skip
    async with LoopbackEndpoint(script) as endpoint:
        environment = home.environment(endpoint.base_url, PYTHONPATH=str(site.parent))
        async with raw_client(home, command=launched(LISTEN), environment=environment) as client:
            await client.prompt("mend it")
            assert home.shop.read_text() == MENDED
            await until_all_is_loaded(client)
            happens(site)
            second = await client.prompt("rename it")
            assert second["result"]["ending"] == "done", (second, client.stderr)
            told = [one["event"] for one in client.of("indwell/event")]
            assert UPDATED in [one["message"] for one in told if one["type"] == "notice"]
            rename = home.shop.read_text()
            assert rename == MENDED.replace("def total", "def sum_of")
            back = await client.request(
                "workspace/executeCommand",
                {"command": "indwell.rewind", "arguments": [{"turn": 0, "files": True}]},
            )
            assert back["result"] is not None, client.stderr
            assert "error" not in back, (back, client.stderr)
            assert home.shop.read_text() == SOURCE
            assert await client.say_goodbye() == 0
        assert "hello" in results(endpoint.seen[-2])[-1]


def test_an_error_after_an_update_mentions_the_update(tmp_path: Path) -> None:
    file = tmp_path / "__init__.py"
    file.write_text("1")
    one = Installation(str(file))
    words = "something went wrong inside Indwell (ImportError); the log has more"
    assert (one.is_replaced(), one.news(), one.fault_words(ImportError("x"))) == (False, "", words)
    file.unlink()
    assert (one.is_replaced(), one.fault_words(ImportError("x"))) == (True, UPDATED)
    file.write_text("1")
    assert one.is_replaced()
    assert [one.news(), one.news()] == [UPDATED, ""]
