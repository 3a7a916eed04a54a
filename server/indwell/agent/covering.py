"""What a command changes goes into the review ledger; of what cannot, the user hears."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial

from indwell.agent.events import Listener, Notice
from indwell.agent.permit import Permit
from indwell.agent.recorded_workspace import is_accepted
from indwell.agent.session import Session
from indwell.messages import ToolUse
from indwell.review.hunk import Actor


def covered(
    session: Session, use: ToolUse, permit: Permit, emit: Listener
) -> Callable[[], AbstractAsyncContextManager[None]]:
    """What a command of this call stands in; nothing where nothing is reviewed."""
    coverage, turn = session.parts.coverage, use.meta.turn
    if coverage is None:
        return nullcontext

    def tell(words: str) -> None:
        emit(Notice(turn, "info", words))

    actor = Actor(session.id, turn)
    accepted = partial(is_accepted, session, permit)
    return lambda: coverage.around(actor, use.id, accepted=accepted, tell=tell)
