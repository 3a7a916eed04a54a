"""The rounds of a turn: assemble, send, run what the model asks for, until nothing is left (H6).

Each round costs what is new in it, however long the conversation is: what was counted and checked
once is in its tally.
"""

from __future__ import annotations

import asyncio
import re
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field

import msgspec

from indwell.agent import events
from indwell.agent.allowance import allowance
from indwell.agent.before_call import leave_out_pictures, mend, tell_aftermath
from indwell.agent.budget import Outlay, expected_usage
from indwell.agent.dispatch import NAME_LIMIT, dispatch
from indwell.agent.events import Listener
from indwell.agent.repetition import END_AT, HINT_AT, repeated_call
from indwell.agent.session import Session
from indwell.context import conversation as talk
from indwell.context.assemble import assemble
from indwell.context.injections import inject
from indwell.context.oversize import is_oversize, oversize_words
from indwell.context.pairing import tool_uses
from indwell.context.tokens import estimate_tokens
from indwell.errors import RequestRejected, UserError
from indwell.messages import BROKEN_OFF, Image, Reply, Request, Text, ToolChoice, ToolResult, Usage
from indwell.policy.approvals import short_line
from indwell.prompt.environment import repetition_words, round_limit_words
from indwell.providers import base as stream
from indwell.sessions.records import Ending, Spent
from indwell.workspace.base import Change

_ABOUT_PICTURES = re.compile(r"image|picture|vision|media|multimodal", re.IGNORECASE)


@dataclass(slots=True)
class TurnState:
    """What a running turn has gathered.

    Attributes:
        number: Of the turn in its session, 1-based.
        words: What goes to the model; the user's words, or where they are if they are too long.
        draft: The user's words, until the model has them.
        steered: Words of the middle of the turn that are in the request under way, as typed.
        steered_sent: The same as the model reads them.
        streamed: Pieces of the reply that is under way.
        thought: The same of its reasoning.
    """

    number: int
    words: str
    draft: str
    rounds: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: float | None = 0.0
    answer: str = ""
    steered: tuple[str, ...] = ()
    steered_sent: tuple[str, ...] = ()
    streamed: list[str] = field(default_factory=list)
    thought: list[str] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)


async def run_rounds(session: Session, turn: TurnState, emit: Listener) -> tuple[Ending, str]:
    """Model call and tool calls in turn, until the model is content or a limit is reached.

    Words that the user adds meanwhile keep the turn going.
    """
    words: str | None = turn.words
    limit = session.parts.round_limit
    while True:
        reply = await _ask_model(session, turn, emit, words=words, tool_choice="auto")
        words = None
        if reply.finish in BROKEN_OFF:
            return "failed", f"the reply broke off: {reply.problem}; ask to go on"
        uses = tool_uses(session.conversation.messages[-1])
        if uses:
            results: dict[str, ToolResult] = {}
            pictures: list[Image] = []
            try:
                await dispatch(
                    session,
                    uses,
                    emit,
                    results=results,
                    pictures=pictures,
                    changes=turn.changes,
                )
            finally:
                answered = talk.with_results(
                    session.conversation,
                    tuple(results.values()),
                    turn=turn.number,
                    pictures=pictures,
                )
                session.advance(answered)
            repeated = _repetition(session, turn, len(uses))
            if repeated and not session.steering:
                return "repeated", repeated
        elif not session.steering:
            return _ending_of(reply)
        if turn.rounds >= limit:
            _remind(session, round_limit_words(limit), turn.number)
            await _ask_model(session, turn, emit, words=None, tool_choice="none")
            return "limit", f"stopped after {limit} rounds; ask to go on, or raise `round_limit`"


def keep_partial_answer(session: Session, turn: TurnState) -> None:
    """A cancelled reply that had begun stays, marked; one that had not leaves no trace (H58)."""
    streamed = "".join(turn.streamed)
    if not streamed:
        return
    words = turn.words if turn.draft else None
    sending = talk.with_input(
        session.conversation, words=words, turn=turn.number, steered=turn.steered_sent
    )
    partial = Reply(text=streamed, finish="incomplete")
    session.advance(sending)
    session.advance(talk.with_reply(session.conversation, partial, turn=turn.number))
    turn.answer, turn.draft, turn.steered = streamed, "", ()


async def fitting_words(session: Session, words: str) -> str:
    """``words`` as they go to the model: if they are too long, where all of them can be read."""
    if not is_oversize(words, session.conversation.config.window):
        return words
    path = await session.parts.spill("prompt", words)
    return oversize_words(words, str(path))


async def _ask_model(
    session: Session, turn: TurnState, emit: Listener, *, words: str | None, tool_choice: ToolChoice
) -> Reply:
    """One model call; the conversation takes the request's blocks only if it was answered (H5)."""
    mend(session, turn.number, emit)
    await tell_aftermath(session, turn.number)
    if session.steering:
        await _take_steering(session, turn)
    sending = talk.with_input(
        session.conversation, words=words, turn=turn.number, steered=turn.steered_sent
    )
    request = assemble(sending, tool_choice=tool_choice)
    try:
        async with _allowance(session, turn, sending):
            return await _send(session, turn, emit, sending, request)
    except RequestRejected as error:
        if not _ABOUT_PICTURES.search(str(error)) or not leave_out_pictures(
            session, turn.number, emit
        ):
            raise
    return await _ask_model(session, turn, emit, words=words, tool_choice=tool_choice)


async def _send(
    session: Session, turn: TurnState, emit: Listener, sending: talk.Conversation, request: Request
) -> Reply:
    """Make the call, and count it, whether it is answered or not."""
    parts = session.parts
    for said in turn.steered:
        emit(events.Steered(turn.number, said, delivered=True))
    turn.rounds += 1
    turn.streamed, turn.thought = [], []
    parts.log.commit_soon()  # replies and results of before, while the model thinks (H59)

    def on_event(event: stream.StreamEvent) -> None:
        if isinstance(event, stream.Discarded):
            _count_unanswered(session, turn, sending, emit)
        _tell(event, turn, emit)

    try:
        reply = await parts.provider.complete(request, on_event)
    except (asyncio.CancelledError, UserError):
        _count_unanswered(session, turn, sending, emit)
        raise
    if request.tool_choice == "none":
        reply = _without_calls(reply)
    # Answered: from here the request's blocks are part of the conversation.
    turn.draft, turn.streamed = "", []
    turn.steered = turn.steered_sent = ()
    session.advance(talk.calibrated(sending, sending, reply.usage))
    session.advance(talk.with_reply(session.conversation, reply, turn=turn.number))
    turn.answer = reply.text or turn.answer
    _count(session, turn, reply.usage, emit)
    return reply


async def _take_steering(session: Session, turn: TurnState) -> None:
    """Take the words that wait into the next request; their records are on disk before it goes.

    Raises:
        SessionError: The disk does not take them; they stay where they are, and come back.
    """
    n_waiting = len(session.steering)
    await session.parts.log.commit()
    said = session.steering[:n_waiting]
    sent = [await fitting_words(session, words) for words in said]
    session.steering = session.steering[n_waiting:]
    turn.steered, turn.steered_sent = said, tuple(sent)


def _allowance(
    session: Session, turn: TurnState, sending: talk.Conversation
) -> AbstractAsyncContextManager[None]:
    """The budgets' leave for the next call; raises ``OverBudget`` if it does not fit them."""
    parts = session.parts
    usage = expected_usage(
        talk.prompt_tokens(sending), session.last_usage, sending.config.max_output
    )
    tokens = turn.usage.input + turn.usage.output
    outlay = Outlay(turn=turn.cost, session=session.cost, turn_tokens=tokens)
    return allowance(parts.budgets, outlay, usage, parts.cost(usage), parts.ledger)


def _tell(event: stream.StreamEvent, turn: TurnState, emit: Listener) -> None:
    """Hand on what streams in."""
    match event:
        case stream.TextDelta(text=text):
            turn.streamed.append(text)
            emit(events.Text(turn.number, text))
        case stream.ThinkingDelta(text=text):
            turn.thought.append(text)
            emit(events.Thinking(turn.number, text))
        case stream.CallStarted():
            pass  # the tool's line appears when the call is whole and checked
        case stream.Discarded():
            turn.streamed, turn.thought = [], []
            emit(events.Text(turn.number, "", restart=True))
        case stream.Waiting(seconds=seconds, reason=reason):
            wait = f"{reason}; trying again in {seconds:.0f} s"
            emit(events.Notice(turn.number, "warning", wait))


def _count(session: Session, turn: TurnState, usage: Usage, emit: Listener) -> None:
    cost = session.parts.cost(usage)
    turn.usage += usage
    session.usage += usage
    session.last_usage = usage
    turn.cost = _sum(turn.cost, cost)
    session.cost = _sum(session.cost, cost)
    if cost:
        session.parts.ledger.add(cost)
    model = session.conversation.config.model
    session.parts.log.append(Spent(turn.number, model, usage, cost, session.timestamp()))
    emit(events.UsageReported(turn.number, turn.rounds, usage, cost, turn.usage, turn.cost))


def _count_unanswered(
    session: Session, turn: TurnState, sending: talk.Conversation, emit: Listener
) -> None:
    """Charge a call that began to answer and never came to its end: the endpoint does so, too.

    It has not counted it for us, so this is our estimate, and marked so.
    """
    said = turn.streamed + turn.thought
    if said:
        output = estimate_tokens("".join(said))
        usage = Usage(input=talk.prompt_tokens(sending), output=output, reported=False)
        _count(session, turn, usage, emit)


def _sum(before: float | None, cost: float | None) -> float | None:
    return None if before is None or cost is None else before + cost


def _repetition(session: Session, turn: TurnState, n_calls: int) -> str:
    """Remind the model of a call that it makes again and again; why to stop, if it goes on."""
    name, times = repeated_call(session.conversation.messages, turn.number)
    if times >= END_AT:
        return (
            f"stopped: {short_line(name, NAME_LIMIT)} was called {times} times in a row with the "
            "same arguments; say it in other words, or do this step yourself"
        )
    if times - n_calls < HINT_AT <= times:  # once, in the round that reaches it
        _remind(session, repetition_words(name, times), turn.number)
    return ""


def _remind(session: Session, words: str, turn: int) -> None:
    block: Text = inject("reminder", words, turn=turn)
    session.conversation = talk.queue(session.conversation, (block,))


def _without_calls(reply: Reply) -> Reply:
    finish = "stop" if reply.finish == "tool_calls" else reply.finish
    return msgspec.structs.replace(reply, calls=(), finish=finish)


def _ending_of(reply: Reply) -> tuple[Ending, str]:
    match reply.finish:
        case "length":
            return (
                "failed",
                "the reply reached the output limit; ask to go on, or raise `max_output`",
            )
        case "filtered":
            return "failed", "the provider's filter stopped the reply; say it in other words"
        case _:
            return "done", ""
