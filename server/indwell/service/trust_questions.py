"""Asks whether a folder is trusted, at its first prompt and after its files have changed.

No answer means no trust, and a late answer is ignored.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import msgspec

from indwell import edges
from indwell.bounds.folder_trust import FolderTrust
from indwell.errors import UserError
from indwell.policy.trust import STAY, TrustStanding, is_unchanged, restricted_words
from indwell.service.front_door import FrontDoor
from indwell.settings.model import Settings
from indwell.workspace.executable_files import instruction_files


class TrustQuestions:
    """Asks the user about folders; only one question is open at a time.

    Args:
    door: Asks the user.

    trust: Examines folders, and stores answers.

    settings: Returns the user's own settings, which may name trusted folders.
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
        """Return whether a question is open."""
        return self._open is not None

    async def settle(
        self, roots: tuple[Path, ...], timeout_s: float, *, again: bool = False
    ) -> bool:
        """Decide the trust in each folder; ask the user about folders without an answer.

        A second caller waits for the same answer, and cancelling one caller does not close the
        question for the others.

        Args:
            roots: The folders.
            timeout_s: The user's time to answer, in seconds.
            again: Whether to ask again about folders that the user did not trust.

        Returns:
            Whether a folder has become trusted.
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
        """Examine folders as they are now."""
        return await asyncio.to_thread(self._trust.look, roots, self._settings())

    def let_edit(self, roots: tuple[Path, ...], by: str) -> None:
        """See ``FolderTrust.let_edit``."""
        self._trust.let_edit(roots, by)

    def hold_back(self) -> None:
        """Trust no folder from now on, because the editor is in restricted mode."""
        self._trust.hold_back("the editor is in restricted mode")

    async def stop(self) -> None:
        """Close the question, because the server ends."""
        if self._open is not None:
            self._open.cancel()
            await asyncio.wait({self._open})

    def _closed(self, task: asyncio.Task[bool]) -> None:
        self._open = None
        if not task.cancelled():
            task.exception()  # The error is retrieved, because nothing may wait for the result.

    async def _settled(self, standings: tuple[TrustStanding, ...], timeout_s: float) -> bool:
        was_trusted = False
        for standing in standings:
            after = await self._asked(standing, timeout_s) if standing.state == "open" else standing
            was_trusted |= after is not standing and after.state == "trusted"
            # The user already knows the trust in the folder of a worktree.
            if after.state != "trusted" and not self._trust.is_copy(after.folder):
                await self._tell(after)
        if any(one.state == "open" for one in standings):
            await self.look(tuple(Path(one.folder) for one in standings))
        return was_trusted

    async def _open_again(self, standing: TrustStanding) -> TrustStanding:
        """Return a folder's trust as undecided if the user refused it, or if files have changed."""
        if standing.state != "trusted":
            is_asked = _can_be_trusted(standing)
            return msgspec.structs.replace(standing, state="open") if is_asked else standing
        if standing.is_bare:
            shown = await asyncio.to_thread(self._trust.shown, standing)
            return msgspec.structs.replace(shown, state="open") if shown.items else standing
        # The folder is trusted as a whole, or together with its parent.
        if standing.before is None and not standing.met:
            return standing
        shown = await asyncio.to_thread(self._trust.shown, standing)
        if is_unchanged(standing.before or {}, shown.items):
            return standing
        # The editor's user trusts the folder, so the question is only about its files.
        is_bare = self._trust.lets_edit(standing.folder)
        return msgspec.structs.replace(shown, state="open", is_bare=is_bare)

    async def _asked(self, standing: TrustStanding, timeout_s: float) -> TrustStanding:
        """Ask, and store the answer; if the user closes the question, the next process asks again.

        Returns:
            The trust in the folder after the answer.
        """
        standing = await asyncio.to_thread(self._trust.shown, standing)
        question = await asyncio.to_thread(lambda: standing.question)
        titles = standing.titles
        answer = await self._door.allow(question, titles, timeout_s)
        trusted = answer == titles[1]
        try:
            keep = answer in titles
            await asyncio.to_thread(
                lambda: self._trust.answer(standing, trusted=trusted, keep=keep)
            )
        except UserError as error:
            self._door.warn(f"{error}; your answer applies until this process ends")
        if trusted or standing.is_bare:
            return msgspec.structs.replace(standing, state="trusted")
        by = f"your answer of {edges.now():%Y-%m-%d}" if answer == STAY else "nobody answered"
        return msgspec.structs.replace(standing, by=by)

    async def _tell(self, standing: TrustStanding) -> None:
        """Inform the user once about the features that do not work in a folder, and why."""
        if standing.folder in self._told:
            return
        self._told.add(standing.folder)
        ignored = await asyncio.to_thread(instruction_files, Path(standing.folder))
        words = restricted_words(standing, len(ignored))
        here = f" {self._door.trust_hint}" if _can_be_trusted(standing) else ""
        self._door.warn(f"{words}{here}".rstrip())


def _can_be_trusted(standing: TrustStanding) -> bool:
    """Return whether the user's answer alone decides, not the editor's trust or a broken file."""
    return standing.state != "trusted" and standing.remedy == TrustStanding("", "open", "").remedy
