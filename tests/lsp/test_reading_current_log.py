"""The log of the current session is read as a whole, even with records that wait for the disk."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from indwell.agent.core.session_parts import Log
from indwell.errors import SessionError
from indwell.service.service import Service
from indwell.sessions.log_lines import LogReading
from indwell.sessions.records import Record, Titled
from support.session import World, a_world


def service_of(world: World, *, current: bool = True) -> Any:
    async def session(identifier: str) -> LogReading:
        return world.store.open(identifier)

    sessions = SimpleNamespace(find=lambda _session: world.session if current else None)
    return SimpleNamespace(sessions=sessions, stored=SimpleNamespace(session=session))


def titles(reading: LogReading) -> list[str]:
    return [one.title for one in reading.records if isinstance(one, Titled)]


class Late:
    """A log that writes its records only when they are committed."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._waiting: list[Record] = []

    def append(self, record: Record) -> None:
        self._waiting.append(record)

    async def commit(self) -> None:
        for one in self._waiting:
            self._log.append(one)
        self._waiting = []
        await self._log.commit()


async def test_records_that_the_current_session_has_not_written_yet_are_read(
    tmp_path: Path,
) -> None:
    async with a_world(tmp_path, []) as world:
        session = world.session
        log = session.parts.log
        session.parts = replace(session.parts, log=cast("Log", Late(log)))
        session.retitle("mend it")
        other = await Service.reading(service_of(world, current=False), session.id)
        assert titles(other) == [], "the record is not on disk yet"
        assert titles(await Service.reading(service_of(world), session.id)) == ["mend it"]
        session.parts = replace(session.parts, log=log)


async def test_a_session_is_read_from_disk_if_its_log_cannot_be_written(tmp_path: Path) -> None:
    async def full() -> None:
        raise SessionError("the disk is full; make room")

    async with a_world(tmp_path, []) as world:
        service = service_of(world)
        log = SimpleNamespace(commit=full)
        parts = SimpleNamespace(log=log)
        service.sessions.find = lambda _session: SimpleNamespace(parts=parts)
        reading = await Service.reading(cast("Service", service), world.session.id)
        assert titles(reading) == []
