"""Runs one turn: records the prompt, adds context, runs the rounds, reports the ending.

``run_turn`` catches every exception: a bug ends the turn, is logged, and leaves the session valid.
"""

from __future__ import annotations

import asyncio
import logging
from itertools import takewhile

import msgspec

from indwell.agent.compaction.fit import compact_now, is_compact, no_command, unshortened
from indwell.agent.core import events
from indwell.agent.core.events import FileChanged, Listener
from indwell.agent.core.feature import Ended, Moment
from indwell.agent.core.prompt import (
    NOTHING,
    Prompt,
    asks_for_changes,
    is_continue,
    labels,
    told_words,
)
from indwell.agent.core.session import Session, TurnState
from indwell.agent.loop.rounds import (
    fitting_words,
    keep_partial_answer,
    run_rounds,
)
from indwell.agent.permission.call_facts import display
from indwell.agent.requests.request_blocks import (
    attached_blocks,
    check_pictures,
    cut_words,
    gathered,
)
from indwell.agent.requests.sending import OverBudget
from indwell.context import conversation as talk
from indwell.context.conversation import counted
from indwell.context.pairing import tool_uses
from indwell.context.request.cache_health import named, of_turn
from indwell.errors import (
    ConversationTooLarge,
    NotAuthorised,
    OutOfCredit,
    RequestRejected,
    ToolsUnsupported,
    Unreachable,
    UserError,
    WindowTooSmall,
)
from indwell.installation import installation
from indwell.sessions.overview import session_name
from indwell.sessions.records import ENDED, Ending, FileLines, TurnEndRecord, TurnStartRecord
from indwell.workspace.base import AppliedChange
from indwell.workspace.comparing.diff import count_changes

FEW = 200  # Up to 200 messages are counted and checked in less than a millisecond.

_log = logging.getLogger(__name__)


async def run_turn(session: Session, prompt: Prompt, emit: Listener) -> events.TurnFinished:
    """Run one turn of ``session``; ``emit`` receives its events.

    Cancelling the task ends the turn at once. The conversation stays valid, the turn's end is
    recorded and emitted, and the cancellation is raised again.
    """
    session.turns += 1
    emit = session.parts.features.observed(Moment(session, session.turns, emit))
    words = told_words(prompt.words)
    turn = TurnState(number=session.turns, words=words, draft=prompt.words, prompt=prompt)
    session.under_way = turn
    started = session.parts.clock.monotonic()
    session.turn_runs, session.endings.is_outgrown, session.asked.refused = True, False, 0
    session.endings.is_interrupted = False
    ending: Ending = "failed"
    message = ""
    retryable = False
    remedy: events.Remedy = ""
    try:
        await _begin(session, prompt, turn, emit)
        ending, message = await _worked(session, prompt, turn, emit)
    except asyncio.CancelledError:
        ending, message = (
            ("interrupted", ENDED) if session.endings.is_ending else ("cancelled", "stopped")
        )
        keep_partial_answer(session, turn)
        raise
    except OverBudget as error:
        ending, message = "budget", str(error)
    except UserError as error:
        message, retryable = str(error), isinstance(error, Unreachable)
        remedy = _remedy(error)
        if isinstance(error, ConversationTooLarge) and not isinstance(error, WindowTooSmall):
            session.endings.is_outgrown = True
            message += unshortened(session.parts.compaction.preset)
    except Exception as bug:  # noqa: BLE001 - the turn boundary: a bug must not end the server
        message = installation.fault_words(bug)
        _log.exception("turn %s of session %s", turn.number, session.id)
    finally:
        session.turn_runs = False
        session.parts.model.step_back()
        undelivered = _given_back(session, turn)
        finished = msgspec.structs.replace(
            _finish(session, turn, ending, message, started),
            retryable=retryable,
            remedy=remedy,
            outgrown=session.endings.is_outgrown,
        )
        try:
            # What the user has seen end must be there after a kill, too.
            await _settle_log(session, turn, emit)
        finally:
            for words in undelivered:
                emit(events.Steered(turn.number, words, delivered=False))
            emit(finished)
    return finished


def _remedy(error: UserError) -> events.Remedy:
    """Return what the user can change after this failure."""
    match error:
        case NotAuthorised() | OutOfCredit():
            return "key"
        case ToolsUnsupported() | RequestRejected() | WindowTooSmall():
            return "model"
        case _:
            return ""


async def _worked(
    session: Session, prompt: Prompt, turn: TurnState, emit: Listener
) -> tuple[Ending, str]:
    """Carry out the prompt; return the turn's ending and the message for the user."""
    if is_compact(prompt.words):
        return await compact_now(session, turn, emit)
    if is_continue(prompt.words) and not session.conversation.messages:
        turn.draft = ""
        return "failed", NOTHING
    features = session.parts.features
    if message := features.refuse_words(prompt.words):
        return "failed", message  # the user gets the text back as a draft
    if message := no_command(prompt.words, features.commands):
        turn.draft = ""  # There is no draft, because the same text would be refused again.
        return "failed", message
    if (answer := await features.answer_words(prompt.words)) is not None:
        turn.draft = ""
        return "done", answer
    moment = Moment(session, turn.number, emit)
    checked = await features.check_words(moment, prompt)
    if checked.reason:
        return "failed", checked.reason  # the user gets the text back as a draft
    turn.gathered += checked.blocks
    session.conversation = talk.queue(session.conversation, turn.gathered)
    ending: Ending
    try:
        async with features.around(moment):
            ending, message = await run_rounds(session, turn, emit)
    except OverBudget as error:
        ending, message = "budget", str(error)
    await features.end(moment, Ended(prompt.words, ending, message))
    if ending == "done" and not message and _changed_nothing(session, turn):
        message = "no file was changed"
    return ending, message


def _changed_nothing(session: Session, turn: TurnState) -> bool:
    """Return whether the turn should have changed files, but certainly has changed no file.

    Some models claim to be done although they have changed nothing.
    """
    if turn.changes or turn.n_agents or not asks_for_changes(turn.words):
        return False
    runs = {tool.spec.name for tool in session.parts.tools.tools if tool.effect == "run"}
    own = takewhile(lambda one: one.turn == turn.number, reversed(session.conversation.messages))
    called = {use.name for message in own for use in tool_uses(message)}
    return session.parts.rules().mode != "plan" and not called & runs


async def _begin(session: Session, prompt: Prompt, turn: TurnState, emit: Listener) -> None:
    """Record the prompt, collect context blocks, and emit the start of the turn.

    Prompt and context join the conversation later, because a feature may still refuse the prompt.
    """
    log = session.parts.log
    title = prompt.title or prompt.words[:80]
    named = session.parts.features.labels(prompt.words)
    attached = tuple(dict.fromkeys((*labels(prompt), *named)))
    mode = session.parts.rules().mode
    log.append(
        TurnStartRecord(turn.number, prompt.words, session.timestamp(), title, attached, mode)
    )
    session.titles.own = session.titles.own or session_name(prompt.words, prompt.title)
    await log.commit()
    await _count_what_was_loaded(session)
    moment = Moment(session, turn.number, emit)
    await session.parts.features.begin(moment)
    now = await session.parts.surroundings()
    turn.gathered = tuple(await gathered(moment, prompt, now))
    turn.along, notices = await attached_blocks(session, prompt, turn.number)
    turn.words, kept_in = await fitting_words(session, turn.words)
    if kept_in:
        notices = (*notices, cut_words("this prompt", kept_in))
    emit(events.TurnStarted(turn.number, title, prompt.words, now.model, attached, mode))
    # Report state that features have inherited from another session.
    await session.parts.features.tell(moment)
    if news := installation.news():
        emit(events.Notice(turn.number, "warning", news))
    for notice in notices:
        emit(events.Notice(turn.number, "warning", notice))
    if session.notice:
        emit(events.Notice(turn.number, "warning", session.notice))
        session.notice = ""
    check_pictures(session, prompt)


async def _count_what_was_loaded(session: Session) -> None:
    """Count and check the messages of a resumed conversation in a thread; 16,000 take 40 ms."""
    conversation = session.conversation
    if len(conversation.messages) - conversation.tally.n > FEW:
        session.conversation = await asyncio.to_thread(counted, conversation)


def _given_back(session: Session, turn: TurnState) -> tuple[str, ...]:
    """Return the messages to the turn that never reached the model, to be the user's draft."""
    undelivered = (*turn.steered, *session.steering)
    session.steering = ()
    turn.draft = "\n\n".join(filter(None, (turn.draft, *undelivered)))
    return undelivered


def _finish(
    session: Session, turn: TurnState, ending: Ending, message: str, started: float
) -> events.TurnFinished:
    seconds = round(session.parts.clock.monotonic() - started, 3)
    changes = _changes(session, turn.changes)
    files = tuple(FileLines(one.path, one.added, one.removed) for one in changes)
    at = session.timestamp()
    session.parts.log.append(
        TurnEndRecord(
            turn.number,
            ending,
            at,
            message,
            turn.draft,
            seconds,
            files,
            session.endings.is_outgrown,
        )
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
        seconds=seconds,
        changes=changes,
        figures=named(of_turn(session.health, turn.number)),
        to_review=0
        if session.parts.changes.ledger is None
        else session.parts.changes.ledger.n_pending,
        verified=session.parts.features.verified(turn.number),
    )


def _changes(session: Session, changes: list[AppliedChange]) -> tuple[FileChanged, ...]:
    """Return the net changed lines of each file in a turn.

    For a large file, only the edited parts are known, so the counts of all edits are added up.
    """
    first: dict[str, str] = {}
    last: dict[str, str] = {}
    parts: dict[str, tuple[int, int]] = {}
    for change in changes:
        path = display(session, str(change.path))
        if change.is_part:
            added, removed = count_changes(change.before or "", change.after)
            known = parts.get(path, (0, 0))
            parts[path] = known[0] + added, known[1] + removed
            continue
        first.setdefault(path, change.before or "")
        last[path] = change.after
    whole = {path: count_changes(first[path], last[path]) for path in first}
    paths = dict.fromkeys((*first, *parts))
    return tuple(
        FileChanged(
            path, *map(sum, zip(whole.get(path, (0, 0)), parts.get(path, (0, 0)), strict=True))
        )
        for path in paths
    )


async def _settle_log(session: Session, turn: TurnState, emit: Listener) -> None:
    """Write the turn's records to disk; if the disk is full, tell the user and retry later."""
    try:
        await session.parts.log.commit()
    except UserError as error:
        emit(events.Notice(turn.number, "error", str(error)))
