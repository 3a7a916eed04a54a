"""Runs the tool calls of one reply: check, decide, ask, log the intent, run, tell (H44, H57).

A tool's failure is a result for the model. What was finished when a turn is cancelled stays in
``results``; the caller marks the rest as interrupted (H58).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Coroutine, Mapping, Sequence
from itertools import groupby
from pathlib import Path

import msgspec

from indwell.agent.events import (
    EditApplied,
    Listener,
    PermissionAnswered,
    PermissionAsked,
    ToolFinished,
    ToolOutput,
    ToolStarted,
)
from indwell.agent.session import Session
from indwell.context.conversation import tool_result
from indwell.context.pictures import tool_picture
from indwell.errors import ToolError
from indwell.files import has_other_names, locate
from indwell.messages import Image, ToolResult, ToolUse
from indwell.policy.approvals import question_for, short_line
from indwell.policy.decide import Allow, Ask, Asked, Decision, Deny, Effect, decide
from indwell.policy.widening import NOTHING_MORE, Widening
from indwell.sessions.records import Decided, Intent, Verdict
from indwell.tools.base import Call, Outcome, ToolContext
from indwell.workspace.base import Change
from indwell.workspace.comparing.diff import compare, unified
from indwell.workspace.paths import parse, visible
from indwell.workspace.text import shown

PARALLEL = 8  # read-only calls at once; H57
NAME_LIMIT = 128  # characters of a tool's name that are told; ours are short, a model's need not be
TOLD_LIMIT = 20_000  # characters of a target or a failure that are told; a screen shows far less
CODE_CHARS = 3  # a token of numbered code has about as many; H15
LEAST_ROOM, MOST_ROOM = 4_000, 256_000  # characters of one result
MOST_CALLS = 64  # of one reply that are run; a reply with more is no plan but a flood

_HUNK = re.compile(r"^@@ .*", re.MULTILINE)  # no line of a text begins so in a diff


_WORDS: Mapping[type, Verdict] = {Allow: "allow", Ask: "ask", Deny: "deny"}


class Permit(msgspec.Struct, frozen=True):
    """How a call may run: where its paths led when that was decided, and with what beyond."""

    judged: Mapping[str, Path] = {}
    widening: Widening = NOTHING_MORE


async def dispatch(
    session: Session,
    uses: Sequence[ToolUse],
    emit: Listener,
    *,
    results: dict[str, ToolResult],
    pictures: list[Image],
    changes: list[Change],
) -> None:
    """Run ``uses``: put each result into ``results`` by the id of its call, edits into ``changes``.

    Neighbouring read-only calls run at once, all others one after the other in the model's order.
    All are filled as calls end, so that a cancelled turn keeps what was done.
    """
    bound = [(use, _bind(session, use)) for use in uses[:MOST_CALLS]]
    flood = ToolError(f"a reply may have {MOST_CALLS} calls; this one was not run, call it again")
    bound += [(use, flood) for use in uses[MOST_CALLS:]]
    gate = asyncio.Semaphore(PARALLEL)

    async def one(use: ToolUse, call: Call | ToolError) -> None:
        async with gate:
            outcome = await _run_one(session, use, call, emit)
        changes.extend(outcome.changes)
        pictures.extend(tool_picture(use, one.media_type, one.data) for one in outcome.pictures)
        results[use.id] = tool_result(use, outcome.text, is_error=outcome.is_error)

    for parallel, group in groupby(bound, key=lambda pair: _is_read(pair[1])):
        if parallel:
            await _at_once([one(use, call) for use, call in group])
        else:
            for use, call in group:
                # Bound anew: what a call means (its folder, say) may follow from the one before.
                await one(use, call if isinstance(call, ToolError) else _bind(session, use))


async def _at_once(calls: Sequence[Coroutine[None, None, None]]) -> None:
    """Run ``calls`` together; what goes wrong in one ends the others, and travels as it is."""
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
    return isinstance(call, Call) and call.effect == "read"


async def _run_one(
    session: Session, use: ToolUse, call: Call | ToolError, emit: Listener
) -> Outcome:
    turn, started = use.meta.turn, session.parts.monotonic()
    name = short_line(use.name, NAME_LIMIT)
    target = use.arguments[:80] if isinstance(call, ToolError) else _target(call)[:TOLD_LIMIT]
    emit(ToolStarted(turn, use.id, name, target))
    try:
        if isinstance(call, ToolError):
            raise call
        permit = await _permit(session, use, call, emit)
        if call.effect != "read":
            intent = Intent(turn, use.id, use.name, use.arguments, session.timestamp())
            session.parts.log.append(intent)
            await session.parts.log.commit()
        outcome = await call.run(_context(session, use, emit, permit))
    except ToolError as error:
        outcome = Outcome(text=str(error), is_error=True, figure="failed")
    for change in outcome.changes:
        await session.aftermath.made(change)
        emit(await asyncio.to_thread(_edit_applied, session, use, change, outcome))
    seconds = round(session.parts.monotonic() - started, 3)
    message = outcome.text[:TOLD_LIMIT] if outcome.is_error else ""
    emit(
        ToolFinished(turn, use.id, name, target, outcome.is_error, outcome.figure, seconds, message)
    )
    return outcome


async def _permit(session: Session, use: ToolUse, call: Call, emit: Listener) -> Permit:
    """Return if the call may run, and how.

    Raises:
        ToolError: It may not; the model reads why.
    """
    asked = _asked(session, use, call)
    judged = _judged(call, asked)
    decision = decide(asked, session.parts.policy())
    match decision:
        case Allow():
            _note(session, use, asked, decision)
            return Permit(judged, decision.widening)
        case Deny(reason=reason):
            _note(session, use, asked, decision)
            raise ToolError(f"not allowed: {reason}")
        case Ask() as ask:
            context = _context(session, use, emit, Permit(judged))
            preview = await call.preview(context) if call.preview else ""
            question = question_for(use.id, asked, ask, preview)
            turn = use.meta.turn
            emit(
                PermissionAsked(
                    turn, use.id, question.id, question.title, question.detail, question.reason
                )
            )
            answer = await session.parts.approver.ask(question)
            emit(PermissionAnswered(turn, use.id, question.id, answer))
            _note(session, use, asked, decision, answer)
            if answer == "no":
                raise ToolError(
                    "the user did not allow this; go on without it, or say what it is needed for"
                )
            await _check_unchanged(session, use, call, asked, preview)
            if answer != "once" and ask.rule:
                await session.parts.grant(ask.rule, answer == "always")
            return Permit(judged, ask.widening)


def _note(
    session: Session, use: ToolUse, asked: Asked, decision: Decision, answer: str = ""
) -> None:
    """Write down what was decided, and by which rule, for ``indwell audit``; reads are not."""
    if asked.effect == "read" and isinstance(decision, Allow):
        return
    widening = decision.widening.words if not isinstance(decision, Deny) else ""
    session.parts.log.append(
        Decided(
            turn=use.meta.turn,
            tool_use_id=use.id,
            tool=asked.tool,
            what=asked.command or ", ".join(asked.paths),
            cwd=asked.cwd,
            decision=_WORDS[type(decision)],
            rule=decision.by,
            reason="" if isinstance(decision, Allow) else decision.reason,
            answer=answer,
            widening=widening,
            at=session.timestamp(),
        )
    )


async def _check_unchanged(
    session: Session, use: ToolUse, call: Call, asked: Asked, preview: str
) -> None:
    """A yes is for what was shown: the same paths, the same change, under the rules of now.

    Raises:
        ToolError: Something moved while the question stood; nothing was done.
    """
    now = _asked(session, use, call)
    previewed = ""
    if call.preview:
        permit = Permit(_judged(call, now))
        previewed = await call.preview(_context(session, use, lambda _: None, permit))
    # Somebody may type above the lines that were shown while the question stands. That moves the
    # same change by some lines; the lines themselves, and those around them, are what was allowed.
    if now != asked or _HUNK.sub("@@", previewed) != _HUNK.sub("@@", preview):
        raise ToolError("what it would do changed while the user was asked; nothing was done")
    match decide(now, session.parts.policy()):
        case Deny(reason=reason):
            raise ToolError(f"not allowed: {reason}")
        case _:
            return


def _asked(session: Session, use: ToolUse, call: Call) -> Asked:
    """The facts of a call with every path as written and as it resolves (FS-05).

    Raises:
        ToolError: A path leads out of the workspace and of the folders that may be read.
    """
    facts = call.facts
    resolved = [_resolved(session, written, facts.effect) for written in facts.paths]
    paths = [*facts.paths, *(display(session, str(path)) for path in resolved)]
    return Asked(
        tool=facts.tool,
        effect=facts.effect,
        paths=tuple(dict.fromkeys(paths)),
        resolved=tuple(str(path) for path in resolved),
        command=facts.command,
        cwd=facts.cwd,
        arguments=use.arguments,
        has_other_names=facts.effect == "edit" and any(map(has_other_names, resolved)),
        wants=facts.wants,
    )


def _resolved(session: Session, written: str, effect: Effect) -> Path:
    """Where a path leads, in the workspace or, for reading, in the folders that may be read."""
    workspace, read_roots = session.parts.workspace, session.parts.read_roots
    try:
        return workspace.resolve(written)
    except ToolError as outside:
        if effect != "read" or not read_roots:
            raise
        try:
            return locate(parse(written, workspace.roots[0]), read_roots).path
        except ToolError:
            raise outside from None


def _judged(call: Call, asked: Asked) -> Mapping[str, Path]:
    return dict(zip(call.facts.paths, map(Path, asked.resolved), strict=True))


def _context(session: Session, use: ToolUse, emit: Listener, permit: Permit) -> ToolContext:
    return ToolContext(
        workspace=session.parts.workspace,
        seen=session.seen,
        spill=session.parts.spill,
        on_output=lambda text: emit(ToolOutput(use.meta.turn, use.id, text)),
        read_roots=session.parts.read_roots,
        hidden=session.parts.hidden,
        takes_pictures=session.conversation.config.takes_pictures,
        most_chars=_room(session),
        judged=permit.judged,
        confinement=session.parts.confine(permit.widening),
    )


def _room(session: Session) -> int:
    """Characters that one result may have: what a quarter of the window holds of code."""
    quarter = session.conversation.config.window // 4
    return min(max(quarter * CODE_CHARS, LEAST_ROOM), MOST_ROOM)


def _target(call: Call) -> str:
    return call.facts.command or call.facts.subject or ", ".join(call.facts.paths)


def _edit_applied(session: Session, use: ToolUse, change: Change, outcome: Outcome) -> EditApplied:
    path = visible(display(session, str(change.path)))
    if outcome.counts is not None:  # the tool has compared the texts already
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


def display(session: Session, path: str) -> str:
    """A path as people read it: relative to the first root that holds it."""
    for root in session.parts.workspace.roots:
        if path == str(root):
            return "."
        if path.startswith(f"{root}/"):
            return path[len(str(root)) + 1 :]
    return path
