from __future__ import annotations

import multiprocessing
import os
import signal
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indwell.sessions.records import TurnStartRecord
from indwell.sessions.storage.automatic_deletion import (
    CONFIRM,
    FOLDER,
    LEAP,
    Gone,
    RetentionLimits,
    SweepRecord,
    held_b,
    is_believed,
    record_of,
    sweep,
    take_untold,
)
from indwell.sessions.storage.retention import session_ids
from indwell.sessions.storage.store import SessionStore, folder_name

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
MONTH = RetentionLimits(keep_days=30)


def nothing_pending(_folder: Path) -> tuple[str, ...]:
    return ()


def swept(
    state: Path, limits: RetentionLimits = MONTH, now: datetime = NOW, **given
) -> tuple[str, ...]:
    gone = sweep(state, limits, now=now, **{"pending": nothing_pending, **given})
    return gone.sessions if gone else ()


async def session(
    state: Path, days_ago: float, *, dated: datetime | None = None, size_b: int = 0, close=True
):
    """Create a session that began ``days_ago``, with a log of the time ``dated``."""
    at = NOW - timedelta(days=days_ago)
    store = SessionStore(state, state / "work")
    name, writer = store.create(model="m", now=at)
    writer.append(TurnStartRecord(1, "words", at.isoformat()))
    await writer.commit()
    if size_b:
        (store.spill(name) / "0001-x.txt").write_bytes(b"x" * size_b)
    if close:
        await writer.close()
    written = (dated or at).timestamp()
    os.utime(store.spill(name).parent / "log.jsonl", (written, written))
    return (name, None) if close else (name, writer)


async def test_only_sessions_older_than_the_limit_are_deleted(tmp_path) -> None:
    old, _ = await session(tmp_path, 31)
    young = [(await session(tmp_path, days))[0] for days in (29, 0)]
    assert swept(tmp_path) == (old,)
    assert sorted(session_ids(tmp_path)) == sorted(young)


@pytest.mark.parametrize("year", [1970, 1980, 2025])
async def test_a_log_with_a_wrong_modification_time_has_the_age_in_its_name(tmp_path, year) -> None:
    await session(tmp_path, 3, dated=datetime(year, 1, 2, tzinfo=UTC))
    await session(tmp_path, 1)
    assert swept(tmp_path) == ()


async def test_the_age_of_a_session_with_an_impossible_date_is_unknown(tmp_path) -> None:
    days = (NOW - datetime(1970, 1, 1, 5, tzinfo=UTC)).days
    name, _ = await session(tmp_path, days)
    await session(tmp_path, 0)
    assert swept(tmp_path) == ()
    assert name in session_ids(tmp_path)


async def test_a_clock_that_jumps_forward_deletes_no_session(
    tmp_path,
) -> None:
    names = [(await session(tmp_path, days))[0] for days in (3, 2)]
    wrong = NOW + timedelta(days=4_000)
    for minutes in range(3):
        at = wrong + timedelta(minutes=minutes)
        ours, _ = await session(tmp_path, -4_000 - minutes / 1_440)
        assert swept(tmp_path, now=at, ours=ours) == ()
    assert swept(tmp_path, now=NOW) == ()  # when the clock is right again, no session is deleted
    assert set(names) <= set(session_ids(tmp_path))
    assert record_of(tmp_path).doubted == ""


async def test_old_sessions_are_deleted_a_day_later_after_a_long_pause(tmp_path) -> None:
    old, _ = await session(tmp_path, 60)
    assert swept(tmp_path) == ()
    assert record_of(tmp_path).doubted == NOW.isoformat()
    assert swept(tmp_path, now=NOW + CONFIRM - timedelta(minutes=1)) == ()
    assert swept(tmp_path, now=NOW + CONFIRM) == (old,)


MOMENTS = st.integers(0, 40_000).map(lambda hours: NOW + timedelta(hours=hours - 5_000))


@given(st.none() | MOMENTS, MOMENTS, st.lists(st.integers(0, 86_399), max_size=6))
def test_a_clock_jump_is_not_trusted_within_a_day(newest, now, seconds) -> None:
    record, is_first = SweepRecord(), True
    for after in [0, *sorted(seconds)]:
        at = now + timedelta(seconds=after)
        sure, record = is_believed(record, newest, at, 30)
        if is_first and newest is not None and abs(now - newest) > LEAP:
            assert not sure
        if record.doubted:
            newest = at  # a session that began with the wrong clock is no evidence
            assert not sure
        is_first = False


async def test_a_session_with_changes_to_review_is_kept(tmp_path) -> None:
    old, _ = await session(tmp_path, 31)
    older, _ = await session(tmp_path, 32)
    await session(tmp_path, 0)
    assert swept(tmp_path, pending=lambda _folder: None) == ()
    assert swept(tmp_path, pending=lambda _folder: {old}) == (older,)
    assert swept(tmp_path, RetentionLimits(most_b=1), pending=lambda _folder: None) == ()


async def test_an_open_session_and_the_callers_session_are_kept(tmp_path) -> None:
    name, writer = await session(tmp_path, 40, close=False)
    ours, _ = await session(tmp_path, 39)
    await session(tmp_path, 0)
    assert swept(tmp_path, RetentionLimits(keep_days=30, most_b=1), ours=ours)[1:] == ()
    assert {name, ours} <= set(session_ids(tmp_path))
    await writer.close()


async def test_the_oldest_sessions_are_deleted_until_the_size_limit_is_met(tmp_path) -> None:
    names = [(await session(tmp_path, days, size_b=100_000))[0] for days in (4, 3, 2, 1)]
    before_b = held_b(tmp_path)
    assert swept(tmp_path, RetentionLimits(most_b=before_b)) == ()
    gone = sweep(
        tmp_path, RetentionLimits(most_b=before_b - 150_000), now=NOW, pending=nothing_pending
    )
    assert gone is not None
    assert (gone.sessions, gone.n_for_room) == (tuple(names[:2]), 2)
    assert held_b(tmp_path) == before_b - gone.freed_b <= before_b - 150_000
    assert sorted(session_ids(tmp_path)) == names[2:]


async def test_copies_of_the_users_files_are_deleted_by_age_and_last_to_free_space(
    tmp_path,
) -> None:
    undo = tmp_path / "undo"
    undo.mkdir()
    for name, days in (("a.old", 31), ("b.old", 5), ("c.old", 0.5), ("live.undo", 90)):
        (undo / name).write_bytes(b"x" * 1_000)
        at = (NOW - timedelta(days=days)).timestamp()
        os.utime(undo / name, (at, at))
    name, _ = await session(tmp_path, 1, size_b=10_000)
    gone = sweep(tmp_path, MONTH, now=NOW, pending=nothing_pending)
    assert gone == Gone(NOW.isoformat(timespec="seconds"), n_copies=1, freed_b=1_000)
    assert sorted(path.name for path in undo.iterdir()) == ["b.old", "c.old", "live.undo"]
    assert swept(tmp_path, RetentionLimits(most_b=5_000)) == (name,)
    assert sorted(path.name for path in undo.iterdir()) == ["b.old", "c.old", "live.undo"]
    swept(tmp_path, RetentionLimits(most_b=1))
    assert sorted(path.name for path in undo.iterdir()) == ["c.old", "live.undo"]


async def test_deleted_sessions_are_reported_once_and_stay_in_the_record(tmp_path) -> None:
    old, _ = await session(tmp_path, 31)
    await session(tmp_path, 0)
    assert swept(tmp_path) == (old,)
    assert [one.sessions for one in take_untold(tmp_path)] == [(old,)]
    assert take_untold(tmp_path) == ()
    assert [one.sessions for one in record_of(tmp_path).gone] == [(old,)]


async def test_a_session_whose_deletion_failed_is_not_reported(tmp_path) -> None:
    kept, _ = await session(tmp_path, 0)
    folder = tmp_path / FOLDER
    folder.mkdir()
    record = SweepRecord(gone=(Gone(NOW.isoformat(), sessions=(kept,)),))
    (folder / "record.json").write_bytes(msgspec.json.encode(record))
    assert take_untold(tmp_path) == ()


async def test_old_sessions_are_deleted_even_if_the_record_cannot_be_written(tmp_path) -> None:
    """A folder in place of the record prevents writing the record."""
    old, _ = await session(tmp_path, 3, size_b=10_000)
    await session(tmp_path, 0)
    (tmp_path / FOLDER / "record.json" / "x").mkdir(parents=True)
    assert swept(tmp_path, RetentionLimits(most_b=9_000)) == (old,)


async def test_automatic_deletion_deletes_nothing_if_its_record_cannot_be_written(tmp_path) -> None:
    await session(tmp_path, 60)
    (tmp_path / FOLDER / "record.json" / "x").mkdir(parents=True)
    assert swept(tmp_path) == ()


def _sweep_in_a_process(state: Path, gate, answers) -> None:
    gate.wait()
    gone = sweep(state, MONTH, now=NOW, pending=nothing_pending)
    answers.put(gone.sessions if gone else ())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks processes")
async def test_two_processes_that_clean_up_at_once_delete_each_session_once(tmp_path) -> None:
    names = [(await session(tmp_path, 40 + days))[0] for days in range(10)]
    await session(tmp_path, 0)
    context = multiprocessing.get_context("spawn")
    gate, answers = context.Barrier(2), context.Queue()
    both = [
        context.Process(target=_sweep_in_a_process, args=(tmp_path, gate, answers))
        for _ in range(2)
    ]
    for one in both:
        one.start()
    found = [name for _ in both for name in answers.get(timeout=120)]
    for one in both:
        one.join()
    assert sorted(found) == sorted(names)
    assert len(session_ids(tmp_path)) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks processes")
async def test_a_kill_during_automatic_deletion_leaves_each_session_whole_or_deleted_and_reported(
    tmp_path,
) -> None:
    context = multiprocessing.get_context("spawn")
    for turn in range(4):
        state = tmp_path / str(turn)
        names = [(await session(state, 40 + days, size_b=1_000))[0] for days in range(30)]
        young, _ = await session(state, 0)
        gate, answers = context.Barrier(2), context.Queue()
        child = context.Process(target=_sweep_in_a_process, args=(state, gate, answers))
        child.start()
        gate.wait()
        while len(session_ids(state)) > 30 - 7 * turn and child.is_alive():
            pass  # deletes until this number of sessions is gone
        os.kill(child.pid, signal.SIGKILL)
        child.join()
        left = session_ids(state)
        store = SessionStore(state, state / "work")
        assert all(len(store.open(name).records) == 2 for name in left)
        told = {name for one in take_untold(state) for name in one.sessions}
        assert told == set(names) - set(left)
        swept(state)
        assert session_ids(state) == (young,)
        folder = state / "sessions" / folder_name((state / "work").resolve())
        assert [path.name for path in folder.iterdir()] == [young]
