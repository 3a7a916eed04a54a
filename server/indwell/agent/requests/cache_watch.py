"""Tells the user when the prompt cache has stopped serving, and what changed (H36)."""

from __future__ import annotations

from indwell.agent.core import events
from indwell.agent.core.events import Listener
from indwell.agent.core.session import Session
from indwell.context.request.cache_health import after_reply
from indwell.messages import Request, Usage

_PROBE = 1_000  # tokens


def watch_cache(session: Session, turn: int, request: Request, usage: Usage, emit: Listener) -> int:
    """Check how much of an answered request the cache served; warn the user if it stopped serving.

    Call this before ``session.answered_at`` is updated. Returns the prompt tokens that the cache
    should have served, as the endpoint counts them.
    """
    seen = after_reply(
        session.health,
        request,
        usage,
        idle_s=idle_s(session) or 0.0,
        has_cache=_is_cache_priced(session),
    )
    session.health = seen.health
    if seen.warning:
        emit(events.Notice(turn, "warning", seen.warning))
    return seen.expected


def idle_s(session: Session) -> float | None:
    """Seconds since the model's last reply; None if there was none or its time is unknown."""
    at = session.answered_at
    return None if at is None else max(0.0, (session.parts.now() - at).total_seconds())


def _is_cache_priced(session: Session) -> bool:
    """Does the model have a prompt cache? It has if cached tokens cost less than others."""
    full = session.parts.cost(Usage(input=_PROBE))
    cached = session.parts.cost(Usage(input=_PROBE, cached=_PROBE))
    return full is not None and cached is not None and cached < full
