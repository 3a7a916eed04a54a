"""Sends one request: assembles the conversation, streams the reply, and charges the call.

Each request is logged as it is sent, so that it can be rebuilt byte for byte. The user is told when
the prompt cache stops serving, and which part changed (H36).
"""

from __future__ import annotations

import asyncio

import msgspec

from indwell.agent.core import events
from indwell.agent.core.events import Listener
from indwell.agent.core.session import Session, TurnState, added_messages
from indwell.agent.requests.spending import charge
from indwell.context import conversation as talk
from indwell.context.conversation import calibrated, prompt_tokens
from indwell.context.request.cache_health import after_reply
from indwell.context.tokens import estimate_tokens
from indwell.errors import EmptyReply, UserError
from indwell.messages import Reply, Request, Usage
from indwell.providers import base as stream
from indwell.providers.base import Sending
from indwell.sessions.records import Purpose, RequestRecord, Wire

TRIES = 2  # attempts if the model replies with nothing

_PROBE = 1_000  # tokens


def sending_of(session: Session, turn: TurnState, words: str | None) -> talk.Conversation:
    """The conversation with everything that the next request adds."""
    return talk.with_input(
        session.conversation,
        words=words,
        turn=turn.number,
        steered=turn.steered_sent,
        along=turn.along,
    )


async def send(
    session: Session, turn: TurnState, emit: Listener, sending: talk.Conversation, request: Request
) -> Reply:
    """Call the model and charge the call, even if no reply comes.

    Raises:
        EmptyReply: The reply was empty twice. Ending the turn on such a reply would look like
            success.
    """
    for said in turn.steered[turn.n_told :]:
        emit(events.Steered(turn.number, said, delivered=True))
    turn.n_told = len(turn.steered)
    reply = await _asked(session, turn, emit, sending, request)
    if _is_empty(reply, request):
        _count(session, turn, reply.usage, emit)
        emit(events.Notice(turn.number, "warning", "the model's reply was empty; asking again"))
        reply = await _asked(session, turn, emit, sending, request)
        if _is_empty(reply, request):
            _count(session, turn, reply.usage, emit)
            stays = "; what was done so far stays" if turn.rounds > TRIES else ""
            raise EmptyReply(
                f"the model {request.model!r} sent an empty reply, {TRIES} times in a row{stays}; "
                "ask again, or choose another model"
            )
    # The model replied, so the request's blocks are part of the conversation from here on.
    turn.draft, turn.streamed = "", []
    turn.steered, turn.steered_sent, turn.n_told = (), (), 0
    session.advance(calibrated(sending, sending, reply.usage))
    session.advance(talk.with_reply(session.conversation, reply, turn=turn.number))
    turn.answer = reply.text or turn.answer
    expected = watch_cache(session, turn.number, request, reply.usage, emit)
    _count(session, turn, reply.usage, emit, expected=expected)
    return reply


async def _asked(
    session: Session, turn: TurnState, emit: Listener, sending: talk.Conversation, request: Request
) -> Reply:
    """Call the model once."""
    turn.rounds += 1
    turn.streamed, turn.thought = [], []
    log_request(session, request, turn.number)
    # Write earlier replies and results to disk while the model thinks (H59).
    session.parts.log.commit_soon()

    def on_event(event: stream.StreamEvent) -> None:
        if isinstance(event, stream.Sending):
            log_attempt(session, event)
        if isinstance(event, stream.Discarded):
            _count_unanswered(session, turn, sending, emit)
        _tell(event, turn, emit)

    try:
        reply = await session.parts.model.provider.complete(request, on_event)
    except (asyncio.CancelledError, UserError):
        _count_unanswered(session, turn, sending, emit)
        raise
    return _without_calls(reply) if request.tool_choice == "none" else reply


def _is_empty(reply: Reply, request: Request) -> bool:
    """Is the reply without text and calls, and not ended by a limit, a filter or an error?

    An empty reply is accepted where the request allows no tools.
    """
    says = reply.text.strip() or reply.calls
    return reply.finish in {"stop", "tool_calls"} and not says and request.tool_choice != "none"


def _tell(event: stream.StreamEvent, turn: TurnState, emit: Listener) -> None:
    """Emit an event of the stream."""
    match event:
        case stream.TextDelta(text=text):
            turn.streamed.append(text)
            emit(events.TextAdded(turn.number, text))
        case stream.ThinkingDelta(text=text):
            turn.thought.append(text)
            emit(events.ThinkingAdded(turn.number, text))
        case stream.PromptProgress(share=share):
            emit(events.PromptRead(turn.number, share))
        case stream.Sending() | stream.CallStarted():
            pass  # the tool call is shown once it is complete and checked
        case stream.Discarded():
            turn.streamed, turn.thought = [], []
            emit(events.TextAdded(turn.number, "", restart=True))
        case stream.RetryWait(seconds=seconds, reason=reason):
            wait = f"{reason}; trying again in {seconds:.0f} s"
            emit(events.Notice(turn.number, "warning", wait))


def _count(
    session: Session, turn: TurnState, usage: Usage, emit: Listener, *, expected: int = 0
) -> None:
    session.spending.last_usage = usage
    session.spending.answered_at = session.parts.clock.now()
    model, cost = session.conversation.config.model, session.parts.model.cost(usage)
    charge(session, turn, emit, usage, model=model, cost=cost, expected=expected)


def _count_unanswered(
    session: Session, turn: TurnState, sending: talk.Conversation, emit: Listener
) -> None:
    """Charge a call whose reply began but never ended, as the endpoint does.

    The endpoint sent no usage, so the tokens are our estimate and marked as such.
    """
    said = turn.streamed + turn.thought
    if said:
        output = estimate_tokens("".join(said))
        usage = Usage(input=prompt_tokens(sending), output=output, reported=False)
        _count(session, turn, usage, emit)


def _without_calls(reply: Reply) -> Reply:
    finish = "stop" if reply.finish == "tool_calls" else reply.finish
    return msgspec.structs.replace(reply, calls=(), finish=finish)


def log_request(
    session: Session, request: Request, turn: int, *, purpose: Purpose = "work"
) -> None:
    """Log the parts of a request that the log does not hold yet; call this right before sending."""
    conversation = session.conversation
    record = _record(session, request, turn, purpose=purpose)
    session.parts.log.append(
        msgspec.structs.replace(
            record,
            window=conversation.config.window,
            tail=added_messages(conversation.messages, request.messages),
            pictures=conversation.config.takes_pictures,
        )
    )


def log_alone(session: Session, request: Request, turn: int, *, window: int) -> None:
    """Log a whole summary request, which belongs to no conversation.

    ``window`` is the window of its model, in tokens.
    """
    record = _record(session, request, turn, purpose="summary")
    alone = tuple(block.text for block in request.system)
    session.parts.log.append(msgspec.structs.replace(record, window=window, alone=alone))


def _record(session: Session, request: Request, turn: int, *, purpose: Purpose) -> RequestRecord:
    """The record of the session's next request, with all of its messages."""
    session.spending.requests += 1
    return RequestRecord(
        turn=turn,
        number=session.spending.requests,
        model=request.model,
        max_output=request.max_output,
        tool_choice=request.tool_choice,
        cache_key=request.cache_key,
        window=0,
        tail=request.messages,
        anchors=request.anchors,
        pictures=True,
        at=session.timestamp(),
        tokens=request.tokens,
        purpose=purpose,
        effort=request.effort,
        verbosity=request.verbosity,
        cache_life=request.cache_life,
    )


def log_attempt(session: Session, event: Sending) -> None:
    """Log how the bytes of the newest request were built, and their digest."""
    session.parts.log.append(
        Wire(session.spending.requests, event.dialect, event.digest, session.timestamp())
    )


def watch_cache(session: Session, turn: int, request: Request, usage: Usage, emit: Listener) -> int:
    """Check how much of an answered request the cache served; warn the user if it stopped serving.

    Call this before ``session.spending.answered_at`` is updated. Returns the prompt tokens that
    the cache should have served, as the endpoint counts them.
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
    at = session.spending.answered_at
    return None if at is None else max(0.0, (session.parts.clock.now() - at).total_seconds())


def has_cache(session: Session) -> bool:
    """Does the endpoint have a prompt cache, by its prices or by its reports?"""
    return session.health.has_cache or _is_cache_priced(session)


def _is_cache_priced(session: Session) -> bool:
    """Does the model have a prompt cache? It has if cached tokens cost less than others."""
    full = session.parts.model.cost(Usage(input=_PROBE))
    cached = session.parts.model.cost(Usage(input=_PROBE, cached=_PROBE))
    return full is not None and cached is not None and cached < full
