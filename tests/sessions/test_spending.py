"""The daily spending is shared by processes, and complete after a kill."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from indwell.sessions.spending_lines import Reservation
from indwell.sessions.storage.spending import KEPT_DAYS, SpendingLedger

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
OTHER = """
import sys
from datetime import datetime
from pathlib import Path
from indwell.sessions.storage.spending import SpendingLedger
ledger = SpendingLedger(Path(sys.argv[1]), lambda: datetime.fromisoformat(sys.argv[2]))
for _ in range(200):
    ledger.add(0.01)
"""

HOLDER = """
import asyncio, sys
from datetime import datetime
from pathlib import Path
from indwell.sessions.storage.spending import SpendingLedger
ledger = SpendingLedger(Path(sys.argv[1]), lambda: datetime.fromisoformat(sys.argv[2]))
async def main():
    print("ready", flush=True)
    sys.stdin.readline()
    held = await ledger.hold(0.4, 1.0)
    print("no" if isinstance(held, float) else "held", flush=True)
    sys.stdin.readline()
    if not isinstance(held, float):
        ledger.add(0.3)
        ledger.release(held)
    await ledger.close()
asyncio.run(main())
"""


def ledger(folder: Path, now: datetime = NOON) -> SpendingLedger:
    return SpendingLedger(folder, lambda: now)


def file_of(folder: Path, now: datetime = NOON) -> Path:
    return folder / "spending" / f"{now.astimezone().date().isoformat()}.log"


async def test_costs_of_calls_are_summed_and_visible_to_other_processes_at_once(
    tmp_path: Path,
) -> None:
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


def test_parallel_processes_lose_no_spending_record(tmp_path: Path) -> None:
    command = [sys.executable, "-c", OTHER, str(tmp_path), NOON.isoformat()]
    others = [subprocess.Popen(command) for _ in range(3)]
    assert [one.wait(20) for one in others] == [0, 0, 0]
    assert asyncio.run(ledger(tmp_path).today()) == pytest.approx(6.0)


def test_parallel_processes_reserve_no_more_than_the_daily_budget(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDER, str(tmp_path), NOON.isoformat()]
    others = [
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        for _ in range(5)
    ]

    def each(word: str = "") -> list[str]:
        for one in others:
            one.stdin.write(word)
        return sorted(one.stdout.readline().strip() for one in others)

    assert each() == ["ready"] * 5
    assert each("ask\n") == ["held", "held", "no", "no", "no"]
    assert asyncio.run(ledger(tmp_path).today()) == pytest.approx(0.8)
    for one in others:
        one.communicate("end\n", timeout=20)
    assert asyncio.run(ledger(tmp_path).today()) == pytest.approx(0.6)


def test_a_reservation_of_a_killed_process_counts_until_the_end_of_the_day(
    tmp_path: Path,
) -> None:
    command = [sys.executable, "-c", HOLDER, str(tmp_path), NOON.isoformat()]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as other:
        other.stdin.write("ask\n")
        assert [other.stdout.readline() for _ in range(2)] == ["ready\n", "held\n"]
        other.kill()
    assert asyncio.run(ledger(tmp_path).today()) == pytest.approx(0.4)
    assert asyncio.run(ledger(tmp_path, NOON + timedelta(days=1)).today()) == 0.0


async def test_a_reservation_past_midnight_is_released_on_the_day_it_was_made(
    tmp_path: Path,
) -> None:
    days = [NOON]
    book = SpendingLedger(tmp_path, lambda: days[-1])
    held = await book.hold(0.5, 1.0)
    assert isinstance(held, Reservation)
    days.append(NOON + timedelta(days=1))
    book.release(held)
    assert await book.today() == 0.0
    days.append(NOON)
    assert await book.today() == 0.0
    await book.close()


async def test_a_cancelled_budget_reservation_is_released(tmp_path: Path) -> None:
    book = ledger(tmp_path)
    waiting = asyncio.create_task(book.hold(0.5, 1.0))
    await asyncio.sleep(0)  # the reservation has begun
    waiting.cancel()
    await asyncio.wait({waiting})
    assert (waiting.cancelled(), await book.today()) == (True, 0.0)
    await book.close()


async def test_an_implausible_cost_is_left_out_and_reported(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    book = ledger(tmp_path)
    book.add(0.5)
    for dollars in (1e9, float("inf"), float("nan"), -3.0):
        book.add(dollars)
    assert await book.today() == 0.5
    assert caplog.text.count("which is impossible; it is not counted for the day") == 4
    with file_of(tmp_path).open("ab") as file:
        file.write(b"\n10000.01\nhold a 1e300\nhold b nan\nfree c\nhold x\n")
    assert await book.today() == 0.5
    assert "has 3 lines that are not the cost of a call" in caplog.text
    await book.close()


async def test_a_torn_or_invalid_spending_line_is_ignored(tmp_path: Path) -> None:
    book = ledger(tmp_path)
    book.add(0.5)
    await book.today()
    with file_of(tmp_path).open("ab") as file:
        file.write(b"hello\n-3\nnan\ninf\n0.1")  # the last line is torn or incomplete
    assert await book.today() == 0.5
    book.add(0.25)
    assert await book.today() == pytest.approx(0.85)
    await book.close()


async def test_only_a_limited_number_of_days_is_kept(tmp_path: Path) -> None:
    for day in range(KEPT_DAYS + 3):
        book = ledger(tmp_path, NOON + timedelta(days=day))
        book.add(0.1)
        await book.close()
    kept = sorted(path.name for path in (tmp_path / "spending").iterdir())
    assert len(kept) == KEPT_DAYS
    assert kept[-1] == file_of(tmp_path, NOON + timedelta(days=KEPT_DAYS + 2)).name


async def test_an_unwritable_spending_file_is_logged_and_ends_no_turn(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "spending").write_bytes(b"in the way")
    book = ledger(tmp_path)
    book.add(0.5)
    assert await book.today() == 0.0
    await book.close()
    assert "today's spending cannot be written" in caplog.text
