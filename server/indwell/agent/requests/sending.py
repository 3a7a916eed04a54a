"""Sends one request: assembles the conversation, streams the reply, and charges the call.

Each request is logged, so that its bytes can be rebuilt. The user is told when the prompt cache
stops working, and which part of the request changed.

Budgets are checked before a call. The call is charged to turn, session, day and log. A sub-agent's
calls are also charged to the turn that the sub-agent works for. The calls must fit the budgets of
that turn, where the possible cost of other running sub-agents counts as spent.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from indwell.agent.core import events
from indwell.agent.core.budget import Budgets, Ledger, Outlay, refusal
from indwell.agent.core.events import Listener
from indwell.agent.core.feature import Moment
from indwell.agent.core.session import Session, TurnState, added_messages
from indwell.context import conversation as talk
from indwell.context.conversation import calibrated, prompt_tokens
from indwell.context.request.cache_health import after_call, after_reply
from indwell.context.tokens import estimate_tokens
from indwell.errors import EmptyReply, UserError
from indwell.messages import Reply, Request, Usage
from indwell.providers import base as stream
from indwell.providers.base import Sending
from indwell.sessions.records import Purpose, RequestRecord, Spent, Wire
from indwell.sessions.spending_lines import Reservation

TRIES = 2  # the number of attempts if the model replies with nothing

_PROBE = 1_000  # A cache counts as failed if it served 1,000 tokens fewer than expected.


def sending_of(session: Session, turn: TurnState, words: str | None) -> talk.Conversation:
    """Return the conversation with everything that the next request adds."""
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
    """Call the model and charge the call, even if there is no reply.

    Raises:
        EmptyReply: The reply was empty twice. Without the error, the turn would seem to succeed.
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
            stays = "; completed work is kept" if turn.rounds > TRIES else ""
            raise EmptyReply(
                f"the model {request.model!r} sent an empty reply, {TRIES} times in a row{stays}; "
                "ask again, or choose another model"
            )
    # The model replied, so the blocks of the request are now part of the conversation.
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
    """Call the model once, and return the reply."""
    turn.rounds += 1
    turn.streamed, turn.thought = [], []
    session.parts.features.before_request(Moment(session, turn.number, emit), request)
    log_request(session, request, turn.number)
    # Write earlier replies and results to disk while the model thinks.
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
    """Return whether the reply is empty, although no limit, filter or error ended it.

    An empty reply is accepted where the request allows no tools.
    """
    says = reply.text.strip() or reply.calls
    return reply.finish in {"stop", "tool_calls"} and not says and request.tool_choice != "none"


def _tell(event: stream.StreamEvent, turn: TurnState, emit: Listener) -> None:
    """Emit an event of the model's stream."""
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
            pass  # The tool call is shown after it is complete and checked.
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

    The endpoint sent no usage, so the tokens are estimated and marked as an estimate.
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
    """Log the parts of a request that are not in the log; call this right before sending."""
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
    """Log a complete summary request, which belongs to no conversation.

    ``window`` is the window of the summary's model, in tokens.
    """
    record = _record(session, request, turn, purpose="summary")
    alone = tuple(block.text for block in request.system)
    session.parts.log.append(msgspec.structs.replace(record, window=window, alone=alone))


def _record(session: Session, request: Request, turn: int, *, purpose: Purpose) -> RequestRecord:
    """Return the record of the session's next request, with all of its messages."""
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
    """Log the digest of the newest request's bytes, and how the bytes were built."""
    session.parts.log.append(
        Wire(session.spending.requests, event.dialect, event.digest, session.timestamp())
    )


def watch_cache(session: Session, turn: int, request: Request, usage: Usage, emit: Listener) -> int:
    """Check how much of an answered request the cache served; warn the user if it failed.

    Call this function before ``session.spending.answered_at`` is updated. The result is the number
    of prompt tokens that the cache should have served.
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
    """Return the seconds since the model's last reply, or None if the time is unknown."""
    at = session.spending.answered_at
    return None if at is None else max(0.0, (session.parts.clock.now() - at).total_seconds())


def has_cache(session: Session) -> bool:
    """Return whether the endpoint has a prompt cache, judging by prices and replies."""
    return session.health.has_cache or _is_cache_priced(session)


def _is_cache_priced(session: Session) -> bool:
    """Return whether cached tokens cost less than other tokens."""
    full = session.parts.model.cost(Usage(input=_PROBE))
    cached = session.parts.model.cost(Usage(input=_PROBE, cached=_PROBE))
    return full is not None and cached is not None and cached < full


class OverBudget(UserError):
    """The next model call was not made, because it could exceed a budget."""


@asynccontextmanager
async def leave(
    session: Session, turn: TurnState, usage: Usage, cost: float | None
) -> AsyncIterator[None]:
    """Reserve a call of ``usage`` within all budgets; raises ``OverBudget`` if it does not fit."""
    parts, helping = session.parts, session.helping
    held_cost = sum(dollars for _, dollars in turn.held)
    outlay = Outlay(
        turn=turn.spent + held_cost,
        session=session.spending.spent + held_cost,
        turn_tokens=turn.usage.input + turn.usage.output + sum(n for n, _ in turn.held),
    )
    hold = usage.input + usage.output, cost or 0.0
    async with allowance(parts.limits.budgets, outlay, usage, cost, parts.limits.ledger):
        turn.held.append(hold)
        try:
            if helping is None:
                yield
            else:
                async with leave(helping.session, helping.turn, usage, cost):
                    yield
        finally:
            turn.held.remove(hold)


@asynccontextmanager
async def allowance(
    budgets: Budgets, outlay: Outlay, usage: Usage, cost: float | None, ledger: Ledger
) -> AsyncIterator[None]:
    """Reserve the cost of a call in this context, so that other processes count it.

    Args:
        budgets: The user's budgets.
        outlay: The spending of turn and session; its ``day`` is ignored.
        usage: The most that the call may use.
        cost: The price of the call in US dollars, or None if unknown.
        ledger: The ledger with today's spending.

    Raises:
        OverBudget: The call could exceed a budget; the message names the budget, with numbers.
    """
    why = refusal(msgspec.structs.replace(budgets, day=None), outlay, usage, cost)
    if why:
        raise OverBudget(why)
    if budgets.day is None or cost is None:
        yield
        return
    held = await ledger.hold(cost, budgets.day)
    if not isinstance(held, Reservation):
        outlay = msgspec.structs.replace(outlay, day=held)
        raise OverBudget(refusal(budgets, outlay, usage, cost))
    try:
        yield
    finally:
        # Release the reservation after the cost was added, so that the call is always counted.
        ledger.release(held)


def charge(
    session: Session,
    turn: TurnState,
    emit: Listener,
    usage: Usage,
    *,
    model: str,
    cost: float | None,
    expected: int = 0,
    agent: str = "",
) -> None:
    """Charge a call of any model to the session, the turn and the day.

    ``expected`` and ``agent`` are as in ``records.Spent``.
    """
    session.health = after_call(session.health, turn.number, usage, cost, expected=expected)
    turn.usage += usage
    session.spending.usage += usage
    turn.cost = _sum(turn.cost, cost)
    session.spending.cost = _sum(session.spending.cost, cost)
    turn.spent += cost or 0.0
    session.spending.spent += cost or 0.0
    at, helping = session.timestamp(), session.helping
    session.parts.log.append(
        Spent(
            turn.number,
            model,
            usage,
            cost,
            at,
            expected,
            agent,
            stands_in=session.parts.model.is_stand_in,
        )
    )
    if helping is not None:
        charge(
            helping.session,
            helping.turn,
            helping.emit,
            usage,
            model=model,
            cost=cost,
            expected=expected,
            agent=helping.name,
        )
        return
    if cost:
        session.parts.limits.ledger.add(cost)
    emit(events.UsageReported(turn.number, turn.rounds, usage, cost, turn.usage, turn.cost))


def _sum(before: float | None, cost: float | None) -> float | None:
    return None if before is None or cost is None else before + cost
