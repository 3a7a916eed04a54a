"""The loop of one turn: assemble, send, run what the model asks for, until nothing is left (H6).

The only place where any exception may end: a bug ends the turn, is logged, and leaves the session
valid.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field

import msgspec

from indwell.agent import events
from indwell.agent.dispatch import dispatch, display
from indwell.agent.events import Listener
from indwell.agent.repetition import END_AT, HINT_AT, repeated_call
from indwell.agent.session import Prompt, Session
from indwell.context import conversation as talk
from indwell.context.assemble import assemble
from indwell.context.ide import opened_words, problem_lines, selection_words
from indwell.context.injections import inject
from indwell.context.oversize import is_oversize, oversize_words
from indwell.context.pairing import repair, tool_uses
from indwell.errors import UserError
from indwell.messages import Reply, Text, ToolChoice, ToolResult, Usage
from indwell.prompt.environment import (
    repetition_words,
    round_limit_words,
    surroundings_words,
)
from indwell.prompt.instructions import instruction_words
from indwell.providers import base as stream
from indwell.sessions.records import Ending, Spent, TurnFinished, TurnStarted
from indwell.workspace.base import Change
from indwell.workspace.diff import count_changes

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Turn:
    """What a running turn has gathered."""

    number: int
    words: str
    draft: str
    rounds: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: float | None = 0.0
    answer: str = ""
    streamed: str = ""
    changes: list[Change] = field(default_factory=list)


async def run_turn(session: Session, prompt: Prompt, emit: Listener) -> events.TurnFinished:
    """Run one turn of ``session`` and tell what happens through ``emit``.

    Cancelling the task ends the turn at once: the history stays valid, ``TurnFinished`` is told,
    and the cancellation travels on.
    """
    session.turns += 1
    turn = _Turn(number=session.turns, words=prompt.words, draft=prompt.words)
    started = session.parts.monotonic()
    ending: Ending = "failed"
    message = ""
    try:
        await _begin(session, prompt, turn, emit)
        ending, message = await _rounds(session, turn, emit)
    except asyncio.CancelledError:
        ending, message = "cancelled", "stopped"
        _keep_partial_answer(session, turn)
        raise
    except UserError as error:
        message = str(error)
    except Exception as bug:  # noqa: BLE001 - the turn boundary: a bug must not end the server
        _log.exception("turn %s of session %s", turn.number, session.id)
        message = f"something went wrong inside Indwell ({type(bug).__name__}); the log has more"
    finally:
        finished = _finish(session, turn, ending, message, started)
        emit(finished)
    await _settle_log(session, turn, emit)
    return finished


async def _begin(session: Session, prompt: Prompt, turn: _Turn, emit: Listener) -> None:
    """Write down the user's words, gather what goes with them, and say that it starts."""
    log = session.parts.log
    log.append(TurnStarted(turn.number, prompt.words, session.timestamp()))
    await log.commit()
    now = await session.parts.surroundings()
    blocks = [inject("environment", surroundings_words(now), turn=turn.number)]
    instructions = await session.parts.instructions()
    if instructions:
        blocks.append(inject("instructions", instruction_words(instructions), turn=turn.number))
    attached: list[str] = []
    if prompt.opened is not None:
        blocks.append(inject("ide_opened_file", opened_words(prompt.opened), turn=turn.number))
    if prompt.selection is not None:
        marked = prompt.selection
        blocks.append(inject("ide_selection", selection_words(marked), turn=turn.number))
        attached.append(f"{marked.path}:{marked.first_line}-{marked.last_line}")
    if prompt.problems:
        blocks.append(inject("diagnostics", problem_lines(prompt.problems), turn=turn.number))
        attached.append(f"{len(prompt.problems)} problems")
    session.conversation = talk.queue(session.conversation, blocks)
    config = session.conversation.config
    if is_oversize(turn.words, config.window):
        path = await session.parts.spill("prompt", turn.words)
        turn.words = oversize_words(turn.words, str(path))
    emit(
        events.TurnStarted(
            turn.number, prompt.title or prompt.words[:80], prompt.words, now.model, tuple(attached)
        )
    )
    if session.notice:
        emit(events.Notice(turn.number, "warning", session.notice))
        session.notice = ""


async def _rounds(session: Session, turn: _Turn, emit: Listener) -> tuple[Ending, str]:
    """Model call and tool calls in turn, until the model is content or a limit is reached."""
    words: str | None = turn.words
    limit = session.parts.round_limit
    while True:
        reply = await _ask_model(session, turn, emit, words=words, tool_choice="auto")
        words = None
        if reply.finish == "incomplete":
            return "failed", f"the reply broke off: {reply.problem}; ask to go on"
        uses = tool_uses(session.conversation.messages[-1])
        if not uses:
            return _ending_of(reply)
        results: dict[str, ToolResult] = {}
        try:
            await dispatch(session, uses, emit, results, turn.changes)
        finally:
            session.advance(
                talk.with_results(session.conversation, tuple(results.values()), turn=turn.number)
            )
        name, times = repeated_call(session.conversation.messages, turn.number)
        if times >= END_AT:
            return "repeated", (
                f"stopped: {name} was called {times} times in a row with the same arguments; "
                "say it in other words, or do this step yourself"
            )
        if times - len(uses) < HINT_AT <= times:  # once, in the round that reaches it
            _remind(session, repetition_words(name, times), turn.number)
        if turn.rounds >= limit:
            _remind(session, round_limit_words(limit), turn.number)
            await _ask_model(session, turn, emit, words=None, tool_choice="none")
            return "limit", f"stopped after {limit} rounds; ask to go on, or raise `round_limit`"


async def _ask_model(
    session: Session, turn: _Turn, emit: Listener, *, words: str | None, tool_choice: ToolChoice
) -> Reply:
    """One model call; the conversation takes the request's blocks only if it was answered (H5)."""
    parts = session.parts
    _mend(session, turn, emit)
    sending = talk.with_input(session.conversation, words=words, turn=turn.number)
    request = assemble(sending, tool_choice=tool_choice)
    turn.rounds += 1
    turn.streamed = ""

    def on_event(event: stream.StreamEvent) -> None:
        match event:
            case stream.TextDelta(text=text):
                turn.streamed += text
                emit(events.Text(turn.number, text))
            case stream.ThinkingDelta(text=text):
                emit(events.Thinking(turn.number, text))
            case stream.CallStarted():
                pass  # the tool's line appears when the call is whole and checked
            case stream.Discarded():
                turn.streamed = ""
                emit(events.Text(turn.number, "", restart=True))
            case stream.Waiting(seconds=seconds, reason=reason):
                wait = f"{reason}; trying again in {seconds:.0f} s"
                emit(events.Notice(turn.number, "warning", wait))

    reply = await parts.provider.complete(request, on_event)
    if tool_choice == "none":
        reply = _without_calls(reply)
    # Answered: from here the request's blocks are part of the conversation.
    turn.draft, turn.streamed = "", ""
    session.advance(sending)
    session.advance(talk.with_reply(session.conversation, reply, turn=turn.number))
    turn.answer = reply.text or turn.answer
    _count(session, turn, reply.usage, emit)
    return reply


def _mend(session: Session, turn: _Turn, emit: Listener) -> None:
    """Repair an orphan before it is sent: an endpoint would refuse it in every turn to come."""
    messages, notes = repair(session.conversation.messages)
    if notes:
        session.mend(messages, notes)
        what = f"the conversation was mended before it was sent: {'; '.join(notes)}"
        emit(events.Notice(turn.number, "warning", what))


def _count(session: Session, turn: _Turn, usage: Usage, emit: Listener) -> None:
    cost = session.parts.cost(usage)
    turn.usage += usage
    session.usage += usage
    turn.cost = None if turn.cost is None or cost is None else turn.cost + cost
    model = session.conversation.config.model
    session.parts.log.append(Spent(turn.number, model, usage, cost, session.timestamp()))
    emit(events.UsageReported(turn.number, turn.rounds, usage, cost, turn.usage, turn.cost))


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


def _keep_partial_answer(session: Session, turn: _Turn) -> None:
    """A cancelled reply that had begun stays, marked; one that had not leaves no trace (H58)."""
    if not turn.streamed:
        return
    words = turn.words if turn.draft else None
    sending = talk.with_input(session.conversation, words=words, turn=turn.number)
    partial = Reply(text=turn.streamed, finish="incomplete")
    session.advance(sending)
    session.advance(talk.with_reply(session.conversation, partial, turn=turn.number))
    turn.answer, turn.draft = turn.streamed, ""


def _finish(
    session: Session, turn: _Turn, ending: Ending, message: str, started: float
) -> events.TurnFinished:
    session.parts.log.append(
        TurnFinished(turn.number, ending, session.timestamp(), message, turn.draft)
    )
    return events.TurnFinished(
        turn=turn.number,
        ending=ending,
        message=message,
        answer=turn.answer,
        draft=turn.draft,
        rounds=turn.rounds,
        usage=turn.usage,
        cost=turn.cost,
        seconds=round(session.parts.monotonic() - started, 3),
        changes=_changes(session, turn.changes),
    )


def _changes(session: Session, changes: list[Change]) -> tuple[events.FileChanged, ...]:
    """Net lines by file: from the text before its first edit to that after its last."""
    first: dict[str, str] = {}
    last: dict[str, str] = {}
    for change in changes:
        path = display(session, str(change.path))
        first.setdefault(path, change.before or "")
        last[path] = change.after
    return tuple(
        events.FileChanged(path, *count_changes(first[path], last[path])) for path in first
    )


async def _settle_log(session: Session, turn: _Turn, emit: Listener) -> None:
    """Make the turn durable; a full disk is said, and the records wait for the next try."""
    try:
        await session.parts.log.commit()
    except UserError as error:
        emit(events.Notice(turn.number, "error", str(error)))
