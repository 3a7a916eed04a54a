"""Turns of several sessions at once have separate conversations, modes, approvals and ends."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from pygls.exceptions import JsonRpcException

from indwell.lsp.messages import documents
from indwell.lsp.messages import methods as protocol
from indwell.lsp.messages.context import ContextParams
from indwell.service.turns.turns import MOST_AT_ONCE
from indwell.sessions.records import TurnEndRecord
from support import chatting
from support.editing import MENDED, READ, SOURCE, bash, results
from support.loopback_endpoint import HANG, Answer, refuse, say, stream
from support.plan_asking import asked, ended, propose
from support.turns_at_once import a_desk

SSE = {"Content-Type": "text/event-stream"}
EDIT = json.dumps({"path": "shop.py", "edits": [{"old": " + 1", "new": ""}]})
RUNS = "rm -f gone; echo ran"  # a deleting command needs a question, with and without a sandbox


async def test_a_prompt_for_another_session_does_not_wait(tmp_path) -> None:
    async with a_desk(tmp_path) as desk:
        other = await desk.older("other")
        go_on = asyncio.Event()
        desk.scripts.play("main", Answer((go_on, *say("Main is done.").parts), headers=SSE))
        main = desk.prompt("main", "new")
        await desk.asked("main")
        current = (await desk.status()).session
        desk.scripts.play("other", stream(HANG))
        beside = desk.prompt("other", other)
        await desk.asked("other")
        now = await desk.status()
        assert (now.session, now.running) == (current, 1)
        assert [(one.session, one.turn) for one in now.beside] == [(other, 2)]
        assert (await desk.queue()).waiting == ()
        steered = await desk.editor.client.protocol.send_request_async(
            "indwell/steer", protocol.SteerParams("And fast.", other)
        )
        assert (steered.session, steered.turn) == (other, 2)
        listed = await desk.editor.client.protocol.send_request_async(
            "indwell/steer", protocol.SteerParams("/tasks", other)
        )
        assert listed.is_answered
        assert any("there are no tasks" in str(one) for one in desk.editor.events)
        with pytest.raises(JsonRpcException, match="needs a turn of its own"):
            await desk.editor.client.protocol.send_request_async(
                "indwell/steer", protocol.SteerParams("/compact", other)
            )

        assert await desk.editor.execute("indwell.cancel", {"session": other}) is True
        assert (await beside).ending == "cancelled"
        assert not main.done()
        assert (await desk.status()).beside == ()
        go_on.set()
        done = await main
        assert (done.session, done.ending, done.answer) == (current, "done", "Main is done.")
        told = {session for session, _, kind in desk.editor.numbered if kind == "turnFinished"}
        assert told == {current, other}


async def test_each_turn_keeps_its_own_mode(tmp_path) -> None:
    async with a_desk(tmp_path) as desk:
        other = await desk.older("other")
        gate = asyncio.Event()
        planning = say(calls=[("edit_file", EDIT)])
        desk.scripts.play("main", Answer((gate, *planning.parts), headers=SSE), say("I may not."))
        main = desk.prompt("main", "new", "plan")
        await desk.asked("main")
        desk.scripts.play(
            "other", say(calls=[READ]), say(calls=[("edit_file", EDIT)]), say("Done.")
        )
        done = await desk.prompt("other", other, "auto")
        assert (done.answer, desk.home.shop.read_text(encoding="utf-8").count(" + 1")) == (
            "Done.",
            0,
        )
        gate.set()
        assert (await main).answer == "I may not."
        (refused,) = results(desk.scripts.seen["main"][-1])
        assert "plan" in refused


async def test_a_mode_chosen_for_one_session_affects_no_other_session(tmp_path) -> None:
    async with a_desk(tmp_path) as desk:
        other = await desk.older("other")
        gates = {"main": asyncio.Event(), "other": asyncio.Event()}
        for word, gate in gates.items():
            edits = say(calls=[("edit_file", EDIT)])
            look = say(calls=[READ])
            desk.scripts.play(word, look, Answer((gate, *edits.parts), headers=SSE), say("Well."))
        main, beside = desk.prompt("main", "new"), desk.prompt("other", other)
        await desk.asked("main", 2)
        await desk.asked("other", 2)
        await desk.editor.execute("indwell.mode", {"mode": "plan", "session": other})
        assert (await desk.status()).mode == "review"
        gates["other"].set()
        await beside
        assert "plan" in results(desk.scripts.seen["other"][-1])[-1]
        assert desk.home.shop.read_text(encoding="utf-8") == SOURCE
        await desk.editor.execute("indwell.mode", {"mode": "auto"})
        gates["main"].set()
        await main
        assert desk.home.shop.read_text(encoding="utf-8") == MENDED
        desk.editor.messages.clear()
        await desk.editor.execute("indwell.mode", {"mode": "auto", "session": "20200101-nobody"})
        assert any("is not open" in one for one in desk.editor.messages)


async def test_a_mode_chosen_during_a_turn_replaces_the_mode_that_its_prompt_requested(
    tmp_path,
) -> None:
    async with a_desk(tmp_path) as desk:
        other = await desk.older("other")
        gates = {"main": asyncio.Event(), "other": asyncio.Event()}
        for word, gate in gates.items():
            edits = say(calls=[("edit_file", EDIT)])
            look = say(calls=[READ])
            desk.scripts.play(word, look, Answer((gate, *edits.parts), headers=SSE), say("Well."))
        main, beside = desk.prompt("main", "new", "auto"), desk.prompt("other", other, "auto")
        await desk.asked("main", 2)
        await desk.asked("other", 2)
        await desk.editor.execute("indwell.mode", {"mode": "plan"})
        await desk.editor.execute("indwell.mode", {"mode": "plan", "session": other})
        for gate in gates.values():
            gate.set()
        await asyncio.gather(main, beside)
        assert "plan" in results(desk.scripts.seen["main"][-1])[-1]
        assert "plan" in results(desk.scripts.seen["other"][-1])[-1]
        assert desk.home.shop.read_text(encoding="utf-8") == SOURCE


async def test_a_permission_for_one_session_does_not_apply_to_a_parallel_session(tmp_path) -> None:
    async with a_desk(tmp_path) as desk:
        other = await desk.older("other")
        asked: list[str] = []

        def choose(message: str, _titles: object) -> str:
            asked.append(message)
            return "This session" if len(asked) == 1 else "No"

        desk.editor.answers.choose = choose
        gate = asyncio.Event()
        hold = Answer((gate, *say("Over.").parts), headers=SSE)
        desk.scripts.play("main", bash(RUNS), bash(RUNS), hold)
        main = desk.prompt("main", "new")
        await desk.asked("main", 3)
        assert len(asked) == 1
        desk.scripts.play("other", bash(RUNS), say("Well."))
        await desk.prompt("other", other)
        assert "the user did not allow this" in results(desk.scripts.seen["other"][-1])[-1]
        gate.set()
        await main


async def test_questions_of_two_turns_come_one_after_the_other_and_name_their_session(
    tmp_path,
) -> None:
    async with a_desk(tmp_path) as desk:
        other = await desk.older("other")
        shown, most, asked = 0, 0, list[str]()
        answered = asyncio.Event()

        async def choose(message: str, _titles: object) -> str:
            nonlocal shown, most
            asked.append(message)
            shown += 1
            most = max(most, shown)
            await answered.wait()
            shown -= 1
            return "No"

        desk.editor.answers.choose = choose
        turns = {"main": None, "other": other}
        for word in turns:
            desk.scripts.play(word, bash(RUNS), say("Well."))
        running = [desk.prompt("main", "new")]
        await desk.until(lambda: len(asked) == 1)
        running.append(desk.prompt("other", other))
        await desk.until(
            lambda: sum(one["type"] == "permissionAsked" for one in desk.editor.events) == 2
        )
        answered.set()
        assert [(await one).answer for one in running] == ["Well.", "Well."]
        assert (most, len(asked)) == (1, 2)
        assert asked[0].startswith("Run a command in ")
        assert asked[1].startswith("In the session “Do <other>.”: Run a command in ")


async def test_commands_of_two_turns_take_turns_and_their_changes_are_separated(tmp_path) -> None:
    async with a_desk(tmp_path) as desk:
        main, beside, _ = await desk.two_commands(say("Other."))
        assert not (desk.home.workspace / "o.txt").exists()
        (desk.home.workspace / "go").touch()
        first, second = await main, await beside
        assert (first.answer, second.answer) == ("Main.", "Other.")

        async def changed(session: str | None) -> list[str]:
            params = documents.ChangesParams(session=session)
            found = await desk.editor.client.protocol.send_request_async("indwell/changes", params)
            return sorted(Path(one.uri).name for one in found.changes)

        assert await changed(first.session) == ["m.txt"]
        assert await changed(second.session) == ["o.txt"]


async def test_a_command_that_waited_is_judged_by_the_rules_at_its_start(tmp_path) -> None:
    async with a_desk(tmp_path) as desk:
        main, beside, other = await desk.two_commands(say("I see."))
        await desk.editor.execute("indwell.mode", {"mode": "plan", "session": other})
        (desk.home.workspace / "go").touch()
        assert ((await main).answer, (await beside).answer) == ("Main.", "I see.")
        assert results(desk.scripts.seen["other"][-1])[-1].startswith("not allowed: ")
        assert not (desk.home.workspace / "o.txt").exists()


async def test_a_turn_that_waits_for_a_command_can_be_stopped(tmp_path) -> None:
    async with a_desk(tmp_path) as desk:
        main, beside, other = await desk.two_commands()
        await desk.editor.execute("indwell.cancel", {"session": other})
        assert (await beside).ending == "cancelled"
        assert not main.done()
        (desk.home.workspace / "go").touch()
        assert (await main).answer == "Main."
        assert not (desk.home.workspace / "o.txt").exists()


async def test_edits_of_one_file_by_two_parallel_turns_are_both_kept(tmp_path) -> None:
    async with a_desk(tmp_path) as desk:
        desk.home.shop.write_bytes("".join(f"line {number}\n" for number in range(40)).encode())
        other = await desk.older("other")
        gate = asyncio.Event()
        for word, line in (("main", 3), ("other", 33)):
            edit = {"path": "shop.py", "edits": [{"old": f"line {line}\n", "new": f"{word}\n"}]}
            edits = say(calls=[("edit_file", json.dumps(edit))])
            look = say(calls=[READ])
            desk.scripts.play(word, look, Answer((gate, *edits.parts), headers=SSE), say("Done."))
        turns = desk.prompt("main", "new"), desk.prompt("other", other)
        for word in ("main", "other"):
            await desk.asked(word, 2)
        gate.set()
        assert [(await one).answer for one in turns] == ["Done.", "Done."]
        lines = desk.home.shop.read_text(encoding="utf-8").splitlines()
        assert (lines[3], lines[33], len(lines)) == ("main", "other", 40)
        for one, session in zip(("main", "other"), (turns[0].result().session, other), strict=True):
            params = documents.ChangesParams(session=session)
            found = await desk.editor.client.protocol.send_request_async("indwell/changes", params)
            assert [row.session for row in found.changes] == [session], one


async def test_parallel_turns_are_limited_and_the_next_turn_starts_when_one_ends(
    tmp_path,
) -> None:
    async with a_desk(tmp_path) as desk:
        words = [f"w{number}" for number in range(MOST_AT_ONCE + 1)]
        turns = []
        for word in words:
            desk.scripts.play(word, stream(HANG))
            turns.append(desk.prompt(word, "new"))
        *begun, late = words
        for word in begun:
            await desk.asked(word)
        assert [one.text for one in (await desk.queue()).waiting] == [f"Do <{late}>."]
        assert len((await desk.status()).beside) == MOST_AT_ONCE - 1
        assert await desk.editor.execute("indwell.cancel") is True
        await turns[0]
        await desk.asked(late)
        # The editor is closed while the turns run; the fixture checks that each session is
        # complete.
    endings = [
        one.ending for log in desk.home.logs() for one in log if isinstance(one, TurnEndRecord)
    ]
    assert sorted(endings) == ["cancelled", *["interrupted"] * MOST_AT_ONCE]


async def test_a_session_that_ran_in_parallel_can_be_opened_and_continued_later(tmp_path) -> None:
    async with a_desk(tmp_path) as desk:
        other = await desk.older("other")
        desk.scripts.play("main", stream(HANG))
        gate = asyncio.Event()
        desk.scripts.play("other", Answer((gate, *say("Other.").parts), headers=SSE))
        main = desk.prompt("main", "new")
        await desk.asked("main")
        beside = desk.prompt("other", other)
        await desk.asked("other")
        taken = await desk.editor.execute("indwell.resume", {"session": other, "wait": True})
        assert taken["session"] == other
        assert (await main).ending == "cancelled"
        now = await desk.status()
        assert (now.session, now.running, now.beside) == (other, 2, ())
        gate.set()
        assert (await beside).answer == "Other."
        desk.scripts.play("again", say("Again."))
        assert (await desk.prompt("again")).session == other


async def test_a_turn_continues_when_another_session_is_begun_and_resumed(tmp_path) -> None:
    async with a_desk(tmp_path) as desk:
        gate = asyncio.Event()
        desk.scripts.play("first", Answer((gate, *say("First.").parts), headers=SSE))
        first = desk.prompt("first", "new")
        await desk.asked("first")
        session = (await desk.status()).session
        desk.scripts.play("next", say("Next."))
        follows = desk.prompt("next", session)
        await desk.waiting(1)
        await desk.editor.execute("indwell.newSession", {"keep": True})
        now = await desk.status()
        assert (now.session, now.running, [one.session for one in now.beside]) == (
            None,
            None,
            [session],
        )
        desk.scripts.play("second", say("Second."))
        second = await desk.prompt("second", "new")
        assert second.ending == "done"
        about_first = await desk.status(session)
        assert (about_first.session, about_first.running) == (session, 1)
        gate.set()
        assert (await first).answer == "First."
        assert (await follows).session == session
        assert (await desk.status()).session == second.session, "the prompt that waited is beside"
        taken = await desk.editor.execute("indwell.resume", {"session": session, "keep": True})
        assert taken is None or taken["session"] == session


async def test_a_prompt_with_the_option_beside_does_not_change_the_current_session(
    tmp_path,
) -> None:
    async with a_desk(tmp_path) as desk:
        other = await desk.older("other")
        current = await desk.older("main")
        desk.scripts.play("other", say("Other."))
        params = protocol.PromptParams("Do <other>.", other, beside=True)
        done = await desk.editor.client.protocol.send_request_async("indwell/prompt", params)
        assert (done.session, done.ending) == (other, "done")
        assert (await desk.status()).session == current


async def test_a_resume_rewind_or_fork_with_the_option_beside_keeps_the_current_session(
    tmp_path,
) -> None:
    async with a_desk(tmp_path) as desk:
        other = await desk.older("other")
        gate = asyncio.Event()
        desk.scripts.play("main", Answer((gate, *say("Main.").parts), headers=SSE))
        main = desk.prompt("main", "new")
        await desk.asked("main")
        current = (await desk.status()).session
        beside = {"session": other, "wait": True, "beside": True}

        opened = await desk.editor.execute("indwell.resume", {**beside, "quiet": True})
        assert opened["session"] == other
        forked = await desk.editor.execute("indwell.fork", {**beside, "turn": 1})
        assert forked["session"] not in {other, current}
        rewound = await desk.editor.execute("indwell.rewind", {**beside, "turn": 0, "files": False})
        assert rewound["session"] == other

        request = desk.editor.client.protocol.send_request_async
        context = await request("indwell/context", ContextParams(other))
        assert context.session == other, "a session beside has a context of its own"
        now = await desk.status()
        assert (now.session, now.running) == (current, 1)
        gate.set()
        assert (await main).answer == "Main."


async def test_no_more_turns_begin_than_fit_when_no_session_is_current(tmp_path) -> None:
    async with a_desk(tmp_path) as desk:
        turns = []
        for number in range(MOST_AT_ONCE):
            desk.scripts.play(f"turn{number}", stream(HANG))
            turns.append(desk.prompt(f"turn{number}", "new"))
            await desk.asked(f"turn{number}")
            await desk.editor.execute("indwell.newSession", {"keep": True})
        assert len((await desk.status()).beside) == MOST_AT_ONCE
        late = desk.prompt("late", "new")
        await desk.waiting(1)
        for one in (*turns, late):
            one.cancel()


async def test_a_failure_holds_no_prompt_of_another_session(tmp_path) -> None:
    async with a_desk(tmp_path) as desk:
        other = await desk.older("other")
        gate = asyncio.Event()
        desk.scripts.play("main", Answer((gate, *refuse(400, "no").parts), 400))
        desk.scripts.play("other", stream(HANG))
        main = desk.prompt("main", "new")
        await desk.asked("main")
        beside = desk.prompt("other", other)
        await desk.asked("other")
        desk.scripts.play("next", say("Next."))
        follows = desk.prompt("next", other)
        await desk.waiting(1)
        waits = desk.prompt("waits")
        await desk.waiting(2)
        gate.set()
        assert (await main).ending == "failed"
        assert await desk.editor.execute("indwell.cancel", {"session": other}) is True
        await beside
        queue = await desk.queue()
        assert queue.held
        assert [one.text for one in queue.waiting] == ["Do <next>.", "Do <waits>."]
        waits.cancel()
        follows.cancel()


async def test_two_chat_documents_can_be_answered_at_once(tmp_path) -> None:
    async with a_desk(tmp_path) as desk:
        gate = asyncio.Event()
        desk.scripts.play("one", Answer((gate, *say("First answer.").parts), headers=SSE))
        desk.scripts.play("two", stream(HANG))
        first = await chatting.chat(desk.editor)
        chatting.write(desk.editor, first, "Do <one>.")
        await chatting.send(desk.editor, first)
        await desk.asked("one")
        another = await desk.editor.execute("indwell.chat", {"new": True})
        second = chatting.opened(desk.editor, Path(another["path"]))
        chatting.write(desk.editor, second, "Do <two>.")
        await chatting.send(desk.editor, second)
        await desk.asked("two")
        (beside,) = (await desk.status()).beside
        assert await desk.editor.execute("indwell.cancel", {"session": beside.session}) is True
        await desk.editor.wait_until(lambda: chatting.is_over(second, 1))
        assert not chatting.is_over(first, 1)
        gate.set()
        await desk.editor.wait_until(lambda: chatting.is_over(first, 1))
        assert "First answer." in first.text
        assert "First answer." not in second.text
        assert beside.session in second.text.splitlines()[0]
        assert beside.session not in first.text


async def test_the_plan_of_another_session_is_approved_while_a_turn_runs(tmp_path) -> None:
    async with a_desk(tmp_path) as desk:
        desk.scripts.play("other", propose(), say("Carried out."))
        planned = await desk.prompt("other", "new", "plan")
        desk.scripts.play("main", stream(HANG))
        main = desk.prompt("main", "new")
        await desk.asked("main")
        current = (await desk.status()).session
        assert current != planned.session
        approved = await asked(desk.editor, "approve", session=planned.session)
        assert approved.state == "approved"
        await desk.asked("other", 2)
        await ended(desk.editor, 2)
        assert (await asked(desk.editor, session=planned.session)).state == "done"
        now = await desk.status()
        assert (now.session, now.running, main.done()) == (current, 1, False)
        begun = [e["mode"] for e in desk.editor.events if e["type"] == "turnStarted"]
        assert begun == ["plan", "review", "review"]
        assert await desk.editor.execute("indwell.cancel")
        assert (await main).ending == "cancelled"
