"""The workspace that tools are given: what they change is in the review ledger before it is done.

Log first: the text before an edit and the proposed one are on disk when the edit goes out, so that
a kill at any moment leaves a change that can be told from the user's, and taken back.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from indwell.agent.core.session import Session
from indwell.agent.permission.permit import Permit
from indwell.errors import EditMayCome
from indwell.messages import ToolUse
from indwell.review.copies import Patches
from indwell.review.hunk import Actor, Opaque
from indwell.review.ledger import ReviewLedger
from indwell.review.looking import Pending
from indwell.review.verdicts import COPIES
from indwell.workspace.base import (
    AppliedChange,
    Noted,
    Settlement,
    Snapshot,
    TextStamp,
    Watch,
    Workspace,
)
from indwell.workspace.large import ByteSplice, Large

T = TypeVar("T")
R = TypeVar("R")

OF_BYTES = "bytes:"  # in front of the digest of a large file; see ``line_index``


def recorded(session: Session, use: ToolUse, permit: Permit) -> Workspace:
    """The session's workspace for one call; as it is where nothing is reviewed."""
    parts = session.parts
    if parts.review is None:
        return parts.workspace
    return RecordedWorkspace(
        parts.workspace,
        parts.review,
        Actor(session.id, use.meta.turn),
        use.id,
        lambda: is_accepted(session, permit),
        hide=parts.hide,
    )


def is_accepted(session: Session, permit: Permit) -> bool:
    """Does a change need no verdict: because of the mode of now, or because it was shown before?"""
    return permit.was_reviewed or session.parts.policy().mode == "auto"


class RecordedWorkspace:
    """Records what one call changes; everything else is the inner workspace's.

    Args:
        inner: The user's files.
        ledger: Of this workspace.
        actor: Whose changes they are.
        tool_use_id: Of the call.
        accepted: Need its changes no verdict? Asked before each.
        hide: A text without the secrets in it; what it changes is not kept.
    """

    def __init__(
        self,
        inner: Workspace,
        ledger: ReviewLedger,
        actor: Actor,
        tool_use_id: str,
        accepted: Callable[[], bool],
        *,
        hide: Callable[[str], str] = str,
    ) -> None:
        self._inner = inner
        self._ledger = ledger
        self._actor = actor
        self._id = tool_use_id
        self._accepted = accepted
        self._hide = hide

    @property
    def roots(self) -> tuple[Path, ...]:
        """See ``Workspace``."""
        return self._inner.roots

    @property
    def watch(self) -> Watch:
        """See ``Workspace``."""
        return self._inner.watch

    def resolve(self, path: str) -> Path:
        """See ``Workspace``."""
        return self._inner.resolve(path)

    async def read(self, path: Path) -> Snapshot:
        """See ``Workspace``."""
        return await self._inner.read(path)

    async def within(self, path: Path, look: Callable[[Large], T]) -> T:
        """See ``Workspace``."""
        return await self._inner.within(path, look)

    async def splice(
        self, path: Path, plan: Callable[[Large], tuple[Large, R]], *, label: str
    ) -> tuple[TextStamp, R]:
        """Change a large file; it has no hunks, and its way back is the places that changed."""
        before: list[tuple[Large, tuple[ByteSplice, ...]]] = []

        def noted(large: Large) -> tuple[Large, R]:
            made, result = plan(large)
            before.append((large, made.back()))
            return made, result

        stamp, result = await self._inner.splice(path, noted, label=self._labelled(label))
        was, back = before[-1]
        opaque = Opaque(
            note=f"text of {was.size_b:,} bytes",
            before=was.index.digest.removeprefix(OF_BYTES),
            after=stamp.digest.removeprefix(OF_BYTES),
        )
        await to_its_end(self._spliced(path, opaque, back))
        return stamp, result

    async def _spliced(self, path: Path, opaque: Opaque, back: Sequence[ByteSplice]) -> None:
        """Keep the way back, and write the change down."""
        assert opaque.before is not None
        assert opaque.after is not None
        patches = Patches(self._ledger.folder / COPIES)
        keeping = partial(patches.keep, opaque.before, opaque.after, back, self._hide)
        with contextlib.suppress(OSError):  # then there is none, which is said when it is wanted
            await asyncio.to_thread(keeping)
        await self._ledger.made(
            self._actor, self._id, path, None, None, accepted=self._accepted(), opaque=opaque
        )

    async def write(
        self, path: Path, base: Snapshot | None, text: str, *, label: str
    ) -> AppliedChange:
        """Write down what is about to be done, do it, and write down what came of it."""
        before = None if base is None else base.text
        ledger, accepted = self._ledger, self._accepted()
        pending = await self._begun(path, before, text)
        try:
            change = await self._inner.write(path, base, text, label=self._labelled(label))
        except BaseException as error:
            # Stopped before the answer: the editor may have it, and may not be able to let go.
            may_come = isinstance(error, EditMayCome | asyncio.CancelledError)
            await to_its_end(ledger.withdraw(pending, may_come=may_come))
            raise
        await to_its_end(ledger.finish(pending, change.after, accepted=accepted))
        return change

    async def keep(self, snapshot: Snapshot) -> Path | None:
        """See ``Workspace``."""
        return await self._inner.keep(snapshot)

    async def remove(self, path: Path, base: Snapshot, *, label: str) -> Path | None:
        """Delete a file, and write it down."""
        kept = await self._inner.remove(path, base, label=self._labelled(label))
        await to_its_end(
            self._ledger.made(
                self._actor, self._id, path, base.text, None, accepted=self._accepted()
            )
        )
        return kept

    def noting(self) -> Callable[[], Noted]:
        """See ``Workspace``."""
        return self._inner.noting()

    def unsaved(self) -> Mapping[Path, str]:
        """See ``Workspace``."""
        return self._inner.unsaved()

    async def settle(self) -> Settlement:
        """See ``Workspace``."""
        return await self._inner.settle()

    async def late_edits(self) -> tuple[Path, ...]:
        """See ``Workspace``."""
        return await self._inner.late_edits()

    async def changed_under_buffers(self) -> tuple[Path, ...]:
        """See ``Workspace``."""
        return await self._inner.changed_under_buffers()

    async def _begun(self, path: Path, before: str | None, text: str) -> Pending:
        """Durable when it returns; who is stopped meanwhile leaves nothing open."""
        ledger = self._ledger
        beginning = asyncio.ensure_future(ledger.begin(self._actor, self._id, path, before, text))
        try:
            return await asyncio.shield(beginning)
        except asyncio.CancelledError:
            await asyncio.wait({beginning})
            if beginning.exception() is None:
                await to_its_end(ledger.withdraw(beginning.result(), may_come=False))
            raise

    def _labelled(self, label: str) -> str:
        """With the turn: an editor that lists its edits says which one each was."""
        return f"{label} (turn {self._actor.turn})"


async def to_its_end(work: Coroutine[Any, Any, T]) -> T:
    """What ``work`` gives; it is never cut short, a cancellation travels on when it is over."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        raise
