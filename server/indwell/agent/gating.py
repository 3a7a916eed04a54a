"""The diagnostics gate in the loop: before an edit, after the calls of a reply, at a turn's end.

It costs nothing where nobody knows problems; nothing here waits for longer than it says.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from indwell.agent.asked import display
from indwell.agent.check_run import run_check
from indwell.agent.events import Listener, Notice
from indwell.agent.gate.checking_commands import checks_in
from indwell.agent.gate.gate import Gate
from indwell.agent.gate.words import ASKED, listed, new_errors, told_words
from indwell.agent.looking_back import errors_of, look_back, look_of, marks_of, shown_of
from indwell.agent.secrecy import hidden
from indwell.agent.session import Session
from indwell.agent.turn_state import TurnState
from indwell.context import conversation as talk
from indwell.context.conversation import tool_result
from indwell.context.injections import inject
from indwell.errors import ToolError
from indwell.messages import ToolResult, ToolUse
from indwell.tools.base import Call, Outcome
from indwell.workspace.paths import visible

_NOTHING_RAN = re.compile(
    r"^Ran 0 tests|No tests? (?:found|ran|files found)|no test files", re.MULTILINE
)
EDIT_SETTLE_S = 2.0  # after the edits of a reply, for word of them
BASELINE_S = 10.0  # that a check may hold up the first edit of a turn


async def before_edit(session: Session, use: ToolUse, call: Call, emit: Listener) -> None:
    """Know what is wrong before a file is edited for the first time in a turn."""
    gate = session.parts.gate
    if call.effect != "edit" or not gate.wanted().is_on:
        return
    state = gate.of(use.meta.turn)
    paths = tuple(path for path in _paths(session, call) if path not in state.files | state.before)
    if not paths:
        return
    known = await gate.source.problems(paths, settle_s=0)
    state.take(known)
    is_known = all(path in state.before for path in paths) and not gate.is_vague
    if state.is_begun or is_known:
        return
    state.is_begun = True
    if not state.files:
        await _begin(session, use.meta.turn, paths, emit)


def note_changes(
    session: Session, use: ToolUse, outcome: Outcome, made: dict[str, Outcome]
) -> None:
    """A call has changed files: remember it, and keep its outcome in ``made``."""
    if outcome.changes:
        made[use.id] = outcome
        session.parts.gate.of(use.meta.turn).note(outcome.changes)


async def note_command(session: Session, use: ToolUse, call: Call, outcome: Outcome) -> None:
    """A command has run: remember it, if it is a check that passed on what the turn has changed."""
    gate, succeeded, turn = session.parts.gate, outcome.succeeded, use.meta.turn
    state = gate.of(turn)
    if succeeded is None or not state.files or not gate.wanted().is_on:
        return
    if _NOTHING_RAN.search(outcome.text):
        return
    facts, paths = call.facts, tuple(state.files)
    declared = await asyncio.to_thread(gate.checks.commands, paths)
    texts = tuple(one.command for one in declared)
    checks = await asyncio.to_thread(checks_in, facts.command, Path(facts.cwd), texts)
    if checks:
        after = await asyncio.to_thread(look_of, session, turn)
        state.note_passed(checks, succeeded, after)


async def tell_problems(
    session: Session,
    uses: Sequence[ToolUse],
    outcomes: Mapping[str, Outcome],
    results: dict[str, ToolResult],
) -> None:
    """Let the last edit of a reply say what all its edits did to the problems of their files.

    That is one wait for a reply, however many files it edits; and it is over when they are told.

    Args:
        session: The session.
        uses: The calls of the reply, in order.
        outcomes: Of those that changed files, by the id of the call, with no secret in them.
        results: Of all; the last of those that edited a file is replaced.
    """
    gate = session.parts.gate
    if not outcomes or not gate.wanted().is_on:
        return
    state = gate.of(uses[0].meta.turn)
    edited = [use for use in uses if use.id in outcomes]
    changes = (change for use in edited for change in outcomes[use.id].changes)
    paths = dict.fromkeys(change.path for change in changes)
    for path in paths:
        gate.source.edited(path)
    known = await gate.source.problems(tuple(paths), settle_s=EDIT_SETTLE_S)
    if known is None or not known.reports:
        return
    found = await asyncio.to_thread(state.untold, shown_of(session, state, known))
    words = await hidden(session, told_words(found, lambda path: _named(session, path)))
    if words:
        last = edited[-1]
        outcome = outcomes[last.id]
        text = f"{outcome.text}\n{words}"
        results[last.id] = tool_result(last, text, is_error=outcome.is_error)


async def goes_on(session: Session, turn: TurnState, emit: Listener) -> bool:
    """Look once more before a turn ends; True if the model is asked to repair what it left.

    Asked once a turn, and only if a round is left for it.
    """
    gate = session.parts.gate
    state = gate.of(turn.number)
    if session.helping is not None:  # the turn that it works for looks once, at its own end
        return False
    if not state.files or not gate.wanted().is_on or session.parts.policy().mode == "plan":
        return False
    if state.n_seen != state.n_edits:
        await look_back(session, state, emit)
    found = {by: errors for by, new in state.found.items() if (errors := errors_of(new))}
    if not found or state.was_asked or turn.rounds >= session.parts.round_limit:
        return False
    state.was_asked = True
    blocks = [inject("reminder", ASKED, turn=turn.number)]
    for by, errors in found.items():
        lines = listed(errors, lambda path: _named(session, path), _output_of(gate))
        words = await hidden(session, "\n".join(lines))
        about = {"check": by, "state": "failing"}
        blocks.append(inject("diagnostics", words, turn=turn.number, attributes=about))
    session.conversation = talk.queue(session.conversation, blocks)
    n_errors = sum(map(len, found.values()))
    asked = f"{new_errors(n_errors)} since these changes; the model is asked to repair them"
    emit(Notice(turn.number, "info", asked))
    return True


async def _begin(session: Session, turn: int, paths: Sequence[Path], emit: Listener) -> None:
    """Run the checks before the first edit, unless it is known how they ended last."""
    gate = session.parts.gate
    state = gate.of(turn)
    commands = await asyncio.to_thread(gate.checks.commands, paths)
    if not commands:
        return
    marks = await marks_of(gate, commands)
    loop = asyncio.get_running_loop()
    until = loop.time() + min(BASELINE_S, gate.wanted().timeout_s)
    for command in commands:
        mark, ran = gate.kept.get(command.command, ("", None))
        if ran is not None and mark and mark == marks[command.folder]:
            state.runs[command.command] = ran
            continue
        left_s = until - loop.time()
        if command.command in gate.slow or left_s <= 0:
            continue
        ran = await run_check(session, turn, command, emit, left_s)
        state.runs[command.command] = ran
        if ran.state == "broken":
            gate.slow.add(command.command)


def _output_of(gate: Gate) -> str:
    return next((ran.output for _, ran in gate.kept.values() if ran.output), "")


def _named(session: Session, path: Path) -> str:
    return visible(display(session, str(path)))


def _paths(session: Session, call: Call) -> tuple[Path, ...]:
    """The files that a call edits, as far as they can be told."""
    found = []
    for written in call.facts.paths:
        try:
            found.append(session.parts.workspace.resolve(written))
        except ToolError:
            continue
    return tuple(found)
