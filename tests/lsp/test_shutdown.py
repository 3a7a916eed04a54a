from __future__ import annotations

import asyncio
import secrets
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest
import pytest_asyncio

from indwell.sessions.records import (
    Intent,
    Prefixed,
    SessionStarted,
    TurnEndRecord,
    TurnStartRecord,
)
from support.editing import Editor, Home, bash, editing, running
from support.loopback_endpoint import LoopbackEndpoint

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc"),
]
AT_MOST_S = 60.0  # seconds; 2 s is promised, and the work has no end


async def shut_down(editor: Editor) -> None:
    """Acts as an editor that is closed: shutdown, exit."""
    await editor.stop()


async def exit_at_once(editor: Editor) -> None:
    """Acts as a hasty client: exit without shutdown."""
    editor.client.exit(None)


async def hang_up(editor: Editor) -> None:
    """Acts as a crashed editor whose output pipe is still open."""
    editor.process.stdin.close()


async def vanish(editor: Editor) -> None:
    """Acts as a killed editor: both pipes are closed."""
    transport = editor.process._transport
    for descriptor in (0, 1, 2):
        transport.get_pipe_transport(descriptor).close()


ENDS = {shut_down: {0}, exit_at_once: {1}, hang_up: {1}, vanish: {1, 120}}
"""With the exit codes that the protocol wants; 120 is Python's where stdout cannot be flushed."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def busy(tmp_path_factory) -> AsyncIterator[dict[str, tuple[Home, Editor, str]]]:
    """Start a server for each ending, all at once, because starts are slow; each runs a command."""
    markers = {end.__name__: f"1000.{secrets.randbelow(10**9):09}" for end in ENDS}

    async def once(_question: object) -> str:
        return "once"

    async def start(stack: AsyncExitStack, name: str) -> tuple[Home, Editor, str]:
        home = Home(tmp_path_factory.mktemp(name))
        script = [bash(f"echo started; sleep {markers[name]}")]
        endpoint = await stack.enter_async_context(LoopbackEndpoint(script))
        editor = await stack.enter_async_context(
            editing(home, endpoint.base_url, extensions=("events", "permission"))
        )
        editor.answers.permission = once
        editor.open(home.shop)
        await editor.execute("indwell.fix", {"uri": home.shop.as_uri()})
        await editor.wait_for_event("toolOutput")
        return home, editor, markers[name]

    async with AsyncExitStack() as stack:
        started = await asyncio.gather(*(start(stack, name) for name in markers))
        yield dict(zip(markers, started, strict=True))


@pytest.mark.parametrize("end", ENDS)
async def test_every_kind_of_shutdown_leaves_a_complete_session_and_no_process(busy, end) -> None:
    home, editor, marker = busy[end.__name__]
    assert running(marker) != []
    async with asyncio.timeout(AT_MOST_S):
        await end(editor)
        assert await editor.process.wait() in ENDS[end]
    assert running(marker) == []
    (log,) = home.logs()
    kinds = [type(one) for one in log]
    assert (*kinds[:3], kinds[-1]) == (SessionStarted, Prefixed, TurnStartRecord, TurnEndRecord)
    assert kinds.count(Intent) == 1
    assert home.endings() == [("interrupted", "")]
