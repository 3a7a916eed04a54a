"""Where a session is written down."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from indwell.agent.log import Log
from indwell.errors import SessionError
from indwell.files.scratch import scratch_folder
from indwell.sessions.ids import RANDOM_B, new_id
from indwell.sessions.memory_log import MemoryLog
from indwell.sessions.store import SessionStore
from indwell.wiring.bounds.confining import strength
from indwell.wiring.subagents import find_agents


class Place(NamedTuple):
    """Where a session is written down; ``notice`` if it is not.

    Attributes:
        id: The session's.
        log: Its log.
        spill: The folder of its long texts; ``n_spilled`` are there already.
        others: Folders of other sessions' long texts that its conversation names.
    """

    id: str
    log: Log
    spill: Path
    n_spilled: int = 0
    notice: str = ""
    others: tuple[Path, ...] = ()


def look_ahead() -> None:
    """Ask what blocks when it is asked for the first time: here, and not where it is used."""
    strength()
    find_agents()


def new_place(store: SessionStore, model: str) -> Place:
    """Begin a log; in memory where nothing can be written, for the work must go on (PER-08)."""
    look_ahead()
    now = datetime.now(UTC)
    try:
        identifier, log = store.create(model=model, now=now)
    except SessionError as error:
        identifier = new_id(now, os.urandom(RANDOM_B))
        notice = f"this session is not saved, and cannot be gone on with later: {error}"
        return Place(identifier, MemoryLog(), scratch_folder(), notice=notice)
    return Place(identifier, log, store.spill(identifier))
