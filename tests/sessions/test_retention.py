from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from indwell.errors import SessionError
from indwell.sessions.records import TurnStartRecord
from indwell.sessions.storage.automatic_deletion import RetentionLimits, sweep
from indwell.sessions.storage.retention import delete, stored
from indwell.sessions.storage.store import SessionStore, folder_name
from support.platforms import posix_only

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


async def session(state: Path, workspace: Path, *, days_ago: int = 0, close: bool = True):
    """Create a session last written ``days_ago``; return the id, and the writer if open."""
    at = NOW - timedelta(days=days_ago)
    name, writer = SessionStore(state, workspace).create(model="m", now=at)
    writer.append(TurnStartRecord(1, "mend  it", at.isoformat()))
    await writer.commit()
    if close:
        await writer.close()
    log = state / "sessions" / folder_name(workspace.resolve()) / name / "log.jsonl"
    os.utime(log, (at.timestamp(), at.timestamp()))
    return name, writer


async def test_all_sessions_are_listed_newest_first_with_their_folder(tmp_path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    old, _ = await session(tmp_path, one, days_ago=3)
    new, _ = await session(tmp_path, other)
    found = stored(tmp_path)
    assert [(each.id, each.workspace, each.overview.preview) for each in found] == [
        (new, str(other), "mend it"),
        (old, str(one), "mend it"),
    ]
    assert found[1].used == "2026-11-18T12:00:00+00:00"
    assert all(each.size_b > 100 for each in found)
    assert [each.id for each in stored(tmp_path, folder=folder_name(one))] == [old]
    assert stored(tmp_path / "nothing") == ()


async def test_deleting_a_session_deletes_all_its_files(tmp_path) -> None:
    name, _ = await session(tmp_path, tmp_path / "one")
    kept, _ = await session(tmp_path, tmp_path / "one")
    (folder,) = (tmp_path / "sessions").iterdir()
    (folder / name / "spill" / "0001-x.txt").write_bytes(b"long")
    delete(tmp_path, name)
    assert [path.name for path in folder.iterdir()] == [kept]


@pytest.mark.parametrize("name", ["../one", "20260101-000000-000-0123456789ab", "sessions", ""])
async def test_only_a_valid_session_id_can_be_deleted(tmp_path, name) -> None:
    await session(tmp_path, tmp_path / "one")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(SessionError):
        delete(tmp_path, name)
    assert sorted(tmp_path.rglob("*")) == before


async def test_an_open_session_is_never_deleted(tmp_path) -> None:
    name, writer = await session(tmp_path, tmp_path / "one", days_ago=400, close=False)
    with pytest.raises(SessionError, match=f"'{name}' is open in an editor; close it first"):
        delete(tmp_path, name)
    await writer.close()
    assert [each.id for each in stored(tmp_path)] == [name]


@posix_only("symlinks")
async def test_deleting_sessions_does_not_follow_links_in_the_state_folder(tmp_path) -> None:
    """A folder that the user linked into the state folder must not be deleted."""
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "work.txt").write_bytes(b"mine")
    name, _ = await session(tmp_path / "state", tmp_path / "one", days_ago=400)
    await session(tmp_path / "state", tmp_path / "one")
    (folder,) = (tmp_path / "state" / "sessions").iterdir()
    (folder / "20200101-000000-000-0123456789ab").symlink_to(mine)
    (folder / name / "spill" / "link").symlink_to(mine)
    gone = sweep(tmp_path / "state", RetentionLimits(30), now=NOW, pending=lambda _folder: ())
    assert gone is not None
    assert gone.sessions == (name,)
    assert (mine / "work.txt").read_text(encoding="utf-8") == "mine"


async def test_a_damaged_session_is_listed_and_can_be_deleted(tmp_path) -> None:
    name, _ = await session(tmp_path, tmp_path / "one")
    (folder,) = (tmp_path / "sessions").iterdir()
    (folder / name / "log.jsonl").write_bytes(b"\x00garbage")
    (each,) = stored(tmp_path)
    assert (each.id, each.workspace, bool(each.overview.notices)) == (name, "", True)
    delete(tmp_path, name)
    assert stored(tmp_path) == ()
