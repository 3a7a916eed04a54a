"""Asks whether a folder is trusted: at the first prompt in it, and when its files have changed.

Whoever does not answer, or cannot be asked, has not trusted; a late answer counts for nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from indwell.errors import UserError
from indwell.policy.trust import STAY, TRUST, TrustStanding, is_unchanged, restricted_words
from indwell.service.folder_trust import FolderTrust
from indwell.service.front_door import FrontDoor
from indwell.settings.model import Settings
from indwell.workspace.executable_files import instruction_files


class TrustQuestions:
    """The questions; at most one is open at any time.

    Args:
        door: Asks the user.
        trust: Knows how folders stand, and keeps answers.
        settings: The user's own, which may name trusted folders.
    """

    def __init__(
        self, door: FrontDoor, trust: FolderTrust, settings: Callable[[], Settings]
    ) -> None:
        self._door = door
        self._trust = trust
        self._settings = settings
        self._open: asyncio.Task[bool] | None = None
        self._told: set[str] = set()

    @property
    def is_open(self) -> bool:
        """Is the user being asked now?"""
        return self._open is not None

    async def settle(
        self, roots: tuple[Path, ...], timeout_s: float, *, again: bool = False
    ) -> bool:
        """Return when it is known how each folder stands; True if one has come to be trusted.

        ``again``: the user wants to be asked, also about what they have said no to.

        Whoever comes while a question stands waits for the same answer; cancelling one who waits
        does not close it for the others.
        """
        if self._open is None:
            standings = await self.look(roots)
            if again:
                standings = tuple([await self._open_again(one) for one in standings])
            if self._open is None:
                work = self._settled(standings, timeout_s)
                self._open = asyncio.create_task(work, name="trust")
                self._open.add_done_callback(self._closed)
        return await asyncio.shield(self._open)

    async def look(self, roots: tuple[Path, ...]) -> tuple[TrustStanding, ...]:
        """See how folders stand now, by what the user has said of them and what they hold."""
        return await asyncio.to_thread(self._trust.look, roots, self._settings())

    def hold_back(self) -> None:
        """Trust no folder from now on: the editor is in restricted mode."""
        self._trust.hold_back("the editor is in restricted mode")

    async def stop(self) -> None:
        """Close the question; for the end of the server."""
        if self._open is not None:
            self._open.cancel()
            await asyncio.wait({self._open})

    def _closed(self, task: asyncio.Task[bool]) -> None:
        self._open = None
        if not task.cancelled():
            task.exception()  # seen, also where nobody waits any more

    async def _settled(self, standings: tuple[TrustStanding, ...], timeout_s: float) -> bool:
        was_trusted = False
        for standing in standings:
            after = await self._asked(standing, timeout_s) if standing.state == "open" else standing
            was_trusted |= after is not standing and after.state == "trusted"
            if after.state != "trusted":
                await self._tell(after)
        if any(one.state == "open" for one in standings):
            await self.look(tuple(Path(one.folder) for one in standings))
        return was_trusted

    async def _open_again(self, standing: TrustStanding) -> TrustStanding:
        """As if nobody had said no; of a trusted folder, what was not there when it was trusted."""
        if standing.state != "trusted":
            is_asked = _can_be_trusted(standing)
            return msgspec.structs.replace(standing, state="open") if is_asked else standing
        if standing.before is None:  # it is trusted whatever it holds, or with one above it
            return standing
        shown = await asyncio.to_thread(self._trust.shown, standing)
        is_same = is_unchanged(standing.before, shown.items)
        return standing if is_same else msgspec.structs.replace(shown, state="open")

    async def _asked(self, standing: TrustStanding, timeout_s: float) -> TrustStanding:
        """Ask, and keep the answer; a question that was closed is asked again in a new process.

        Returns:
            How the folder stands after the answer.
        """
        standing = await asyncio.to_thread(self._trust.shown, standing)
        question = await asyncio.to_thread(lambda: standing.question)
        answer = await self._door.allow(question, (STAY, TRUST), timeout_s)
        trusted = answer == TRUST
        try:
            keep = answer in {STAY, TRUST}
            await asyncio.to_thread(
                lambda: self._trust.answer(standing, trusted=trusted, keep=keep)
            )
        except UserError as error:
            self._door.warn(f"{error}; your answer counts as long as this process runs")
        if trusted:
            return msgspec.structs.replace(standing, state="trusted")
        by = f"your answer of {datetime.now(UTC):%Y-%m-%d}" if answer == STAY else "nobody answered"
        return msgspec.structs.replace(standing, by=by)

    async def _tell(self, standing: TrustStanding) -> None:
        """Say once what does not work, and why."""
        if standing.folder in self._told:
            return
        self._told.add(standing.folder)
        ignored = await asyncio.to_thread(instruction_files, Path(standing.folder))
        words = restricted_words(standing, len(ignored))
        here = f" {self._door.trust_hint}" if _can_be_trusted(standing) else ""
        self._door.warn(f"{words}{here}".rstrip())


def _can_be_trusted(standing: TrustStanding) -> bool:
    """Is a word of the user's all that it lacks? Not where the editor or a broken file says no."""
    return standing.state != "trusted" and standing.remedy == TrustStanding("", "open", "").remedy
