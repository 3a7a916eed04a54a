"""Brings what commands change into the ledger, so that review and rewind cover it."""

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
from indwell.review.command_order import WAITS, CommandHold
from indwell.review.copies import Copies
from indwell.review.hunk import Actor
from indwell.review.ledger import ReviewLedger
from indwell.review.record_builder import CommandChange
from indwell.workspace.base import Noted, Workspace
from indwell.workspace.paths import display

MOST_PENDING = 50  # files of one command that somebody still reviews one by one
NAMED = 3  # of the files that are not covered

NOT_COVERED = (
    "a command changed {what}, of which no older text is kept ({why}); review and rewind cannot "
    "bring that back"
)
WHY = "a link, a file over 4 MB, or too many or too large ones at once"
UNSAVED = (
    "a command changed {what} on disk, and the editor holds other text of it that is not saved: "
    "review and rewind cover that change only once the file is loaded anew"
)
NOT_WHOLE = (
    "this folder holds more files than are looked at around a command (50,000), so review and "
    "rewind may miss what commands change in its deeper folders"
)
MANY = (
    "a command changed {n:,} files: they count as accepted, and are not listed for review; a "
    "rewind takes them back"
)


class Coverage:
    """Looks at the workspace around each command.

    Args:
        workspace: The user's files.
        ledger: Where the changes go.
        copies: Keeps bytes that no text can bring back.
        secret: Absolute paths whose bytes are not to be kept; blocks.
        hide: A text without the secrets in it; the same object if there are none.

    Attributes:
        beside: Covers what runs on when its call has ended.
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
        self._holds: set[CommandHold] = set()  # of all commands that run, or are being recorded
        self._hold_beside: CommandHold | None = None
        self._beginning = asyncio.Lock()
        self._told: set[str] = set()
        self._is_used = False
        self._ahead = threading.Event()

    async def look_ahead(self) -> None:
        """Look, and read what is there, before the first command: it need not wait for that then.

        When one begins, this ends. So it does with ``end_ahead``.
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
        """End ``look_ahead`` soon, and for good."""
        self._is_used = True
        self._ahead.set()

    @asynccontextmanager
    async def turn(self, session: str, tell: Callable[[str], None]) -> AsyncIterator[None]:
        """Hold the right to run a command, until what the command changed is in the ledger.

        Args:
            session: The id of the session whose command it is.
            tell: Hears why nothing happens for now.
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
        """Note what happens to files within the block, whatever its end, as done by ``actor``.

        What a verdict of the user changes meanwhile, or an edit, stands apart. After a
        cancellation that goes on by itself, for a stop answers at once; see ``settled``.
        The caller holds ``turn``, so no command of another session runs meanwhile.

        Args:
            actor: Whose command it is.
            tool_use_id: Of its call.
            accepted: Do changes count as accepted at once?
            tell: Hears what the user should know of what is not covered, once each.
            hear: Hears which files were changed, if any were.
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
        """The same from now on, for what runs on, until ``end_beside``."""
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
        """Note what was changed until now, and nothing from now on.

        Args:
            runs_on: A background command still runs, between two turns. Commands of other sessions
                go on waiting: what it changes would be credited to them.
        """
        hold = None
        if not runs_on:  # taken first: what begins meanwhile gets a hold of its own
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
        """Release it once all that was begun is in the ledger.

        Until then the folder is being compared, and a command of another session would be seen.
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
        # Files that no time was left to read, while the command runs already.
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
        """Wait until what was begun before is in the ledger."""
        if self._later:
            await asyncio.wait(set(self._later))

    async def close(self) -> None:
        """The session has ended: wait until all is in the ledger, then keep no bytes any more."""
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
        stands, may_come, unsaved = self._sorted(made, noted)
        if stands:
            is_settled = accepted or is_much
            await self._ledger.made_all(actor, tool_use_id, stands, accepted=is_settled)
        for change in may_come:
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
        return [change.path for change in (*stands, *may_come)]

    def _sorted(
        self, made: Sequence[LedgerEntry], noted: Noted
    ) -> tuple[list[CommandChange], list[CommandChange], list[str]]:
        """What stands there, what comes when a buffer is loaded anew, and files typed in."""
        stands: list[CommandChange] = []
        may_come: list[CommandChange] = []
        unsaved: list[str] = []
        for one in made:
            change = _as_shown(one, noted.buffers.get(one.path))
            shown = noted.buffers.get(one.path, change.after)
            if shown == change.after or change.opaque is not None:
                stands.append(change)
            elif shown == change.before:  # the editor shows the old text still
                (stands if change.after is None else may_come).append(change)
            else:
                unsaved.append(str(one.path))
                if change.after is not None and not self._ledger.hunks(one.path):
                    may_come.append(change)
        return stands, may_come, unsaved

    async def _when_loaded(self, actor: Actor, tool_use_id: str, change: CommandChange) -> None:
        """Let it count as the agent's when the editor shows it."""
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
    """The change in the form that the editor shows: some know one kind of line end only."""
    before, after = entry.before, entry.after
    if shown is not None and "\r" not in shown:
        before, after = (one and one.replace("\r\n", "\n") for one in (before, after))
    return CommandChange(entry.path, before, after, entry.opaque)


Make: TypeAlias = Callable[[], AbstractAsyncContextManager[None]]
"""Makes one stretch, or one step."""


@asynccontextmanager
async def apart(steps: Iterable[Make]) -> AsyncIterator[None]:
    """A step that stands in the stretch of no command: each of ``steps`` is begun, as ``aside``."""
    async with AsyncExitStack() as stack:
        for step in tuple(steps):
            await stack.enter_async_context(step())
        yield


class Beside:
    """The stretches of one command, or of all that run in the background: at most one is open."""

    def __init__(self) -> None:
        self._make: Make | None = None
        self._stretch: AbstractAsyncContextManager[None] | None = None
        self._steps = 0  # that are under way, of the agent and its helpers
        self._changing = asyncio.Lock()
        self._opening: set[asyncio.Task[None]] = set()

    async def begin(self, make: Make) -> None:
        """Cover from now on; what is covered already goes on as it is."""
        async with self._changing:
            self._make = self._make or make
            await self._open()

    async def end(self) -> None:
        """Cover no more: what happened until now is taken down."""
        async with self._changing:
            self._make = None
            await self._close()

    @asynccontextmanager
    async def aside(self) -> AsyncIterator[None]:
        """A step that is covered by itself, or takes down itself what it changes."""
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
                if not (current and current.cancelling()):  # who stops the step is not to wait
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
