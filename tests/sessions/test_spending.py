"""What was spent by day: shared by processes, and whole after a kill."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from indwell.sessions.spending import KEPT_DAYS, SpendingLedger

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
OTHER = """
import sys
from datetime import datetime
from pathlib import Path
from indwell.sessions.spending import SpendingLedger
ledger = SpendingLedger(Path(sys.argv[1]), lambda: datetime.fromisoformat(sys.argv[2]))
for _ in range(200):
    ledger.add(0.01)
"""


def ledger(folder: Path, now: datetime = NOON) -> SpendingLedger:
    return SpendingLedger(folder, lambda: now)


def file_of(folder: Path, now: datetime = NOON) -> Path:
    return folder / "spending" / f"{now.astimezone().date().isoformat()}.log"


async def test_calls_add_up_and_are_read_by_others_at_once(tmp_path: Path) -> None:
    one, two = ledger(tmp_path), ledger(tmp_path)
    assert await one.today() == 0.0
    one.add(0.25)
    assert await one.today() == 0.25
    two.add(0.5)
    assert (await two.today(), await one.today()) == (0.75, 0.75)
    await one.close()
    await two.close()
    assert await ledger(tmp_path).today() == 0.75


async def test_each_day_has_its_own_sum(tmp_path: Path) -> None:
    days = [NOON]
    book = SpendingLedger(tmp_path, lambda: days[-1])
    book.add(1.0)
    assert await book.today() == 1.0
    days.append(NOON + timedelta(days=1))
    assert await book.today() == 0.0
    await book.close()


def test_processes_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-c", OTHER, str(tmp_path), NOON.isoformat()]
    others = [subprocess.Popen(command) for _ in range(3)]
    assert [one.wait(20) for one in others] == [0, 0, 0]
    assert asyncio.run(ledger(tmp_path).today()) == pytest.approx(6.0)


async def test_a_torn_or_foreign_line_counts_as_nothing_and_harms_no_other(tmp_path: Path) -> None:
    book = ledger(tmp_path)
    book.add(0.5)
    await book.today()
    with file_of(tmp_path).open("ab") as file:
        file.write(b"hello\n-3\nnan\ninf\n0.1")  # the last one is torn, or not yet whole
    assert await book.today() == 0.5
    book.add(0.25)
    assert await book.today() == pytest.approx(0.85)
    await book.close()


async def test_only_so_many_days_are_kept(tmp_path: Path) -> None:
    for day in range(KEPT_DAYS + 3):
        book = ledger(tmp_path, NOON + timedelta(days=day))
        book.add(0.1)
        await book.close()
    kept = sorted(path.name for path in (tmp_path / "spending").iterdir())
    assert len(kept) == KEPT_DAYS
    assert kept[-1] == file_of(tmp_path, NOON + timedelta(days=KEPT_DAYS + 2)).name


async def test_a_disk_that_takes_nothing_is_logged_and_ends_no_turn(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "spending").write_text("in the way")
    book = ledger(tmp_path)
    book.add(0.5)
    assert await book.today() == 0.0
    await book.close()
    assert "the spending of today is not written down" in caplog.text
