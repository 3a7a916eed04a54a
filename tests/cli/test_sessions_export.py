"""``indwell sessions export``: tables of turns, calls and verdicts in JSON lines and Parquet."""

from __future__ import annotations

import importlib
import io
import json
import os
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from indwell.messages import Message, Meta, Text, ToolResult, ToolUse, Usage
from indwell.review.hunk import Actor
from indwell.service.sessions.review_ledgers import open_ledger
from indwell.service.sessions.session_tables import TABLES, Column, encoded_table
from indwell.sessions.records import (
    CallEnded,
    CompactionRecord,
    Decided,
    FileLines,
    Forked,
    MessageRecord,
    Record,
    Rewound,
    Spent,
    TurnEndRecord,
    TurnStartRecord,
)
from indwell.sessions.storage.store import SessionStore
from support.editing import Home
from support.terminal import Ended, indwell

NOW = datetime(2026, 11, 21, 3, 40, 12, tzinfo=UTC)
AT = "2026-11-21T03:40:12.000+00:00"
KEY = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7xY9zA1cD3eF5"
META = Meta(3, "tool", 1, 1)
CONTENTS = ("write the parser", "def secret_parser", "pytest -q", "It is written")
PAGE = Path(__file__).parents[2] / "docs" / "session-data.md"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def one_turn(number: int) -> tuple[Record, ...]:
    run = ToolUse("c1", "bash", '{"command": "pytest -q"}', Meta(2, "assistant", 1, number))
    said = (Text("It is written", Meta(2, "assistant", 1, number)), run)
    return (
        TurnStartRecord(number, f"write the parser {KEY}", AT, "write", (), "review"),
        MessageRecord(Message("assistant", said, number), AT),
        Spent(number, "m", Usage(1_000, cached=600, output=50, thinking=20), 0.25, AT, 700),
        Spent(number, "small", Usage(10, output=1, reported=False), None, AT, agent="find 1"),
        Decided(number, "c1", "bash", "pytest -q", "ask", AT),
        Decided(number, "c1", "bash", "pytest -q", "ask", AT, answer="once"),
        CallEnded(number, "c1", "pytest -q", "", 1.5, AT, tool="bash", failed="exit code 1"),
        CallEnded(number, "c2", "a.py", "+1", 0.1, AT, "+def secret_parser", tool="edit_file"),
        MessageRecord(Message("user", (ToolResult("c1", "exit code 1", META),), number), AT),
        CompactionRecord(number, "digest", (), 9_000, 4_000, (), AT),
        TurnEndRecord(number, "done", AT, seconds=2.5, changes=(FileLines("a.py", 3, 1),)),
    )


async def keep(home: Home, *records: Record) -> str:
    name, writer = SessionStore(home.state, home.workspace).create(model="m", now=NOW)
    for record in records:
        writer.append(record)
    await writer.close()
    return name


async def export(home: Home, *arguments: str) -> Ended:
    return await indwell(
        *("sessions", "export", *arguments),
        environment=home.environment(),
        folder=home.workspace,
    )


def rows(folder: Path, table: str) -> list[dict[str, Any]]:
    return [
        json.loads(line) for line in (folder / f"{table}.jsonl").read_text("utf-8").splitlines()
    ]


async def test_turns_calls_and_costs_are_exported_without_contents_and_secrets(home) -> None:
    session = await keep(home, *one_turn(1), *one_turn(2), Rewound(1, "m", AT))
    fork = await keep(home, *one_turn(1), Forked(session, 1, "m", AT, (), whole=True), *one_turn(2))
    out = home.folder / "new" / "out"
    ended = await export(home, "--jsonl", str(out), "--json")
    assert (ended.code, ended.stderr) == (0, "")
    counts = {"turns": 3, "model_calls": 6, "tool_calls": 6, "verdicts": 0}
    assert json.loads(ended.stdout) == {"folder": str(out), "rows": counts}
    turns = rows(out, "turns")
    assert turns[0] == {
        "session": session, "workspace": str(home.workspace), "turn": 1, "began_at": AT,
        "seconds": 2.5, "model": "m", "mode": "review", "ending": "done", "is_rewound": False,
        "model_calls": 2, "input_tokens": 1_010, "cached_tokens": 600, "cache_write_tokens": 0,
        "output_tokens": 51, "reasoning_tokens": 20, "is_estimated": True, "cost_usd": None,
        "tool_calls": 2, "tool_failures": 1, "files_changed": 1, "lines_added": 3,
        "lines_removed": 1, "compactions": 1, "tokens_saved": 5_000,
    }  # fmt: skip
    places = [(one["session"], one["turn"], one["is_rewound"]) for one in turns]
    assert places == [(session, 1, False), (session, 2, True), (fork, 2, False)]
    first, second = rows(out, "model_calls")[:2]
    assert (first["cost_usd"], first["is_subagent"], first["expected_cached_tokens"]) == (
        *(0.25, False, 700),
    )
    assert (second["cost_usd"], second["is_subagent"], second["model"]) == (None, True, "small")
    assert rows(out, "tool_calls")[0] == {
        "session": session, "turn": 1, "call": "c1", "within": "", "ended_at": AT, "seconds": 1.5,
        "tool": "bash", "is_failed": True, "decision": "ask", "user_answer": "once",
    }  # fmt: skip
    written = "".join(path.read_text("utf-8") for path in out.iterdir())
    assert [one for one in (*CONTENTS, KEY) if one in written] == []
    again = await export(home, "--jsonl", str(out))
    assert (again.code, "exists; name a folder without an earlier export" in again.stderr) == (
        *(1, True),
    )
    whole = home.folder / "whole"
    assert (await export(home, fork, "--jsonl", str(whole), "--with-contents")).code == 0
    written = "".join(path.read_text("utf-8") for path in whole.iterdir())
    assert [one for one in CONTENTS if one not in written] == []
    assert (KEY in written, session in written) == (False, False)
    (turn,) = rows(whole, "turns")
    assert (turn["prompt"].startswith("write the parser "), turn["answer"]) == (
        *(True, "It is written"),
    )
    ran = rows(whole, "tool_calls")[0]
    assert (ran["result"], json.loads(ran["arguments"])) == (
        "exit code 1",
        {"command": "pytest -q"},
    )
    unknown = await export(home, "20200101-000000-000-000000000000", "--jsonl", str(whole / "no"))
    assert (unknown.code, "there is no session" in unknown.stderr) == (2, True)


async def test_the_verdicts_of_a_review_are_exported_even_after_the_model_has_seen_them(
    home,
) -> None:
    session = await keep(home, *one_turn(1))
    ledger = await open_ledger(home.environment(), [home.workspace])
    path = home.write("src/a.py", "one\ntwo\nthree\n")
    pending = await ledger.begin(
        Actor(session, 1), "c2", path, path.read_text("utf-8"), "1\n2\n3\n"
    )
    home.write("src/a.py", "1\n2\n3\n")
    await ledger.finish(pending, "1\n2\n3\n", accepted=False)
    await ledger.accept([one.id for one in ledger.hunks(path)])
    await ledger.told(session, ledger.untold(session))
    await ledger.close()
    out = home.folder / "out"
    assert (await export(home, "--jsonl", str(out))).code == 0
    (row,) = rows(out, "verdicts")
    assert (bool(row.pop("verdict")), row.pop("judged_at") > "2026") == (True, True)
    assert row == {
        "session": session, "turn": 1, "is_accepted": True, "path": "src/a.py", "hunks": 1,
        "lines_added": 3, "lines_removed": 3,
    }  # fmt: skip


def pyarrow_parquet() -> Any:
    """Return the reader of Parquet files; skip the test where there is none, except in CI."""
    if find_spec("pyarrow") is None and os.environ.get("CI") != "true":
        pytest.skip("pyarrow, which writes Parquet, is not installed")
    return importlib.import_module("pyarrow.parquet")


async def test_parquet_files_have_types_units_and_the_rows_of_json_lines(home) -> None:
    parquet = pyarrow_parquet()
    await keep(home, *one_turn(1))
    out, lines = home.folder / "out", home.folder / "lines"
    assert (await export(home, "--parquet", str(out))).code == 0
    assert (await export(home, "--jsonl", str(lines))).code == 0
    for name, columns in TABLES.items():
        table = parquet.read_table(out / f"{name}.parquet")
        expected = [one for one in columns if not one.is_content]
        assert table.column_names == [one.name for one in expected]
        fields = [table.schema.field(one.name) for one in expected]
        units = [one.metadata[b"unit"].decode() for one in fields]
        assert units == [one.unit for one in expected]
        times = {one.name for one in expected if one.kind == "time"}
        assert {str(one.type) for one in fields if one.name in times} == {"timestamp[us, tz=UTC]"}
        found = [
            {key: as_text(value) if key in times else value for key, value in row.items()}
            for row in table.to_pylist()
        ]
        assert found == rows(lines, name)


def as_text(value: datetime) -> str:
    return value.isoformat(timespec="milliseconds")


def test_a_damaged_time_is_null_in_parquet() -> None:
    parquet = pyarrow_parquet()
    columns = [Column("at", "time", "UTC", "a time")]
    data = encoded_table([{"at": "yesterday"}, {"at": AT}], columns, "parquet", str)
    assert parquet.read_table(io.BytesIO(data)).to_pylist() == [{"at": None}, {"at": NOW}]


async def test_without_pyarrow_the_command_that_installs_it_is_named(home) -> None:
    (home.folder / "hides" / "pyarrow").mkdir(parents=True)
    without = "import sys; sys.modules['pyarrow'] = None; sys.modules['pyarrow.lib'] = None\n"
    (home.folder / "hides" / "sitecustomize.py").write_text(without, "utf-8")
    environment = home.environment(PYTHONPATH=str(home.folder / "hides"))
    out = home.folder / "out"
    ended = await indwell(
        *("sessions", "export", "--parquet", str(out)),
        environment=environment,
        folder=home.workspace,
    )
    assert (ended.code, "pip install 'indwell[parquet]'" in ended.stderr) == (1, True)
    assert not out.exists()


def test_the_page_describes_each_column() -> None:
    page = PAGE.read_text("utf-8")
    for name, columns in TABLES.items():
        lines = [f"### `{name}`", "", "| Column | Type | Unit | What it is |", "|---" * 4 + "|"]
        for one in columns:
            about = f"{one.about} (`--with-contents`)" if one.is_content else one.about
            lines.append(f"| `{one.name}` | {one.kind} | {one.unit} | {about} |")
        assert "\n".join(lines) in page, "\n".join(lines)
