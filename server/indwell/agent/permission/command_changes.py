"""Records changes by commands and checks in the review ledger, and tells what it cannot record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial
from pathlib import Path

from indwell.agent.core.events import Listener, Notice
from indwell.agent.core.session import Session
from indwell.agent.permission.call_facts import display
from indwell.agent.permission.decision import Permit
from indwell.agent.permission.recorded_workspace import is_accepted
from indwell.files.listing import file_mark
from indwell.messages import ToolUse
from indwell.review.checkpoints.coverage import apart as apart_from
from indwell.review.hunk import Actor
from indwell.tools.base import Call, Marks

NAMED = 3  # files changed by a check that a notice names


def covered(
    session: Session, use: ToolUse, permit: Permit, emit: Listener
) -> Callable[[], AbstractAsyncContextManager[None]]:
    """The context that records what a command of this call changes; empty without review."""
    coverage, turn = session.parts.changes.coverage, use.meta.turn
    if coverage is None or permit.surely_reads:
        return nullcontext

    def tell(words: str) -> None:
        emit(Notice(turn, "info", words))

    actor = Actor(session.id, turn)
    accepted = partial(is_accepted, session, was_reviewed=permit.was_reviewed)
    return lambda: coverage.around(actor, use.id, accepted=accepted, tell=tell)


def command_turn(
    session: Session, turn: int, permit: Permit, emit: Listener
) -> AbstractAsyncContextManager[None]:
    """The context of a command that may write: no command of another session runs meanwhile.

    A permit of before may not hold any more: ``still_allowed`` says so.

    Args:
        session: Whose command it is.
        turn: Of the session.
        permit: Of the command.
        emit: Hears that the command waits.
    """
    coverage = session.parts.changes.coverage
    if coverage is None or permit.requester.facts.effect != "run" or permit.surely_reads:
        return nullcontext()

    def tell(words: str) -> None:
        emit(Notice(turn, "info", words))

    return coverage.turn(session.id, tell)


def apart(session: Session, call: Call) -> AbstractAsyncContextManager[None]:
    """The context of an edit, which records its own changes, so that no command is credited."""
    coverage, review = session.parts.changes.coverage, session.parts.changes.ledger
    if coverage is None or review is None or call.effect != "edit":
        return nullcontext()
    return apart_from({coverage.beside.aside, *review.beside})


async def cover_beside(session: Session, turn: int, emit: Listener, tool_use_id: str) -> None:
    """Start to record what running background commands change, credited to this call."""
    coverage = session.parts.changes.coverage
    if coverage is None:
        return

    def tell(words: str) -> None:
        emit(Notice(turn, "info", words))

    if session.parts.changes.ledger is not None:
        session.parts.changes.ledger.beside.add(coverage.beside.aside)
    actor, accepted = Actor(session.id, turn), partial(is_accepted, session)
    await coverage.begin_beside(actor, tool_use_id, accepted=accepted, tell=tell)


async def uncover_beside(session: Session, *, runs_on: bool = False) -> None:
    """Record what background commands changed so far, and stop recording.

    Args:
        session: Whose commands they are.
        runs_on: One of them still runs; commands of other sessions go on waiting for it.
    """
    coverage, review = session.parts.changes.coverage, session.parts.changes.ledger
    if coverage is None:
        return
    if review is not None:
        review.beside.discard(coverage.beside.aside)
    await coverage.end_beside(runs_on=runs_on)


def covered_check(
    session: Session, turn: int, name: str, emit: Listener, tool_use_id: str
) -> AbstractAsyncContextManager[None]:
    """The context of a check; the user is told what it writes, because a check should not write."""
    coverage = session.parts.changes.coverage
    if coverage is None:
        return nullcontext()

    def tell(words: str) -> None:
        emit(Notice(turn, "info", words))

    def hear(paths: Sequence[Path]) -> None:
        named = ", ".join(repr(display(session, str(path))) for path in paths[:NAMED])
        more = f" and {len(paths) - NAMED:,} more" if len(paths) > NAMED else ""
        tell(f"the check {name} changed {named}{more}; rewind the turn to take that back")

    actor, accepted = Actor(session.id, turn), partial(is_accepted, session)
    return coverage.around(actor, tool_use_id, accepted=accepted, tell=tell, hear=hear)


def changed_marks(session: Session, turn: int) -> Marks:
    """Marks (size, time and the like) of the files that a turn has changed; blocks."""
    review = session.parts.changes.ledger
    known = () if review is None else review.known()
    paths = {*session.parts.features.changed(turn), *known}
    return {path: file_mark(path) for path in paths}
