"""The life of a server: before initialize, after shutdown, and the exit code."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from support.editing import Home
from support.raw_client import SCRIPTED, RawClient, raw_client
from support.raw_wire import error_of

NOT_INITIALIZED, INVALID, NOT_FOUND = -32002, -32600, -32601
RANGE = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}
CODE_ACTION = {
    "textDocument": {"uri": "untitled:nothing"},
    "range": RANGE,
    "context": {"diagnostics": []},
}


@pytest_asyncio.fixture
async def fresh(tmp_path) -> AsyncIterator[RawClient]:
    async with raw_client(Home(tmp_path), hello=False) as client:
        yield client


@pytest_asyncio.fixture
async def process(tmp_path) -> AsyncIterator[RawClient]:
    """Yield a server with its own interpreter; all other servers of this file are forked."""
    async with raw_client(Home(tmp_path), command=SCRIPTED, hello=False) as client:
        yield client


async def code_of(client: RawClient, method: str, params: object = None) -> int | None:
    return error_of(await client.request(method, params))[1]


async def test_lsp_08_before_initialize_no_request_is_served(fresh) -> None:
    early = ["textDocument/codeAction", "workspace/executeCommand", "indwell/prompt", "no/such"]
    early += ["shutdown"]
    assert [await code_of(fresh, one) for one in early] == [NOT_INITIALIZED] * 5
    # The notification is dropped, so the document is not open.
    uri = fresh.open_shop()
    await fresh.initialize()
    action = {**CODE_ACTION, "textDocument": {"uri": uri}}
    assert (await fresh.request("textDocument/codeAction", action))["result"] in (None, [])
    assert await fresh.say_goodbye() == 0


async def test_lsp_08_exit_before_initialize_ends_the_server(fresh) -> None:
    fresh.notify("exit")
    assert await fresh.ended() == 1
    assert fresh.messages == []


async def test_lsp_09_a_second_initialize_is_refused_without_effect(fresh) -> None:
    first = await fresh.initialize()
    assert first["result"]["serverInfo"]["name"] == "indwell"
    assert await code_of(fresh, "initialize", fresh.hello()) == INVALID
    fresh.open_shop()
    assert (await fresh.prompt())["result"]["ending"] == "done"
    assert await fresh.say_goodbye() == 0


async def test_of_two_initialize_requests_in_one_write_the_second_is_refused(fresh) -> None:
    ids = [fresh.ask("initialize", fresh.hello()) for _ in range(2)]
    assert [error_of(await fresh.answer(id_))[1] for id_ in ids] == [None, INVALID]


async def test_an_invalid_initialize_is_refused_and_may_be_repeated(fresh) -> None:
    for params in (None, [], {"capabilities": 5}, {"processId": "x", "capabilities": {}}):
        assert await code_of(fresh, "initialize", params) == -32602, params
    assert "result" in await fresh.initialize()
    assert await fresh.say_goodbye() == 0


async def test_lsp_10_after_shutdown_everything_but_exit_is_refused(fresh) -> None:
    await fresh.initialize()
    assert (await fresh.request("shutdown"))["result"] is None
    late = ["textDocument/codeAction", "no/such", "shutdown", "initialize", "indwell/prompt"]
    assert [await code_of(fresh, one) for one in late] == [INVALID] * 5
    fresh.open_shop()  # the server drops this notification
    fresh.notify("exit")
    assert await fresh.ended() == 0


async def test_exit_without_shutdown_leads_to_an_exit_code_of_one(fresh) -> None:
    await fresh.initialize()
    fresh.notify("exit")
    assert await fresh.ended() == 1


async def test_a_whole_session_in_one_write_is_answered(process) -> None:
    """A script writes a whole session at once, and reads the answers later."""
    hello = process.ask("initialize", process.hello())
    process.notify("initialized", {})
    uri = process.open_shop()
    offered = process.ask("textDocument/codeAction", {**CODE_ACTION, "textDocument": {"uri": uri}})
    goodbye = process.ask("shutdown")
    process.notify("exit")
    assert await process.ended() == 0
    assert process.answers(hello)[0]["result"]["capabilities"]
    assert "Explain this" in [one["title"] for one in process.answers(offered)[0]["result"]]
    assert process.answers(goodbye)[0]["result"] is None


async def test_hanging_up_after_the_last_message_does_not_lose_the_answers(process) -> None:
    """In ``indwell serve < session``, the input likewise ends right after the session."""
    hello = process.ask("initialize", process.hello())
    probe = process.ask("no/such")
    goodbye = process.ask("shutdown")
    process.notify("exit")
    await process.close_stdin_when_sent()
    assert await process.ended() == 0
    codes = [error_of(process.answers(id_)[0])[1] for id_ in (hello, probe, goodbye)]
    assert codes == [None, NOT_FOUND, None]


async def test_a_zero_or_missing_process_id_means_no_process_to_watch(tmp_path) -> None:
    for number, process in enumerate((None, 0)):
        folder = tmp_path / str(number)
        folder.mkdir()
        async with raw_client(Home(folder), hello=False) as client:
            await client.initialize(processId=process)
            await client.heard()
            assert await client.say_goodbye() == 0
