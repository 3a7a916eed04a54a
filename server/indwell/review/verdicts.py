"""Carries out verdicts: accepts, rejects and rewinds the agent's changes in files."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypeAlias

import msgspec

from indwell.errors import EditRefused, NotText, TextMoved, TooLarge, ToolError
from indwell.files.listing import exists
from indwell.files.user_files import put_back
from indwell.review.checkpoints.coverage import apart
from indwell.review.copies import Copies, restore
from indwell.review.hunk import Actor, Hunk, Opaque, Rejection
from indwell.review.ledger import ReviewLedger
from indwell.workspace.base import PathLocks, Snapshot, Workspace

NOT_LOADED = (
    "a command changed it on disk, and the editor does not show that; reload the file and "
    "rewind again"
)
MOVED = "it was changed while you were asked"


class Scope(msgspec.Struct, frozen=True):
    """A filter for pending changes. All given fields must match; an empty filter matches all."""

    hunks: tuple[str, ...] = ()
    path: Path | None = None
    session: str | None = None
    turn: int | None = None


class VerdictOutcome(msgspec.Struct, frozen=True):
    """The outcome of a verdict. All reasons are texts for the user.

    Attributes:
        hunks: The hunks for which the verdict was carried out.
        kept: The hunks that stay as they are, each with the reason.
        failed: Files that could not be changed, each with the reason; their hunks stay pending.
        unknown: Given ids that match no pending hunk.
        copies: Each changed file with the backup copy of its earlier text.
    """

    hunks: tuple[Hunk, ...] = ()
    kept: tuple[tuple[Hunk, str], ...] = ()
    failed: tuple[tuple[Path, str], ...] = ()
    unknown: tuple[str, ...] = ()
    copies: tuple[tuple[Path, Path], ...] = ()


async def accept(
    ledger: ReviewLedger, workspace: Workspace, scope: Scope, *, on_file: OnFile | None = None
) -> VerdictOutcome:
    """Accept changes; the files stay as they are.

    Each file is read first, so that only current text is accepted. A hunk that has changed since
    the user saw it has a different id.
    """
    done = Carrying(ledger, workspace, on_file)
    await ledger.refresh()
    paths = _paths(ledger, scope)
    for number, path in enumerate(paths, 1):
        done.begin(path, number, len(paths))
        await done.look(path)
        meant = _meant(ledger.hunks(path), scope)
        if path in done.unread and any(one.kind != "opaque" for one in meant):
            done.failed.append((path, done.unread[path]))
        elif meant:
            ids = [one.id for one in meant]
            done.hunks += await ledger.accept(ids, only=_only(meant, scope))
    return _done(done, scope)


async def reject(
    ledger: ReviewLedger,
    workspace: Workspace,
    scope: Scope,
    *,
    force: bool = False,
    on_file: OnFile | None = None,
) -> VerdictOutcome:
    """Reject changes, by editing each file's current text back.

    Args:
        ledger: The review ledger.
        workspace: The user's files.
        scope: The changes to reject.
        force: Include changes that the user or another turn has edited since.
        on_file: Called before each file.
    """
    done = Carrying(ledger, workspace, on_file)
    await ledger.refresh()
    paths = _paths(ledger, scope)
    async with apart(ledger.beside):
        for number, path in enumerate(paths, 1):
            done.begin(path, number, len(paths))
            await done.take_back(path, partial(planned, ledger, path, scope, force=force))
    return _done(done, scope)


def planned(ledger: ReviewLedger, path: Path, scope: Scope, *, force: bool) -> Rejection:
    """Plan the effect of ``reject`` in one file; shared hunks lose only the part in scope.

    The file is not read, so the ledger must be in sync with the file.
    """
    meant = _meant(ledger.hunks(path), scope)
    ids = [one.id for one in meant]
    return ledger.rejection(path, ids, force=force, only=_only(meant, scope))


async def take_back_verdict(
    ledger: ReviewLedger, workspace: Workspace, path: Path, verdict: str
) -> VerdictOutcome:
    """Undo a verdict on a file, so that changes await a verdict again; the user's edits stay.

    Args:
        ledger: The review ledger.
        workspace: The user's files.
        path: The file.
        verdict: The id from ``ReviewLedger.last_verdict``.
    """
    done = Carrying(ledger, workspace, None)
    await ledger.refresh()
    async with apart(ledger.beside):
        await done.undo(path, verdict)
    return _done(done, Scope())


async def rewind_files(
    ledger: ReviewLedger,
    workspace: Workspace,
    session: str,
    after_turn: int,
    *,
    force: bool = False,
    agreed: Mapping[Path, str | None] | None = None,
    on_file: OnFile | None = None,
) -> VerdictOutcome:
    """Undo all changes of a session's later turns, accepted or not, and keep backup copies.

    Later edits by the user, and changes of other sessions, stay. If the process is killed halfway,
    only some files are restored; another run restores the others.

    Args:
        ledger: The review ledger.
        workspace: The user's files.
        session: The session to rewind.
        after_turn: The last turn to keep; 0 undoes all turns.
        force: Whether to undo changes even if lines that the user has edited are lost.
        agreed: Limits the rewind to these files, each only if it still has the text for which the
            user agreed; None means all files.
        on_file: Called before each file.
    """
    done = Carrying(ledger, workspace, on_file, keeps=True)
    paths = [one.path for one in await planned_rewind(ledger, workspace, session, after_turn)]
    if agreed is not None:
        paths = [path for path in paths if path in agreed]
    async with apart(ledger.beside):
        for number, path in enumerate(paths, 1):
            done.begin(path, number, len(paths))
            plan = partial(ledger.rewinding, path, session, after_turn, force=force)
            if agreed is not None:
                plan = partial(_as_agreed, plan, agreed[path])
            await done.take_back(path, plan)
    for path in ledger.late(session, after_turn):
        snapshot = None if path in paths else await done.look(path)
        if snapshot is not None and snapshot.origin == "buffer" and snapshot.notes:
            done.failed.append((path, NOT_LOADED))
    return _done(done, Scope())


def _as_agreed(plan: Callable[[], Rejection], text: str | None) -> Rejection:
    """Return the plan if the file's text is still ``text``, or else a plan that keeps all hunks."""
    made = plan()
    if made.before == text:
        return made
    kept = tuple((hunk, MOVED) for hunk in made.hunks)
    return msgspec.structs.replace(made, hunks=(), kept=(*kept, *made.kept))


async def planned_rewind(
    ledger: ReviewLedger, workspace: Workspace, session: str, after_turn: int
) -> tuple[Rejection, ...]:
    """Plan the effect of ``rewind_files``: one plan for each file with changes to undo."""
    done = Carrying(ledger, workspace, None)
    await ledger.refresh()
    found = []
    for path in ledger.known():
        plan = ledger.rewinding(path, session, after_turn)
        if not plan.hunks and not plan.kept:
            continue
        await done.look(path)
        plan = ledger.rewinding(path, session, after_turn)
        if plan.hunks or plan.kept:
            found.append(plan)
    return tuple(found)


def _done(made: Carrying, scope: Scope) -> VerdictOutcome:
    """Return the outcome of a verdict."""
    seen = {one.id for one in made.hunks} | {one.id for one, _ in made.kept}
    failed = {path for path, _ in made.failed}
    unknown = tuple(
        one
        for one in scope.hunks
        if one not in seen and ((hunk := made.find(one)) is None or hunk.path not in failed)
    )
    return VerdictOutcome(
        made.hunks, tuple(made.kept), tuple(made.failed), unknown, tuple(made.copies)
    )


def _paths(ledger: ReviewLedger, scope: Scope) -> Sequence[Path]:
    """Return the files with hunks in scope."""
    if scope.hunks:
        found = (ledger.find(one) for one in scope.hunks)
        paths = list(dict.fromkeys(one.path for one in found if one is not None))
    else:
        paths = list(ledger.paths())
    return [path for path in paths if scope.path in {None, path}]


def _meant(hunks: Sequence[Hunk], scope: Scope) -> list[Hunk]:
    """Return the hunks of a file that are in scope."""
    return [
        one
        for one in hunks
        if (not scope.hunks or one.id in scope.hunks)
        and any(_is_of(actor, scope) for actor in one.actors)
    ]


def _is_of(actor: Actor, scope: Scope) -> bool:
    return scope.session in {None, actor.session} and scope.turn in {None, actor.turn}


def _only(hunks: Sequence[Hunk], scope: Scope) -> tuple[Actor, ...]:
    """Return the actors in scope among these hunks' actors, or an empty tuple for all actors."""
    if scope.session is None and scope.turn is None:
        return ()
    actors = (actor for one in hunks for actor in one.actors)
    return tuple(dict.fromkeys(actor for actor in actors if _is_of(actor, scope)))


TRIES = 3
COPIES = "copies"  # The folder is beside the ledger's log.
BUSY_S = 10.0  # A verdict waits 10 s for an agent's edit of the same file.

OnFile: TypeAlias = Callable[[Path, int, int], None]
"""Called before each file with its path, its number (from 1) and the number of files."""

Plan: TypeAlias = Callable[[], Rejection]

_locks = PathLocks()  # The locks serialise verdicts on the same file within this process.


class Carrying:
    """Carries out one verdict, file by file.

    Args:
        ledger: The review ledger.
        workspace: The user's files.
        on_file: Called before each file.
        keeps: Whether to copy each text before the text is changed.

    Attributes:
        hunks: The hunks for which the verdict was carried out.
        kept: The hunks that stay as they are, each with the reason.
        failed: Files that could not be changed, each with the reason.
        copies: Each changed file with the backup copy of its earlier text.
        unread: Existing files that could not be read, each with the reason.
    """

    def __init__(
        self,
        ledger: ReviewLedger,
        workspace: Workspace,
        on_file: OnFile | None,
        *,
        keeps: bool = False,
    ) -> None:
        self._ledger = ledger
        self._workspace = workspace
        self._on_file = on_file
        self._keeps = keeps
        self._bytes = Copies(ledger.folder / COPIES)
        self.hunks: tuple[Hunk, ...] = ()
        self.kept: list[tuple[Hunk, str]] = []
        self.failed: list[tuple[Path, str]] = []
        self.copies: list[tuple[Path, Path]] = []
        self.unread: dict[Path, str] = {}

    def begin(self, path: Path, number: int, total: int) -> None:
        """Report which file comes next."""
        if self._on_file is not None:
            self._on_file(path, number, total)

    def find(self, hunk_id: str) -> Hunk | None:
        """Return the pending hunk with this id, if there is one."""
        return self._ledger.find(hunk_id)

    async def look(self, path: Path) -> Snapshot | None:
        """Read a file and sync the ledger; return None if no text exists.

        A file that cannot be read goes into ``unread``, and its ledger state is kept.
        """
        self.unread.pop(path, None)
        try:
            snapshot = await self._workspace.read(path)
        except ToolError as error:
            if isinstance(error, NotText | TooLarge) or await asyncio.to_thread(exists, path):
                self.unread[path] = _unreadable(error)
            else:
                self._ledger.sync(path, None)
            return None
        self._ledger.sync(path, snapshot.text)
        return snapshot

    async def take_back(self, path: Path, plan: Plan) -> None:
        """Carry out the plan for one file; a failure goes into ``failed``.

        Args:
            path: The file.
            plan: Returns the plan for the file's current text.
        """
        try:
            await self._free(path)
            async with _locks.hold(path):
                await self._tried(path, plan)
        except ToolError as error:
            self.failed.append((path, _plainly(error)))

    async def undo(self, path: Path, verdict: str) -> None:
        """Undo a verdict on a file; a failure goes into ``failed``."""
        try:
            await self._free(path)
            async with _locks.hold(path):
                await self._undone(path, verdict)
        except ToolError as error:
            self.failed.append((path, _plainly(error)))

    async def _undone(self, path: Path, verdict: str) -> None:
        await asyncio.to_thread(self._refuse_odd, path)
        for _ in range(TRIES):
            snapshot = await self.look(path)
            before = {one.id for one in self._ledger.hunks(path)}
            now, text = self._ledger.unjudging(path, verdict)
            try:
                if now != text:
                    label = f"Indwell: undo a verdict in {path.name}"
                    text = await self._written(path, snapshot, text, label)
            except TextMoved:
                continue  # The user typed meanwhile, so read the file again.
            await self._ledger.unjudged(path, verdict, text)
            self.hunks += tuple(one for one in self._ledger.hunks(path) if one.id not in before)
            return
        raise EditRefused(f"{path.name!r} keeps changing; try again")

    async def _free(self, path: Path) -> None:
        """Wait until an agent's edit of a file has ended.

        Raises:
            EditRefused: The edit took longer than ``BUSY_S``.
        """
        if not self._ledger.is_busy(path):
            return
        ended = asyncio.Event()
        forget = self._ledger.on_change(ended.set)
        try:
            async with asyncio.timeout(BUSY_S):
                while self._ledger.is_busy(path):
                    await ended.wait()
                    ended.clear()
        except TimeoutError as error:
            words = f"the agent is changing {path.name!r} just now; try again"
            raise EditRefused(words) from error
        finally:
            forget()

    async def _tried(self, path: Path, plan: Plan) -> None:
        await asyncio.to_thread(self._refuse_odd, path)
        seen, why = set(), ""
        for _ in range(TRIES):
            snapshot = await self.look(path)
            seen.add(snapshot and snapshot.stamp)
            made = plan()
            if not made.hunks:
                self.kept += made.kept
                return
            if made.opaque is not None:
                await self._bytes_back(made, made.opaque)
                return
            if path in self.unread:
                raise EditRefused(self.unread[path])
            try:
                text = await self._applied(snapshot, made)
            except TextMoved as error:
                why = _plainly(error)
                continue  # The user typed meanwhile, so read the file again.
            await self._ledger.rejected(made, text)
            self.hunks += made.hunks
            self.kept += made.kept
            return
        if len(seen) == 1:  # The file did not change.
            raise EditRefused(why)
        raise EditRefused(f"{path.name!r} keeps changing; try again")

    def _refuse_odd(self, path: Path) -> None:
        """Refuse a path that leads through a link, even a path from the log. Blocks.

        Raises:
            EditRefused: The path leads to another file.
        """
        try:
            is_so = not self._workspace.roots or self._workspace.resolve(str(path)) == path
        except ToolError as error:
            raise EditRefused(f"{path.name!r} leads out of the workspace now") from error
        if not is_so:
            raise EditRefused(f"{path.name!r} leads through a link to another file now")

    async def _applied(self, snapshot: Snapshot | None, made: Rejection) -> str | None:
        """Write the planned text; return the file's text afterwards."""
        path, label = made.path, f"Indwell: reject in {made.path.name}"
        if snapshot is None and made.text is not None:
            return await self._made_again(path, made.text, label)
        if snapshot is not None and self._keeps and made.text not in {None, snapshot.text}:
            self._note_copy(path, await self._workspace.keep(snapshot))
        return await self._written(path, snapshot, made.text, label)

    async def _written(
        self, path: Path, snapshot: Snapshot | None, text: str | None, label: str
    ) -> str | None:
        """Write a text, or remove the file; return the file's text afterwards."""
        if text is not None:
            return (await self._workspace.write(path, snapshot, text, label=label)).after
        if snapshot is not None:
            kept = await self._workspace.remove(path, snapshot, label=label)
            self._note_copy(path, kept)
        return None

    async def _made_again(self, path: Path, text: str, label: str) -> str:
        """Restore a file that a command removed, with its bytes and mode if both are recorded."""
        removed = await asyncio.to_thread(self._bytes.removed, path)
        if removed is None:
            return (await self._workspace.write(path, None, text, label=label)).after
        data = await asyncio.to_thread(self._bytes.get, removed.digest)
        roots = self._workspace.roots
        await asyncio.to_thread(lambda: put_back(path, data, roots, mode=removed.mode))
        snapshot = await self._workspace.read(path)
        if snapshot.text == text:
            return text
        return (await self._workspace.write(path, snapshot, text, label=label)).after

    async def _bytes_back(self, made: Rejection, change: Opaque) -> None:
        """Restore all bytes of a file, or none."""
        problem, roots = "", self._workspace.roots
        if made.path in self._workspace.unsaved():
            problem = "it is open in the editor, and not saved"
        else:
            try:
                await asyncio.to_thread(restore, made.path, roots, self._bytes, change)
            except TextMoved as error:
                problem = str(error)
        self.kept += made.kept
        if problem:
            self.kept += [(one, problem) for one in made.hunks]
            return
        await self._ledger.rejected(made, None)
        self.hunks += made.hunks

    def _note_copy(self, path: Path, kept: Path | None) -> None:
        if kept is not None:
            self.copies.append((path, kept))


def _unreadable(error: ToolError) -> str:
    """Return why an existing file cannot be read as text."""
    if isinstance(error, NotText):
        return "it is no longer text"
    if isinstance(error, TooLarge):
        return "it has become too large"
    return _plainly(error)


def _plainly(error: ToolError) -> str:
    """Phrase an error for the user, without the instruction to the model."""
    return str(error).partition("; read_file")[0]
