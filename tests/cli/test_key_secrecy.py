"""A key is sent only to its endpoint, and is never shown on screen, in a log, or in a file."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from support.editing import Home, bash, editing, results
from support.loopback_endpoint import LoopbackEndpoint, refuse, say
from support.model_server import answering, listed
from support.raw_client import HATCHED, raw_client
from support.terminal import indwell

CANARY = "sk-canary-5f1e7a"


def holding(folder: Path) -> list[str]:
    """Return the files that contain the canary."""
    return [
        path.name
        for path in folder.rglob("*")
        if path.is_file() and CANARY.encode() in path.read_bytes()
    ]


async def test_a_key_of_the_environment_is_sent_only_to_its_endpoint(tmp_path) -> None:
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


PLAIN = "plainsecretvalue987654"


@pytest.mark.parametrize(
    ("command", "end"),
    [
        (("doctor",), f"/v1/{PLAIN}"),
        (("doctor",), f"/v1?x={PLAIN}"),
        (("doctor", "--json"), f"/v1?x={PLAIN}"),
        (("run", "hi"), f"/{PLAIN}?x={PLAIN}"),
        (("models",), f"/v1/{PLAIN}"),
    ],
)
async def test_a_key_inside_an_address_is_not_shown(tmp_path, command, end) -> None:
    home = Home(tmp_path)
    home.configure(f'api_key = "{PLAIN}"\nbase_url = "http://127.0.0.1:9{end}"\nmodel = "m"\n')
    environment = home.environment()
    ended = await indwell(*command, environment=environment, folder=home.workspace)
    assert ("127.0.0.1:9" in ended.stdout + ended.stderr, ended.code) == (True, 1)
    assert PLAIN not in ended.stdout + ended.stderr


async def test_login_never_prints_a_key_given_as_the_wrong_argument(tmp_path) -> None:
    home = Home(tmp_path)
    wishes = [
        {"provider": "openai", "url": f"http://127.0.0.1:9/v1?key={PLAIN}", "key": PLAIN},
        {"provider": "openai", "url": f"http://me:{PLAIN}@127.0.0.1:9/v1", "key": PLAIN},
        {"provider": PLAIN, "key": PLAIN},
        {"provider": CANARY, "key": CANARY},
    ]
    async with raw_client(home, command=HATCHED) as client:
        for wish in wishes:
            answer = repr(await client.request("indwell/login", wish))
            assert (PLAIN in answer, CANARY in answer) == (False, False), answer


@pytest.mark.parametrize("command", [("run", "hi", "--quiet"), ("models",)])
async def test_the_debug_switch_of_another_program_adds_no_log_lines(tmp_path, command) -> None:
    home = Home(tmp_path)
    script = answering(listed("q"), chat=lambda _seen: say("Well."))
    async with LoopbackEndpoint(script) as endpoint:
        environment = home.environment(endpoint.base_url, OPENAI_LOG="debug")
        ended = await indwell(*command, environment=environment, folder=home.workspace)
    assert (ended.code, ended.stderr) == (0, "")


async def test_the_debug_switch_of_another_program_adds_no_server_log_lines(tmp_path) -> None:
    home = Home(tmp_path)
    async with LoopbackEndpoint([say("Well.")]) as endpoint:
        environment = home.environment(endpoint.base_url, OPENAI_LOG="debug")
        async with raw_client(home, command=HATCHED, environment=environment) as client:
            await client.prompt("hello")
            await client.say_goodbye()
            assert client.stderr == ""
