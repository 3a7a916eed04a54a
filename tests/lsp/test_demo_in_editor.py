"""A demo without a key: a made-up project, scripted answers, and nothing stored."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from support.editing import Home
from support.loopback_endpoint import LoopbackEndpoint
from support.raw_client import HATCHED, RawClient, raw_client

QUESTION = "window/showMessageRequest"


@pytest.fixture
def home(tmp_path) -> Home:
    made = Home(tmp_path)
    made.trusted = ()
    return made


@asynccontextmanager
async def window(
    home: Home, folder: Path, variables: dict[str, str], *, trusted: bool = True
) -> AsyncIterator[RawClient]:
    workspace = {"applyEdit": True, "workspaceEdit": {"documentChanges": True}}
    ours = {"events": True, "permission": True, "trusted": trusted}
    capabilities = {"experimental": {"indwell": ours}, "workspace": workspace}
    async with raw_client(home, environment=variables, hello=False, command=HATCHED) as client:
        client.replies[QUESTION] = lambda _params: None
        one = {"uri": folder.as_uri(), "name": folder.name}
        await client.initialize(
            capabilities=capabilities, rootUri=one["uri"], workspaceFolders=[one]
        )
        yield client


async def asked(client: RawClient, method: str, **params: Any) -> dict[str, Any]:
    answer = await client.request(method, params)
    assert "result" in answer, answer
    result: dict[str, Any] = answer["result"]
    return result


async def fix(client: RawClient, demo: dict[str, Any]) -> dict[str, Any]:
    """Select the faulty function and choose ``Fix this``; return the end of the turn."""
    uri = Path(demo["file"]).as_uri()
    item = {"uri": uri, "languageId": "python", "version": 1}
    client.notify(
        "textDocument/didOpen",
        {"textDocument": {**item, "text": Path(demo["file"]).read_text("utf-8")}},
    )
    ends = {
        "start": {"line": demo["first"], "character": 0},
        "end": {"line": demo["last"], "character": 0},
    }
    arguments = {"uri": uri, "range": ends, "version": 1, "wait": True}
    command = {"command": "indwell.fix", "arguments": [arguments]}
    return await asked(client, "workspace/executeCommand", **command)


@pytest.mark.parametrize("trusted", [True, False], ids=["trusted", "restricted"])
async def test_the_demo_edits_a_made_up_project_without_a_key_or_a_question(home, trusted) -> None:
    variables = {**home.environment(), "XDG_CACHE_HOME": str(home.folder / "cache")}
    async with window(home, home.workspace, variables) as client:
        assert (await asked(client, "indwell/status"))["demo"] == ""
        made = await asked(client, "indwell/demo")
    folder = Path(made["folder"])
    before = Path(made["file"]).read_text("utf-8")
    async with window(home, folder, variables, trusted=trusted) as client:
        status = await asked(client, "indwell/status")
        shown = (status["demo"], status["model"], status["lacking"], status["trusted"])
        assert shown == ("scripted", "scripted", "", True)
        assert await asked(client, "indwell/demo") == made
        ended = await fix(client, made)
        assert ended["ending"] == "done", ended
        assert client.of(QUESTION) == []
    assert "total = item" in before
    assert not (home.config / "indwell" / "config.toml").exists()
    assert home.files == {"shop.py": home.shop.read_bytes()}
    if os.name == "posix":
        assert folder.stat().st_mode & 0o077 == 0


async def test_a_users_own_folder_never_gets_the_scripted_model(home) -> None:
    variables = {**home.environment(), "XDG_CACHE_HOME": str(home.folder / "cache")}
    async with window(home, home.workspace, variables) as client:
        made = await asked(client, "indwell/demo")
    near = Path(made["folder"]).parent / "mine"
    near.mkdir()
    link = home.folder / "made-up-project-x"
    link.symlink_to(home.workspace)
    for folder in (near, Path(made["folder"]) / "core", link):
        async with window(home, folder, variables) as client:
            status = await asked(client, "indwell/status")
            assert (status["demo"], status["trusted"]) == ("", False)
            assert "no model is set" in status["lacking"]


async def test_the_demo_says_when_the_user_has_connected_a_model_and_stays_scripted(home) -> None:
    cache = {"XDG_CACHE_HOME": str(home.folder / "cache")}
    async with LoopbackEndpoint([]) as endpoint:
        variables = {**home.environment(endpoint.base_url, OPENAI_API_KEY="sk-x"), **cache}
        async with window(home, home.workspace, variables) as client:
            made = await asked(client, "indwell/demo")
        async with window(home, Path(made["folder"]), variables) as client:
            assert (await asked(client, "indwell/status"))["demo"] == "connected"
            assert (await fix(client, made))["ending"] == "done"
        assert endpoint.seen == []
