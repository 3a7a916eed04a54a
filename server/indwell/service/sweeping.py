"""Deletes old sessions while a server runs, or when ``indwell run`` ends; and says what went."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from indwell.settings.model import Settings
from indwell.settings.places import state_folder

if TYPE_CHECKING:
    from indwell.sessions.sweeping import Gone

MB = 1_000_000
SHOWN_DAYS = 30  # for which lists say what was deleted


class Sweeper:
    """Deletes old sessions in a thread; nobody waits for it but the next sweep.

    Args:
        environment: The process's variables.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._sweeping: asyncio.Future[object] | None = None

    async def sweep(self, settings: Settings, session: str) -> str:
        """Begin to sweep for a session that just began; gives what the user was not told yet."""
        if self._sweeping is not None:
            await asyncio.wait({self._sweeping})
        state = state_folder(self._environment)
        untold = await asyncio.to_thread(_untold, state)
        self._sweeping = asyncio.get_running_loop().run_in_executor(
            None, lambda: sweep_now(state, settings, session)
        )
        return gone_words(untold)


def sweep_now(state: Path, settings: Settings, session: str) -> Gone | None:
    """Delete what the settings let nobody keep; blocks.

    Args:
        state: The state folder.
        settings: Those of the user.
        session: The caller's own, which stays.
    """
    from indwell.sessions.sweeping import Limits, sweep

    limits = Limits(settings.keep_sessions_days, settings.keep_sessions_mb * MB)
    return sweep(state, limits, now=datetime.now(UTC), pending=_pending, ours=session)


def gone_words(gone: Sequence[Gone]) -> str:
    """What was deleted, as a sentence for the user; empty if nothing was. Pure."""
    n_room = sum(one.n_for_room for one in gone)
    n_old = sum(len(one.sessions) for one in gone) - n_room
    n_copies = sum(one.n_copies for one in gone)
    parts = [
        f"{_counted(n_old, 'old session')} (`keep_sessions_days`)" if n_old else "",
        f"{_counted(n_room, 'session')} to make room (`keep_sessions_mb`)" if n_room else "",
        _counted(n_copies, "old copy", "old copies") + " of your files" if n_copies else "",
    ]
    named = " and ".join(filter(None, parts))
    if not named:
        return ""
    freed = sum(one.freed_b for one in gone) / MB
    return f"Indwell deleted {named}: {freed:,.1f} MB, on {gone[-1].at[:10]}"


def size_words(held_b: int, settings: Settings) -> str:
    """How much room sessions take, and how much they may take. Pure."""
    most = settings.keep_sessions_mb
    bound = f"at most {most:,} MB are kept" if most else "there is no limit"
    return f"sessions take {held_b / MB:,.1f} MB; {bound} (`keep_sessions_mb`)"


def recent(gone: Sequence[Gone], now: datetime) -> tuple[Gone, ...]:
    """What was deleted in the last days. Pure."""
    return tuple(one for one in gone if (now - datetime.fromisoformat(one.at)).days < SHOWN_DAYS)


def _untold(state: Path) -> Sequence[Gone]:
    from indwell.sessions.sweeping import take_untold

    return take_untold(state)


def _pending(folder: Path) -> Collection[str] | None:
    from indwell.review.place import FOLDER
    from indwell.review.store import pending_sessions

    return pending_sessions(folder / FOLDER)


def _counted(n: int, one: str, many: str = "") -> str:
    return f"1 {one}" if n == 1 else f"{n:,} {many or one + 's'}"
