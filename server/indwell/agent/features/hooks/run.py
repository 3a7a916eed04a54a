"""Runs the hooks of an event in order, until a hook stops the event.

The user is told about a broken hook each time. A setting of the hook decides whether a broken hook
stops the action.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec

from indwell.agent.core.events import Checking, Listener, Notice
from indwell.agent.core.feature import Moment
from indwell.agent.core.session import Session
from indwell.agent.features.hooks.hook_io import (
    MOST_ADDED,
    EventName,
    HookOutcome,
    Payload,
    encoded,
    event_of,
    is_closed,
    is_long,
    kind_of,
    outcome_of,
    shortened,
)
from indwell.agent.features.hooks.session_hooks import (
    FoundHook,
    HookBook,
    RefusedHook,
    hook_permit,
    note_ending,
    still_permitted_hook,
    wanted,
)
from indwell.agent.permission.decision import Permit
from indwell.agent.permission.recorded_changes import around, command_turn
from indwell.agent.permission.recorded_workspace import is_accepted
from indwell.context import conversation as talk
from indwell.context.injections import inject
from indwell.context.untrusted_text import short_line
from indwell.errors import ToolError
from indwell.messages import Text
from indwell.policy.rules import Widening
from indwell.review.hunk import Actor
from indwell.sandbox import Finished, spawn
from indwell.sandbox.capture import output_text
from indwell.tools.truncate import without_escapes

KEPT_B = 400_000  # the limit of bytes kept from a hook's output, and from its standard error
CHARS = 3  # A token has about 3 characters.
SHARE = 16  # one hook may add text of at most 1/16 of the context window
# All hooks of a request may add 1/8 of the window; beyond that, each may add LEAST_ADDED.
SHARE_OF_ALL = 8
LEAST_ADDED = 200  # A hook may always add 200 characters.
SLOW_S = 1.0  # the time in seconds after which the user is told that the turn waits for a hook
_NAME = 80  # the limit of characters for a hook's name
_MOST_REASON = 4_000  # the limit of characters for the reason of a stop
_PROBLEM = 500  # the limit of characters for the description of a hook's fault
_OF_HOOKS: Mapping[str, str] = {"PYTHONSAFEPATH": "1"}
"""Keeps ``python3 -c`` from importing modules of its folder, which the model may have written."""
_MADE: frozenset[EventName] = frozenset({"after_tool", "edit_applied", "turn_end"})
"""Before these events, the agent's edits are saved, so that hooks find the edits on disk."""


class HooksVerdict(msgspec.Struct, frozen=True):
    """The outcome of all hooks of an event.

    Attributes:
        block: The reason to stop, or empty if no hook stops.
        by: A description of the hook that stops.
        is_own: Whether the hook that stops is in the user's own settings.
        added: Text that the hooks of a prompt add; the caller queues this text once the prompt is
            sent.
    """

    block: str = ""
    by: str = ""
    is_own: bool = True
    added: tuple[Text, ...] = ()


async def run_hooks(
    book: HookBook,
    session: Session,
    turn: int,
    payload: Payload,
    emit: Listener,
    *,
    tool: str = "",
    tool_use_id: str | None = None,
) -> HooksVerdict:
    """Run the hooks of an event; text that the hooks add waits for the next request.

    For a prompt, the added text is only returned, because another hook may still stop the prompt.
    """
    found = await book.found(session.id, turn)
    event = event_of(payload)
    if found.folder is None:
        return HooksVerdict()
    added: list[Text] = []
    for one in wanted(found, event, tool):
        async with book.running:
            outcome = await _run(book, session, turn, one, found.folder, payload, emit)
        if outcome.problem:
            outcome = _broken(turn, one, outcome.problem, emit)
        if outcome.add:
            block = await _adding(session, turn, one, outcome.add, tool_use_id, added)
            if event == "prompt_submitted":
                added.append(block)
            else:
                session.conversation = talk.queue(session.conversation, (block,))
        if outcome.block:
            return HooksVerdict(outcome.block, one.name, one.is_own)
    return HooksVerdict(added=tuple(added))


def tell_late(
    session: Session,
    turn: int,
    event: EventName,
    verdict: HooksVerdict,
    tool_use_id: str | None = None,
) -> None:
    """Tell the model why a hook wanted to stop an action that is already finished."""
    if verdict.block:
        kind = kind_of(event, is_own=verdict.is_own)
        about = {"event": event, "wants": "a change"}
        block = inject(kind, verdict.block, turn=turn, attributes=about, tool_use_id=tool_use_id)
        session.conversation = talk.queue(session.conversation, (block,))


def _broken(turn: int, found: FoundHook, problem: str, emit: Listener) -> HookOutcome:
    stops = is_closed(found.hook)
    effect = "so this was stopped" if stops else "so it was skipped"
    emit(Notice(turn, "warning", f"{found.name} does not work: {problem}; {effect}"))
    words = f"it does not work: {problem}; fix that, or set its `if_broken`"
    return HookOutcome(block=words if stops else "")


async def _adding(  # noqa: PLR0917 - as ``run_hooks``
    session: Session,
    turn: int,
    found: FoundHook,
    text: str,
    tool_use_id: str | None,
    held: Sequence[Text],
) -> Text:
    """Return a hook's added text, shortened to the limits of one hook and of all hooks."""
    event = found.hook.event
    window = session.conversation.config.window * CHARS
    waiting = (*session.conversation.pending, *held)
    used = sum(len(block.text) for block in waiting if block.meta.source == "hook")
    most = min(MOST_ADDED, window // SHARE, max(window // SHARE_OF_ALL - used, LEAST_ADDED))
    if is_long(text, most):
        text = shortened(text, str(await session.parts.spill.keep("hook", text)), most)
    kind = kind_of(event, is_own=found.is_own)
    return inject(kind, text, turn=turn, attributes={"event": event}, tool_use_id=tool_use_id)


async def _run(  # noqa: PLR0917 - as ``run_hooks``
    book: HookBook,
    session: Session,
    turn: int,
    found: FoundHook,
    folder: Path,
    payload: Payload,
    emit: Listener,
) -> HookOutcome:
    """Run one hook within its permitted bounds.

    Raises:
        SessionError: The start of the hook cannot be recorded.
    """
    run_id = book.next_id(turn)
    permit = await hook_permit(session, turn, run_id, found, folder, emit)
    if isinstance(permit, RefusedHook):
        return _not_run(found, permit)
    async with command_turn(session, turn, permit, emit):
        await session.parts.log.commit()
        if event_of(payload) in _MADE:
            await session.parts.workspace.settle()
        now = await still_permitted_hook(session, permit)
        if isinstance(now, RefusedHook):
            return _not_run(found, now)
        run = RunningHook(turn, run_id, found, folder, now)
        return await _run_permitted(session, run, payload, emit)


def _not_run(found: FoundHook, refused: RefusedHook) -> HookOutcome:
    if refused.by_user and not found.is_own:
        # If the user refuses a project's hook, the user's prompt is still sent.
        return HookOutcome()
    return HookOutcome(problem=f"it was not run: {refused.why}")


class RunningHook(NamedTuple):
    """Runs a permitted hook once."""

    turn: int
    id: str
    found: FoundHook
    folder: Path
    permit: Permit


async def _run_permitted(
    session: Session, run: RunningHook, payload: Payload, emit: Listener
) -> HookOutcome:
    turn, run_id, found, folder, permit = run
    parts, hook, bounds = session.parts, found.hook, permit.widening
    name = short_line(f"{hook.event}: {hook.command}", _NAME)
    telling = asyncio.get_running_loop().call_later(SLOW_S, emit, Checking(turn, name))
    try:
        async with (
            around(session, reads_only=bounds.reads_only),
            _covered(session, turn, run_id, bounds, emit),
        ):
            finished = await spawn(
                hook.command,
                cwd=folder,
                timeout_s=hook.timeout_s,
                limit_b=KEPT_B,
                env=_OF_HOOKS,
                stdin=encoded(payload),
                merge_errors=False,
                confinement=permit.rules.confine(bounds),
                never_in=parts.workspace.roots,
                unasked=bounds.reads_only,
            )
    except ToolError as error:
        note_ending(session, turn, run_id, found, "did not run")
        return HookOutcome(problem=f"it did not run: {error}")
    except asyncio.CancelledError:
        note_ending(session, turn, run_id, found, "stopped with the turn")
        raise
    finally:
        telling.cancel()
    session.parts.features.files_changed(Moment(session, turn, emit))
    note_ending(session, turn, run_id, found, _ending(finished))
    for note in finished.notes:
        emit(Notice(turn, "warning", f"{found.name}: {note}"))
    return await _outcome(session, hook.timeout_s, finished)


def _covered(
    session: Session, turn: int, run_id: str, permit: Widening, emit: Listener
) -> AbstractAsyncContextManager[None]:
    """Record a hook's changes as changes of the turn."""
    coverage = session.parts.changes.coverage
    if coverage is None or permit.reads_only:
        return nullcontext()

    def tell(words: str) -> None:
        emit(Notice(turn, "info", words))

    accepted = partial(is_accepted, session)
    return coverage.around(Actor(session.id, turn), run_id, accepted=accepted, tell=tell)


async def _outcome(session: Session, timeout_s: float, finished: Finished) -> HookOutcome:
    if finished.timed_out:
        return HookOutcome(problem=f"it took longer than {timeout_s:g} s, and was ended")
    if finished.overrun:
        return HookOutcome(problem=f"it used {finished.overrun}, and was ended")
    errors = output_text(finished.errors)
    outcome = outcome_of(
        finished.exit_code, without_escapes(finished.output), without_escapes(errors)
    )
    return HookOutcome(
        add=await session.hidden(outcome.add),
        block=_cut(await session.hidden(outcome.block)),
        problem=short_line(await session.hidden(outcome.problem), _PROBLEM),
    )


def _cut(reason: str) -> str:
    return reason if len(reason) <= _MOST_REASON else f"{reason[:_MOST_REASON]}…"


def _ending(finished: Finished) -> str:
    if finished.timed_out:
        return "took too long, and was ended"
    return "used too much" if finished.overrun else f"exit code {finished.exit_code}"
