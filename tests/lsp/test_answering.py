"""Commands are answered in time, before a question to the user; the work continues."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from indwell.errors import UserError
from indwell.lsp.editor.answering import Answering
from indwell.lsp.editor.client import SURE
from indwell.lsp.messages.features import ClientFeatures
from indwell.service.chores import Chores
from support.editing import USAGE, Home, bash, editing
from support.fake_editor.clients import NEOVIM_11
from support.loopback_endpoint import LoopbackEndpoint, say
from support.strict_chat import strictly

LONG_S = 20.0


class Client:
    """An editor that records questions and errors; a test gives the user's answer."""

    def __init__(self) -> None:
        self.features = ClientFeatures()
        self.before_asking: Callable[[], Awaitable[None]]
        self.happened: list[str] = []
        self.asked, self.answered = asyncio.Event(), asyncio.Event()

    async def choose(self) -> str:
        await self.before_asking()
        self.happened.append("asked")
        self.asked.set()
        await self.answered.wait()
        return "yes"

    def fail(self, error: Exception) -> None:
        self.happened.append(f"Indwell: {error}")


class Desk:
    def __init__(self) -> None:
        self.client, self.chores = Client(), Chores()
        self.answering = Answering(self.client, self.chores)


@pytest.fixture
async def desk():
    desk = Desk()
    yield desk
    await desk.chores.stop()


async def test_a_command_is_answered_before_its_question_is_shown(desk) -> None:
    over = asyncio.Event()

    async def work() -> str:
        chosen = await desk.client.choose()
        over.set()
        return chosen

    result = await desk.answering.answer(work(), wait=False, within_s=LONG_S)
    desk.client.happened.append("answered")
    assert result is None
    async with asyncio.timeout(60):
        await desk.client.asked.wait()
    assert desk.client.happened == ["answered", "asked"]
    desk.client.answered.set()
    async with asyncio.timeout(60):
        await over.wait()


async def test_long_work_is_answered_after_a_moment_and_continues(desk) -> None:
    go_on, over = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        await go_on.wait()
        over.set()
        raise UserError("it went wrong")

    assert await desk.answering.answer(work(), wait=False, within_s=0.01) is None
    go_on.set()
    async with asyncio.timeout(60):
        await over.wait()
    await asyncio.sleep(0)
    assert desk.client.happened == ["Indwell: it went wrong"]


async def test_a_client_that_waits_can_be_asked_before_it_gets_the_result(desk) -> None:
    desk.client.answered.set()
    assert await desk.answering.answer(desk.client.choose(), wait=True) == "yes"
    desk.client.features = ClientFeatures(experimental=frozenset({"events"}))
    assert await desk.answering.answer(desk.client.choose(), wait=False) == "yes"


async def test_a_plain_editor_is_asked_about_files_after_its_command_was_answered(tmp_path) -> None:
    home = Home(tmp_path)
    script = [bash("echo new > made.txt"), say("Done.", usage=USAGE)]
    async with (
        LoopbackEndpoint(strictly(script)) as endpoint,
        editing(home, endpoint.base_url, profile=NEOVIM_11) as editor,
    ):
        editor.answers.choose = lambda _message, titles: next(
            (one for one in ("Once", SURE) if one in titles), titles[0]
        )
        await editor.ask("make it")
        happened: list[str] = []

        def choose(message: str, titles: list[str]) -> str:
            happened.append(message)
            return SURE if SURE in titles else titles[1]

        editor.answers.choose = choose
        result = await editor.execute("indwell.rewind", {"turn": 0}, at_once=True)
        happened.append("answered")
        assert result is None
        await editor.wait_until(lambda: any("restored 1 file" in one for one in editor.messages))
        assert happened == [
            "answered",
            "Indwell: Restore the files too? (1 file: made.txt)",
            "Indwell: did you choose 'Restore them', or was the number meant for a file?",
        ]
        assert not (home.workspace / "made.txt").exists()
