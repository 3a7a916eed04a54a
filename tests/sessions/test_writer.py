from __future__ import annotations

import asyncio
import errno
import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from indwell.errors import SessionError
from indwell.files.append_log import AppendLog, list_names, make_private_folder, read_bytes_private
from indwell.sessions.log_lines import decode
from indwell.sessions.records import Record, TurnStartRecord
from indwell.sessions.storage.writer import LogWriter, encode
from sessions.session_logs import AT, WHOLE_TURN, write
from support.platforms import posix_only

SERVER = Path(__file__).parents[2] / "server"


class SlowDisk(AppendLog):
    """A disk whose fsync waits until it is released; the disk counts the calls."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.n_syncs = 0
        self.is_syncing = threading.Event()
        self.go_on = threading.Event()

    def sync(self) -> None:
        self.n_syncs += 1
        self.is_syncing.set()
        assert self.go_on.wait(30)
        super().sync()


class FullDisk(AppendLog):
    """A disk without free space."""

    def append(self, _data: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class DyingDisk(AppendLog):
    """A disk whose first fsync fails, and whose later calls falsely succeed, as on Linux."""

    failed = False

    def sync(self) -> None:
        if not self.failed:
            self.failed = True
            raise OSError(errno.EIO, os.strerror(errno.EIO))


def numbered(*numbers: int) -> tuple[Record, ...]:
    return tuple(TurnStartRecord(turn=number, words="w", at=AT) for number in numbers)


def read(path: Path) -> tuple[Record, ...]:
    reading = decode(path.read_bytes())
    assert reading.notices == ()
    return reading.records


async def until(event: threading.Event) -> None:
    assert await asyncio.to_thread(event.wait, 30)


async def test_committed_records_are_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    writer = LogWriter(AppendLog(path))
    for record in WHOLE_TURN:
        writer.append(record)
        await writer.commit()
        assert read(path)[-1] == record
    await writer.close()
    assert read(path) == WHOLE_TURN


async def test_an_appended_record_reaches_the_file_without_a_commit(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    writer = LogWriter(AppendLog(path))
    for n_records, record in enumerate(WHOLE_TURN, start=1):
        writer.append(record)
        # The log has one thread, so the flush is done once the thread runs the next job.
        await asyncio.get_running_loop().run_in_executor(writer._thread, lambda: None)
        assert read(path) == WHOLE_TURN[:n_records]
    await writer.close()


async def test_concurrent_commits_share_one_fsync(tmp_path: Path) -> None:
    disk = SlowDisk(tmp_path / "log.jsonl")
    writer = LogWriter(disk)
    writer.append(numbered(0)[0])
    first = asyncio.create_task(writer.commit())
    await until(disk.is_syncing)

    async def one(record: Record) -> None:
        writer.append(record)  # the event loop is free, although the disk is busy
        await writer.commit()

    rest = [asyncio.create_task(one(record)) for record in numbered(*range(1, 50))]
    await asyncio.wait(rest, timeout=0)
    disk.go_on.set()
    await asyncio.gather(first, *rest)
    assert disk.n_syncs == 2
    await writer.close()
    assert read(tmp_path / "log.jsonl") == numbered(*range(50))


async def test_commit_does_not_return_before_the_fsync(tmp_path: Path) -> None:
    disk = SlowDisk(tmp_path / "log.jsonl")
    writer = LogWriter(disk)
    writer.append(numbered(0)[0])
    commit = asyncio.create_task(writer.commit())
    await until(disk.is_syncing)
    assert not commit.done()
    disk.go_on.set()
    await commit
    await writer.close()


async def test_a_commit_without_new_records_does_not_touch_the_disk(tmp_path: Path) -> None:
    disk = SlowDisk(tmp_path / "log.jsonl")
    disk.go_on.set()
    writer = LogWriter(disk)
    writer.append(numbered(0)[0])
    await writer.commit()
    await writer.commit()
    await writer.close()
    assert disk.n_syncs == 1


async def test_a_cancelled_commit_loses_no_record_and_writes_no_record_twice(
    tmp_path: Path,
) -> None:
    disk = SlowDisk(tmp_path / "log.jsonl")
    writer = LogWriter(disk)
    running, waiting = numbered(1, 2)
    writer.append(running)
    commits = [asyncio.create_task(writer.commit())]
    await until(disk.is_syncing)
    writer.append(waiting)
    commits.append(asyncio.create_task(writer.commit()))
    await asyncio.wait(commits, timeout=0)
    for commit in commits:
        commit.cancel()
    await asyncio.wait(commits)
    assert [commit.cancelled() for commit in commits] == [True, True]
    disk.go_on.set()
    await writer.close()
    assert read(tmp_path / "log.jsonl") == (running, waiting)


async def test_no_record_is_confirmed_after_a_failed_fsync(tmp_path: Path) -> None:
    writer = LogWriter(DyingDisk(tmp_path / "log.jsonl"))
    writer.append(numbered(1)[0])
    for attempt in (writer.commit, writer.commit, writer.close):
        with pytest.raises(SessionError) as caught:
            await attempt()
        assert str(caught.value) == (
            "the disk failed while the session was saved (Input/output error); its last records "
            "may be lost, so check the disk and resume the session"
        )


async def test_closing_twice_has_no_effect_and_writing_afterwards_raises(tmp_path: Path) -> None:
    writer = LogWriter(AppendLog(tmp_path / "log.jsonl"))
    await writer.close()
    await writer.close()
    with pytest.raises(AssertionError, match="the log is closed"):
        writer.append(WHOLE_TURN[0])


async def test_a_torn_line_cannot_swallow_the_next_record(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"type":"sai')
    await write(path, WHOLE_TURN)
    assert path.read_bytes() == b'{"type":"sai\n' + b"".join(map(encode, WHOLE_TURN))


FULL_DISK = """
import asyncio, json, resource, sys
from pathlib import Path
from indwell.errors import SessionError
from indwell.files.append_log import AppendLog
from indwell.sessions.records import TurnStartRecord
from indwell.sessions.storage.writer import LogWriter

async def main(path, limit):
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    writer = LogWriter(AppendLog(path))
    said = []
    for number in range(20):
        writer.append(TurnStartRecord(turn=number, words="x" * 100, at="t"))
    for attempt in (writer.commit, writer.commit, writer.commit):
        try:
            await attempt()
        except SessionError as error:
            said.append(str(error))
    size = path.stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    writer.append(TurnStartRecord(turn=20, words="room again", at="t"))
    await writer.close()
    print(json.dumps([said, size]))

asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
"""


@posix_only("kernel")
@pytest.mark.parametrize("limit", [0, 1, 150, 151, 500, 2_000])
def test_a_full_disk_is_reported_and_records_are_written_once_space_is_free(
    tmp_path: Path, limit: int
) -> None:
    path = tmp_path / "log.jsonl"
    child = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(path), str(limit)],
        env={**os.environ, "PYTHONPATH": str(SERVER)},
        capture_output=True,
        check=True,
        text=True,
    )
    sentence = (
        "the session could not be saved (File too large); nothing is lost yet: make room on the "
        "disk of Indwell's state folder and try again"
    )
    assert json.loads(child.stdout) == [[sentence] * 3, limit]
    assert read(path) == (
        *(TurnStartRecord(turn=number, words="x" * 100, at="t") for number in range(20)),
        TurnStartRecord(turn=20, words="room again", at="t"),
    )


async def test_a_log_that_closes_releases_its_file_even_on_a_full_disk(
    tmp_path: Path,
) -> None:
    path = tmp_path / "log.jsonl"
    writer = LogWriter(FullDisk(path))
    writer.append(WHOLE_TURN[0])
    with pytest.raises(
        SessionError, match=r"\(No space left on device\); its last records are lost"
    ):
        await writer.close()
    await writer.close()
    await write(path, WHOLE_TURN)  # another writer can open the file
    assert read(path) == WHOLE_TURN


def test_a_log_has_only_one_writer(tmp_path: Path) -> None:
    first = AppendLog(tmp_path / "log.jsonl")
    with pytest.raises(BlockingIOError, match="another writer has it open"):
        AppendLog(tmp_path / "log.jsonl")
    first.close()
    first.close()
    AppendLog(tmp_path / "log.jsonl").close()


def test_an_append_log_is_only_appended_to(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "er" / "log"
    log = AppendLog(path)
    assert log.ends_whole
    log.append(b"one\n")
    assert log.ends_whole
    log.append(b"two")
    assert not log.ends_whole
    log.sync()
    log.close()
    again = AppendLog(path)
    again.append(b"!\n")
    again.close()
    assert (read_bytes_private(path), again.written) == (b"one\ntwo!\n", 2)


@posix_only("symlinks")
def test_a_private_file_is_read_through_a_link_only_on_request(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"x")
    (tmp_path / "link").symlink_to("real")
    with pytest.raises(OSError, match="symbolic links"):
        read_bytes_private(tmp_path / "link")
    assert read_bytes_private(tmp_path / "link", follow_link=True) == b"x"


def test_list_names_sorts_names_and_returns_no_names_for_a_missing_folder(tmp_path: Path) -> None:
    make_private_folder(tmp_path / "b")
    make_private_folder(tmp_path / "b")
    (tmp_path / "a").touch()
    assert list_names(tmp_path) == ("a", "b")
    assert list_names(tmp_path / "missing") == ()
    with pytest.raises(NotADirectoryError):
        make_private_folder(tmp_path / "a")


async def test_commit_soon_writes_in_the_background(tmp_path: Path) -> None:
    disk = SlowDisk(tmp_path / "log.jsonl")
    writer = LogWriter(disk)
    writer.append(WHOLE_TURN[0])
    writer.commit_soon()
    writer.commit_soon()  # one flush writes all queued records
    assert await asyncio.to_thread(disk.is_syncing.wait, 30)
    writer.append(WHOLE_TURN[1])  # the caller continues while the disk is busy
    disk.go_on.set()
    await writer.commit()
    assert disk.n_syncs == 2
    assert decode(read_bytes_private(tmp_path / "log.jsonl")).records == WHOLE_TURN[:2]
    await writer.close()


async def test_a_failure_of_commit_soon_is_reported_by_the_next_commit(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    writer = LogWriter(DyingDisk(tmp_path / "log.jsonl"))
    writer.append(WHOLE_TURN[0])
    writer.commit_soon()
    with pytest.raises(SessionError, match="the disk failed while the session was saved"):
        await writer.commit()
    assert "the next commit reports it" in caplog.text


@pytest.mark.skipif(sys.platform == "win32", reason="Windows removes no open file")
@pytest.mark.parametrize("folder_too", [False, True], ids=["the file", "its folder"])
async def test_an_open_log_that_was_removed_is_rewritten_completely(
    tmp_path: Path, *, folder_too: bool
) -> None:
    path = tmp_path / "session" / "log.jsonl"
    first, second, third, fourth = numbered(1, 2, 3, 4)
    writer = LogWriter(AppendLog(path))
    writer.append(first)
    await writer.commit()
    path.unlink()
    if folder_too:
        path.parent.rmdir()
    writer.append(second)
    await writer.commit()
    assert path.read_bytes() == encode(first) + encode(second)
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(BlockingIOError):
        AppendLog(path)  # the file is locked as before
    writer.append(third)
    await writer.commit()
    path.unlink()
    writer.append(fourth)
    await writer.close()
    assert decode(path.read_bytes()).records == (first, second, third, fourth)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows replaces no open file")
async def test_a_log_that_another_file_replaced_is_reported_and_that_file_stays(
    tmp_path: Path,
) -> None:
    path = tmp_path / "log.jsonl"
    first, second = numbered(1, 2)
    writer = LogWriter(AppendLog(path))
    writer.append(first)
    await writer.commit()
    path.rename(tmp_path / "aside")
    path.write_bytes(b"another\n")
    writer.append(second)
    with pytest.raises(SessionError, match="was replaced by another one while it was open"):
        await writer.commit()
    assert path.read_bytes() == b"another\n"
    path.unlink()
    await writer.close()
    assert path.read_bytes() == encode(first) + encode(second), "nothing was lost meanwhile"


class Crowded(ThreadPoolExecutor):
    """A machine that allows no more threads until ``free`` is set."""

    def __init__(self) -> None:
        super().__init__(1)
        self.has_room = False

    def submit(self, fn, /, *args, **kwargs):
        if not self.has_room:
            raise RuntimeError("can't start new thread")
        return super().submit(fn, *args, **kwargs)


async def test_the_log_is_written_even_if_no_thread_can_start(tmp_path: Path) -> None:
    path, machine = tmp_path / "log.jsonl", Crowded()
    writer = LogWriter(AppendLog(path), machine)
    first, *rest = WHOLE_TURN
    writer.append(first)
    assert read(path) == (first,)
    writer.commit_soon()
    await writer.commit()
    machine.has_room = True
    for record in rest:
        writer.append(record)
        writer.commit_soon()
    await writer.commit()
    machine.has_room = False
    await writer.close()
    assert read(path) == WHOLE_TURN


async def test_the_thread_of_a_log_starts_with_the_log(tmp_path: Path) -> None:
    writer = LogWriter(AppendLog(tmp_path / "log.jsonl"))
    assert len(writer._thread._threads) == 1
    await writer.close()
