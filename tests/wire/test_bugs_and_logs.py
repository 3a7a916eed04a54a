"""A bug leads to an answer without a traceback; other output and logs never reach the wire."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from support.editing import Home
from support.odd_server import FLOOD, SECRET
from support.raw_client import RawClient, raw_client
from support.raw_wire import error_of, frame

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(sys.platform == "win32", reason="is told what to do by signals"),
]
ODD = (sys.executable, "-m", "support.odd_server")
BUG, FAILED = -32603, -32803


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def odd(tmp_path_factory) -> AsyncIterator[RawClient]:
    home = Home(tmp_path_factory.mktemp("odd"))
    environment = home.environment(PYTHONPATH=str(Path(__file__).parents[1]))
    async with raw_client(home, command=ODD, environment=environment) as client:
        await client.heard()
        yield client
        assert await client.say_goodbye() == 0


@pytest.mark.parametrize("method", ["odd/raises", "odd/raisesLater", "odd/noJson"])
async def test_lsp_20_an_internal_error_gives_one_answer_without_a_traceback(odd, method) -> None:
    answer = await odd.request(method)
    assert error_of(answer) == (answer["id"], BUG)
    assert SECRET not in str(answer)
    assert "data" not in answer["error"]
    assert odd.answers(answer["id"]) == [answer]


async def test_lsp_20_a_turn_that_meets_a_bug_fails_and_returns_the_prompt(odd) -> None:
    answer = await odd.prompt("my words")
    assert error_of(answer) == (answer["id"], FAILED)
    assert (SECRET in str(answer), answer["error"]["data"]) == (False, {"draft": "my words"})
    params = {"command": "indwell.explain", "arguments": [{"uri": odd.open_shop(), "wait": True}]}
    answer = await odd.request("workspace/executeCommand", params)
    assert error_of(answer) in {(answer["id"], None), (answer["id"], FAILED)}
    assert SECRET not in str(odd.messages)


async def test_the_log_of_a_bug_has_the_traceback_but_no_secret(odd) -> None:
    await odd.request("odd/raises")
    await odd.wait_until(lambda: "KeyError" in odd.stderr and "odd_server.py" in odd.stderr)
    assert SECRET not in odd.stderr


async def test_lsp_26_output_of_any_code_in_the_server_does_not_reach_the_wire(odd) -> None:
    os.kill(odd.pid, signal.SIGUSR1)
    words = ["stray print", "stray write", "stray descriptor", "stray child"]
    await odd.wait_until(lambda: all(word in odd.stderr for word in words))
    # The client parses strictly, so a stray byte would fail the wait.
    await odd.heard()


async def test_lsp_27_a_flood_of_logs_is_limited_and_contains_no_secret(odd) -> None:
    before = len(odd.stderr)
    os.kill(odd.pid, signal.SIGUSR2)
    await odd.wait_until(lambda: "Authorization" in odd.stderr[before:])
    await odd.heard()
    lines = odd.stderr[before:].splitlines()
    assert 0 < len(lines) < FLOOD / 20
    assert SECRET not in odd.stderr


async def test_lsp_27_the_contents_of_editor_messages_are_never_logged(odd) -> None:
    """Bad messages are logged with their fault, without the user's text."""
    before, mark = len(odd.stderr), "a-word-of-the-user"
    text = mark * 10_000
    bodies: list[object] = [
        {"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"text": text}},
        {"jsonrpc": "2.0", "method": "textDocument/didChange", "params": [text]},
        {"jsonrpc": "2.0", "method": "indwell/didFocus", "params": {"uri": [text]}},
        {"jsonrpc": "2.0", "id": "a", "method": "indwell/prompt", "params": {"text": [text]}},
        {"jsonrpc": "2.0", "id": "never asked", "error": {"code": 1, "message": text}},
        b'{"jsonrpc":"2.0","id":1,"method":"x","params":"' + text.encode(),
    ]
    for body in bodies:
        odd.write(frame(body))
    await odd.heard()
    os.kill(odd.pid, signal.SIGUSR1)  # the last output comes after all earlier log lines
    await odd.wait_until(lambda: "stray child" in odd.stderr[before:])
    assert mark not in odd.stderr[before:]
    assert len(odd.stderr) - before < 10_000
