from __future__ import annotations

import asyncio
import os
import stat
import tempfile
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from indwell.errors import SessionError
from indwell.sessions.conversation_restore import fold
from indwell.sessions.ids import time_after
from indwell.sessions.log_lines import LogReading
from indwell.sessions.records import Record, Repaired, SessionStarted, TurnStartRecord
from indwell.sessions.storage.store import SessionStore, folder_name, timestamp
from indwell.sessions.storage.writer import encode
from sessions.session_logs import (
    ASKED,
    AT,
    HEARD,
    NOW,
    WHOLE_TURN,
    log_of,
    records,
    store_in,
    write,
)
from support.platforms import posix_only


async def session_of(store: SessionStore, *written: Record) -> str:
    session, writer = store.create(model="m", now=NOW)
    for record in written:
        writer.append(record)
    await writer.close()
    return session


async def test_a_session_log_begins_with_its_id_workspace_and_model(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    session, writer = store.create(model="m", now=NOW, random_bytes=b"\x01" * 6)
    await writer.close()
    assert session == "20261121-034012-123-010101010101"
    started = SessionStarted(session=session, workspace=str(tmp_path), model="m", at=AT)
    assert store.open(session) == LogReading((started,), ())


@settings(
    max_examples=min(30, settings().max_examples),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.lists(st.lists(records, max_size=3).map(tuple), max_size=4))
def test_a_session_resumed_several_times_is_one_conversation(
    sittings: list[tuple[Record, ...]],
) -> None:
    async def run(store: SessionStore) -> LogReading:
        session = await session_of(store)
        for sitting in sittings:
            _, writer = store.resume(session, now=NOW)
            for record in sitting:
                writer.append(record)
            await writer.close()
        return store.open(session)

    with tempfile.TemporaryDirectory() as folder:
        reading = asyncio.run(run(store_in(Path(folder))))
    expected = tuple(record for sitting in sittings for record in sitting)
    assert reading.records[1:] == expected
    assert fold(reading.records) == fold(expected)
    assert reading.notices == ()


@posix_only("slow")
async def test_a_torn_tail_is_reported_once_and_stays_in_the_log(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    last = encode(HEARD)
    for n_bytes in range(len(last)):
        session = await session_of(store, ASKED)
        log = log_of(store, session)
        log.write_bytes(log.read_bytes() + last[:n_bytes])
        before = log.read_bytes()
        is_torn = 0 < n_bytes < len(last) - 1
        kept = (HEARD,) if n_bytes == len(last) - 1 else ()
        sentence = (
            f"line 3 of the session's log is cut off or damaged ({n_bytes} bytes); "
            "it stays in the file, and the session continues without it"
        )

        reading, writer = store.resume(session, now=NOW)
        writer.append(HEARD)
        await writer.close()
        again = store.open(session)

        assert reading.records[1:] == (ASKED, *kept)
        assert reading.notices == ((sentence,) if is_torn else ())
        repaired = (Repaired(what=sentence, at=AT),) if is_torn else ()
        assert again == LogReading((*reading.records, *repaired, HEARD), ())
        assert log.read_bytes().startswith(before)


async def test_reading_a_session_does_not_change_its_files(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    session = await session_of(store, ASKED)
    log = log_of(store, session)
    log.write_bytes(log.read_bytes() + b'{"type":"sa')
    before = (log.read_bytes(), sorted(log.parent.iterdir()))
    assert store.open(session) == store.open(session)
    assert (log.read_bytes(), sorted(log.parent.iterdir())) == before


async def test_a_resumed_session_has_its_spill_folder_again(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    session = await session_of(store)
    store.spill(session).rmdir()
    _, writer = store.resume(session, now=NOW)
    await writer.close()
    assert store.spill(session).is_dir()


async def test_a_session_that_is_being_written_can_be_read_but_not_resumed(
    tmp_path: Path,
) -> None:
    store = store_in(tmp_path)
    session, writer = store.create(model="m", now=NOW)
    writer.append(ASKED)
    await writer.commit()
    assert store.open(session).records[1:] == (ASKED,)
    with pytest.raises(SessionError, match=r"is open in another editor; close it there"):
        store.resume(session, now=NOW)
    await writer.close()
    _, second = store.resume(session, now=NOW)
    await second.close()


async def test_sessions_are_listed_newest_first_and_other_entries_are_ignored(
    tmp_path: Path,
) -> None:
    store = store_in(tmp_path)
    assert store.ids() == ()
    made = []
    for days in (0, 1, 2):
        session, writer = store.create(model="m", now=NOW + timedelta(days=days))
        await writer.close()
        made.append(session)
    folder = log_of(store, made[0]).parent.parent
    (folder / "notes.txt").touch()
    # The folder of a session that was killed before it had a log.
    (folder / "20990101-000000-000-aaaaaaaaaaaa").mkdir()
    assert store.ids() == (made[2], made[1], made[0])


async def test_per_14_sessions_are_in_the_order_of_their_start_despite_a_wrong_clock(
    tmp_path: Path,
) -> None:
    store = store_in(tmp_path)
    made = []
    for days in (0, -365, -365, 0, 400, -1):
        session, writer = store.create(model="m", now=NOW + timedelta(days=days))
        writer.append(TurnStartRecord(turn=1, words=f"{days}", at=timestamp(NOW)))
        await writer.close()
        made.append(session)
    assert store.ids() == tuple(reversed(made))
    began = [one for one in store.open(made[1]).records if isinstance(one, SessionStarted)]
    assert began[0].at == timestamp(NOW - timedelta(days=365))  # the log has the time of the clock
    assert time_after("no time in it", NOW) == NOW
    assert time_after("99991231-235959-999-aaaaaaaaaaaa", NOW) == NOW  # no id can be later


async def test_sessions_of_other_workspaces_are_not_listed(tmp_path: Path) -> None:
    one, other = (tmp_path / name / "app" for name in ("a", "b"))
    one.mkdir(parents=True)
    other.mkdir(parents=True)
    mine = SessionStore(tmp_path / "state", one)
    session = await session_of(mine)
    theirs = SessionStore(tmp_path / "state", other)
    assert (mine.ids(), theirs.ids()) == ((session,), ())
    with pytest.raises(SessionError, match=r"there is no session .* `indwell sessions` lists them"):
        theirs.open(session)
    with pytest.raises(SessionError, match="there is no session"):
        theirs.resume(session, now=NOW)
    assert theirs.ids() == ()


@posix_only("symlinks")
async def test_a_link_to_the_workspace_is_the_same_workspace(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    session = await session_of(SessionStore(tmp_path / "state", tmp_path / "link"))
    assert SessionStore(tmp_path / "state", tmp_path / "real").ids() == (session,)


@posix_only("names")
def test_folders_of_workspaces_have_readable_and_distinct_names() -> None:
    names = [
        folder_name(Path(path))
        for path in ("/a/My App!", "/b/My App!", "/", "/a/走", "/a/" + "x" * 200)
    ]
    assert [name.rpartition("-")[0] for name in names] == [
        "my-app",
        "my-app",
        "workspace",
        "workspace",
        "x" * 40,
    ]
    assert len(set(names)) == len(names)
    assert folder_name(Path(os.fsdecode(b"/a/\xff"))) != folder_name(Path(os.fsdecode(b"/a/\xfe")))


@pytest.mark.parametrize("method", ["open", "spill", "resume"])
def test_no_session_id_leads_out_of_the_folder(tmp_path: Path, method: str) -> None:
    store = store_in(tmp_path)
    with pytest.raises(SessionError, match="is not a session id"):
        store.resume("../x", now=NOW) if method == "resume" else getattr(store, method)("../x")


@posix_only("modes")
async def test_only_the_user_can_read_a_session(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        store = store_in(tmp_path)
        session = await session_of(store)
    finally:
        os.umask(old)
    log = log_of(store, session)
    folders = [log.parent / "spill", log.parent, log.parent.parent, log.parent.parent.parent]
    assert [stat.S_IMODE(path.stat().st_mode) for path in [log, *folders]] == [0o600] + [0o700] * 4


@posix_only("symlinks")
async def test_a_link_in_place_of_a_log_is_neither_read_nor_written(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    session = await session_of(store)
    target = tmp_path / "precious"
    target.write_bytes(b"mine")
    log = log_of(store, session)
    log.unlink()
    log.symlink_to(target)
    with pytest.raises(SessionError, match="cannot be read"):
        store.open(session)
    with pytest.raises(SessionError, match="cannot be written"):
        store.resume(session, now=NOW)
    assert target.read_bytes() == b"mine"


@posix_only("mkfifo")
async def test_opening_a_pipe_in_place_of_a_log_does_not_hang(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    session = await session_of(store)
    log_of(store, session).unlink()
    os.mkfifo(log_of(store, session))
    with pytest.raises(SessionError, match="not a regular file"):
        store.open(session)
    with pytest.raises(SessionError, match="not a regular file"):
        store.resume(session, now=NOW)


def test_a_state_folder_that_is_a_file_is_reported_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "state").touch()
    with pytest.raises(SessionError, match=r"sessions cannot be written in .* set INDWELL_STATE"):
        store_in(tmp_path).create(model="m", now=NOW)


async def test_two_sessions_never_share_an_id(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    made = []
    for _ in range(3):  # time and random bytes are equal
        session, writer = store.create(model="m", now=NOW, random_bytes=b"\x01" * 6)
        await writer.close()
        made.append(session)
    assert store.ids() == tuple(reversed(made))
    assert len(set(made)) == 3


@posix_only("names")
async def test_a_workspace_with_an_undecodable_name_has_sessions(tmp_path: Path) -> None:
    workspace = tmp_path / os.fsdecode(b"caf\xe9")
    store = SessionStore(tmp_path / "state", workspace)
    session = await session_of(store, ASKED)
    started, repaired, asked = store.open(session).records
    assert isinstance(started, SessionStarted)
    assert started.workspace.endswith("caf\ufffd")
    assert isinstance(repaired, Repaired)
    assert asked == ASKED


async def test_a_log_written_line_by_line_equals_one_written_at_once(tmp_path: Path) -> None:
    for record in WHOLE_TURN:
        await write(tmp_path / "slow.jsonl", (record,))
    await write(tmp_path / "fast.jsonl", WHOLE_TURN)
    assert (tmp_path / "slow.jsonl").read_bytes() == (tmp_path / "fast.jsonl").read_bytes()
