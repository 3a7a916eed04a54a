from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest

from indwell.files.append_log import pieces_of
from indwell.sessions.overview import scanned
from indwell.sessions.records import Titled, TurnStartRecord
from indwell.sessions.storage.retention import delete
from indwell.sessions.storage.store import NAME, SessionStore, overview_of

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


class Opened:
    """Counts how often logs are opened, by audit events of the interpreter."""

    def __init__(self) -> None:
        self.counts: list[str] = []
        self.is_on = False
        sys.addaudithook(self._hear)

    def _hear(self, event: str, given: tuple[object, ...]) -> None:
        if self.is_on and event == "open" and str(given[0]).endswith("log.jsonl"):
            self.counts.append(str(given[0]))

    @contextmanager
    def counted(self):
        self.is_on = True
        try:
            yield self.counts
        finally:
            self.is_on = False
            self.counts.clear()


@pytest.fixture(scope="module")
def opened() -> Opened:
    return Opened()


@pytest.fixture
def store(tmp_path) -> SessionStore:
    return SessionStore(tmp_path, tmp_path / "work")


async def session(store: SessionStore, words: str = "hello", turns: int = 1) -> str:
    name, writer = store.create(model="m", now=NOW)
    for turn in range(1, turns + 1):
        writer.append(TurnStartRecord(turn, words, NOW.isoformat()))
    await writer.close()
    return name


def log_of(store: SessionStore, name: str):
    return store.spill(name).parent / "log.jsonl"


async def test_a_list_reads_each_log_once(store, opened) -> None:
    names = [await session(store, f"words {number}") for number in range(3)]
    first = [store.overview(name) for name in names]
    with opened.counted() as counts:
        assert [store.overview(name) for name in names] == first
        assert counts == []
    assert [one.preview for one in first] == ["words 0", "words 1", "words 2"]


async def test_a_log_that_has_grown_is_read_again(store) -> None:
    name = await session(store)
    assert (store.overview(name).turns, store.overview(name).title) == (1, "hello")
    _, writer = store.resume(name, now=NOW)
    writer.append(Titled("a title", NOW.isoformat()))
    await writer.close()
    assert store.overview(name).title == "a title"


@pytest.mark.parametrize("change", ["size", "times", "other file"])
async def test_a_cached_overview_of_another_log_is_ignored(store, change) -> None:
    name, other = await session(store, "hello"), await session(store, "other")
    log = log_of(store, name)
    assert store.overview(name).preview == "hello"
    data, held = log_of(store, other).read_bytes(), log.stat()
    match change:
        case "size":
            log.write_bytes(data + b"\n")
            os.utime(log, ns=(held.st_atime_ns, held.st_mtime_ns))
        case "times":
            log.write_bytes(data)
        case _:
            fresh = log.with_name("fresh")
            fresh.write_bytes(data)
            os.utime(fresh, ns=(held.st_atime_ns, held.st_mtime_ns))
            fresh.replace(log)
    assert store.overview(name).preview == "other"


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b"[]", b'{"made_by":"0"}', b"x" * (2 << 20)])
async def test_a_damaged_overview_file_is_rebuilt(store, opened, data) -> None:
    name = await session(store)
    seen = store.overview(name)
    kept = log_of(store, name).with_name(NAME)
    kept.write_bytes(data)
    assert store.overview(name) == seen
    with opened.counted() as counts:
        assert store.overview(name) == seen
        assert counts == []


async def test_an_overview_by_another_version_is_rebuilt(store) -> None:
    name = await session(store)
    seen = store.overview(name)
    kept = log_of(store, name).with_name(NAME)
    kept.write_bytes(
        kept.read_bytes().replace(b'"made_by":"', b'"made_by":"9').replace(b"hello", b"other")
    )
    assert store.overview(name) == seen


async def test_the_list_is_the_same_if_no_overview_can_be_stored(store) -> None:
    name = await session(store)
    (log_of(store, name).with_name(NAME) / "in the way").mkdir(parents=True)
    assert [store.overview(name).preview for _ in range(2)] == ["hello", "hello"]
    assert len(list(log_of(store, name).parent.iterdir())) == 3


async def test_a_damaged_log_keeps_its_notices(store) -> None:
    name = await session(store)
    log = log_of(store, name)
    log.write_bytes(log.read_bytes() + b'{"type":"turnStarted","tu\n')
    first = overview_of(name, log)
    assert first == overview_of(name, log) == scanned(name, pieces_of(log))
    assert len(first.notices) == 1


async def test_a_deleted_session_leaves_no_user_text_even_if_a_fork_needs_its_texts(
    tmp_path, store
) -> None:
    name = await session(store, "words of the user")
    fork, writer = store.create(model="m", now=NOW, readers_of=[name])
    await writer.close()
    store.overview(name)
    folder = log_of(store, name).parent
    delete(tmp_path, name)
    assert sorted(path.name for path in folder.iterdir()) == ["readers", "spill"]
    assert store.ids() == (fork,)
