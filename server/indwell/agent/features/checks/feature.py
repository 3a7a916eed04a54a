"""Runs checks before an edit, after the calls of a reply, and at the end of a turn.

If no source reports problems, checks take no time. Checks wait no longer than the limits below.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from indwell.agent.core.events import EditApplied, Listener, Notice
from indwell.agent.core.feature import Feature, Moment
from indwell.agent.core.session import Session
from indwell.agent.features.checks.checking_commands import checks_in
from indwell.agent.features.checks.new_problems import (
    ASKED,
    errors_of,
    listed,
    look_back,
    marks_of,
    new_errors,
    shown_of,
    told_words,
)
from indwell.agent.features.checks.run_check import run_check
from indwell.agent.features.checks.turn_checks import SessionChecks
from indwell.agent.permission.call_facts import display
from indwell.agent.permission.recorded_changes import changed_marks
from indwell.context import conversation as talk
from indwell.context.injections import inject
from indwell.errors import ToolError
from indwell.lazy_pattern import lazy_pattern
from indwell.messages import ToolUse
from indwell.sandbox.shells import command_language
from indwell.tools.base import Call, Outcome
from indwell.workspace.paths import visible

_NOTHING_RAN = lazy_pattern(
    r"^Ran 0 tests|No tests? (?:found|ran|files found)|no test files", re.MULTILINE
)
# the time in seconds for checkers to report problems after the edits of a reply
EDIT_SETTLE_S = 2.0
BASELINE_S = 10.0  # the limit in seconds for a check's delay of a turn's first edit


def checks_feature(checks: SessionChecks) -> Feature[Session]:
    """Return the feature for the checks of one session; sub-agents share the session's checks."""

    async def before_tool(moment: Moment[Session], use: ToolUse, call: Call) -> None:
        await _before_edit(checks, moment, use, call)

    async def after_tool(
        moment: Moment[Session],
        use: ToolUse,
        call: Call,
        outcome: Outcome,
        _applied: Sequence[EditApplied],
    ) -> None:
        if outcome.changes:
            checks.of(use.meta.turn).note(outcome.changes)
        if outcome.succeeded is not None:
            await _note_command(checks, moment, call, outcome)

    async def after_reply(
        moment: Moment[Session], uses: Sequence[ToolUse], outcomes: Mapping[str, Outcome]
    ) -> Mapping[str, str]:
        return await _new_problems(checks, moment, uses, outcomes)

    async def on_stop(moment: Moment[Session]) -> bool:
        return await _goes_on(checks, moment)

    return Feature(
        name="checks",
        door=checks,
        before_tool=before_tool,
        after_tool=after_tool,
        after_reply=after_reply,
        on_stop=on_stop,
        changed=lambda turn: tuple(checks.of(turn).files),
        verified=checks.verdict,
    )


async def _before_edit(
    checks: SessionChecks, moment: Moment[Session], use: ToolUse, call: Call
) -> None:
    """Record which problems a file has before the file's first edit in a turn."""
    if call.effect != "edit" or not checks.settings().check_edits:
        return
    session = moment.session
    state = checks.of(use.meta.turn)
    paths = tuple(path for path in _paths(session, call) if path not in state.files | state.before)
    if not paths:
        return
    known = await checks.source.problems(paths, settle_s=0)
    state.take(known)
    is_known = all(path in state.before for path in paths) and not checks.is_vague
    if state.is_begun or is_known:
        return
    state.is_begun = True
    if not state.files:
        await _begin(checks, session, use.meta.turn, paths, moment.emit)


async def _note_command(
    checks: SessionChecks, moment: Moment[Session], call: Call, outcome: Outcome
) -> None:
    """Record a passed command of the model that is a check."""
    succeeded, turn = outcome.succeeded, moment.turn
    state = checks.of(turn)
    if succeeded is None or not state.files or not checks.settings().check_edits:
        return
    if _NOTHING_RAN.search(outcome.text):
        return
    facts, paths = call.facts, tuple(state.files)
    declared = await asyncio.to_thread(checks.finder.commands, paths)
    texts = tuple(one.command for one in declared)
    cwd, language = Path(facts.cwd), command_language()
    passed = await asyncio.to_thread(checks_in, facts.command, cwd, texts, language)
    if passed:
        after = await asyncio.to_thread(changed_marks, moment.session, turn)
        state.note_passed(passed, succeeded, after)


async def _new_problems(
    checks: SessionChecks,
    moment: Moment[Session],
    uses: Sequence[ToolUse],
    outcomes: Mapping[str, Outcome],
) -> Mapping[str, str]:
    """Add the problems that a reply's edits caused or fixed to the result of the last edit.

    A reply with several edits therefore waits only once.
    """
    session = moment.session
    edited = [use for use in uses if use.id in outcomes and outcomes[use.id].changes]
    if not edited or not checks.settings().check_edits:
        return {}
    state = checks.of(moment.turn)
    changes = (change for use in edited for change in outcomes[use.id].changes)
    paths = dict.fromkeys(change.path for change in changes)
    for path in paths:
        checks.source.edited(path)
    known = await checks.source.problems(tuple(paths), settle_s=EDIT_SETTLE_S)
    if known is None or not known.reports:
        return {}
    found = await asyncio.to_thread(state.untold, shown_of(session, state, known))
    words = await session.hidden(told_words(found, lambda path: _named(session, path)))
    return {edited[-1].id: words} if words else {}


async def _goes_on(checks: SessionChecks, moment: Moment[Session]) -> bool:
    """Look for new problems before a turn ends; return True if the model should fix some.

    The model is asked once in a turn, and only if the limit of rounds allows another round.
    """
    session, turn, emit = moment.session, moment.session.under_way, moment.emit
    # The turn that started the sub-agent looks for new problems when that turn ends.
    if session.helping is not None:
        return False
    assert turn is not None
    state = checks.of(turn.number)
    if not state.files or not checks.settings().check_edits or session.parts.rules().mode == "plan":
        return False
    if state.n_seen != state.n_edits:
        await look_back(checks, session, state, emit)
    found = {by: errors for by, new in state.found.items() if (errors := errors_of(new))}
    if not found or state.was_asked or turn.rounds >= session.parts.limits.rounds:
        return False
    state.was_asked = True
    blocks = [inject("reminder", ASKED, turn=turn.number)]
    for by, errors in found.items():
        output = next((ran.output for _, ran in checks.kept.values() if ran.output), "")
        lines = listed(errors, lambda path: _named(session, path), output)
        words = await session.hidden("\n".join(lines))
        about = {"check": by, "state": "failing"}
        blocks.append(inject("diagnostics", words, turn=turn.number, attributes=about))
    session.conversation = talk.queue(session.conversation, blocks)
    n_errors = sum(map(len, found.values()))
    asked = f"{new_errors(n_errors)} since these changes; the model is asked to repair them"
    emit(Notice(turn.number, "info", asked))
    return True


async def _begin(
    checks: SessionChecks, session: Session, turn: int, paths: Sequence[Path], emit: Listener
) -> None:
    """Run the checks before the first edit of a turn, unless the last results are still valid."""
    state = checks.of(turn)
    commands = await asyncio.to_thread(checks.finder.commands, paths)
    if not commands:
        return
    marks = await marks_of(checks, commands)
    loop = asyncio.get_running_loop()
    until = loop.time() + min(BASELINE_S, checks.settings().check_timeout_s)
    for command in commands:
        mark, ran = checks.kept.get(command.command, ("", None))
        if ran is not None and mark and mark == marks[command.folder]:
            state.runs[command.command] = ran
            continue
        left_s = until - loop.time()
        if command.command in checks.slow or left_s <= 0:
            continue
        ran = await run_check(checks, session, turn, command, emit, left_s)
        state.runs[command.command] = ran
        if ran.state == "broken":
            checks.slow.add(command.command)


def _named(session: Session, path: Path) -> str:
    return visible(display(session, str(path)))


def _paths(session: Session, call: Call) -> tuple[Path, ...]:
    """Return the files that a tool call edits, if the call's arguments name the files."""
    found = []
    for written in call.facts.paths:
        try:
            found.append(session.parts.workspace.resolve(written))
        except ToolError:
            continue
    return tuple(found)
