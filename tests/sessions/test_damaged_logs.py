"""Damaged or newer logs: valid records are read, and other lines are reported."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from indwell.errors import SessionError
from indwell.sessions.records import Record, Repaired, SessionStarted, TurnStartRecord
from indwell.sessions.storage.retention import stored
from indwell.sessions.storage.writer import encode
from sessions.session_logs import AT, NOW, WHOLE_TURN, log_of, store_in
from support.platforms import posix_only

SERVER = Path(__file__).parents[2] / "server"
WHOLE = b"".join(map(encode, WHOLE_TURN))
SESSION = "20261121-034012-123-010101010101"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = log_of(store_in(tmp_path), SESSION)
    path.parent.mkdir(parents=True)
    return path


def opened(folder: Path, log: Path, data: bytes) -> tuple[Record, ...]:
    """Write a log, resume it as the next process does, and return the records that were read."""
    log.write_bytes(data)
    store = store_in(folder)
    before = store.open(SESSION)
    store.overview(SESSION)
    assert log.read_bytes() == data  # reading changes nothing
    reading, writer = store.resume(SESSION, now=NOW)
    writer.append(TurnStartRecord(turn=99, words="on", at=AT))
    writer._thread.shutdown()
    writer._thread = None
    writer._write()
    writer._log.close()
    assert log.read_bytes().startswith(data)
    again = store.open(SESSION)
    assert [one for one in again.records if isinstance(one, TurnStartRecord)][-1].turn == 99
    assert again.damage == ()  # the damage was reported once
    assert reading.records == before.records
    return reading.records


@posix_only("slow")
def test_per_06_a_log_cut_at_any_byte_keeps_every_complete_record(tmp_path, log) -> None:
    ends = [len(b"".join(map(encode, WHOLE_TURN[:n]))) for n in range(len(WHOLE_TURN) + 1)]
    for size in range(len(WHOLE) + 1):
        n_whole = sum(end - 1 <= size for end in ends[1:])  # the last line feed may be missing
        assert opened(tmp_path, log, WHOLE[:size]) == WHOLE_TURN[:n_whole], size


@posix_only("slow")
def test_per_06_a_flipped_bit_loses_at_most_two_lines(tmp_path, log) -> None:
    draw = random.Random(6)
    for _ in range(200):
        data = bytearray(WHOLE)
        at = draw.randrange(len(data))
        data[at] ^= 1 << draw.randrange(8)
        found = opened(tmp_path, log, bytes(data))
        line = WHOLE[:at].count(b"\n")
        near = {line, line + 1}
        kept = tuple(one for number, one in enumerate(WHOLE_TURN) if number not in near)
        assert [one for one in found if one in kept] == list(kept), at


@pytest.mark.parametrize(
    ("data", "n_read"),
    [
        (b"", 0),
        (b"\n\n\n", 0),
        (b"\0" * 4_096, 0),
        (WHOLE + b"\0" * 4_096, 6),
        (b"\0" * 512 + WHOLE, 6),
        (WHOLE + b"\xff\xfe" * 100, 6),
        (b"[" * 100_000 + b"\n" + WHOLE, 6),
        (WHOLE + b'{"type":"neverHeardOf","x":1}\n', 6),
        (WHOLE.replace(b'"cost":0.25', b'"cost":0.25,"new":[1]'), 6),
    ],
)
def test_per_06_an_empty_padded_or_malformed_log_opens_with_its_valid_records(
    tmp_path, log, data, n_read
) -> None:
    assert len(opened(tmp_path, log, data)) == n_read


def test_per_15_and_per_06_a_session_in_a_newer_format_can_be_read_but_not_written(
    tmp_path, log
) -> None:
    newer = encode(SessionStarted(session=SESSION, workspace="/w", model="m", at=AT, format=2))
    data = newer + b"".join(map(encode, WHOLE_TURN[1:]))[:-1]
    log.write_bytes(data)
    store = store_in(tmp_path)
    with pytest.raises(SessionError, match=r"by a newer Indwell \(format 2, this one knows 1\)"):
        store.resume(SESSION, now=NOW)
    assert log.read_bytes() == data
    assert len(store.open(SESSION).records) == 6
    with pytest.raises(SessionError):
        store.resume(SESSION, now=NOW)  # the lock was released, so the session can be resumed


GIGABYTE = """
import sys
from pathlib import Path
from indwell.sessions.storage.store import SessionStore

store = SessionStore(Path(sys.argv[1]), Path(sys.argv[2]))
reading = store.open(sys.argv[3])
status = Path("/proc/self/status").read_text()  # the maximum of getrusage counts the parent's too
peak_mb = int(status.partition("VmHWM:")[2].split()[0]) >> 10
print(len(reading.records), len(reading.notices), store.overview(sys.argv[3]).turns, peak_mb)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_per_06_a_log_of_a_gigabyte_takes_little_memory(tmp_path, log) -> None:
    with log.open("wb") as file:
        file.write(WHOLE)
        file.truncate(1 << 30)  # a power failure may leave a hole
    child = subprocess.run(
        [sys.executable, "-c", GIGABYTE, str(tmp_path / "state"), str(tmp_path), SESSION],
        env={**os.environ, "PYTHONPATH": str(SERVER)},
        capture_output=True,
        check=True,
        text=True,
    )
    n_records, n_notices, n_turns, peak_mb = map(int, child.stdout.split())
    assert (n_records, n_notices, n_turns) == (6, 1, 1)
    assert peak_mb < 400


def test_damage_is_recorded_and_the_session_is_still_listed(tmp_path, log) -> None:
    opened(tmp_path, log, WHOLE[:-40])
    (one,) = stored(tmp_path / "state")
    assert one.overview.turns == 2
    records = store_in(tmp_path).open(SESSION).records
    assert sum(isinstance(record, Repaired) for record in records) == 1
