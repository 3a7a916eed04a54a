"""``indwell stats``: the sums of stored sessions."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from indwell.cli.stored.stats import cost_cell, day_of
from indwell.context.request.cache_health import UsageFigures, of_call
from indwell.messages import Usage
from indwell.sessions.records import CompactionRecord, Record, Spent
from indwell.sessions.storage.store import SessionStore, timestamp
from support.editing import Home
from support.terminal import Ended, indwell
from support.terminal_screen import Terminal

NOW = datetime.now(UTC)
AT = timestamp(NOW)
USAGE = Usage(1_000, cached=600, cache_write=100, output=50)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


async def keep(home: Home, folder: Path, *records: Record, now: datetime = NOW) -> str:
    name, writer = SessionStore(home.state, folder).create(model="m", now=now)
    for record in records:
        writer.append(record)
    await writer.close()
    return name


async def stats(home: Home, *arguments: str) -> Ended:
    return await indwell("stats", *arguments, environment=home.environment(), folder=home.workspace)


async def test_calls_and_compactions_are_summed_under_the_names_of_opentelemetry(home) -> None:
    name = await keep(
        home,
        home.workspace,
        Spent(1, "m", USAGE, 0.25, AT),
        CompactionRecord(1, "digest", (), 9_000, 4_000, (), AT),
        Spent(2, "n", Usage(500, output=10, reported=False), None, AT),
    )
    await keep(home, home.folder / "other", Spent(1, "m", USAGE, 0.25, AT))
    data = json.loads((await stats(home, "--session", name[:-1], "--json")).stdout)
    assert data["total"] == {
        "gen_ai.operation.name": "chat",
        "gen_ai.usage.input_tokens": 1_500,
        "gen_ai.usage.cache_read.input_tokens": 600,
        "gen_ai.usage.cache_creation.input_tokens": 100,
        "gen_ai.usage.output_tokens": 60,
        "indwell.requests": 2,
        "indwell.requests.estimated": 1,
        "indwell.requests.unpriced": 1,
        "indwell.cache.hit_rate": 0.6,
        "indwell.cost": None,
        "indwell.cost.known": 0.25,
        "indwell.compactions": {"digest": {"count": 1, "tokens_saved": 5_000}},
        "indwell.compaction.tokens_saved": 5_000,
    }
    assert [(one["indwell.turn"], one["indwell.cost"]) for one in data["turns"]] == [
        (1, 0.25),
        (2, None),
    ]
    assert [one["gen_ai.request.model"] for one in data["models"]] == ["m", "n"]
    (session,) = data["sessions"]
    assert (session["gen_ai.conversation.id"], session["gen_ai.request.model"]) == (name, "n")
    here = json.loads((await stats(home, "--json")).stdout)
    assert (here["total"], "turns" in here) == (data["total"], False)
    everywhere = json.loads((await stats(home, "--all", "--json")).stdout)
    assert everywhere["total"]["indwell.requests"] == 3


async def test_the_table_shows_days_and_sessions_and_their_total(home) -> None:
    last_week = NOW - timedelta(days=7)
    await keep(home, home.workspace, Spent(1, "m", USAGE, 0.25, AT))
    old = Spent(1, "m", USAGE, 0.5, timestamp(last_week))
    name = await keep(
        home,
        home.workspace,
        old,
        CompactionRecord(1, "digest", (), 9_000, 4_000, (), AT),
        now=last_week,
    )
    shown = await stats(home)
    assert (shown.code, shown.stderr) == (0, "")
    lines = [line.split() for line in shown.stdout.splitlines()]
    head = ["day", "calls", "tokens", "in", "cached", "out", "cost", "compactions"]
    assert lines[0] == [*head, "tokens", "saved"]
    assert lines[2] == [day_of(timestamp(last_week)), "1", "1,000", "60%", "50", "$0.5000"]
    assert lines[3] == ["total", "2", "2,000", "60%", "100", "$0.7500", "digest", "1", "5,000"]
    assert [name[:19], "m", "1", "1,000", "60%", "50", "$0.5000", "digest", "1", "5,000"] in lines
    recent = json.loads((await stats(home, "--days", "2", "--json")).stdout)["total"]
    assert (recent["indwell.requests"], recent["indwell.cost"]) == (1, 0.25)


async def test_unchanged_old_logs_are_not_read(home) -> None:
    long_ago = NOW - timedelta(days=90)
    name = await keep(
        home, home.workspace, Spent(1, "m", USAGE, 0.5, timestamp(long_ago)), now=long_ago
    )
    log = SessionStore(home.state, home.workspace).spill(name).parent / "log.jsonl"
    os.utime(log, (long_ago.timestamp(), long_ago.timestamp()))
    shown = await stats(home)
    assert (shown.code, "no model calls in the last 30 days" in shown.stdout) == (0, True)
    for more in (("--days", "0"), ("--session", name)):
        data = json.loads((await stats(home, *more, "--json")).stdout)
        assert data["total"]["indwell.cost"] == 0.5


async def test_a_narrow_terminal_shows_every_session_id_unbroken(home) -> None:
    spent = Spent(1, "a-model-with-a-long-name", USAGE, 0.25, AT)
    name = await keep(
        home, home.workspace, spent, CompactionRecord(1, "digest", (), 9_000, 4_000, (), AT)
    )
    with Terminal(
        "stats", environment=home.environment(), folder=home.workspace, columns=80
    ) as terminal:
        assert terminal.ends() == 0
    (row,) = [line for line in terminal.shown.splitlines() if line.startswith(name[:19])]
    assert row.split()[1:3] == ["1", "1,000"]
    assert row.split()[-1] == "5,000"


async def test_the_disk_use_of_sessions_is_shown_only_at_a_terminal(home) -> None:
    await keep(home, home.workspace, Spent(1, "m", USAGE, 0.25, AT))
    with Terminal("stats", environment=home.environment(), folder=home.workspace) as terminal:
        assert terminal.ends() == 0
    room = "sessions take 0.0 MB; at most 2,000 MB are kept (`keep_sessions_mb`)"
    assert terminal.shown.splitlines()[-1] == room
    piped = await stats(home)
    assert room not in piped.stdout + piped.stderr


async def test_the_statistics_of_one_session_begin_with_the_sessions_name(home) -> None:
    name = await keep(home, home.workspace, Spent(1, "m", USAGE, 0.25, AT))
    lines = (await stats(home, "--session", name)).stdout.splitlines()
    at = lines.index(f"session {name}, m")
    assert lines[at + 1].split()[:2] == ["turn", "calls"]


async def test_invalid_days_are_refused_and_an_imported_session_belongs_to_no_folder(
    home,
) -> None:
    refused = await stats(home, "--days", "-1")
    assert (refused.code, "not a number of days" in refused.stderr) == (2, True)
    name = await keep(home, home.workspace)
    told = await stats(home, "--session", name)
    assert f"no model calls in session {name}; an imported session has none" in told.stdout
    assert "--all" not in told.stdout


async def test_an_unknown_session_is_reported(home) -> None:
    missing = await stats(home, "--session", "20200101-000000-000-aaaaaaaaaaaa")
    assert (missing.code, missing.stdout) == (2, "")
    assert "there is no session '20200101-000000-000-aaaaaaaaaaaa'" in missing.stderr


async def test_a_real_turn_is_counted_in_the_statistics(home) -> None:
    await indwell(
        "run", "What can you do?", "--scripted", environment=home.environment(),
        folder=home.workspace,
    )  # fmt: skip
    total = json.loads((await stats(home, "--json")).stdout)["total"]
    assert (total["indwell.requests"] > 0, total["indwell.cost"]) == (True, 0.0)
    assert total["gen_ai.usage.input_tokens"] > 0


def test_records_count_for_the_day_in_the_users_time_zone() -> None:
    expected = NOW.astimezone().date().isoformat()
    assert (day_of(AT), day_of("2026-11-21T99:99"), day_of("")) == (expected, "2026-11-21", "")


def test_a_sum_with_an_unknown_price_shows_the_known_part() -> None:
    known, unknown = of_call(USAGE, 0.25), of_call(USAGE, None)
    assert cost_cell(known + unknown) == "over $0.2500 (1 unknown)"
    assert (cost_cell(unknown), cost_cell(known), cost_cell(UsageFigures())) == (
        "unknown", "$0.2500", "$0.0000"
    )  # fmt: skip
