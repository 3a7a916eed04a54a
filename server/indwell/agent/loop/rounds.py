"""Runs the rounds of a turn: each sends a request and runs the reply's tool calls.

The time of a round depends only on its new messages, because earlier counts and checks are kept.
Before each model call the conversation is repaired, reminders are added, and refused pictures are
removed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from indwell.agent.compaction.fit import fit, too_large_for
from indwell.agent.core import events
from indwell.agent.core.budget import expected_usage
from indwell.agent.core.events import Listener
from indwell.agent.core.feature import Moment
from indwell.agent.core.session import Session, TurnState
from indwell.agent.loop.dispatch import NAME_LIMIT, dispatch
from indwell.agent.requests.request_blocks import update_tools
from indwell.agent.requests.sending import idle_s, leave, send, sending_of
from indwell.context import conversation as talk
from indwell.context.conversation import counted, prompt_tokens
from indwell.context.injections import inject, is_oversize, oversize_words
from indwell.context.pairing import problems, repair, tool_uses
from indwell.context.request.assemble import assemble, without_pictures
from indwell.context.untrusted_text import short_line
from indwell.errors import (
    ContextOverflow,
    ConversationTooLarge,
    OutOfCredit,
    RateLimited,
    RequestRejected,
    ServerFault,
    Unreachable,
    WindowTooSmall,
)
from indwell.lazy_pattern import lazy_pattern
from indwell.messages import (
    BROKEN_OFF,
    Image,
    Message,
    Reply,
    Text,
    ToolChoice,
    ToolResult,
    ToolUse,
)
from indwell.prompt.reminders import call_format_words, repetition_words, round_limit_words
from indwell.sessions.records import Ending

_ABOUT_PICTURES = lazy_pattern(r"image|picture|vision|media|multimodal", re.IGNORECASE)


async def run_rounds(session: Session, turn: TurnState, emit: Listener) -> tuple[Ending, str]:
    """Alternate model calls and tool calls until the model stops or a limit is reached.

    If the user has sent a message to the turn meanwhile, the turn continues.
    """
    words: str | None = turn.words
    limit = session.parts.limits.rounds
    while True:
        reply = await _ask_model(session, turn, emit, words=words, tool_choice="auto")
        words = None
        moment, features = Moment(session, turn.number, emit), session.parts.features
        uses = tool_uses(session.conversation.messages[-1])
        if reply.finish in BROKEN_OFF:
            await features.answered(moment)
            return "failed", f"the reply broke off: {reply.problem}; ask to go on"
        if uses:
            _tell_of_written(session, turn, reply, emit)
            ending = await _run_calls(moment, turn, uses)
        else:
            await features.answered(moment)
            ending = None if session.steering else await _after_words(moment, turn, reply)
        # The user may have sent a message to the turn meanwhile.
        if ending is not None and not session.steering:
            return ending
        if turn.rounds >= limit:
            _remind(session, round_limit_words(limit), turn.number)
            await _ask_model(session, turn, emit, words=None, tool_choice="none")
            await features.answered(moment)
            rounds = "1 round" if limit == 1 else f"{limit} rounds"
            return "limit", f"stopped after {rounds}; ask to go on, or raise `round_limit`"


async def _run_calls(
    moment: Moment[Session], turn: TurnState, uses: Sequence[ToolUse]
) -> tuple[Ending, str] | None:
    """Run the calls of a reply; return the turn's ending, or None if the turn continues."""
    session, features = moment.session, moment.session.parts.features
    results: dict[str, ToolResult] = {}
    pictures: list[Image] = []
    try:
        # The line is inside ``try``, because a stopped turn must still give each call a result.
        await features.answered(moment)
        await dispatch(
            session,
            uses,
            moment.emit,
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
    answer = features.ends_turn(turn.number)
    if answer is not None and not session.steering:
        turn.answer = turn.answer or answer
        return "done", ""
    repeated = _repetition(session, turn, len(uses))
    return ("repeated", repeated) if repeated else None


async def _after_words(
    moment: Moment[Session], turn: TurnState, reply: Reply
) -> tuple[Ending, str] | None:
    """Return the turn's ending after a reply without calls, or None if the turn continues."""
    if reply.written == "unread":
        if turn.shown_format:
            return "failed", _UNREAD
        turn.shown_format = True
        _remind(moment.session, call_format_words(), turn.number)
        return None
    ending = _ending_of(reply)
    is_asked = ending[0] == "done" and await moment.session.parts.features.on_stop(moment)
    return None if is_asked else ending


def keep_partial_answer(session: Session, turn: TurnState) -> None:
    """Keep the streamed part of a cancelled reply, marked as incomplete."""
    streamed = "".join(turn.streamed)
    if not streamed:
        return
    words = turn.words if turn.draft else None
    sending = sending_of(session, turn, words)
    partial = Reply(text=streamed, finish="incomplete")
    session.advance(sending)
    session.advance(talk.with_reply(session.conversation, partial, turn=turn.number))
    turn.answer, turn.draft, turn.steered = streamed, "", ()


async def fitting_words(session: Session, words: str) -> tuple[str, str]:
    """Return the text for the model, and the file with the whole text if it is too long."""
    if not is_oversize(words, session.conversation.config.window):
        return words, ""
    path = str(await session.parts.spill.keep("prompt", words))
    return oversize_words(words, path), path


async def _ask_model(
    session: Session, turn: TurnState, emit: Listener, *, words: str | None, tool_choice: ToolChoice
) -> Reply:
    """Call the model; the request's blocks join the conversation only after a reply."""
    repair_conversation(session, turn.number, emit)
    await update_tools(session, turn.number)
    await tell_news(session, turn, emit)
    if session.steering:
        await session.parts.features.check_steering(Moment(session, turn.number, emit))
        await _take_steering(session, turn)
    await fit(session, turn, _incoming(session, turn, words), emit)
    try:
        return await _ask_once(session, turn, emit, words=words, tool_choice=tool_choice)
    except ContextOverflow as error:  # the endpoint's token count or window differs from Indwell's
        if not await fit(session, turn, _incoming(session, turn, words), emit, force=True):
            raise _too_large(session, error) from error
        try:
            return await _ask_once(session, turn, emit, words=words, tool_choice=tool_choice)
        except ContextOverflow as again:
            raise _too_large(session, again) from again
    except _DOWN as error:
        fell_back = await session.parts.model.fall_back(session, str(error))
        if fell_back.words:
            emit(events.Notice(turn.number, "warning", fell_back.words))
        if not fell_back.is_used:
            raise
    except RequestRejected as error:
        if not _ABOUT_PICTURES.search(str(error)) or not leave_out_pictures(
            session, turn.number, emit
        ):
            raise
    return await _ask_model(session, turn, emit, words=words, tool_choice=tool_choice)


_DOWN = (Unreachable, RateLimited, ServerFault, OutOfCredit)
"""Errors after which another endpoint may still answer."""


def _too_large(session: Session, error: ContextOverflow) -> ConversationTooLarge:
    """Return the error for the user when the endpoint refuses a request that should fit."""
    if any(message.role == "assistant" for message in session.conversation.messages):
        return too_large_for(error)
    return WindowTooSmall(
        f"{error}; this is the first request, so choose a model with a larger window, set `window` "
        "to the endpoint's limit, or attach less"
    )


async def _ask_once(
    session: Session, turn: TurnState, emit: Listener, *, words: str | None, tool_choice: ToolChoice
) -> Reply:
    """Assemble and send the request, if the budgets allow the call."""
    sending = sending_of(session, turn, words)
    request = assemble(
        sending,
        tool_choice=tool_choice,
        idle_s=idle_s(session),
        rates=session.parts.model.rates,
    )
    usage = expected_usage(
        prompt_tokens(sending), session.spending.last_usage, sending.config.max_output
    )
    async with leave(session, turn, usage, session.parts.model.cost(usage)):
        return await send(session, turn, emit, sending, request)


def _incoming(session: Session, turn: TurnState, words: str | None) -> int:
    """Return the number of tokens that the next request adds to the conversation."""
    now = session.conversation
    return prompt_tokens(sending_of(session, turn, words)) - prompt_tokens(now)


async def _take_steering(session: Session, turn: TurnState) -> None:
    """Log the waiting messages to the running turn, and add them to the next request.

    Raises:
        SessionError: The records cannot be written; the user gets the messages back.
    """
    n_waiting = len(session.steering)
    await session.parts.log.commit()
    said = session.steering[:n_waiting]
    sent = [(await fitting_words(session, words))[0] for words in said]
    session.steering = session.steering[n_waiting:]
    turn.said = (*turn.said, *said)
    # If the last request was refused, its steering messages are sent again before the new messages.
    turn.steered, turn.steered_sent = (*turn.steered, *said), (*turn.steered_sent, *sent)


def _repetition(session: Session, turn: TurnState, n_calls: int) -> str:
    """Remind the model of a repeated call; return why the turn stops if it repeats too often."""
    name, times = repeated_call(session.conversation.messages, turn.number)
    if session.parts.tools.polls(name):
        times = max(1, times - MORE_LOOKS)
    if times >= END_AT:
        return (
            f"stopped: {short_line(name, NAME_LIMIT)} was called {times} times in a row with the "
            "same arguments; rephrase the prompt, or do this step yourself"
        )
    # The hint is sent once, in the round that reaches the limit.
    if times - n_calls < HINT_AT <= times:
        is_known = session.parts.tools.has(name)
        _remind(session, repetition_words(name if is_known else "", times), turn.number)
    return ""


_UNREAD = (
    "the model wrote a tool call as text, twice in a row, in a form that cannot be read; nothing "
    "was run. Choose a model that calls tools: `indwell login` tests it"
)


def _tell_of_written(session: Session, turn: TurnState, reply: Reply, emit: Listener) -> None:
    """Tell the user, once for each model, that its tool calls are parsed from text."""
    turn.shown_format = False
    model = session.conversation.config.model
    if reply.written == "read" and model not in session.writers:
        session.writers.add(model)
        what = "this model writes its tool calls as text; Indwell reads them from the text"
        emit(events.Notice(turn.number, "info", what))


def _remind(session: Session, words: str, turn: int) -> None:
    block: Text = inject("reminder", words, turn=turn)
    session.conversation = talk.queue(session.conversation, (block,))


def _ending_of(reply: Reply) -> tuple[Ending, str]:
    match reply.finish:
        case "length":
            return (
                "failed",
                "the reply reached the output limit; ask to go on, or raise `max_output`",
            )
        case "filtered":
            return "failed", "the provider's filter stopped the reply; rephrase the prompt"
        case _:
            return "done", ""


def repair_conversation(session: Session, turn: int, emit: Listener) -> None:
    """Give results to calls without results, which an endpoint would otherwise refuse."""
    session.conversation = now = counted(session.conversation)
    if not problems(now.messages, start=now.tally.n):
        return
    messages, notes = repair(now.messages)
    if notes:
        session.repair(messages, notes)
        what = f"the conversation was repaired before it was sent: {'; '.join(notes)}"
        emit(events.Notice(turn, "warning", what))


async def tell_news(session: Session, turn: TurnState, emit: Listener) -> None:
    """Add reminders about the changes since the last request, as each feature reports them."""
    moment = Moment(session, turn.number, emit)
    for reminder in await session.parts.features.reminders(moment):
        session.conversation = talk.queue(session.conversation, reminder.blocks)
        if reminder.told is not None:
            reminder.told()


def leave_out_pictures(session: Session, turn: int, emit: Listener) -> bool:
    """Remove all pictures after an endpoint refused them; return False if there are none.

    Otherwise the endpoint would refuse every later request, and the session could not continue.
    """
    before = session.conversation
    after = without_pictures(before)
    if after is before:
        return False
    what = "pictures were left out, because the endpoint refused them"
    session.repair(after.messages, (what,))
    emit(events.Notice(turn, "warning", what))
    return True


HINT_AT = 3
END_AT = 5
# A tool that asks for the progress of, for example, a background command may be called 15 more
# times.
MORE_LOOKS = 15


def repeated_call(messages: Sequence[Message], turn: int) -> tuple[str, int]:
    """Return the tool of the turn's last call, and how many equal calls came in a row."""
    last: tuple[str, str] | None = None
    times = 0
    for message in reversed(messages):
        if message.turn != turn:
            break
        for use in reversed(tool_uses(message)):
            call = (use.name, use.arguments)
            if last is None:
                last = call
            if call != last:
                return last[0], times
            times += 1
    return (last[0], times) if last else ("", 0)
