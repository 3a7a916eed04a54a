"""Carries verdicts out: accepts, takes back and rewinds the agent's changes in files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import msgspec

from indwell.review.carrying import Carrying, OnFile
from indwell.review.checkpoints.beside import apart
from indwell.review.hunk import Actor, Hunk, Rejection
from indwell.review.ledger import ReviewLedger
from indwell.workspace.base import Workspace

NOT_LOADED = (
    "a command changed it on disk, and the editor does not show that; load the file anew and "
    "rewind once more"
)
MOVED = "it was changed while you were asked"


class Scope(msgspec.Struct, frozen=True):
    """Which pending changes are meant; all that is given must be so. Empty: all of them.

    Attributes:
        hunks: Their ids.
        path: The file.
        session: Whose.
        turn: Of which turn of it.
    """

    hunks: tuple[str, ...] = ()
    path: Path | None = None
    session: str | None = None
    turn: int | None = None


class Done(msgspec.Struct, frozen=True):
    """What became of a verdict.

    Attributes:
        hunks: Those that it was carried out for.
        kept: Those that it was not, and why, for people.
        failed: Files that could not be changed, and why, for people; their hunks stay pending.
        unknown: Ids that stand for no pending change any more.
        copies: Where the texts of before are kept, by file.
    """

    hunks: tuple[Hunk, ...] = ()
    kept: tuple[tuple[Hunk, str], ...] = ()
    failed: tuple[tuple[Path, str], ...] = ()
    unknown: tuple[str, ...] = ()
    copies: tuple[tuple[Path, Path], ...] = ()


async def accept(
    ledger: ReviewLedger, workspace: Workspace, scope: Scope, *, on_file: OnFile | None = None
) -> Done:
    """Let changes count as the user's own; the files stay as they are.

    Each file is looked at first, so what is accepted is what stands there: a hunk that was changed
    since it was shown has another id.
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
) -> Done:
    """Take changes back, each file by an inverse edit of the text that stands there now.

    Args:
        ledger: What is pending.
        workspace: The user's files.
        scope: What is meant.
        force: Also those that the user, or another turn, changed since.
        on_file: Hears of each file.
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
    """What ``reject`` would take back in one file; of shared hunks only their part.

    Looks at nothing: the ledger has to know what the file reads.
    """
    meant = _meant(ledger.hunks(path), scope)
    ids = [one.id for one in meant]
    return ledger.rejection(path, ids, force=force, only=_only(meant, scope))


async def rewind_files(
    ledger: ReviewLedger,
    workspace: Workspace,
    session: str,
    after_turn: int,
    *,
    force: bool = False,
    agreed: Mapping[Path, str | None] | None = None,
    on_file: OnFile | None = None,
) -> Done:
    """Take out all changes of a session's later turns, accepted or not, and keep copies.

    What the user changed since stays, and so do the changes of other sessions. A kill in the middle
    leaves some files done and the others as they were; doing it again does the rest.

    Args:
        ledger: Whose changes stand where.
        workspace: The user's files.
        session: Whose changes go.
        after_turn: Up to the end of this one they stay; 0 for none.
        force: Also where that takes lines along that the user has changed since.
        agreed: Only these files, and only as long as they read what they did when the user was
            asked; None: all of them.
        on_file: Hears of each file.
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
    """What is planned if the file still reads ``text``; else nothing of it."""
    made = plan()
    if made.before == text:
        return made
    kept = tuple((hunk, MOVED) for hunk in made.hunks)
    return msgspec.structs.replace(made, hunks=(), kept=(*kept, *made.kept))


async def planned_rewind(
    ledger: ReviewLedger, workspace: Workspace, session: str, after_turn: int
) -> tuple[Rejection, ...]:
    """What ``rewind_files`` would do: one for each file that has something to take out."""
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


def _done(made: Carrying, scope: Scope) -> Done:
    """What became of it."""
    seen = {one.id for one in made.hunks} | {one.id for one, _ in made.kept}
    failed = {path for path, _ in made.failed}
    unknown = tuple(
        one
        for one in scope.hunks
        if one not in seen and ((hunk := made.find(one)) is None or hunk.path not in failed)
    )
    return Done(made.hunks, tuple(made.kept), tuple(made.failed), unknown, tuple(made.copies))


def _paths(ledger: ReviewLedger, scope: Scope) -> Sequence[Path]:
    """The files that hold something of what is meant."""
    if scope.hunks:
        found = (ledger.find(one) for one in scope.hunks)
        paths = list(dict.fromkeys(one.path for one in found if one is not None))
    else:
        paths = list(ledger.paths())
    return [path for path in paths if scope.path in {None, path}]


def _meant(hunks: Sequence[Hunk], scope: Scope) -> list[Hunk]:
    """Those of a file's hunks that are meant."""
    return [
        one
        for one in hunks
        if (not scope.hunks or one.id in scope.hunks)
        and any(_is_of(actor, scope) for actor in one.actors)
    ]


def _is_of(actor: Actor, scope: Scope) -> bool:
    return scope.session in {None, actor.session} and scope.turn in {None, actor.turn}


def _only(hunks: Sequence[Hunk], scope: Scope) -> tuple[Actor, ...]:
    """Whose part of these hunks is meant; empty: all of them."""
    if scope.session is None and scope.turn is None:
        return ()
    actors = (actor for one in hunks for actor in one.actors)
    return tuple(dict.fromkeys(actor for actor in actors if _is_of(actor, scope)))
