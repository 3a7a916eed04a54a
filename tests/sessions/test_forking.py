"""Forks and rewinds on disk: logs only grow, texts of forks stay, costs count once."""

from __future__ import annotations

import asyncio
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from indwell.agent.features.plan import written_plan
from indwell.agent.restore import past_of
from indwell.context.task_state import Plan
from indwell.errors import SessionError
from indwell.messages import Usage
from indwell.sessions.branches import plan_of
from indwell.sessions.forking import check_whole, fork_session, rewind_session, spill_owners
from indwell.sessions.overview import scanned_figures
from indwell.sessions.records import Forked, PlanSet
from indwell.sessions.storage.automatic_deletion import CONFIRM, RetentionLimits, sweep
from indwell.sessions.storage.retention import delete, session_ids, stored
from indwell.sessions.storage.store import SessionStore
from support.branch_logs import a_turn, log_of, words_of

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)


async def session(store: SessionStore, *turns: int) -> str:
    """Create a closed session with these turns and one spilled text."""
    name, log = store.create(model="small", now=NOW)
    for turn in turns:
        for record in a_turn(turn):
            log.append(record)
    await log.close()
    (store.spill(name) / "0001-long.txt").write_bytes(b"long")
    return name


@pytest.fixture
def store(tmp_path) -> SessionStore:
    return SessionStore(tmp_path, tmp_path / "work")


async def test_a_fork_has_the_same_conversation_and_leaves_the_original_unchanged(store) -> None:
    origin = await session(store, 1, 2, 3)
    before = log_of(store, origin).read_bytes()
    made = await fork_session(store, origin, 2, now=LATER)
    assert log_of(store, origin).read_bytes() == before
    reading = store.open(made.session)
    assert (made.turn, made.notices, reading.notices) == (2, (), ())
    assert words_of(reading.records) == ["words 1", "reply 1", "words 2", "reply 2"]
    assert spill_owners(reading.records) == (origin,)
    first = next(one for one in reading.records if isinstance(one, Forked))
    assert (first.session, first.turn) == (origin, 2)
    assert reading.records[1] == first
    past = past_of(reading.records)
    assert (past.turns, past.cost, past.is_taken_back) == (2, 0.0, True)
    assert store.overview(made.session).model == "small"


async def test_a_fork_of_a_fork_references_the_texts_of_both(store) -> None:
    origin = await session(store, 1, 2)
    one = (await fork_session(store, origin, None, now=LATER)).session
    two = (await fork_session(store, one, 1, now=LATER)).session
    assert spill_owners(store.open(two).records) == (origin, one)
    assert words_of(store.open(two).records) == ["words 1", "reply 1"]


async def test_a_fork_copies_the_plan_document_with_the_users_edits(store) -> None:
    origin, log = store.create(model="small", now=NOW)
    first, second = (store.spill(origin) / f"000{number}-plan.md" for number in (1, 2))
    for turn, path in ((1, first), (2, second)):
        path.write_bytes(b"1. As proposed\n")
        *begun, last = a_turn(turn)
        for record in (*begun, PlanSet(turn, "proposed", "1. As proposed", "t", str(path)), last):
            log.append(record)
    await log.close()
    second.write_bytes(b"1. As the user has it\n")
    fork = (await fork_session(store, origin, None, now=LATER)).session
    plan = plan_of(store.open(fork).records)
    assert plan.path.startswith(str(store.spill(fork)))
    assert written_plan(plan) == "1. As the user has it\n"
    second.write_bytes(b"1. In the origin\n")
    assert written_plan(plan) == "1. As the user has it\n"
    Path(plan.path).write_bytes(b"1. In the fork\n")
    assert written_plan(plan_of(store.open(origin).records)) == "1. In the origin\n"
    first.unlink()
    await rewind_session(store, fork, 1, now=LATER)
    earlier = plan_of(store.open(fork).records)
    assert (earlier.path != plan.path, written_plan(earlier)) == (True, "1. As proposed\n")
    delete(store.spill(origin).parents[3], origin)
    again = (await fork_session(store, fork, 1, now=LATER)).session
    assert written_plan(plan_of(store.open(again).records)) == "1. As proposed\n"


def test_an_old_fork_does_not_use_the_plan_document_of_its_original() -> None:
    fork = Forked("20261121-a", 1, "small", "t", ("20261121-a",), whole=True)
    for root in ("/state/", "C:\\state\\"):
        path = f"{root}20261121-a/spill/0001-plan.md"
        own = PlanSet(2, "proposed", "2. Mine", "t", path.replace("-a/", "-b/"))
        shared = PlanSet(1, "proposed", "1. Shared", "t", path)
        assert plan_of([shared]).path == path
        assert plan_of([shared, fork]) == Plan("proposed", "1. Shared")
        assert plan_of([shared, fork, own]).path == own.path


async def test_texts_referenced_by_a_fork_are_kept_until_the_last_fork_is_deleted(
    tmp_path, store
) -> None:
    origin = await session(store, 1, 2)
    one = (await fork_session(store, origin, 1, now=LATER)).session
    two = (await fork_session(store, one, 1, now=LATER)).session
    of_agents = store.spill(origin).parent / "agents"
    of_agents.mkdir()
    (of_agents / "0001.jsonl").write_bytes(b"what a sub-agent read")
    delete(tmp_path, origin)
    kept = store.spill(origin) / "0001-long.txt"
    assert kept.read_text(encoding="utf-8") == "long"
    assert not of_agents.exists()
    assert set(store.ids()) == set(session_ids(tmp_path)) == {one, two}
    assert {each.id for each in stored(tmp_path)} == {one, two}
    delete(tmp_path, one)
    assert kept.exists()
    delete(tmp_path, two)
    (folder,) = (tmp_path / "sessions").iterdir()
    assert list(folder.iterdir()) == []


def swept(state: Path, end: datetime, ours: str = "") -> tuple[str, ...]:
    """Return the sessions that are deleted a day after the clock first looked wrong."""
    limits = RetentionLimits(keep_days=30)
    gone = [
        sweep(state, limits, now=now, pending=lambda _folder: (), ours=ours)
        for now in (end - CONFIRM, end)
    ]
    return tuple(name for one in gone if one for name in one.sessions)


async def test_automatic_deletion_keeps_texts_referenced_by_a_newer_fork(tmp_path, store) -> None:
    origin = await session(store, 1)
    fork = (await fork_session(store, origin, 1, now=LATER)).session
    for name in (origin, fork):
        os.utime(log_of(store, name), (NOW.timestamp(), NOW.timestamp()))
    end = NOW + timedelta(days=40)
    assert swept(tmp_path, end, ours=fork) == (origin,)
    assert (store.spill(origin) / "0001-long.txt").exists()
    assert swept(tmp_path, end) == (fork,)
    assert not store.spill(origin).exists()


async def test_copied_usage_counts_only_in_the_original_session_of_a_fork(store) -> None:
    origin = await session(store, 1, 2)
    fork = (await fork_session(store, origin, 2, now=LATER)).session
    data = log_of(store, fork).read_bytes()
    assert scanned_figures(fork, (data,), lambda at: at[:10]).parts == {}
    seen = store.overview(fork)
    assert (seen.turns, seen.cost, seen.usage) == (2, 0.0, Usage())
    past = past_of(store.open(fork).records)
    assert (past.cost, past.usage, past.last_usage) == (0.0, Usage(), Usage(input=5, output=1))


async def test_an_incomplete_fork_after_a_kill_does_not_count_as_complete(store) -> None:
    origin = await session(store, 1, 2)
    fork = (await fork_session(store, origin, 2, now=LATER)).session
    path = log_of(store, fork)
    lines = path.read_bytes().splitlines(keepends=True)
    for n_lines in range(2, len(lines)):
        path.write_bytes(b"".join(lines[:n_lines]))
        with pytest.raises(SessionError, match="never finished; delete it and fork again"):
            check_whole(fork, store.open(fork).records)
        with pytest.raises(SessionError, match="never finished"):
            await fork_session(store, fork, 1, now=LATER)


async def test_a_fork_that_continued_and_lost_a_line_can_be_resumed(store) -> None:
    origin = await session(store, 1, 2)
    fork = (await fork_session(store, origin, 2, now=LATER)).session
    _, log = store.resume(fork, now=LATER)
    for record in a_turn(3):
        log.append(record)
    await log.close()
    path = log_of(store, fork)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(one for one in lines if b'"whole":true' not in one))
    reading = store.open(fork)
    check_whole(fork, reading.records)
    assert len(words_of(reading.records)) == 6


async def test_a_running_turn_is_left_out_of_a_fork_and_reported(store) -> None:
    origin, log = store.create(model="small", now=NOW)
    for record in (*a_turn(1), *a_turn(2, ends=False)):
        log.append(record)
    await log.commit()
    try:
        made = await fork_session(store, origin, None, now=LATER)
    finally:
        await log.close()
    assert made.turn == 1
    assert made.notices == (
        "turn 2 has not ended and is left out; name it to include its part so far",
    )
    named = await fork_session(store, origin, 2, now=LATER)
    assert past_of(store.open(named.session).records).is_broken_off


async def test_a_rewind_only_appends_to_the_log_and_returns_the_discarded_prompt(store) -> None:
    name = await session(store, 1, 2, 3)
    before = log_of(store, name).read_bytes()
    back = await rewind_session(store, name, 1, now=LATER)
    after = log_of(store, name).read_bytes()
    assert (back.turn, back.draft, back.notices) == (1, "words 2", ())
    assert after.startswith(before)
    assert after[len(before) :].count(b"\n") == 1
    assert words_of(store.open(name).records) == ["words 1", "reply 1"]
    again = await rewind_session(store, name, 3, now=LATER)
    assert again.draft == ""
    assert len(words_of(store.open(name).records)) == 6
    grown = log_of(store, name).read_bytes()
    with pytest.raises(SessionError, match="no turn 9; its turns are 1 to 3"):
        await rewind_session(store, name, 9, now=LATER)
    assert log_of(store, name).read_bytes() == grown


async def test_a_rewind_to_the_current_turn_writes_no_record(store) -> None:
    name = await session(store, 1, 2)
    before = log_of(store, name).read_bytes()
    assert (await rewind_session(store, name, 2, now=LATER)).draft == ""
    assert log_of(store, name).read_bytes() == before


async def test_a_cancelled_rewind_releases_the_lock_of_the_log(store) -> None:
    name = await session(store, 1, 2)
    before = asyncio.all_tasks()
    waiting = asyncio.ensure_future(rewind_session(store, name, 1, now=LATER))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait({waiting})
    await asyncio.wait(asyncio.all_tasks() - before)
    assert words_of(store.open(name).records) == ["words 1", "reply 1"]
    _, log = store.resume(name, now=LATER)  # raises an error if the log is still locked
    await log.close()
