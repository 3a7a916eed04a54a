"""Records each change by a tool before making it, and names the kinds of the change.

The texts before and after an edit are on disk before the edit is sent. Even after a crash, the
change can therefore be distinguished from the user's changes, and reverted.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from indwell.agent.core.prompt import names_other_files
from indwell.agent.core.session import Session
from indwell.agent.permission.decision import Permit
from indwell.errors import EditMayCome
from indwell.messages import ToolUse
from indwell.review.copies import Patches
from indwell.review.hunk import Actor, Opaque
from indwell.review.ledger import ReviewLedger
from indwell.review.ledger_queries import Pending
from indwell.review.verdicts import COPIES
from indwell.settings.model import ChangeKind
from indwell.workspace.base import (
    UNMARKED,
    AppliedChange,
    ChangeMarks,
    Snapshot,
    TextStamp,
    Workspace,
)
from indwell.workspace.large import ByteSplice, Large
from indwell.workspace.paths import display

T = TypeVar("T")
R = TypeVar("R")
OF_BYTES = "bytes:"  # the prefix of the digest of a large file; see ``line_index``


def recorded(session: Session, use: ToolUse, permit: Permit) -> Workspace:
    """Return the workspace for one call, which records changes if there is a ledger."""
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
        marks=partial(_marks, session, permit),
    )


def _marks(session: Session, permit: Permit, path: Path) -> ChangeMarks:
    """Return the kinds of a change; the editor asks only if the user sees the change nowhere else.

    In the mode ``ask`` a question has shown the change, and in ``review`` the change waits for the
    user's verdict.
    """
    rules, kinds = session.parts.rules(), set[ChangeKind]()
    is_covered = permit.was_reviewed or session.parts.changes.is_apart or rules.mode != "auto"
    asks = () if is_covered else rules.confirm
    if permit.requester.facts.renames:
        kinds.add("rename")
    turn = session.helping.turn if session.helping is not None else session.under_way
    if turn is not None and turn.prompt is not None:
        name = display(path, session.parts.workspace.roots)
        is_said = any(path.name in words for words in turn.said)
        if not is_said and names_other_files(turn.prompt, name):
            kinds.add("unnamed")
    return ChangeMarks(frozenset(kinds), frozenset(asks))


def is_accepted(session: Session, *, was_reviewed: bool = False) -> bool:
    """Return whether a change needs no review, because of the mode, or because the user saw it.

    The changes in a worktree await review later, in the user's folder.
    """
    is_apart = session.parts.changes.is_apart
    return was_reviewed or is_apart or session.parts.rules().mode == "auto"


class RecordedWorkspace:
    """A workspace that records the changes of one call and forwards to ``inner``.

    Args:
        inner: The user's files.
        ledger: The review ledger of this workspace.
        actor: The session and the turn that make the changes.
        tool_use_id: The id of the call.
        accepted: Returns whether a change is accepted without review; called before each change.
        hide: Removes secrets from a text; a text with secrets is not kept.
        marks: Returns the kinds of a change of a file, and the kinds that the editor asks about.
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
        marks: Callable[[Path], ChangeMarks] = lambda _path: UNMARKED,
    ) -> None:
        self._inner = inner
        self.roots, self.watch, self.resolve = inner.roots, inner.watch, inner.resolve
        self.read, self.within, self.keep = inner.read, inner.within, inner.keep
        self.noting, self.unsaved, self.settle = inner.noting, inner.unsaved, inner.settle
        self.line_end, self.late_edits = inner.line_end, inner.late_edits
        self.changed_under_buffers = inner.changed_under_buffers
        self._ledger = ledger
        self._actor = actor
        self._id = tool_use_id
        self._accepted = accepted
        self._hide = hide
        self._marks = marks
        self._before: dict[Path, str | None] = {}  # the files' texts before this call

    async def splice(
        self, path: Path, change: Callable[[Large], tuple[Large, R]], *, label: str
    ) -> tuple[TextStamp, R]:
        """Change a large file; the ledger keeps the replaced bytes instead of hunks."""
        before: list[tuple[Large, tuple[ByteSplice, ...]]] = []

        def noted(large: Large) -> tuple[Large, R]:
            made, result = change(large)
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
        with contextlib.suppress(OSError):  # without the bytes, a later undo fails with a message
            await asyncio.to_thread(keeping)
        await self._ledger.made(
            self._actor, self._id, path, None, None, accepted=self._accepted(), opaque=opaque
        )

    async def write(
        self,
        path: Path,
        base: Snapshot | None,
        text: str,
        *,
        label: str,
        marks: ChangeMarks = UNMARKED,
    ) -> AppliedChange:
        """Record the intended change, make the change, and record the result."""
        before = None if base is None else base.text
        del marks
        ledger, accepted = self._ledger, self._accepted()
        # The editor does not ask about a revert, because half of a change would stay.
        is_revert = path in self._before and self._before[path] == text
        own = UNMARKED if is_revert else self._marks(path)
        self._before.setdefault(path, before)
        pending = await self._begun(path, before, text)
        try:
            change = await self._inner.write(
                path, base, text, label=self._labelled(label), marks=own
            )
        except BaseException as error:
            # The call stopped before the editor answered, so the editor may still apply the edit.
            may_come = isinstance(error, EditMayCome | asyncio.CancelledError)
            await to_its_end(ledger.withdraw(pending, may_come=may_come))
            raise
        await to_its_end(ledger.finish(pending, change.after, accepted=accepted))
        return change

    async def remove(
        self, path: Path, base: Snapshot, *, label: str, marks: ChangeMarks = UNMARKED
    ) -> Path | None:
        """Delete a file, and record the deletion."""
        del marks
        kept = await self._inner.remove(
            path, base, label=self._labelled(label), marks=self._marks(path)
        )
        await to_its_end(
            self._ledger.made(
                self._actor, self._id, path, base.text, None, accepted=self._accepted()
            )
        )
        return kept

    async def _begun(self, path: Path, before: str | None, text: str) -> Pending:
        """Record the intended change on disk; if the caller is cancelled, close the record."""
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
        """Return the label with the turn's number, for editors that list edits."""
        return f"{label} (turn {self._actor.turn})"


async def to_its_end(work: Coroutine[Any, Any, T]) -> T:
    """Finish ``work`` even if the caller is cancelled; then raise the cancellation."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        raise
