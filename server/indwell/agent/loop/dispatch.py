"""Runs the tool calls of one reply: checks, permission, log, execution and events.

A tool's failure becomes a result for the model. If the turn is cancelled, the results of finished
calls stay in ``results``; the caller marks the other calls as interrupted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from functools import partial
from itertools import groupby
from typing import NamedTuple

import msgspec

from indwell.agent.core.events import EditApplied, Listener, ToolFinished, ToolOutput, ToolStarted
from indwell.agent.core.feature import Moment
from indwell.agent.core.session import Session
from indwell.agent.permission.call_facts import display
from indwell.agent.permission.decision import Permit
from indwell.agent.permission.permit import (
    Previewing,
    check_no_marks,
    check_still_permitted,
    permitted,
    record_not_given,
    remember_secrets,
)
from indwell.agent.permission.recorded_changes import (
    apart,
    before_command,
    changed_marks,
    command_begins,
    command_ended,
    command_turn,
    covered,
    report,
)
from indwell.agent.permission.recorded_workspace import recorded
from indwell.context.conversation import tool_result
from indwell.context.request.assemble import tool_picture
from indwell.context.untrusted_text import short_line
from indwell.errors import ToolError, UserError
from indwell.messages import Image, ToolResult, ToolUse
from indwell.sessions.records import CallEnded, Intent, kept_diff, kept_failure
from indwell.tools.arguments import words_of_text
from indwell.tools.base import Call, Outcome, Preview, ToolContext
from indwell.workspace.base import AppliedChange
from indwell.workspace.comparing.diff import compare, unified
from indwell.workspace.paths import visible
from indwell.workspace.text import shown

PARALLEL = 8  # the limit of read-only calls that run in parallel
# the limit of characters for a tool's name in events; a model may invent a longer name
NAME_LIMIT = 128
UNREAD_LIMIT = 80  # the limit of characters for the arguments of a call that no tool understands
TOLD_LIMIT = 20_000  # the limit of characters for a call's target or failure in events
CODE_CHARS = 3  # Code with line numbers has about 3 characters per token.
# the smallest and the largest limit of characters for one result
LEAST_ROOM, MOST_ROOM = 4_000, 256_000
# the limit of calls that run in one reply; a model with more calls is out of control
MOST_CALLS = 64


async def dispatch(
    session: Session,
    uses: Sequence[ToolUse],
    emit: Listener,
    *,
    results: dict[str, ToolResult],
    pictures: list[Image],
    changes: list[AppliedChange],
) -> None:
    """Run the tool calls ``uses``; fill ``results`` by call id, ``pictures`` and ``changes``.

    Adjacent read-only calls run in parallel, and other calls one by one in the model's order. The
    three collections are filled as calls end, so that a cancelled turn keeps finished calls.
    """
    bound = [(use, _bind(session, use)) for use in uses[:MOST_CALLS]]
    flood = ToolError(f"a reply may have {MOST_CALLS} calls; this one was not run, call it again")
    bound += [(use, flood) for use in uses[MOST_CALLS:]]
    gate = asyncio.Semaphore(PARALLEL)
    features = session.parts.features
    outcomes: dict[str, Outcome] = {}
    ran: dict[str, _RanCall] = {}

    async def one(use: ToolUse, call: Call | ToolError) -> None:
        async with gate:
            try:
                outcome = await _run_one(session, use, call, emit, ran)
            finally:
                # Report the edits of a turn that was stopped during an edit.
                if session.is_editing:
                    session.is_editing = False
                    features.files_changed(Moment(session, use.meta.turn, emit))
        changes.extend(outcome.changes)
        outcomes[use.id] = outcome
        pictures.extend(tool_picture(use, one.media_type, one.data) for one in outcome.pictures)
        told = tuple(results.values())
        outcome = features.result(use.name, outcome, session.conversation.messages, told)
        results[use.id] = tool_result(
            use, outcome.text, is_error=outcome.is_error, frame=outcome.frame
        )
        if use.id in ran:
            moment, (call, edits) = Moment(session, use.meta.turn, emit), ran[use.id]
            await features.after_tool(moment, use, call, outcome, edits)

    for parallel, group in groupby(bound, key=lambda pair: _is_read(pair[1])):
        if parallel:
            await _at_once([one(use, call) for use, call in group])
        else:
            for use, call in group:
                # Bind the call again, because its meaning (such as its folder) may depend on the
                # previous call.
                await one(use, call if isinstance(call, ToolError) else _bind(session, use))
    if uses:
        moment = Moment(session, uses[0].meta.turn, emit)
        by_id = {use.id: use for use in uses}
        for call_id, words in (await features.after_reply(moment, uses, outcomes)).items():
            outcome = outcomes[call_id]
            text = f"{outcome.text}\n{words}"
            results[call_id] = tool_result(by_id[call_id], text, is_error=outcome.is_error)


class _RanCall(NamedTuple):
    """A call that ran, and the edits that it reported."""

    call: Call
    edits: list[EditApplied]


async def _at_once(calls: Sequence[Coroutine[None, None, None]]) -> None:
    """Run ``calls`` in parallel; an exception in one call cancels the others and is raised."""
    try:
        async with asyncio.TaskGroup() as tasks:
            for call in calls:
                tasks.create_task(call)
    except ExceptionGroup as group:
        raise group.exceptions[0] from None


def _bind(session: Session, use: ToolUse) -> Call | ToolError:
    try:
        return session.parts.tools.bind(use.name, use.arguments)
    except ToolError as error:
        return error


def _is_read(call: Call | ToolError) -> bool:
    """Return whether the call can run in parallel; a call that asks the user cannot."""
    if isinstance(call, ToolError) or call.effect != "read" or call.plan is not None:
        return False
    return not (call.facts.asks or call.facts.keeps)


async def _run_one(
    session: Session,
    use: ToolUse,
    call: Call | ToolError,
    emit: Listener,
    ran: dict[str, _RanCall],
) -> Outcome:
    turn, started = use.meta.turn, session.parts.clock.monotonic()
    name = short_line(use.name, NAME_LIMIT)
    target = _target(use, call)
    emit(ToolStarted(turn, use.id, name, target))
    meanwhile = ""
    try:
        if isinstance(call, ToolError):
            record_not_given(session, use, str(call))
            raise call
        call = await _planned(session, use, call, emit)
        check_no_marks(call)
        moment = Moment(session, turn, emit)
        # Ask the features before the permission question, because they may stop or delay the call.
        await session.parts.features.before_tool(moment, use, call)
        preview = _previewing(session, use, call)
        meanwhile = await before_command(session, use, call, emit)
        permit = await permitted(session, use, call, emit, preview)
        async with command_turn(session, turn, permit, emit):
            # The call may have waited for a long time, so check the permit again.
            permit = await check_still_permitted(session, permit)
            if call.effect != "read":
                intent = Intent(turn, use.id, use.name, call.arguments, session.timestamp())
                session.parts.log.append(intent)
                await session.parts.log.commit()
            session.is_editing = call.effect == "edit"
            ran[use.id] = _RanCall(call, [])
            await command_begins(session, call, permit)
            async with apart(session, call):
                permit = await check_still_permitted(session, permit)
                outcome = await call.run(_context(session, use, call, emit, permit))
            new = await command_ended(session, call, permit)
        outcome = await report(session, use, new, outcome, emit)
        remember_secrets(session, call, permit, outcome)
        await session.parts.features.tell(moment, use.name)
    except ToolError as error:
        outcome = Outcome(text=str(error), is_error=True, figure="failed")
    text = await session.hidden(f"{outcome.text}{meanwhile}")
    outcome = deliver(session, msgspec.structs.replace(outcome, text=text))
    diffs: list[str] = []
    for change in outcome.changes:
        applied = await asyncio.to_thread(_edit_applied, session, use, change, outcome)
        diffs.append(applied.diff)
        ran[use.id].edits.append(applied)
        emit(applied)
    session.is_editing = False
    session.parts.features.files_changed(Moment(session, turn, emit))
    seconds = round(session.parts.clock.monotonic() - started, 3)
    message = outcome.text[:TOLD_LIMIT] if outcome.is_error else ""
    diff = kept_diff(await session.hidden("\n".join(diffs))) if diffs else ""
    figure, at = outcome.figure, session.timestamp()
    failed = kept_failure(outcome.text) if outcome.is_error else ""
    session.parts.log.append(
        CallEnded(turn, use.id, target, figure, seconds, at, diff, name, failed)
    )
    emit(
        ToolFinished(turn, use.id, name, target, outcome.is_error, outcome.figure, seconds, message)
    )
    return outcome


async def _planned(session: Session, use: ToolUse, call: Call, emit: Listener) -> Call:
    """Replace a call that only plans with the call to run, which needs its own permission."""
    if call.plan is None:
        return call
    looking = await permitted(session, use, call, emit, _previewing(session, use, call))
    return await call.plan(_context(session, use, call, emit, looking))


def _previewing(session: Session, use: ToolUse, call: Call) -> Previewing:
    async def preview(permit: Permit) -> Preview:
        if call.preview is None:
            return Preview()
        return await call.preview(_context(session, use, call, lambda _: None, permit))

    return preview


def _context(
    session: Session, use: ToolUse, call: Call, emit: Listener, permit: Permit
) -> ToolContext:
    return ToolContext(
        workspace=recorded(session, use, permit),
        seen=session.seen,
        spill=session.parts.spill.keep,
        on_output=lambda text: emit(ToolOutput(use.meta.turn, use.id, text)),
        readable=session.parts.readable,
        hidden=permit.rules.hidden,
        takes_pictures=session.conversation.config.takes_pictures,
        most_chars=_room(session),
        judged=permit.judged,
        confinement=permit.rules.confine(permit.widening) if call.effect == "run" else None,
        unasked=permit.widening.reads_only,
        hide=session.parts.secrets.hide,
        chosen=permit.chosen,
        covered=covered(session, use, permit, emit),
        turn=use.meta.turn,
        call_id=use.id,
        look=partial(changed_marks, session, use.meta.turn),
        tell=emit,
    )


def _room(session: Session) -> int:
    """Return the limit of characters for one result: code for a quarter of the window."""
    quarter = session.conversation.config.window // 4
    return min(max(quarter * CODE_CHARS, LEAST_ROOM), MOST_ROOM)


def _target(use: ToolUse, call: Call | ToolError) -> str:
    if isinstance(call, ToolError):
        return short_line(words_of_text(use.arguments), UNREAD_LIMIT)
    facts = call.facts
    return (facts.command or facts.subject or ", ".join(facts.paths))[:TOLD_LIMIT]


def _edit_applied(
    session: Session, use: ToolUse, change: AppliedChange, outcome: Outcome
) -> EditApplied:
    path = visible(display(session, str(change.path)))
    if outcome.counts is not None:  # the tool has already counted the changed lines
        (added, removed), diff = outcome.counts, outcome.diff
    else:
        difference = compare(change.before, change.after)
        added, removed, diff = difference.n_added, difference.n_removed, unified(difference, path)
    return EditApplied(
        turn=use.meta.turn,
        id=use.id,
        path=path,
        added=added,
        removed=removed,
        diff=shown(diff),
        created=change.before is None,
        verified=change.verified,
    )


def deliver(session: Session, outcome: Outcome) -> Outcome:
    """Queue a user's message in an outcome for the next request; add a failure to the outcome."""
    if not outcome.said:
        return outcome
    try:
        session.steer(outcome.said)
    except UserError as error:
        text = f"the user's answer could not be taken ({error})"
        return msgspec.structs.replace(outcome, text=text, is_error=True, said="")
    return outcome
