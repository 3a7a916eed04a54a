"""The diagnostics gate in the loop: before an edit, after the calls of a reply, at a turn's end.

It costs nothing where nobody knows problems; nothing here waits for longer than it says.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

from indwell.agent.asked import display
from indwell.agent.check_run import run_check
from indwell.agent.events import Listener, Notice
from indwell.agent.gate.gate import Command, Gate, Located, Ran, TurnGate
from indwell.agent.gate.source import Known
from indwell.agent.gate.words import (
    ASKED,
    listed,
    new_errors,
    quoted,
    stay_words,
    told_words,
    verified_words,
)
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

EDIT_SETTLE_S = 2.0  # after the edits of a reply, for word of them
END_SETTLE_S = 2.0  # once more at the end of a turn
BASELINE_S = 10.0  # that a check may hold up the first edit of a turn
CHANGED_ONLY = " (only changed lines could be compared)"


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
    if state.is_begun or all(path in state.before for path in paths):
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
    if known is None or known.is_partial or not known.problems:
        return
    found = await asyncio.to_thread(state.untold, _shown(session, state, known))
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
    if not state.files or not gate.wanted().is_on or session.parts.policy().mode == "plan":
        return False
    if state.n_seen != state.n_edits:
        await _look(session, state, emit)
    found = {by: errors for by, new in state.found.items() if (errors := _errors(new))}
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
    marks = await _marks(gate, commands)
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


async def _look(session: Session, state: TurnGate, emit: Listener) -> None:
    """Find out what is new since the turn began, by everybody who knows."""
    gate = session.parts.gate
    paths = tuple(state.files)
    known = await gate.source.problems(paths, settle_s=END_SETTLE_S)
    if known is not None and (known.is_partial or not known.problems):
        known = None
    if known is not None:
        known = _shown(session, state, known)
    found: dict[str, tuple[Located, ...]] = {}
    seen: set[Path] = set()
    is_sure = True
    if known is not None:
        found[known.by] = await asyncio.to_thread(state.new_by, known)
        seen |= known.problems.keys()
        is_sure = all(path in state.before or not state.was_there(path) for path in seen)
    left = tuple(path for path in paths if path not in seen)
    runs = await _check(session, state, left, emit) if left else {}
    for command, ran in runs.items():
        before = state.runs.get(command.command)
        was_read = before is not None and before.state == "ran"
        if ran.state == "ran" or (ran.state == "failed" and was_read):
            by = quoted(command.name)
            found[by] = await asyncio.to_thread(state.new_by_run, command, ran, known)
            seen |= {path for path in left if command.is_about(path) and path not in ran.stale}
            is_sure = is_sure and was_read
    state.found = found
    state.n_seen = state.n_edits
    n_errors = sum(len(_errors(new)) for new in found.values())
    if n_errors:
        state.verdict = stay_words(n_errors)
    else:
        n_left = sum(path not in seen for path in paths)
        state.verdict = verified_words(tuple(found), n_left) + (
            "" if is_sure or not found else CHANGED_ONLY
        )
    _remember(session, state, found, known, runs)


async def _check(
    session: Session, state: TurnGate, paths: Sequence[Path], emit: Listener
) -> Mapping[Command, Ran]:
    """Run the checks that are about these files, and keep how they ended."""
    gate = session.parts.gate
    commands = await asyncio.to_thread(gate.checks.commands, paths)
    runs: dict[Command, Ran] = {}
    loop = asyncio.get_running_loop()
    until = loop.time() + gate.wanted().timeout_s
    for command in commands:
        left_s = until - loop.time()
        if left_s <= 0:
            break
        runs[command] = await run_check(session, state.turn, command, emit, left_s)
    marks = await _marks(gate, commands)
    for command, ran in runs.items():
        gate.kept.pop(command.command, None)
        if ran.state in {"ran", "failed"}:
            gate.kept[command.command] = (marks[command.folder], ran)
    return runs


async def _marks(gate: Gate, commands: Sequence[Command]) -> Mapping[Path, str]:
    folders = dict.fromkeys(command.folder for command in commands)
    return {folder: await asyncio.to_thread(gate.checks.mark, folder) for folder in folders}


def _remember(
    session: Session,
    state: TurnGate,
    found: Mapping[str, tuple[Located, ...]],
    known: Known | None,
    runs: Mapping[Command, Ran],
) -> None:
    """Which checks fail since turns of this session, for the task card (H27)."""
    gate = session.parts.gate
    now = {
        quoted(command.name): ran.problems for command, ran in runs.items() if ran.state == "ran"
    }
    if known is not None:
        now[known.by] = known.problems
    for by, errors in list(gate.failing.items()):
        if by in now and not any(_stands(one, now[by]) for one in errors):
            del gate.failing[by]
            words = "The errors that were told as new before are gone."
            block = inject(
                "diagnostics",
                words,
                turn=state.turn,
                attributes={"check": by, "state": "passing"},
            )
            session.conversation = talk.queue(session.conversation, (block,))
    for by, new in found.items():
        if errors := _errors(new):
            gate.failing[by] = errors


def _stands(one: Located, problems: Mapping[Path, Sequence[object]]) -> bool:
    if one.path is None:
        return False  # the check can be read again
    messages = {getattr(problem, "message", "") for problem in problems.get(one.path, ())}
    return one.problem.message in messages


def _errors(found: Sequence[Located]) -> tuple[Located, ...]:
    return tuple(one for one in found if one.problem.severity == "error")


def _output_of(gate: Gate) -> str:
    return next((ran.output for _, ran in gate.kept.values() if ran.output), "")


def _shown(session: Session, state: TurnGate, known: Known) -> Known:
    """Of files that the turn has changed, without those that a deny rule keeps from the model."""
    hides = session.parts.hidden
    shown = {
        path: problems
        for path, problems in known.problems.items()
        if path in state.files and not hides(display(session, str(path)))
    }
    return Known(shown, known.by, known.is_partial)


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
