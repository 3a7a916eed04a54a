from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from indwell.agent.compaction.fit import _keep, make_compact
from indwell.agent.core.budget import Budgets
from indwell.agent.core.events import Compacted, Notice
from indwell.agent.core.session_parts import CompactionWish, OtherModel
from indwell.context.compaction.presets import PRESETS
from indwell.context.compaction.step import CompactionStep, SpilledText, TokenRates
from indwell.errors import ContextOverflow, ServerFault, SessionError
from indwell.messages import Reply, Request, Text, ToolResult, Usage
from indwell.providers.scripted import Answer, ScriptedProvider, hang
from indwell.sessions import records as log
from indwell.tools.base import ToolTable
from support.session import World, a_tool, a_world, asks, call, says, with_parts

CHEAP = TokenRates(0.01, 0.01, 0.01, 0.05)
WINDOW = 16_000
LINES = "\n".join(f"line {number} of a report about cart {number}.py" for number in range(250))
SUMMARY = "The report names carts; nothing was changed yet."


async def report(name: str, context: object) -> str:
    return f"{name}\n{LINES}"


def is_summary(request: Request) -> bool:
    """Does the request ask for a summary?"""
    last = request.messages[-1].blocks[-1]
    words = [*request.system, *([last] if isinstance(last, Text) else [])]
    return any("Sum up " in one.text for one in words)


def works(n_rounds: int, summary: Callable[[Request], Answer] = lambda _: Reply(SUMMARY)) -> Any:
    """Return a model that reads a long report in each round, and writes summaries."""
    made = iter(range(n_rounds))

    def answer(request: Request) -> Answer:
        if is_summary(request):
            return summary(request)
        number = next(made, None)
        if number is None:
            return Reply("done")
        return Reply("", (call("report", f"c{number}", name=f"r{number}"),), finish="tool_calls")

    return answer


@asynccontextmanager
async def a_long_world(
    folder: Path, script: Any, preset: str = "regions-d", *, window: int = WINDOW, **parts: Any
) -> Any:
    registry = ToolTable([a_tool("report", report)])
    async with a_world(folder, script, registry=registry, window=window) as world:
        with_parts(world.session, preset=PRESETS[preset], **parts)
        yield world


def work_of(world: World) -> list[Request]:
    """Return the requests that did not ask for a summary."""
    return [one for one in world.provider.requests if not is_summary(one)]


@pytest.mark.parametrize("preset", ["default", "regions-d", "ladder-a", "auto-b", "slide"])
async def test_a_conversation_that_outgrows_the_window_continues(
    tmp_path: Path, preset: str
) -> None:
    async with a_long_world(tmp_path, works(20), preset) as world:
        finished = await world.turn("read all reports")
        assert (finished.ending, finished.rounds) == ("done", 21)
        told = world.told(Compacted)
        assert told
        assert all(one.after < one.before for one in told)
        budget = world.session.conversation.config.budget
        assert max(one.tokens for one in work_of(world)) <= budget
        assert any(isinstance(one, log.CompactionRecord) for one in await world.records())


async def test_cut_text_is_on_disk_under_the_name_given_at_the_cut(tmp_path: Path) -> None:
    async with a_long_world(tmp_path, works(12), "ladder-a") as world:
        await world.turn()
        compacted = [one for one in await world.records() if isinstance(one, log.CompactionRecord)]
        names = [name for one in compacted for name in one.spills]
        assert names
        folder = world.session.parts.readable.own[0]
        for name in names:
            assert "line 249 of a report" in (folder / name).read_text(encoding="utf-8")
        shown = "".join(one.text for one in world.results) + repr(world.messages)
        assert names[-1] in shown


def broken(request: Request) -> Answer:
    return ServerFault("the endpoint failed with status 500")


@pytest.mark.parametrize(
    ("summary", "why"),
    [
        (broken, "status 500"),
        (lambda _: Reply(" \n"), "it is empty"),
        (lambda _: Reply("<html><body>502 Bad Gateway</body></html>"), "it is an error page"),
        (lambda _: Reply("word " * 5_000), "longer than what it sums up"),
        (lambda _: Reply("It beg", finish="incomplete"), "broke off"),
        (lambda _: Reply("It beg", finish="length"), "reached the output limit"),
        (lambda _: Reply(SUMMARY, finish="filtered"), "filter stopped"),
        (lambda _: hang(), "no answer within 0.3 s"),
    ],
)
async def test_if_a_summary_fails_it_is_made_without_a_model_and_the_turn_continues(
    tmp_path: Path, summary: Callable[[Request], Answer], why: str
) -> None:
    script = works(14, summary)
    timeout_s = 0.3 if "0.3 s" in why else 60.0
    async with a_long_world(tmp_path, script, summary_timeout_s=timeout_s) as world:
        finished = await world.turn()
        assert (finished.ending, finished.rounds) == ("done", 15)
        assert any(why in one.note for one in world.told(Compacted)), world.told(Compacted)
        assert "No model could sum this up" in repr(world.messages)
        await world.records()


async def test_a_summary_request_is_the_last_request_plus_the_summary_instructions(
    tmp_path: Path,
) -> None:
    async with a_long_world(tmp_path, works(10), window=2 * WINDOW) as world:
        await world.turn()
        requests = world.provider.requests
        at = next(at for at, one in enumerate(requests) if is_summary(one))
        asked, before = requests[at], requests[at - 1]
        assert (asked.system, asked.tools) == (before.system, before.tools)
        assert asked.messages[: len(before.messages)] == before.messages
        assert asked.tool_choice == "none"
        # The cache mark stays where the request before had it, so the request only reads the cache.
        assert asked.anchors.messages == before.anchors.messages[-1:]


async def test_a_small_model_that_is_cheaper_reads_the_region_alone(tmp_path: Path) -> None:
    provider = ScriptedProvider(lambda _: Reply(SUMMARY, usage=Usage(input=3_000, output=20)))
    small = OtherModel(provider, "tiny", 32_000, 4_000, lambda _: 0.5, CHEAP)
    async with a_long_world(tmp_path, works(10), small=small) as world:
        finished = await world.turn()
        assert provider.requests
        assert {one.model for one in provider.requests} == {"tiny"}
        assert not any(map(is_summary, world.provider.requests))
        spent = [one for one in await world.records() if isinstance(one, log.Spent)]
        assert len([one for one in spent if one.model == "tiny"]) == len(provider.requests)
        assert finished.usage.input >= 3_000 * len(provider.requests)
        assert SUMMARY in repr(world.messages)


@pytest.mark.parametrize("price", [None, 0.5])
async def test_a_small_model_summarises_only_if_its_price_counts_towards_the_users_budget(
    tmp_path: Path, price: float | None
) -> None:
    provider = ScriptedProvider(lambda _: Reply(SUMMARY, usage=Usage(input=3_000, output=20)))
    small = OtherModel(provider, "tiny", 32_000, 4_000, lambda _: price, CHEAP)
    async with a_long_world(tmp_path, works(10), small=small) as world:
        budgets = Budgets(session=1_000_000.0)
        with_parts(world.session, budgets=budgets)
        finished = await world.turn()
        assert bool(provider.requests) == (price is not None)
        assert (finished.ending, finished.cost is None) == ("done", False)
        assert SUMMARY in repr(world.messages)


async def test_a_request_that_the_endpoint_rejects_as_too_long_is_compacted_and_retried(
    tmp_path: Path,
) -> None:
    answers = [asks(call("report", "c1")), ContextOverflow("too long"), Reply(SUMMARY), says()]
    async with a_long_world(tmp_path, answers, "slide") as world:
        with_parts(world.session, preset=PRESETS["regions-d"])
        finished = await world.turn()
        assert finished.ending == "done"
        assert len(world.told(Compacted)) == 1
        assert len(work_of(world)) == 3


async def test_a_request_that_stays_too_long_is_retried_only_once(tmp_path: Path) -> None:
    def answer(request: Request) -> Answer:
        if is_summary(request):
            return Reply(SUMMARY)
        has_result = any(isinstance(one, ToolResult) for one in request.messages[-1].blocks)
        return ContextOverflow("too long") if has_result else asks(call("report", "c1"))

    async with a_long_world(tmp_path, answer) as world:
        finished = await world.turn()
        assert finished.ending == "failed"
        assert "start a new session" in finished.message
        assert len(work_of(world)) <= 3
        await world.records()


async def test_a_turn_that_is_stopped_while_a_summary_is_written_leaves_a_valid_session(
    tmp_path: Path,
) -> None:
    is_asked = asyncio.Event()

    def summary(request: Request) -> Answer:
        if not is_asked.is_set():
            is_asked.set()
            return hang("It ")
        return Reply(SUMMARY)

    async with a_long_world(tmp_path, works(10, summary)) as world:
        turn = world.begin()
        await asyncio.wait_for(is_asked.wait(), 60)
        before = world.messages
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn
        assert world.messages == before
        assert world.told(Compacted) == []
        await world.records()
        assert (await world.turn("go on")).ending == "done"
        assert world.told(Compacted)


async def test_a_message_larger_than_the_window_is_a_clear_error_with_numbers(
    tmp_path: Path,
) -> None:
    async def flood(name: str, context: object) -> str:
        return LINES * 9

    registry = ToolTable([a_tool("flood", flood)])
    script = [asks(call("flood", "c1")), says()]
    async with a_world(tmp_path, script, registry=registry, window=8_000) as world:
        with_parts(world.session, preset=PRESETS["slide"])
        finished = await world.turn()
        assert finished.ending == "failed"
        assert "the result of flood of turn 1 with about" in finished.message
        assert "start a new session" in finished.message
        await world.records()


async def test_a_full_disk_stops_compaction_and_keeps_every_message(tmp_path: Path) -> None:
    async def full(name: str, text: str) -> Path:
        raise SessionError("no room")

    async with a_long_world(tmp_path, works(8), "ladder-a", keep_as=full) as world:
        await world.turn()
        assert world.told(Compacted) == []
        assert any("no room" in one.message for one in world.told(Notice))
        await world.records()


async def test_if_a_layer_cannot_save_its_texts_the_next_layer_runs(tmp_path: Path) -> None:
    async with a_long_world(tmp_path, works(3), "default") as world:
        await world.turn()
        n_asked = len(world.provider.requests)

        def is_summed_up() -> bool:
            return len(world.provider.requests) > n_asked

        with_parts(world.session, keep_as=_until(is_summed_up, tmp_path))
        await world.turn("/compact")
        layers = [one.layer for one in world.told(Compacted)]
        assert layers[:1] == ["regions"]
        told = [one.message for one in world.told(Notice) if "no room" in one.message]
        assert told == ["the conversation could not be shortened enough: no room"]
        await world.records()


def _until(is_room: Callable[[], bool], folder: Path) -> Any:
    async def keep_as(name: str, text: str) -> Path:
        if not is_room():
            raise SessionError("no room")
        return folder / name

    return keep_as


async def test_a_file_name_that_occurs_twice_in_a_step_is_written_once(tmp_path: Path) -> None:
    kept: list[str] = []

    async def keep_as(name: str, text: str) -> Path:
        assert text == LINES
        kept.append(name)
        return tmp_path / name

    async with a_long_world(tmp_path, works(1), keep_as=keep_as) as world:
        await _keep(world.session, CompactionStep("digest", (), (SpilledText("a.txt", LINES),) * 3))
    assert kept == ["a.txt"]


async def test_compaction_requested_by_the_model_runs_before_its_next_call(tmp_path: Path) -> None:
    wish = CompactionWish()
    reads = [asks(call("report", f"c{number}", name=str(number))) for number in range(3)]
    script = [*reads, asks(call("compact", "c9", reason="a new phase")), Reply(SUMMARY), says()]
    registry = ToolTable([a_tool("report", report), make_compact(wish)])
    async with a_world(tmp_path, script, registry=registry) as world:
        with_parts(world.session, wish=wish, preset=PRESETS["regions-d"])
        assert (await world.turn()).ending == "done"
        (told,) = world.told(Compacted)
        assert told.after < told.before
        assert len(world.provider.requests) == 6


async def test_the_compact_command_runs_between_turns_and_is_not_sent_to_a_model(
    tmp_path: Path,
) -> None:
    async with a_long_world(tmp_path, works(3)) as world:
        await world.turn()
        n_asked = len(work_of(world))
        finished = await world.turn(" /compact ")
        assert (finished.ending, finished.draft, finished.rounds) == ("done", "", 0)
        first, *_, last = (told := world.told(Compacted))[:1] + told[-1:]
        assert finished.message == (
            f"the conversation is shorter now: {last.after:,} tokens instead of {first.before:,}"
        )
        assert len(work_of(world)) == n_asked
        await world.records()
        assert (await world.turn("go on")).ending == "done"


async def test_a_compact_command_without_a_conversation_reports_nothing_to_shorten(
    tmp_path: Path,
) -> None:
    async with a_long_world(tmp_path, []) as world:
        finished = await world.turn("/compact")
        assert finished.ending == "done"
        assert finished.message.startswith("nothing can be shortened: the conversation has ")
        with_parts(world.session, preset=PRESETS["none"])
        assert "choose another preset" in (await world.turn("/compact")).message
        assert world.provider.requests == []


async def test_a_system_prompt_that_is_too_large_is_reported_once_with_numbers(
    tmp_path: Path,
) -> None:
    async with a_long_world(tmp_path, works(16)) as world:
        now = world.session.conversation
        block = now.system[0]
        # 8,000 of 15,000 tokens are more than half.
        meta = msgspec.structs.replace(block.meta, tokens=8_000)
        heavy = msgspec.structs.replace(block, meta=meta)
        world.session.conversation = msgspec.structs.replace(now, system=(heavy,))
        await world.turn()
        told = [one for one in world.told(Notice) if "system prompt (8,0" in one.message]
        assert len(told) == 1


async def test_the_files_of_notes_that_the_task_card_names_are_written(tmp_path: Path) -> None:
    written: dict[str, str] = {}

    async def keep_as(name: str, text: str) -> Path:
        written[name] = text
        return tmp_path / name

    rules = "\n".join(f"Never touch the folder part{at} of the shop." for at in range(60))
    async with a_long_world(tmp_path, works(12), keep_as=keep_as) as world:
        with_parts(world.session, preset=msgspec.structs.replace(PRESETS["regions-d"], card=True))
        await world.turn(rules)
        await world.turn("go on")
        texts = (one for message in work_of(world)[-1].messages for one in message.blocks)
        (card,) = (one for one in texts if one.meta.source == "task_card")
        assert isinstance(card, Text)
        named = [one for one in written if one.startswith("notes-") and one in card.text]
        assert named
        notes = "".join(written[one] for one in named)
        assert all(f"the folder part{at} of" in notes for at in range(60))
