"""Logs each request as it is sent, so that it can be rebuilt byte for byte."""

from __future__ import annotations

from indwell.agent.core.session import Session, added_messages
from indwell.messages import Request
from indwell.providers.base import Sending
from indwell.sessions.records import Purpose, RequestRecord, Wire


def log_request(
    session: Session, request: Request, turn: int, *, purpose: Purpose = "work"
) -> None:
    """Log the parts of a request that the log does not hold yet; call this right before sending."""
    session.requests += 1
    config = session.conversation.config
    session.parts.log.append(
        RequestRecord(
            turn=turn,
            number=session.requests,
            model=request.model,
            max_output=request.max_output,
            tool_choice=request.tool_choice,
            cache_key=request.cache_key,
            window=config.window,
            tail=added_messages(session.conversation.messages, request.messages),
            anchors=request.anchors,
            pictures=config.takes_pictures,
            at=session.timestamp(),
            tokens=request.tokens,
            purpose=purpose,
        )
    )


def log_alone(session: Session, request: Request, turn: int, *, window: int) -> None:
    """Log a whole summary request, which belongs to no conversation.

    ``window`` is the window of its model, in tokens.
    """
    session.requests += 1
    session.parts.log.append(
        RequestRecord(
            turn=turn,
            number=session.requests,
            model=request.model,
            max_output=request.max_output,
            tool_choice=request.tool_choice,
            cache_key=request.cache_key,
            window=window,
            tail=request.messages,
            anchors=request.anchors,
            pictures=True,
            at=session.timestamp(),
            alone=tuple(block.text for block in request.system),
            tokens=request.tokens,
            purpose="summary",
        )
    )


def log_attempt(session: Session, event: Sending) -> None:
    """Log how the bytes of the newest request were built, and their digest."""
    session.parts.log.append(
        Wire(session.requests, event.dialect, event.digest, session.timestamp())
    )
