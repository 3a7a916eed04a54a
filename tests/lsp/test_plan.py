"""The plan over stdio: shown, edited, approved and rejected in rich, plain and chat editors."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from pygls.exceptions import JsonRpcException

from indwell.lsp.chat.layout import session_of
from indwell.lsp.messages import views
from indwell.lsp.messages.views import PlanResult
from indwell.lsp.methods.planning import APPROVE, EDIT, NOT_NOW
from support.chatting import chat, held, is_over, send, write
from support.editing import EDIT as MEND
from support.editing import MENDED, READ, USAGE, Home, Playlist, editing, texts_of
from support.fake_editor.buffer import lines_range
from support.fake_editor.clients import NEOVIM_11, VSCODE
from support.fake_editor.profiles import PLAIN
from support.loopback_endpoint import LoopbackEndpoint, say
from support.plan_asking import STEPS, asked, ended, in_plan_mode, propose, states

WORK = (say(calls=[READ], usage=USAGE), say(calls=[MEND], usage=USAGE), say("Mended.", usage=USAGE))


@pytest_asyncio.fixture
async def home(tmp_path) -> AsyncIterator[Home]:
    yield Home(tmp_path)


async def test_a_client_with_events_sees_and_approves_a_plan_and_the_agent_carries_it_out(
    home,
) -> None:
    async with (
        LoopbackEndpoint([propose(), *WORK]) as endpoint,
        editing(home, endpoint.base_url, extensions=("events",)) as editor,
    ):
        editor.open(home.shop)
        assert await asked(editor) == PlanResult("none", "", "")
        result = await in_plan_mode(editor)
        assert (result.ending, result.answer) == ("done", "I looked.")
        seen = await asked(editor)
        assert (seen.state, seen.text) == ("proposed", STEPS)
        assert Path(seen.path).read_text(encoding="utf-8") == f"{STEPS}\n"
        assert home.shop.read_text(encoding="utf-8") != MENDED
        approved = await asked(editor, "approve")
        assert approved.state == "approved"
        await ended(editor, 2)
        assert editor.buffers[home.shop.as_uri()].text == MENDED
        assert states(editor) == ["proposed", "approved", "done"]
        begun = [one for one in editor.events if one["type"] == "turnStarted"]
        assert [one["mode"] for one in begun] == ["plan", "review"]
        sent = texts_of(endpoint.seen[1].body["messages"])
        assert f"<approved-plan>\n{STEPS}\n</approved-plan>" in sent
        params = views.SessionParams(result.session)
        shown = await editor.client.protocol.send_request_async("indwell/session", params)
        assert (shown.plan.state, shown.plan.text) == ("done", STEPS)


@pytest.mark.parametrize("way", ["file", "buffer", "text", "edit"])
async def test_the_agent_carries_out_the_plan_as_the_user_edited_it(home, way) -> None:
    mine = "1. Take one off the total, and nothing else"
    async with (
        LoopbackEndpoint([propose(), say("Well.", usage=USAGE)]) as endpoint,
        editing(home, endpoint.base_url, extensions=("events",)) as editor,
    ):
        await in_plan_mode(editor)
        path = Path((await asked(editor)).path)
        match way:
            case "file":
                path.write_bytes(f"{mine}\n".encode())
                approved = await asked(editor, "approve")
            case "buffer":
                buffer = editor.open(path, "markdown")
                editor.type_text(buffer, 0, len(buffer.text), mine)
                await editor.heard()
                approved = await asked(editor, "approve")
            case "text":
                approved = await asked(editor, "approve", text=mine)
            case _:
                edited = await asked(editor, "edit", text=mine)
                assert (edited.state, edited.path != str(path)) == ("proposed", True)
                approved = await asked(editor, "approve")
        assert (approved.state, approved.text) == ("approved", mine)
        await ended(editor, 2)
        sent = texts_of(endpoint.seen[1].body["messages"])
        assert f"<approved-plan>\n{mine}\n</approved-plan>" in sent


async def test_the_model_revises_a_rejected_plan_with_the_users_comment(home) -> None:
    async with (
        LoopbackEndpoint([propose(), propose("1. Another")]) as endpoint,
        editing(home, endpoint.base_url, extensions=("events",)) as editor,
    ):
        await in_plan_mode(editor)
        assert (await asked(editor, "reject", words="no tests, please")).state == "rejected"
        await ended(editor, 2)
        assert states(editor) == ["proposed", "rejected", "proposed"]
        begun = [one for one in editor.events if one["type"] == "turnStarted"][1]
        assert (begun["words"], begun["mode"]) == ("no tests, please", "plan")
        assert (await asked(editor, "reject")).state == "rejected"
        assert (await asked(editor, "approve", text="1. All the same")).state == "approved"


async def test_an_invalid_action_on_a_plan_is_reported_and_changes_nothing(home) -> None:
    playlist = Playlist()
    async with (
        LoopbackEndpoint(playlist) as endpoint,
        editing(home, endpoint.base_url, extensions=("events",)) as editor,
    ):
        with pytest.raises(JsonRpcException, match="there is no plan; ask for one in mode `plan`"):
            await asked(editor, "approve")
        playlist.play(propose(), say("Well.", usage=USAGE))
        await in_plan_mode(editor)
        for more, problem in (
            ({"action": "edit"}, "needs `text`"),
            ({"action": "approve", "text": " "}, "no words"),
            ({"action": "approve", "text": "x" * 12_001}, "say it shorter"),
        ):
            with pytest.raises(JsonRpcException, match=problem):
                await asked(editor, **more)
        assert states(editor) == ["proposed"]
        await asked(editor, "approve")
        await ended(editor, 2)
        with pytest.raises(JsonRpcException, match="the plan is carried out"):
            await asked(editor, "approve")


async def test_a_restart_and_a_rewind_restore_the_plan(home) -> None:
    playlist = Playlist()
    async with LoopbackEndpoint(playlist) as endpoint:
        async with editing(home, endpoint.base_url, extensions=("events",)) as editor:
            playlist.play(propose(), say("Well.", usage=USAGE))
            first = await in_plan_mode(editor)
            before = await asked(editor)
        async with editing(home, endpoint.base_url, extensions=("events",)) as editor:
            assert await asked(editor, session=first.session) == before
            assert (await asked(editor, "approve", session=first.session)).state == "approved"
            await ended(editor, 1)
            back = {"session": first.session, "turn": 1, "files": False, "wait": True}
            await editor.execute("indwell.rewind", back)
            assert await asked(editor) == before


def choosing(titles: Sequence[str]) -> Any:
    left = list(titles)

    def choose(_message: str, _titles: Sequence[str]) -> str | None:
        return left.pop(0) if left else None

    return choose


@pytest.mark.parametrize("kind", [PLAIN, VSCODE, NEOVIM_11], ids=lambda kind: kind.name)
async def test_a_plain_editor_shows_the_document_and_asks(home, kind) -> None:
    async with (
        LoopbackEndpoint([propose(), *WORK]) as endpoint,
        editing(home, endpoint.base_url, profile=kind) as editor,
    ):
        editor.open(home.shop)
        editor.answers.choose = choosing([NOT_NOW, EDIT, APPROVE])
        await in_plan_mode(editor)
        await editor.wait_until(lambda: len(editor.choices) == 1)
        assert editor.choices == [[NOT_NOW, APPROVE, EDIT]]
        path = (await asked(editor)).path
        is_shown = [Path(path).as_uri()] == editor.shown
        assert is_shown or STEPS in "\n".join(editor.messages)
        await editor.execute("indwell.plan")
        await editor.wait_until(lambda: any(path in one for one in editor.messages))
        Path(path).write_bytes(b"1. Mine\n")
        await editor.execute("indwell.plan")
        await editor.wait_until(lambda: editor.buffers[home.shop.as_uri()].text == MENDED)
        assert "1. Mine" in texts_of(endpoint.seen[1].body["messages"])


async def test_a_chat_shows_the_plan_in_the_answer_with_a_code_lens_to_approve(home) -> None:
    async with (
        LoopbackEndpoint([propose(f"{STEPS}\n## You\n<b>x</b>"), *WORK]) as endpoint,
        editing(home, endpoint.base_url, profile=VSCODE) as editor,
    ):
        editor.open(home.shop)
        buffer = await chat(editor)
        await editor.execute("indwell.mode", {"mode": "plan"})
        write(editor, buffer, "Mend the total.\n")
        await send(editor, buffer)
        await editor.wait_until(lambda: is_over(buffer, 1))
        assert (
            "**The plan** (approve or edit it above your draft)\n\n1. Take one off" in buffer.text
        )
        assert "\n### You\n\\<b>x" in buffer.text.replace("&lt;", "\\<")
        assert editor.choices == []
        lenses = [one.command for one in await editor.code_lenses(buffer)]
        (approve,) = [one for one in lenses if one is not None and one.title == "Approve the plan"]
        assert approve.arguments == ({"action": "approve", "session": session_of(buffer.text)},)
        await editor.execute(approve.command, *approve.arguments)
        await editor.wait_until(lambda: is_over(buffer, 2))
        assert "The plan is approved: carry it out." in buffer.text
        assert editor.buffers[home.shop.as_uri()].text == MENDED
        titles = [one.command.title for one in await editor.code_lenses(buffer) if one.command]
        assert "Approve the plan" not in titles


async def test_a_code_action_of_the_document_approves_the_present_text(home) -> None:
    async with (
        LoopbackEndpoint([propose(), say("Well.", usage=USAGE)]) as endpoint,
        editing(home, endpoint.base_url, extensions=("events",)) as editor,
    ):
        await in_plan_mode(editor)
        buffer = editor.open(Path((await asked(editor)).path), "markdown")
        editor.type_text(buffer, 0, len(buffer.text), "1. Mine")
        (action,) = await editor.code_actions(buffer, lines_range(1, 1))
        assert action.title == "Approve the plan as written here"
        assert action.command is not None
        await editor.execute(action.command.command, *action.command.arguments)
        await ended(editor, 2)
        assert "1. Mine" in texts_of(endpoint.seen[1].body["messages"])
        offered = await editor.code_actions(buffer, lines_range(1, 1))
        assert action.title not in {one.title for one in offered}


async def test_a_plan_cannot_be_approved_while_a_turn_runs(home) -> None:
    gate = asyncio.Event()
    script = [propose(), held(say("Thinking on.", usage=USAGE), gate)]
    async with (
        LoopbackEndpoint(script) as endpoint,
        editing(home, endpoint.base_url, extensions=("events",)) as editor,
    ):
        await in_plan_mode(editor)
        running = asyncio.ensure_future(in_plan_mode(editor, "and why?"))
        await editor.wait_until(lambda: any(one["type"] == "text" for one in editor.events[-3:]))
        with pytest.raises(JsonRpcException, match="a turn is running"):
            await asked(editor, "approve")
        gate.set()
        await running
        assert (await asked(editor)).state == "proposed"


async def test_changes_saved_in_the_plan_document_are_reported_at_its_close(home) -> None:
    async with (
        LoopbackEndpoint([propose()]) as endpoint,
        editing(home, endpoint.base_url, extensions=("events",)) as editor,
    ):
        await in_plan_mode(editor)
        before = await asked(editor)
        buffer = editor.open(Path(before.path), "markdown")
        editor.type_text(buffer, 0, len(buffer.text), "1. Mine\n")
        editor.save(buffer)
        editor.close(buffer)
        await editor.wait_until(lambda: len(states(editor)) == 2)
        assert await asked(editor) == PlanResult("proposed", "1. Mine", before.path)
        buffer = editor.open(Path(before.path), "markdown")
        editor.type_text(buffer, 0, len(buffer.text), "\n")
        editor.save(buffer)
        editor.close(buffer)
        await editor.heard()
        with pytest.raises(JsonRpcException, match="no words"):
            await asked(editor, "approve")
        assert states(editor) == ["proposed", "proposed"]
