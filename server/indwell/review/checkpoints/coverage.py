"""Records changes by commands in the ledger, so that review and rewind cover them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TypeAlias

from indwell.files.watch.snapshot import Bodies
from indwell.review.checkpoints.folder_comparison import (
    CommandEffects,
    FolderLook,
    LedgerEntry,
    Lookout,
    entry_of,
)
from indwell.review.copies import Copies
from indwell.review.hunk import Actor
from indwell.review.ledger import WAITS, CommandHold, ReviewLedger
from indwell.review.record_builder import CommandChange
from indwell.workspace.base import Noted, Workspace
from indwell.workspace.paths import display

MOST_PENDING = 50  # If a command changed more files, the changes count as accepted.
NAMED = 3  # A notice names at most 3 files without recorded changes.

NOT_COVERED = (
    "a command changed {what}; no older text is kept ({why}), so review and rewind cannot "
    "restore it"
)
WHY = "a link, a file over 4 MB, or too many or too large ones at once"
UNSAVED = (
    "a command changed {what} on disk, and the editor has other, unsaved text of it: review and "
    "rewind cover that change only once the file is reloaded"
)
NOT_WHOLE = (
    "this folder holds more files than Indwell compares around a command (50,000), so review and "
    "rewind may miss what commands change in its deeper folders"
)
MANY = (
    "a command changed {n:,} files: they count as accepted, and are not listed for review; a "
    "rewind restores them"
)


class Coverage:
    """Examines the workspace before and after each command.

    Args:
        workspace: The user's files.
        ledger: Receives the changes.
        copies: Stores the bytes of files that text cannot restore.
        secret: Returns absolute paths whose bytes must not be stored; the call blocks.
        hide: Returns a text without its secrets; the same object if the text has no secrets.

    Attributes:
        beside: Records changes by background commands, which continue after their call has ended.
    """

    def __init__(
        self,
        workspace: Workspace,
        ledger: ReviewLedger,
        copies: Copies,
        *,
        secret: Callable[[], Collection[str]],
        hide: Callable[[str], str],
    ) -> None:
        self._workspace = workspace
        self._ledger = ledger
        self._copies = copies
        self._hide = hide
        self._bodies = {root: Bodies() for root in workspace.roots}
        self._lookouts = {root: Lookout(root, kept, secret) for root, kept in self._bodies.items()}
        self.beside = Beside()
        self._looking = asyncio.Lock()
        self._later: set[asyncio.Task[None]] = set()
        # The set has the holds of all commands that run, or whose changes are being recorded.
        self._holds: set[CommandHold] = set()
        self._hold_beside: CommandHold | None = None
        self._beginning = asyncio.Lock()
        self._told: set[str] = set()
        self._is_used = False
        self._ahead = threading.Event()

    async def look_ahead(self) -> None:
        """Scan and read the workspace early, so that the first command does not have to wait.

        The start of a command ends the scan, and so does ``end_ahead``.
        """
        async with self._looking:
            if self._is_used:
                return
            looks = [
                (one, await asyncio.to_thread(one.before, self._ahead))
                for one in self._lookouts.values()
            ]
        await asyncio.gather(*(asyncio.to_thread(one.read_on, look) for one, look in looks))

    def end_ahead(self) -> None:
        """End ``look_ahead`` soon; the scan of the workspace does not start again."""
        self._is_used = True
        self._ahead.set()

    @asynccontextmanager
    async def turn(self, session: str, tell: Callable[[str], None]) -> AsyncIterator[None]:
        """Hold the lock for running a command until the command's changes are in the ledger.

        Args:
        session: The id of the session that runs the command.

        tell: Called with the reason while the command waits.
        """
        hold = await self._acquire(session, lambda: tell(WAITS))
        try:
            yield
        finally:
            self._release(hold)

    @asynccontextmanager
    async def around(
        self,
        actor: Actor,
        tool_use_id: str,
        *,
        accepted: Callable[[], bool],
        tell: Callable[[str], None],
        hear: Callable[[Sequence[Path]], None] = lambda _paths: None,
    ) -> AsyncIterator[None]:
        """Record changes of files within the context as made by ``actor``, also after an error.

        Changes by a verdict of the user, or by an edit, are recorded separately. After a
        cancellation the recording continues in the background, because a cancel request is answered
        at once; see ``settled``. The caller is inside ``turn``, so no command of another session
        runs at the same time.

        Args:
            actor: The session and turn that run the command.
            tool_use_id: The id of the command's tool call.
            accepted: Whether changes count as accepted at once.
            tell: Called with notices about changes that cannot be recorded. Notices about lost old
                texts, or about a folder that is too large, come only once.
            hear: Called with the changed files, if any.
        """
        within = Beside()
        async with self.beside.aside():
            await within.begin(
                lambda: self._stretch(actor, tool_use_id, accepted=accepted, tell=tell, hear=hear)
            )
            self._ledger.beside.add(within.aside)
            try:
                yield
            finally:
                self._ledger.beside.discard(within.aside)
                await within.end()

    async def begin_beside(
        self,
        actor: Actor,
        tool_use_id: str,
        *,
        accepted: Callable[[], bool],
        tell: Callable[[str], None],
    ) -> None:
        """Record a background command's changes, as ``around`` does, until ``end_beside``."""
        async with self._beginning:
            if self._hold_beside is None:
                self._hold_beside = await self._acquire(
                    actor.session, lambda: tell(WAITS), lasts=True
                )
        await self.beside.begin(
            lambda: self._stretch(
                actor, tool_use_id, accepted=accepted, tell=tell, hear=lambda _paths: None
            )
        )

    async def end_beside(self, *, runs_on: bool) -> None:
        """Record the background commands' changes until now, and stop recording.

        Args:
            runs_on: Whether a background command still runs between two turns. Commands of other
                sessions then keep waiting, because the background command's changes would be
                credited to them.
        """
        hold = None
        # The hold is removed first, because a command that begins during the release gets a new
        # hold.
        if not runs_on:
            hold, self._hold_beside = self._hold_beside, None
        try:
            await self.beside.end()
        finally:
            if hold is not None:
                self._release(hold)

    async def _acquire(
        self, session: str, waits: Callable[[], None], *, lasts: bool = False
    ) -> CommandHold:
        hold = await self._ledger.command_order.acquire(session, waits, lasts=lasts)
        self._holds.add(hold)
        return hold

    def _release(self, hold: CommandHold) -> None:
        """Release a hold once all of its changes are in the ledger.

        Until all changes are in the ledger, Indwell compares the folder, and the comparison would
        include changes by another session's command.
        """
        recording = {one for one in self._later if not one.done()}

        def recorded(task: asyncio.Task[None]) -> None:
            recording.discard(task)
            if not recording:
                self._holds.discard(hold)
                hold.release()

        for one in tuple(recording):
            one.add_done_callback(recorded)
        if not recording:
            self._holds.discard(hold)
            hold.release()

    @asynccontextmanager
    async def _stretch(
        self,
        actor: Actor,
        tool_use_id: str,
        *,
        accepted: Callable[[], bool],
        tell: Callable[[str], None],
        hear: Callable[[Sequence[Path]], None],
    ) -> AsyncIterator[None]:
        self.end_ahead()
        await self.settled()
        looks = await self._looks()
        noted = self._workspace.noting()
        # Read the files that were not read before the start, because the command already runs.
        reading = [
            asyncio.create_task(asyncio.to_thread(self._lookouts[root].read_on, look))
            for root, look in looks.items()
            if look.waiting
        ]

        async def record() -> None:
            for look in looks.values():
                look.stopped.set()
            await asyncio.gather(*reading)
            made = await self._record(
                looks, noted, actor, tool_use_id, accepted=accepted, tell=tell
            )
            if made:
                hear(made)

        try:
            yield
        finally:
            task = asyncio.create_task(record())
            self._later.add(task)
            task.add_done_callback(self._later.discard)
            current = asyncio.current_task()
            if current is None or not current.cancelling():
                await asyncio.shield(task)

    async def settled(self) -> None:
        """Wait until all earlier changes are in the ledger."""
        if self._later:
            await asyncio.wait(set(self._later))

    async def close(self) -> None:
        """Wait until all changes are in the ledger, then stop; called when the session ends."""
        self.end_ahead()
        await self.settled()
        for hold in tuple(self._holds):
            hold.release()
        for one in self._bodies.values():
            await asyncio.to_thread(one.close)

    async def _looks(self) -> Mapping[Path, FolderLook]:
        async with self._looking:
            looks = {}
            for root, lookout in self._lookouts.items():
                looks[root] = await asyncio.to_thread(lookout.before)
            return looks

    async def _record(
        self,
        looks: Mapping[Path, FolderLook],
        noted: Callable[[], Noted],
        actor: Actor,
        tool_use_id: str,
        *,
        accepted: Callable[[], bool],
        tell: Callable[[str], None],
    ) -> list[Path]:
        made: list[Path] = []
        async with self._looking:
            for root, look in looks.items():
                seen = await asyncio.to_thread(self._lookouts[root].after, look)
                made += await self._enter(
                    root, seen, noted(), actor, tool_use_id, accepted=accepted(), tell=tell
                )
        return made

    async def _enter(
        self,
        root: Path,
        seen: CommandEffects,
        noted: Noted,
        actor: Actor,
        tool_use_id: str,
        *,
        accepted: bool,
        tell: Callable[[str], None],
    ) -> list[Path]:
        entries = await asyncio.to_thread(self._entries, root, seen)
        made = [one for one in entries if one.path not in noted.saved]
        lost = [*seen.lost, *(str(one.path) for one in made if one.is_lost)]
        made = [one for one in made if not one.is_lost]
        is_much = len(made) > MOST_PENDING
        now, later, unsaved = self._sorted(made, noted)
        if now:
            is_settled = accepted or is_much
            await self._ledger.made_all(actor, tool_use_id, now, accepted=is_settled)
        for change in later:
            await self._when_loaded(actor, tool_use_id, change)
            self._ledger.sync(change.path, noted.buffers.get(change.path, change.before))
        if unsaved:
            tell(UNSAVED.format(what=self._names(root, unsaved)))
        if lost:
            self._tell(tell, NOT_COVERED.format(what=self._names(root, lost), why=WHY), "lost")
        if not seen.is_whole:
            self._tell(tell, NOT_WHOLE, "whole")
        if is_much and not accepted:
            tell(MANY.format(n=len(made)))
        return [change.path for change in (*now, *later)]

    def _sorted(
        self, made: Sequence[LedgerEntry], noted: Noted
    ) -> tuple[list[CommandChange], list[CommandChange], list[str]]:
        """Divide changes into those to record now and those to record when a buffer is reloaded."""
        now: list[CommandChange] = []
        later: list[CommandChange] = []
        unsaved: list[str] = []
        for one in made:
            change = _as_shown(one, noted.buffers.get(one.path))
            shown = noted.buffers.get(one.path, change.after)
            if shown == change.after or change.opaque is not None:
                now.append(change)
            elif shown == change.before:  # The editor still shows the old text.
                (now if change.after is None else later).append(change)
            else:
                unsaved.append(str(one.path))
                if change.after is not None and not self._ledger.hunks(one.path):
                    later.append(change)
        return now, later, unsaved

    async def _when_loaded(self, actor: Actor, tool_use_id: str, change: CommandChange) -> None:
        """Credit a change to the agent as soon as the editor shows it."""
        assert change.after is not None
        pending = await self._ledger.begin(
            actor, tool_use_id, change.path, change.before, change.after
        )
        await self._ledger.withdraw(pending, may_come=True)

    def _entries(self, root: Path, seen: CommandEffects) -> list[LedgerEntry]:
        return [
            entry_of(root, one, self._workspace.roots, self._copies, self._hide)
            for one in seen.changes
        ]

    def _names(self, root: Path, paths: list[str]) -> str:
        names = [display(root / one, self._workspace.roots) for one in paths[:NAMED]]
        more = f" and {len(paths) - NAMED:,} more" if len(paths) > NAMED else ""
        return ", ".join(map(repr, names)) + more

    def _tell(self, tell: Callable[[str], None], words: str, kind: str) -> None:
        if kind not in self._told:
            self._told.add(kind)
            tell(words)


def _as_shown(entry: LedgerEntry, shown: str | None) -> CommandChange:
    """Return the change with the line endings that the editor shows."""
    before, after = entry.before, entry.after
    if shown is not None and "\r" not in shown:
        before, after = (one and one.replace("\r\n", "\n") for one in (before, after))
    return CommandChange(entry.path, before, after, entry.opaque)


Make: TypeAlias = Callable[[], AbstractAsyncContextManager[None]]
"""Returns the context of one recording period, or of one step."""


@asynccontextmanager
async def apart(steps: Iterable[Make]) -> AsyncIterator[None]:
    """Run a step outside all recording periods; ``steps`` are their ``aside`` methods."""
    async with AsyncExitStack() as stack:
        for step in tuple(steps):
            await stack.enter_async_context(step())
        yield


class Beside:
    """The recording periods of one command, or of all background commands; at most one is open.

    A recording period is the time between two scans; changes in that time are credited to the
    command.
    """

    def __init__(self) -> None:
        self._make: Make | None = None
        self._stretch: AbstractAsyncContextManager[None] | None = None
        self._steps = 0  # Steps of the agent and its sub-agents that are running.
        self._changing = asyncio.Lock()
        self._opening: set[asyncio.Task[None]] = set()

    async def begin(self, make: Make) -> None:
        """Open a recording period; an open period continues."""
        async with self._changing:
            self._make = self._make or make
            await self._open()

    async def end(self) -> None:
        """Close the recording period; the changes in it are recorded."""
        async with self._changing:
            self._make = None
            await self._close()

    @asynccontextmanager
    async def aside(self) -> AsyncIterator[None]:
        """Run a step whose changes are recorded separately."""
        self._steps += 1
        try:
            if self._make is not None:
                async with self._changing:
                    await self._close()
            yield
        finally:
            self._steps -= 1
            if self._make is not None:
                opening = asyncio.create_task(self._open_again())
                self._opening.add(opening)
                opening.add_done_callback(self._opening.discard)
                current = asyncio.current_task()
                # A cancelled step must end at once, without a new recording period.
                if not (current and current.cancelling()):
                    await asyncio.shield(opening)

    async def _open_again(self) -> None:
        async with self._changing:
            await self._open()

    async def _open(self) -> None:
        if self._make is not None and self._stretch is None and not self._steps:
            stretch = self._make()
            await stretch.__aenter__()
            self._stretch = stretch

    async def _close(self) -> None:
        stretch, self._stretch = self._stretch, None
        if stretch is not None:
            await stretch.__aexit__(None, None, None)
