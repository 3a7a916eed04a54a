"""Emits an event when the set of changes awaiting review changes."""

from __future__ import annotations

from indwell.agent.core.events import HunksChanged, Listener, Notice
from indwell.agent.core.session import Session
from indwell.workspace.paths import display


def pending_hunks(session: Session) -> tuple[tuple[str, int], ...]:
    """Files with changes that wait for a verdict, as they are shown, and how many in each."""
    review = session.parts.review
    if review is None:
        return ()
    roots = session.parts.workspace.roots
    return tuple((display(path, roots), len(review.hunks(path))) for path in review.paths())


def tell_hunks(session: Session, emit: Listener) -> None:
    """Say what waits, if that is news; of an edit that is underway, when it is over."""
    review = session.parts.review
    if review is None:
        return
    for words in review.take_notices():
        emit(Notice(session.turns, "warning", words))
    if session.is_editing or any(map(review.is_busy, review.known())):
        return
    roots = session.parts.workspace.roots
    state = review.n_pending, tuple(display(path, roots) for path in review.paths())
    if state != session.told_hunks:
        session.told_hunks = state
        emit(HunksChanged(session.turns, *state))
