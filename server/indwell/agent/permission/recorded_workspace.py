"""The workspace that tools use: it records each change in the review ledger before making it.

The texts before and after an edit are on disk before the edit is sent. So even after a kill at any
moment, the change can be told from the user's own and reverted.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from indwell.agent.core.session import Session
from indwell.agent.permission.decision import Permit
from indwell.errors import EditMayCome
from indwell.messages import ToolUse
from indwell.review.copies import Patches
from indwell.review.hunk import Actor, Opaque
from indwell.review.ledger import ReviewLedger
from indwell.review.ledger_queries import Pending
from indwell.review.verdicts import COPIES
from indwell.workspace.base import (
    AppliedChange,
    Snapshot,
    TextStamp,
    Workspace,
)
from indwell.workspace.large import ByteSplice, Large

T = TypeVar("T")
R = TypeVar("R")

OF_BYTES = "bytes:"  # prefix of the digest of a large file; see ``line_index``


def recorded(session: Session, use: ToolUse, permit: Permit) -> Workspace:
    """The session's workspace for one call; without a ledger, the workspace itself."""
    parts = session.parts
    if parts.changes.ledger is None:
        return parts.workspace
    return RecordedWorkspace(
        parts.workspace,
        parts.changes.ledger,
        Actor(session.id, use.meta.turn),
        use.id,
        lambda: is_accepted(session, was_reviewed=permit.was_reviewed),
        hide=parts.secrets.hide,
    )


def is_accepted(session: Session, *, was_reviewed: bool = False) -> bool:
    """Does a change need no verdict, because of the current mode or an earlier review?"""
    return was_reviewed or session.parts.rules().mode == "auto"


class RecordedWorkspace:
    """Records what one call changes, and passes everything on to the inner workspace.

    Args:
        inner: The user's files.
        ledger: The review ledger of this workspace.
        actor: The session and turn that make the changes.
        tool_use_id: The id of the call.
        accepted: Do its changes need no verdict? Asked before each change.
        hide: Removes secrets from a text; a text with secrets is not kept.
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
        self.roots, self.watch, self.resolve = inner.roots, inner.watch, inner.resolve
        self.read, self.within, self.keep = inner.read, inner.within, inner.keep
        self.noting, self.unsaved, self.settle = inner.noting, inner.unsaved, inner.settle
        self.late_edits = inner.late_edits
        self.changed_under_buffers = inner.changed_under_buffers
        self._ledger = ledger
        self._actor = actor
        self._id = tool_use_id
        self._accepted = accepted
        self._hide = hide

    async def splice(
        self, path: Path, plan: Callable[[Large], tuple[Large, R]], *, label: str
    ) -> tuple[TextStamp, R]:
        """Change a large file; the ledger keeps the replaced bytes instead of hunks."""
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
        """Keep the replaced bytes, and record the change."""
        assert opaque.before is not None
        assert opaque.after is not None
        patches = Patches(self._ledger.folder / COPIES)
        keeping = partial(patches.keep, opaque.before, opaque.after, back, self._hide)
        with contextlib.suppress(OSError):  # an undo then says that the bytes are missing
            await asyncio.to_thread(keeping)
        await self._ledger.made(
            self._actor, self._id, path, None, None, accepted=self._accepted(), opaque=opaque
        )

    async def write(
        self, path: Path, base: Snapshot | None, text: str, *, label: str
    ) -> AppliedChange:
        """Record the intended change, make it, and record the result."""
        before = None if base is None else base.text
        ledger, accepted = self._ledger, self._accepted()
        pending = await self._begun(path, before, text)
        try:
            change = await self._inner.write(path, base, text, label=self._labelled(label))
        except BaseException as error:
            # Stopped before the editor answered: it may still apply the edit.
            may_come = isinstance(error, EditMayCome | asyncio.CancelledError)
            await to_its_end(ledger.withdraw(pending, may_come=may_come))
            raise
        await to_its_end(ledger.finish(pending, change.after, accepted=accepted))
        return change

    async def remove(self, path: Path, base: Snapshot, *, label: str) -> Path | None:
        """Delete a file, and record it."""
        kept = await self._inner.remove(path, base, label=self._labelled(label))
        await to_its_end(
            self._ledger.made(
                self._actor, self._id, path, base.text, None, accepted=self._accepted()
            )
        )
        return kept

    async def _begun(self, path: Path, before: str | None, text: str) -> Pending:
        """Record the intended change on disk; a cancelled caller leaves no open record."""
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
        """The label with the turn's number, for editors that list edits."""
        return f"{label} (turn {self._actor.turn})"


async def to_its_end(work: Coroutine[Any, Any, T]) -> T:
    """Run ``work`` to its end even if the caller is cancelled; then raise the cancellation."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        raise
