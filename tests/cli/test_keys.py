"""A key is sent to its endpoint and shown nowhere else: not on screen, in a log, or in a file."""

from __future__ import annotations

import asyncio
from pathlib import Path

from support.editing import Home, bash, editing, results
from support.loopback_endpoint import LoopbackEndpoint, refuse, say
from support.terminal import indwell

CANARY = "sk-canary-5f1e7a"


def holding(folder: Path) -> list[str]:
    """Files with the canary in them."""
    return [
        path.name
        for path in folder.rglob("*")
        if path.is_file() and CANARY.encode() in path.read_bytes()
    ]


async def test_a_key_of_the_environment_stays_with_the_endpoint(tmp_path) -> None:
    home = Home(tmp_path)
    script = [bash("env; echo $OPENAI_API_KEY"), say("Well."), refuse(401, f"bad key {CANARY}")]
    async with LoopbackEndpoint(script) as endpoint:
        environment = home.environment(endpoint.base_url, OPENAI_API_KEY=CANARY)
        ran = await indwell(
            "run", "x", "--allow-commands", environment=environment, folder=home.workspace
        )
        refused = await indwell("run", "x", environment=environment, folder=home.workspace)
        assert {seen.headers["authorization"] for seen in endpoint.seen} == {f"Bearer {CANARY}"}
        (said,) = results(endpoint.seen[1])
        assert ("PATH=" in said, CANARY in said) == (True, False)
    assert (ran.code, refused.code) == (0, 1)
    for ended in (ran, refused):
        assert CANARY not in ended.stdout + ended.stderr
    assert holding(home.folder) == []


async def test_a_key_of_the_settings_file_is_in_no_log_of_the_server(tmp_path) -> None:
    home = Home(tmp_path)
    script = [say("Well."), refuse(401, f"bad key {CANARY}"), refuse(400, f"Bearer {CANARY}")]
    async with LoopbackEndpoint(script) as endpoint:
        home.configure(
            f'api_key = "{CANARY}"\nbase_url = "{endpoint.base_url}"\nmodel = "m"\nmodle = "x"\n'
        )
        async with editing(home, environment=home.environment(), extensions=("events",)) as editor:
            log = asyncio.create_task(editor.process.stderr.read())
            endings = [(await editor.ask("x", session="new")).ending for _ in script]
            told = repr((editor.events, editor.messages))
        written = (await log).decode()
        assert endings == ["done", "failed", "failed"]
        assert {seen.headers["authorization"] for seen in endpoint.seen} == {f"Bearer {CANARY}"}
    assert (CANARY in told, CANARY in written) == (False, False)
    assert holding(home.folder) == ["config.toml"]
