"""Messages about compaction to the user, over stdio with a loopback model (H28-H33)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from indwell.sessions.records import TurnEndRecord
from support.editing import EDIT, READ, USAGE, Home, editing
from support.loopback_endpoint import CUT, HANG, Answer, LoopbackEndpoint, Seen, raw, refuse, say
from support.strict_chat import strictly

RICH = ("events",)
REGIONS = 'window = 40000\nmax_output = 2000\ncompaction = "regions-d"\n'
SMALL = 'window = 9600\nmax_output = 3000\ncompaction = "slide"\n'
SUMMARY = say("The files define parts of carts; nothing was changed yet.", usage=USAGE)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    for number in range(8):
        lines = [f"def cart_{number}_{line}(): return {line}" for line in range(150)]
        home.write(f"r{number}.py", "\n".join(lines) + "\n")
    return home


def is_summary(seen: Seen) -> bool:
    return b'"tool_choice":"none"' in seen.raw


def reads(n_rounds: int, *, n_at_once: int = 1, summary: Answer = SUMMARY) -> Callable[..., Answer]:
    """A model that reads files in some rounds, several at once, and then ends its turn."""
    made = iter(range(n_rounds))

    def answer(seen: Seen) -> Answer:
        if is_summary(seen):
            return summary
        number = next(made, None)
        if number is None:
            return say("done", usage=USAGE)
        paths = [f"r{(number + more) % 8}.py" for more in range(n_at_once)]
        calls = [("read_file", json.dumps({"path": path})) for path in paths]
        return say(calls=calls, usage=USAGE)

    return answer


async def test_the_compact_command_reports_its_effect_in_numbers(home: Home) -> None:
    home.configure(REGIONS)
    async with (
        LoopbackEndpoint(strictly(reads(6))) as endpoint,
        editing(home, endpoint.base_url, extensions=RICH) as editor,
    ):
        await editor.ask("read")
        answer = await editor.ask("/compact")
        (told,) = [one for one in editor.events if one["type"] == "compacted"]
        assert answer.message == (
            f"the conversation is shorter now: {told['after']:,} tokens instead of "
            f"{told['before']:,}"
        )
        assert "summing up part of turn 1" in [one.get("message") for one in editor.events]


async def test_the_compact_command_tells_a_plain_editor_if_nothing_can_be_shortened(
    home: Home,
) -> None:
    async with (
        LoopbackEndpoint(strictly(reads(0))) as endpoint,
        editing(home, endpoint.base_url) as editor,
    ):
        await editor.ask("hello")
        await editor.execute("indwell.compact")
        await editor.wait_until(lambda: bool(editor.messages))
        assert editor.messages[0].startswith("Indwell: nothing can be shortened: the conversation")


FAULTS = {
    "html": (raw(200, "<html>502</html>", headers={"Content-Type": "text/html"}), "answered with"),
    "key": (refuse(401, "no key"), "API key"),
    "credit": (refuse(429, "quota", code="insufficient_quota"), "no credit left"),
    "refused": (refuse(400, "bad"), "refused the request with status 400"),
    "empty": (say(""), "it is empty"),
    "calls": (say(calls=[("bash", "{}")]), "it is empty"),
    "limit": (say("It is so", finish="length"), "reached the output limit"),
    "filter": (say("It is so", finish="content_filter"), "filter stopped"),
}


async def test_a_failed_summary_is_reported_and_the_turn_continues(home: Home) -> None:
    home.configure(REGIONS)
    summary, usual = SUMMARY, reads(4)

    def script(seen: Seen) -> Answer:
        return summary if is_summary(seen) else usual(seen)

    async with (
        LoopbackEndpoint(strictly(script)) as endpoint,
        editing(home, endpoint.base_url, extensions=RICH) as editor,
    ):
        for broken, why in FAULTS.values():
            summary, usual = broken, reads(4)
            assert (await editor.ask("read")).ending == "done"
            editor.events.clear()
            assert (await editor.ask("/compact")).ending == "done"
            notes = [one["note"] for one in editor.events if one["type"] == "compacted"]
            assert any("without a model (" in note and why in note for note in notes), notes
            assert not any("try again" in note for note in notes)


async def test_the_user_is_informed_while_a_cut_connection_is_retried(home: Home) -> None:
    home.configure(REGIONS)
    cut = iter((Answer((CUT,)),))
    usual = reads(6)

    def script(seen: Seen) -> Answer:
        return next(cut, SUMMARY) if is_summary(seen) else usual(seen)

    async with (
        LoopbackEndpoint(strictly(script)) as endpoint,
        editing(home, endpoint.base_url, extensions=RICH) as editor,
    ):
        await editor.ask("read")
        assert (await editor.ask("/compact")).ending == "done"
        said = [one["message"] for one in editor.events if one["type"] == "notice"]
        assert any(one.startswith("summing up: ") and "trying again" in one for one in said), said


async def test_a_running_summary_can_be_stopped_without_changes(home: Home) -> None:
    home.configure(f"{REGIONS}stall_timeout_s = 2\n")
    async with (
        LoopbackEndpoint(strictly(reads(6, summary=Answer((HANG,))))) as endpoint,
        editing(home, endpoint.base_url, extensions=RICH) as editor,
    ):
        await editor.ask("read")
        asked = asyncio.ensure_future(editor.ask("/compact"))
        await editor.wait_until(
            lambda: "summing up part of turn 1" in [one.get("message") for one in editor.events]
        )
        await editor.execute("indwell.cancel")
        answer = await asked
        assert (answer.ending, answer.draft) == ("cancelled", "")
        assert not [one for one in editor.events if one["type"] == "compacted"]
        assert (await editor.ask("go on")).ending == "done"
    (log,) = home.logs()
    endings = [one.ending for one in log if isinstance(one, TurnEndRecord)]
    assert endings == ["done", "cancelled", "done"]


async def test_a_full_window_is_reported_with_numbers_and_a_new_session_takes_the_task(
    home: Home,
) -> None:
    home.configure(SMALL)
    async with (
        LoopbackEndpoint(strictly(reads(1, n_at_once=3))) as endpoint,
        editing(home, endpoint.base_url, extensions=RICH) as editor,
    ):
        answer = await editor.ask("count the carts. Never touch r1.py")
        assert answer.ending == "failed"
        assert "the largest part is the result of read_file r" in answer.message
        assert "tokens; start a new session, which continues the task" in answer.message
        (finished,) = [one for one in editor.events if one["type"] == "turnFinished"]
        assert finished["outgrown"] is True
        await editor.execute("indwell.newSession")
        other = await editor.ask("go on")
        assert (other.ending, other.turn, other.session != answer.session) == ("done", 1, True)
        said = json.dumps(endpoint.seen[-1].body["messages"])
        assert "<task-card>" in said
        assert "count the carts. Never touch r1.py" in said


async def test_the_task_is_included_after_a_restart_and_a_kill(
    home: Home,
) -> None:
    home.configure(SMALL)
    async with LoopbackEndpoint(strictly(reads(1, n_at_once=3))) as endpoint:
        async with editing(home, endpoint.base_url, extensions=RICH) as editor:
            assert (await editor.ask("count the carts. Never touch r1.py")).ending == "failed"
        async with editing(home, endpoint.base_url, extensions=RICH) as editor:
            (log,) = home.logs()
            await editor.execute("indwell.resume", {"session": log[0].session, "wait": True})
            await editor.execute("indwell.newSession")
            editor.process.kill()
            await editor.process.wait()
        async with editing(home, endpoint.base_url, extensions=RICH) as editor:
            assert (await editor.ask("go on")).ending == "done"
            said = json.dumps(endpoint.seen[-1].body["messages"])
    assert "<task-card>" in said
    assert "count the carts. Never touch r1.py" in said


async def test_the_new_session_is_told_of_pending_changes_of_the_old_session(
    home: Home,
) -> None:
    home.configure(SMALL)
    usual = reads(1, n_at_once=3)
    first = iter([say(calls=[READ], usage=USAGE), say(calls=[EDIT], usage=USAGE)])
    async with (
        LoopbackEndpoint(strictly(lambda seen: next(first, None) or usual(seen))) as endpoint,
        editing(home, endpoint.base_url, extensions=RICH) as editor,
    ):
        assert (await editor.ask("count the carts")).ending == "failed"
        await editor.execute("indwell.newSession")
        assert (await editor.ask("go on")).ending == "done"
        assert "shop.py: 1 not reviewed yet" in json.dumps(endpoint.seen[-1].body["messages"])


async def test_a_plain_editor_keeps_the_warning_that_overhead_leaves_no_room(home: Home) -> None:
    home.configure('profile = "full"\nwindow = 2600\nmax_output = 600\n')
    async with (
        LoopbackEndpoint(strictly(reads(0))) as endpoint,
        editing(home, endpoint.base_url) as editor,
    ):
        for _ in range(4):
            await editor.ask("please count all the carts of the shop and what they cost " * 8)
        # Without a sandbox, a notice about the missing sandbox comes before or after.
        (told,) = [
            line for line in editor.logged if line.startswith("Indwell: the system prompt (")
        ]
        assert "leave little of the 2,000 tokens" in told


async def test_a_plain_editor_is_offered_a_new_session_and_continues_there(home: Home) -> None:
    home.configure(SMALL)
    async with (
        LoopbackEndpoint(strictly(reads(1, n_at_once=3))) as endpoint,
        editing(home, endpoint.base_url) as editor,
    ):
        offered: list[tuple[str, ...]] = []

        def choose(_message: str, titles: object) -> str:
            offered.append(tuple(titles))  # type: ignore[arg-type]
            return offered[-1][0]

        editor.answers.choose = choose
        buffer = editor.open(home.shop)
        finished = await editor.fix(buffer, wait=True)
        assert finished["ending"] == "failed"
        await editor.wait_until(lambda: home.n_ended() == 2)
        assert offered == [("Go on in a new session", "Not now")]
    logs = home.logs()
    assert [one.ending for log in logs for one in log if isinstance(one, TurnEndRecord)] == [
        "failed",
        "done",
    ]
    assert b"<task-card>" in endpoint.seen[-1].raw
