"""Emits what a sub-agent does under its call's id, without its words."""

from __future__ import annotations

import msgspec

from indwell.agent.core import events
from indwell.agent.core.events import Listener
from indwell.agent.core.session import Session

_TOLD = (
    events.ToolStarted,
    events.ToolOutput,
    events.ToolFinished,
    events.EditApplied,
    events.PermissionAsked,
    events.PermissionAnswered,
    events.UsageReported,
    events.Notice,
)


def relay(session: Session, call: str, emit: Listener) -> Listener:
    """A listener that hands on what may be told to ``emit``.

    Args:
        session: For which it works.
        call: The id of the call whose sub-agent it is.
        emit: Hears the turn.
    """

    def hear(event: events.Event) -> None:
        match event:
            case events.HunksChanged(pending=pending, files=files):  # of the workspace: all know it
                session.told_hunks = (pending, files)
                emit(event)
            case _ if isinstance(event, _TOLD):
                emit(msgspec.structs.replace(event, agent=call))
            case _:
                pass

    return hear
