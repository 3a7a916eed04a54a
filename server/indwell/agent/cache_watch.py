"""Tells the user when the prompt cache has stopped serving, and what changed (H36)."""

from __future__ import annotations

from indwell.agent import events
from indwell.agent.events import Listener
from indwell.agent.session import Session
from indwell.context.health import after_reply
from indwell.messages import Request, Usage

_PROBE = 1_000  # tokens


def watch_cache(
    session: Session, turn: int, request: Request, usage: Usage, emit: Listener
) -> None:
    """Take an answered request in, before ``session.answered_at`` is set anew for it."""
    at = session.answered_at
    idle_s = 0.0 if at is None else (session.parts.now() - at).total_seconds()
    session.health, warning = after_reply(
        session.health,
        request,
        usage,
        turn=turn,
        idle_s=idle_s,
        has_cache=_is_cache_priced(session),
    )
    if warning:
        emit(events.Notice(turn, "warning", warning))


def _is_cache_priced(session: Session) -> bool:
    """Does the price list sell cached tokens at less than others? Then there is a cache."""
    full = session.parts.cost(Usage(input=_PROBE))
    cached = session.parts.cost(Usage(input=_PROBE, cached=_PROBE))
    return full is not None and cached is not None and cached < full
