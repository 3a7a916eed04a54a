"""Budgets stop a turn before a call that could exceed them (H43)."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from indwell.agent.core.budget import Budgets, MemoryLedger, Outlay, expected_usage, refusal
from indwell.messages import Reply, Request, Usage
from indwell.sessions import records as log
from support.session import World, a_world, asks, call, says, texts, with_parts

FILES = {"a.py": "x = 1\n", "b.py": "y = 1\n"}
READ_A, READ_B = call("read_file", path="a.py"), call("read_file", path="b.py")


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        (Usage(), Usage(1_000, output=100)),
        (Usage(800, cached=400), Usage(1_000, cached=400, output=100)),
        (Usage(800, cached=400, cache_write=300), Usage(1_000, 400, 600, 100)),
        (Usage(800, cached=800, reported=False), Usage(1_000, output=100)),
        (Usage(4_000, cached=3_000), Usage(1_000, cached=750, output=100)),
        (Usage(10, cached=99), Usage(1_000, cached=10, output=100)),
    ],
)
def test_the_expected_cache_hit_follows_the_last_reply(last: Usage, expected: Usage) -> None:
    assert expected_usage(1_000, last, 100) == expected


NEXT = Usage(3_120, output=8_192)
OUTLAY = Outlay(turn=0.41, session=0.9, day=1.9, turn_tokens=9_000)


CALL = "$0.1312 (3,120 prompt tokens and a reply of up to 8,192)"


@pytest.mark.parametrize(
    ("budgets", "limit", "spent", "advice"),
    [
        (
            Budgets(turn=0.5),
            "budget_turn = $0.5",
            "$0.4100 is spent",
            "ask to go on, raise `budget_turn`",
        ),
        (
            Budgets(session=1),
            "budget_session = $1",
            "$0.9000 is spent",
            "begin a new session, raise `budget_session`",
        ),
        (
            Budgets(turn=9, day=2),
            "budget_day = $2",
            "$1.9000 is spent or held for other calls under way",
            "raise `budget_day`",
        ),
    ],
)
def test_the_exceeded_budget_is_named_with_numbers(
    budgets: Budgets, limit: str, spent: str, advice: str
) -> None:
    assert refusal(budgets, OUTLAY, NEXT, 0.1312) == (
        f"stopped before a call that could pass {limit}: {spent}, and the call may cost "
        f"{CALL}; {advice}, or lower `max_output`"
    )


def test_the_budget_of_tokens_is_reported_in_tokens() -> None:
    assert refusal(Budgets(turn_tokens=20_000), OUTLAY, NEXT, None) == (
        "stopped before a call that could pass budget_turn_tokens = 20,000: 9,000 are spent, and "
        "the call has 3,120 prompt tokens and a reply of up to 8,192; ask to go on, raise "
        "`budget_turn_tokens`, or lower `max_output`"
    )


@pytest.mark.parametrize(
    ("budgets", "advice"),
    [
        (Budgets(turn=0.01), "raise `budget_turn`, or lower `max_output`"),
        (Budgets(session=0.01), "raise `budget_session`, or lower `max_output`"),
        (Budgets(turn_tokens=100), "raise `budget_turn_tokens`, or lower `max_output`"),
    ],
)
def test_if_not_even_the_first_call_fits_a_new_session_is_not_advised(
    budgets: Budgets, advice: str
) -> None:
    assert refusal(budgets, Outlay(), NEXT, 0.1312).rpartition("; ")[2] == advice


@pytest.mark.parametrize(
    "budgets", [Budgets(), Budgets(turn=0.6, session=1.1, day=3, turn_tokens=30_000)]
)
def test_a_request_that_fits_every_budget_may_be_sent(budgets: Budgets) -> None:
    assert refusal(budgets, OUTLAY, NEXT, 0.1312) == ""


def test_a_model_without_a_price_has_only_the_token_budget() -> None:
    spent = Outlay(turn=9.0, session=9.0, day=9.0, turn_tokens=0)
    assert refusal(Budgets(turn=0.0, day=0.0), spent, NEXT, None) == ""
    assert refusal(Budgets(turn_tokens=1), spent, NEXT, None) != ""


def limit(world: World, budgets: Budgets, ledger: MemoryLedger | None = None) -> MemoryLedger:
    """Set budgets and prices: a call with the longest reply costs a quarter of a dollar."""
    ledger = ledger or MemoryLedger()
    with_parts(
        world.session,
        budgets=budgets,
        ledger=ledger,
        cost=lambda usage: usage.output * 0.25 / 1_000,
    )
    return ledger


THOUSAND = Usage(input=100, output=1_000)


async def test_a_turn_ends_before_a_call_that_could_exceed_the_budget(tmp_path: Path) -> None:
    script = [asks(READ_A, usage=THOUSAND), asks(READ_B, usage=THOUSAND), says("go on")]
    async with a_world(tmp_path, script, files=FILES) as world:
        limit(world, Budgets(turn=0.6))
        finished = await world.turn("look")
        assert (finished.ending, finished.rounds, finished.cost) == ("budget", 2, 0.5)
        assert finished.message.startswith(
            "stopped before a call that could pass budget_turn = $0.6"
        )
        assert finished.draft == ""
        last = (await world.records())[-1]
        assert last == log.TurnEndRecord(
            1, "budget", last.at, finished.message, seconds=finished.seconds
        )
        assert (await world.turn("go on")).ending == "done"
        assert texts(world.messages[4]) == ["1\ty = 1", "go on"]


async def test_without_budget_for_one_call_no_call_is_made_and_the_prompt_returns(
    tmp_path: Path,
) -> None:
    async with a_world(tmp_path, []) as world:
        limit(world, Budgets(turn=0.2))
        finished = await world.turn("look")
        assert (finished.ending, finished.rounds, finished.draft) == ("budget", 0, "look")
        assert world.provider.requests == []


async def test_the_sessions_budget_counts_all_its_turns(tmp_path: Path) -> None:
    replies = [asks(READ_A, usage=THOUSAND), says(), says()]
    async with a_world(tmp_path, replies, files=FILES) as world:
        limit(world, Budgets(session=0.45))
        assert [(await world.turn()).ending for _ in range(2)] == ["budget", "budget"]
        assert len(world.provider.requests) == 1


async def test_the_daily_budget_counts_spending_of_other_sessions(tmp_path: Path) -> None:
    ledger = MemoryLedger()

    def meanwhile(request: Request) -> object:
        ledger.add(0.4)  # another session has spent this amount
        return asks(READ_A, usage=THOUSAND)

    async with a_world(tmp_path, [meanwhile, says()], files=FILES) as world:
        limit(world, Budgets(day=0.8), ledger)
        finished = await world.turn()
        assert (finished.ending, finished.rounds) == ("budget", 1)
        assert "$0.6500 is spent" in finished.message


class SlowModel:
    """A provider whose calls wait for ``go_on``, and then use ``THOUSAND``."""

    def __init__(self) -> None:
        self.asked = asyncio.Semaphore(0)
        self.go_on = asyncio.Event()

    async def complete(self, _request: Request, _on_event: object) -> Reply:
        self.asked.release()
        await self.go_on.wait()
        return Reply(text="well", finish="stop", usage=THOUSAND)

    async def aclose(self) -> None:
        pass


async def test_parallel_sessions_never_exceed_the_daily_budget(tmp_path: Path) -> None:
    """Each session calls the model while the calls of other sessions run."""
    ledger, model = MemoryLedger(), SlowModel()
    async with AsyncExitStack() as stack:
        turns = []
        for number in range(3):
            folder = tmp_path / str(number)
            folder.mkdir()
            world = await stack.enter_async_context(a_world(folder, []))
            limit(world, Budgets(day=0.6), ledger)
            with_parts(world.session, provider=model)
            turns.append(world.begin())
        for _ in range(2):  # each call costs $0.25, so a third call could exceed $0.60
            await model.asked.acquire()
        done, _ = await asyncio.wait(turns, return_when=asyncio.FIRST_COMPLETED)
        assert [one.result().ending for one in done] == ["budget"]
        assert "$0.5000 is spent or held for other calls under way" in done.pop().result().message
        model.go_on.set()
        assert sorted([(await one).ending for one in turns]) == ["budget", "done", "done"]
    assert await ledger.today() == 0.5


async def test_a_stopped_or_failed_call_releases_its_reserved_budget(tmp_path: Path) -> None:
    model = SlowModel()
    async with a_world(tmp_path, []) as world:
        ledger = limit(world, Budgets(day=0.4))
        with_parts(world.session, provider=model)
        turn = world.begin()
        await model.asked.acquire()
        assert await ledger.today() == 0.25
        turn.cancel()
        await asyncio.wait({turn})
        assert await ledger.today() == 0.0
        model.go_on.set()
        assert ((await world.turn()).ending, await ledger.today()) == ("done", 0.25)


async def test_a_budget_of_tokens_needs_no_price(tmp_path: Path) -> None:
    script = [asks(READ_A, usage=Usage(2_000, output=100)), says()]
    async with a_world(tmp_path, script, files=FILES) as world:
        limit(world, Budgets(turn_tokens=3_500))
        with_parts(world.session, cost=lambda _usage: None)
        finished = await world.turn()
        assert (finished.ending, finished.cost) == ("budget", None)
        assert "2,100 are spent, and the call has 2,0" in finished.message
