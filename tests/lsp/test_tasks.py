"""Tasks run as sessions of their own, in their order, and the list survives the process."""

from __future__ import annotations

import asyncio

from indwell.lsp.messages import status, views
from support.chatting import held
from support.loopback_endpoint import HANG, Answer, say, stream
from support.turns_at_once import Desk, a_desk

SSE = {"Content-Type": "text/event-stream"}


async def tasks(desk: Desk, words: str = "") -> status.TasksResult:
    return await desk.editor.client.protocol.send_request_async(
        "indwell/tasks", status.TasksParams(words)
    )


async def states(desk: Desk) -> dict[str, str]:
    return {one["id"]: one["state"] for one in (await tasks(desk)).tasks}


async def until_states(desk: Desk, **wanted: str) -> None:
    async with asyncio.timeout(60):
        while await states(desk) != wanted:  # noqa: ASYNC110 - the request reads the file again
            await asyncio.sleep(0.02)


async def test_tasks_run_in_their_order_and_at_most_two_at_once(tmp_path) -> None:
    async with a_desk(tmp_path) as desk:
        gates = {word: asyncio.Event() for word in ("one", "two", "three", "four")}
        for word, gate in gates.items():
            await tasks(desk, f"add Do <{word}>")
            desk.scripts.play(word, Answer((gate, *say(f"{word}.").parts), headers=SSE))
        await tasks(desk, "after t3 t1")
        begun = await tasks(desk, "run")
        assert {one["state"] for one in begun.tasks} <= {"waiting", "running"}
        await until_states(desk, t1="running", t2="running", t3="waiting", t4="waiting")
        gates["one"].set()
        await until_states(desk, t1="done", t2="running", t3="running", t4="waiting")
        for gate in gates.values():
            gate.set()
        await until_states(desk, t1="done", t2="done", t3="done", t4="done")
        sessions = [one["session"] for one in (await tasks(desk)).tasks]
        listed = await desk.editor.client.protocol.send_request_async(
            "indwell/sessions", views.SessionsParams()
        )
        assert {one.id: one.task for one in listed.sessions} == {
            session: f"t{number} done" for number, session in enumerate(sessions, 1)
        }
        assert len(set(sessions)) == 4
        assert (await desk.status()).session is None, "the user's session is another one"


async def test_a_stopped_task_continues_its_session(tmp_path) -> None:
    async with a_desk(tmp_path) as desk:
        await tasks(desk, "add Do <one>\nThe text of <one>.")
        desk.scripts.play("one", held(say("I begin."), None))
        await tasks(desk, "run t1")
        await desk.until(lambda: any(one["type"] == "text" for one in desk.editor.events))
        stopped = await tasks(desk, "stop t1")
        assert stopped.tasks[0]["state"] == "stopped"
        session = stopped.tasks[0]["session"]
        desk.scripts.play("one", say("Ready."))
        await tasks(desk, "run t1")
        await until_states(desk, t1="done")
        assert (await tasks(desk)).tasks[0]["session"] == session
        words = [one["content"] for one in desk.scripts.seen["one"][-1].body["messages"]]
        assert any("The text of <one>." in one for one in words if one)
        assert any("Go on with this task where it stopped: Do <one>" in one for one in words if one)


async def test_a_task_stopped_before_the_model_answered_begins_again(tmp_path) -> None:
    async with a_desk(tmp_path) as desk:
        await tasks(desk, "add Do <one>")
        desk.scripts.play("one", stream(HANG))
        await tasks(desk, "run t1")
        await desk.asked("one")
        stopped = await tasks(desk, "stop t1")
        assert (stopped.tasks[0]["state"], stopped.tasks[0]["session"]) == ("stopped", "")
        desk.scripts.play("one", say("Ready."))
        await tasks(desk, "run t1")
        await until_states(desk, t1="done")


async def test_a_failed_task_holds_back_the_tasks_after_it(tmp_path) -> None:
    async with a_desk(tmp_path) as desk:
        await tasks(desk, "add Do <nothing-expects-this>")
        await tasks(desk, "add Do <two>")
        await tasks(desk, "after t2 t1")
        await tasks(desk, "run")
        await until_states(desk, t1="failed", t2="waiting")
        (failed, waiting) = (await tasks(desk)).tasks
        assert "no script expects this request" in failed["ending"]
        assert waiting["waitsFor"] == ["t1"]
        await tasks(desk, "stop t2")
        await until_states(desk, t1="failed", t2="open")


async def test_the_prompt_slash_tasks_lists_the_tasks_without_a_model(tmp_path) -> None:
    async with a_desk(tmp_path) as desk:
        desk.scripts.play("here", say("Hello."))
        await desk.prompt("here", "new")
        n_requests = len(desk.scripts.seen["here"])
        for words, answer in (
            ("/tasks add Write the docs", "added t1: Write the docs"),
            ("/tasks", "t1  open  Write the docs"),
            ("/tasks done t1", "t1  done  Write the docs"),
            ("/tasks clear", "there are no tasks; `/tasks add TITLE` adds one"),
        ):
            done = await desk.editor.ask(words)
            assert (done.ending, done.message) == ("done", answer)
        assert len(desk.scripts.seen["here"]) == n_requests
        done = await desk.editor.ask("/tasks show t7")
        assert done.ending == "failed"
        assert "there is no task 't7'" in done.message


async def test_the_list_survives_the_process_and_nothing_starts_by_itself(tmp_path) -> None:
    async with a_desk(tmp_path) as desk:
        await tasks(desk, "add Do <one>")
        await tasks(desk, "add Do <two>")
        await tasks(desk, "after t2 t1")
        desk.scripts.play("one", held(say("I begin."), None))
        await tasks(desk, "run")
        await desk.until(lambda: any(one["type"] == "text" for one in desk.editor.events))
        await until_states(desk, t1="running", t2="waiting")
        session, home = (await tasks(desk)).tasks[0]["session"], desk.home
    async with a_desk(tmp_path, home=home) as desk:
        await until_states(desk, t1="stopped", t2="open")
        assert (await tasks(desk)).tasks[0]["session"] == session
        assert desk.scripts.seen == {}
