"""Measures listing sessions and resuming a long session (PER-12).

    PYTHONPATH=server python benchmarks/sessions.py [sessions] [megabytes]

The script prints the time to list 1,000 sessions (the first 20, and all), the time to resume a
session of 100 MB, and the longest time that the event loop was blocked.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from indwell.agent.restore import past_of
from indwell.cli.terminal.front_door import AllowingApprover
from indwell.messages import Message, Meta, Text, ToolResult, ToolUse, Usage
from indwell.service.sessions.stored_sessions import StoredSessions
from indwell.sessions.records import MessageRecord, Spent, TurnEndRecord, TurnStartRecord
from indwell.sessions.storage.retention import stored
from indwell.sessions.storage.store import SessionStore
from indwell.sessions.storage.writer import encode
from indwell.settings.model import Settings
from indwell.wiring.model import make_model
from indwell.wiring.resume import resume_session
from indwell.workspace.disk import DiskWorkspace

AT = "2026-11-21T09:00:00.000+00:00"
NOW = datetime(2026, 11, 21, 9, tzinfo=UTC)


def a_turn(number: int, size: int) -> bytes:
    """Return a turn of three messages; its tool result has ``size`` characters."""
    mine = Meta(tier=1, source="user", tokens=2, turn=number)
    its = Meta(tier=3, source="assistant", tokens=2, turn=number)
    tool = Meta(tier=3, source="tool", tokens=size // 4, turn=number)
    text = "\n".join(f"{line:5}\tvalue = compute({line})" for line in range(size // 30))
    said = (
        Message("user", (Text(f"turn {number}", mine),), number),
        Message("assistant", (ToolUse("c1", "read_file", '{"path":"a.py"}', its),), number),
        Message("user", (ToolResult("c1", text, tool),), number),
        Message("assistant", (Text("It computes.", its),), number),
    )
    records = [
        TurnStartRecord(number, f"turn {number}", AT),
        *(MessageRecord(message, AT) for message in said),
        Spent(number, "m", Usage(input=size // 4, output=10), 0.01, AT),
        TurnEndRecord(number, "done", AT),
    ]
    return b"".join(map(encode, records))


def fill(store: SessionStore, sessions: int, turns: int, size: int) -> str:
    """Make sessions; return the last session's id."""
    for number in range(sessions):
        session, writer = store.create(model="m", now=NOW + timedelta(seconds=number))
        writer._thread.shutdown()  # noqa: SLF001 -- only its file is wanted
        log = writer._log  # noqa: SLF001
        log.append(b"".join(a_turn(turn, size) for turn in range(1, turns + 1)))
        log.close()
    return session


async def held_s(work: asyncio.Future[object]) -> float:
    """Return the longest time for which the loop was blocked while ``work`` ran."""
    longest, last = 0.0, time.perf_counter()
    while not work.done():
        await asyncio.sleep(0)
        now = time.perf_counter()
        longest, last = max(longest, now - last), now
    return longest


async def resume(folder: Path, session: str) -> tuple[float, float]:
    """Return the seconds to resume a session, and the longest time that the loop was blocked."""
    environment = {**os.environ, "INDWELL_STATE": str(folder / "state")}
    settings = Settings(provider="scripted")
    model = make_model(settings)
    start = time.perf_counter()
    work = asyncio.ensure_future(
        resume_session(
            session,
            DiskWorkspace([folder]),
            AllowingApprover(),
            lambda: settings,
            model,
            environment=environment,
        )
    )
    longest = await held_s(work)
    took = time.perf_counter() - start
    await work.result().session.close()
    return took, longest


async def listing(folder: Path, sessions: int) -> str:
    """List many sessions: a page of them, and all."""
    store = SessionStore(folder / "state", folder)
    fill(store, sessions, turns=3, size=6_000)
    stored_sessions = StoredSessions({"INDWELL_STATE": str(folder / "state")})
    start = time.perf_counter()
    await stored_sessions.sessions(folder, limit=20, before=None)
    first_ms = (time.perf_counter() - start) * 1e3
    start = time.perf_counter()
    found = stored(folder / "state")
    every_ms = (time.perf_counter() - start) * 1e3
    size_mb = sum(one.size_b for one in found) / 1e6
    return (
        f"{len(found)} sessions ({size_mb:.0f} MB): the first 20 in {first_ms:.0f} ms, "
        f"all in {every_ms:.0f} ms"
    )


async def long_one(folder: Path, megabytes: int) -> str:
    """Read and resume a long session."""
    store = SessionStore(folder / "state", folder)
    session = fill(store, 1, turns=megabytes * 50, size=20_000)
    size_mb = (store.spill(session).parent / "log.jsonl").stat().st_size / 1e6
    marks = [time.perf_counter()]
    reading = store.open(session)
    marks.append(time.perf_counter())
    past_of(reading.records)
    marks.append(time.perf_counter())
    del reading
    store.overview(session)
    marks.append(time.perf_counter())
    read, folded, glance = (
        f"{(end - start) * 1e3:.0f} ms" for start, end in itertools.pairwise(marks)
    )
    took, longest = await resume(folder, session)
    return (
        f"a session of {size_mb:.0f} MB: read {read}, folded {folded}, its line of the list "
        f"{glance}, taken up {took * 1e3:.0f} ms, the loop held for {longest * 1e3:.1f} ms at most"
    )


def main() -> None:
    """Print the figures."""
    sessions = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    megabytes = int(sys.argv[2]) if len(sys.argv) > 2 else 100  # noqa: PLR2004
    for measure, number in ((listing, sessions), (long_one, megabytes)):
        with tempfile.TemporaryDirectory() as place:
            print(asyncio.run(measure(Path(place).resolve(), number)))


if __name__ == "__main__":
    main()
