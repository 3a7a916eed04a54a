"""A plan and the prompts that wait behind it, and questions about an earlier plan."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest_asyncio

from indwell.lsp.messages import methods as protocol
from indwell.lsp.methods.planning import APPROVE, EDIT, NOT_NOW
from support.chatting import held
from support.editing import USAGE, Editor, Home, editing
from support.fake_editor.profiles import PLAIN
from support.loopback_endpoint import LoopbackEndpoint, say
from support.plan_asking import asked, ended, in_plan_mode, propose, states

WAITS = "a plan waits for your decision"


@pytest_asyncio.fixture
async def home(tmp_path) -> AsyncIterator[Home]:
    yield Home(tmp_path)


async def two_prompts(editor: Editor, gate: asyncio.Event) -> list[asyncio.Future[Any]]:
    """Send a prompt in plan mode, and another prompt that waits."""
    first = asyncio.ensure_future(in_plan_mode(editor))
    await editor.wait_until(lambda: any(one["type"] == "text" for one in editor.events))
    params = protocol.PromptParams("And the tests?", None, "review")
    sent = editor.client.protocol.send_request_async("indwell/prompt", params)
    second = asyncio.ensure_future(sent)
    await editor.wait_until(lambda: bool(waiting(editor)["waiting"]))
    gate.set()
    await first
    await editor.wait_until(lambda: waiting(editor)["held"] == WAITS)
    return [first, second]


def waiting(editor: Editor) -> Any:
    told = [one for one in editor.events if one["type"] == "queueChanged"]
    return told[-1] if told else {"waiting": [], "held": ""}


def words(editor: Editor) -> list[str]:
    return [one["words"] for one in editor.events if one["type"] == "turnStarted"]


async def test_prompts_behind_a_proposed_plan_wait_and_follow_the_approved_plan(home) -> None:
    gate = asyncio.Event()
    script = [held(propose(), gate), say("Carried out.", usage=USAGE), say("Well.", usage=USAGE)]
    async with (
        LoopbackEndpoint(script) as endpoint,
        editing(home, endpoint.base_url, extensions=("events",)) as editor,
    ):
        _, second = await two_prompts(editor, gate)
        assert len(endpoint.seen) == 1
        assert (await asked(editor, "approve")).state == "approved"
        assert (await second).answer == "Well."
        await ended(editor, 3)
        assert words(editor)[1:] == ["The plan is approved: carry it out.", "And the tests?"]
        assert states(editor) == ["proposed", "approved", "done"]


async def test_prompts_behind_a_plan_continue_when_the_plan_is_rejected(home) -> None:
    gate = asyncio.Event()
    async with (
        LoopbackEndpoint([held(propose(), gate), say("Well.", usage=USAGE)]) as endpoint,
        editing(home, endpoint.base_url, extensions=("events",)) as editor,
    ):
        _, second = await two_prompts(editor, gate)
        assert (await asked(editor, "reject")).state == "rejected"
        assert (await second).answer == "Well."


async def test_a_plain_editor_gets_only_the_question_of_the_plan_and_the_waiting_prompts(
    home,
) -> None:
    gate = asyncio.Event()
    async with (
        LoopbackEndpoint([held(propose(), gate), say("Well.", usage=USAGE)]) as endpoint,
        editing(home, endpoint.base_url, profile=PLAIN) as editor,
    ):
        shop = editor.open(home.shop)
        editor.answers.choose = lambda _message, _titles: NOT_NOW
        first = asyncio.ensure_future(in_plan_mode(editor))
        await editor.wait_until(endpoint.arrived.is_set)
        await editor.execute("indwell.ask", {"uri": shop.uri, "text": "Tests?"})
        gate.set()
        await first
        waits = (
            "Indwell: a plan waits for your decision; 1 prompt still waits, and goes on after it"
        )
        await editor.wait_until(lambda: waits in editor.messages and bool(editor.choices))
        assert editor.choices == [[NOT_NOW, APPROVE, EDIT]]
        assert (await asked(editor, "reject")).state == "rejected"
        await editor.wait_until(lambda: len(endpoint.seen) == 2)


async def test_an_approval_of_an_earlier_plan_does_not_approve_the_present_plan(home) -> None:
    late, n_asked = asyncio.Event(), 0

    async def choose(_message: str, _titles: Sequence[str]) -> str:
        nonlocal n_asked
        n_asked += 1
        if n_asked > 1:
            return NOT_NOW
        await late.wait()
        return APPROVE

    async with (
        LoopbackEndpoint([propose(), propose("1. Drop the tests")]) as endpoint,
        editing(home, endpoint.base_url, profile=PLAIN) as editor,
    ):
        editor.answers.choose = choose
        await in_plan_mode(editor)
        await editor.wait_until(lambda: n_asked == 1)
        await in_plan_mode(editor, "another, please")
        await editor.wait_until(lambda: n_asked == 2)
        late.set()
        await editor.wait_until(lambda: "the plan has changed" in editor.messages[-1])
        seen = await asked(editor)
        assert (seen.state, seen.text) == ("proposed", "1. Drop the tests")
        assert len(endpoint.seen) == 2
