"""Side effects wait until the log is on disk, but model calls do not wait (H59)."""

from __future__ import annotations

import asyncio
import dataclasses
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from indwell.agent.core.budget import MemoryLedger
from indwell.agent.core.events import Event, TurnFinished
from indwell.agent.core.prompt import Prompt
from indwell.agent.core.session_parts import Log
from indwell.agent.loop.turn import run_turn
from indwell.errors import SessionError
from indwell.messages import Reply, Request
from indwell.sessions.records import Intent, MessageRecord, Record, TurnEndRecord
from indwell.tools.base import ToolContext
from support.session import World, a_tool, a_world, asks, call, says, with_parts

FILES = {"a.py": "x = 1\n", "b.py": "y = 1\n"}


class WatchedLog:
    """A log that records which commits the session awaits, and which commits it only starts."""

    def __init__(self, log: Log, seen: list[str]) -> None:
        self._log = log
        self._seen = seen
        self.records: list[Record] = []
        self.n_kept = 0  # the number of records that were on disk after the last awaited commit

    def append(self, record: Record) -> None:
        self.records.append(record)
        self._log.append(record)

    def commit_soon(self) -> None:
        n_said = sum(isinstance(record, MessageRecord) for record in self.records)
        self._seen.append(f"commits {n_said} messages by the way")
        self._log.commit_soon()

    async def commit(self) -> None:
        self._seen.append("waits for the disk")
        n_kept = len(self.records)
        await self._log.commit()
        self.n_kept = n_kept

    async def close(self) -> None:
        await self._log.close()


def watch(world: World) -> tuple[WatchedLog, list[str]]:
    seen: list[str] = []
    log = WatchedLog(world.session.parts.log, seen)
    world.session.parts = dataclasses.replace(world.session.parts, log=log)
    return log, seen


async def test_read_calls_between_two_requests_do_not_wait_for_the_disk(
    tmp_path: Path,
) -> None:
    def asked(reply: Reply) -> object:
        def answer(request: Request) -> Reply:
            seen.append("the model is asked")
            return reply

        return answer

    script = [
        asked(asks(call("read_file", path="a.py"))),
        asked(asks(call("read_file", path="b.py"), call("read_file", "c2", path="a.py"))),
        asked(says()),
    ]
    async with a_world(tmp_path, script, files=FILES) as world:
        _, seen = watch(world)
        await world.turn()
        assert seen == [
            "waits for the disk",  # waits for the record of the user's prompt
            "commits 0 messages by the way",
            "the model is asked",
            "commits 3 messages by the way",
            "the model is asked",
            "commits 5 messages by the way",
            "the model is asked",
            "waits for the disk",  # waits for the record of the turn's end
        ]
        await world.records()


async def test_an_effect_waits_until_its_intent_is_on_disk(tmp_path: Path) -> None:
    async def look(name: str, context: ToolContext) -> str:
        kept = world.store.open(world.session.id).records
        assert isinstance(log.records[-1], Intent)
        assert kept[-1] == log.records[-1]
        assert seen[-1] == "waits for the disk"
        return "done"

    script = [asks(call("change", name="a.py")), says()]
    tools = [a_tool("change", look, effect="edit")]
    async with a_world(tmp_path, script, tools=tools, files=FILES) as world:
        log, seen = watch(world)
        assert (await world.turn()).ending == "done"
        assert not world.results[0].is_error


@pytest.mark.parametrize("ending", ["done", "cancelled"])
async def test_the_end_of_a_turn_is_on_disk_before_a_client_can_show_it(
    tmp_path: Path, ending: str
) -> None:
    """Otherwise, a kill could undo an answer that the user has already seen end."""

    def shown(event: Event) -> None:
        if isinstance(event, TurnFinished):
            kept.extend(log.records[: log.n_kept])

    def stops(_request: Request) -> Reply:
        turn.cancel()
        return says("Hello.")

    kept: list[Record] = []
    async with a_world(tmp_path, [stops if ending == "cancelled" else says("Hello.")]) as world:
        log, _ = watch(world)
        turn = asyncio.ensure_future(run_turn(world.session, Prompt("go"), shown))
        with suppress(asyncio.CancelledError):
            await turn
        assert [one.ending for one in kept if isinstance(one, TurnEndRecord)] == [ending]
        assert "Hello." in str([one.message for one in kept if isinstance(one, MessageRecord)])


class FullLedger(MemoryLedger):
    """A spending ledger that cannot be written to disk."""

    async def close(self) -> None:
        raise SessionError("the disk is full")


async def test_a_part_that_cannot_be_saved_does_not_keep_other_parts_from_closing(
    tmp_path: Path,
) -> None:
    async with a_world(tmp_path, [says()], files=FILES) as world:
        await world.turn()
        session = world.session
        parts = session.parts
        with_parts(session, ledger=FullLedger())
        with pytest.raises(SessionError, match="the disk is full"):
            await session.close()
        _, log = world.store.resume(
            session.id, now=datetime.now(UTC)
        )  # fails if the session's log is still open
        await log.close()
        session.parts = parts
