"""Defines ``navigate``: definitions, uses, types, outlines and problems of code, and renames."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import msgspec

from indwell.errors import ToolError
from indwell.files.spelling import quoted
from indwell.navigation.navigator import CodeAnswer, CodePlace, Navigated, Navigator, SourceFailed
from indwell.navigation.syntax import language_of, outline
from indwell.tools.arguments import PATHS, Given, of_struct, renamed
from indwell.tools.base import Outcome, Tool, ToolContext, ToolFacts
from indwell.tools.navigation.locate import Navigate, WorkspaceTexts, is_inside, question_of
from indwell.tools.navigation.rename import plan_rename, subject_of
from indwell.tools.searching.patterns import UNSAVED, counted, path_line, text_line, with_notes
from indwell.workspace.base import Snapshot
from indwell.workspace.paths import display
from indwell.workspace.text import document_lines

NAME = "navigate"
MOST_SHOWN = 100  # One result has at most 100 positions.
MOST_SYMBOLS = 300  # An outline has at most 300 symbols.
MOST_WHOLE = 5  # At most 5 definitions are shown with their bodies.
MOST_NEAR = 20  # A definition is shown with at most 20 lines.
MOST_WORDS = 4_000  # A hover text has at most 4,000 characters.
MOST_PROBLEMS = 50

BY_NAME = (
    "found by name in syntax trees, as no editor or language server answered: other symbols of "
    "this name are included, and dynamic uses are missing"
)


def _understood(given: Given) -> Given:
    return renamed(given, {**PATHS, "name": "symbol", "query": "symbol", "newName": "new_name"})


def make_navigate(navigator: Navigator) -> Tool[Navigate]:
    """Make the tool; ``navigator`` asks the sources of answers."""

    async def run(arguments: Navigate, context: ToolContext) -> Outcome:
        asked = await question_of(arguments, context, navigator)
        found = asked if isinstance(asked, Navigated) else await navigator.ask(asked)
        return await _told(found, arguments, context)

    return Tool(
        name=NAME,
        description=(
            "Find code by meaning: a symbol's definition, uses or type (hover), the symbols of a "
            "file or the workspace, a file's problems. Name a symbol by path, line and name, or "
            "by name alone."
        ),
        arguments=of_struct(Navigate, _understood),
        effect="read",
        facts=lambda arguments: ToolFacts(
            tool=NAME,
            effect="read",
            paths=(arguments.path or ".",),
            subject=subject_of(arguments),
        ),
        run=run,
        plan=lambda arguments: (
            partial(plan_rename, arguments, navigator) if arguments.action == "rename" else None
        ),
    )


async def _told(found: Navigated, arguments: Navigate, context: ToolContext) -> Outcome:
    """Return an answer as a result for the model."""
    answer, notes = found.answer, list(found.notes)
    if answer is None:
        what = arguments.path or "this workspace"
        said = f"nothing here knows the {arguments.action} of {quoted(what)}; use grep"
        raise ToolError("; ".join([said, *notes]))
    if answer.refusal:
        raise ToolError(f"{answer.source}: {answer.refusal}")
    if answer.problems is not None:
        return _problems(answer, arguments, notes)
    if answer.words:
        words = context.hide(answer.words)
        if len(words) > MOST_WORDS:
            words = f"{words[:MOST_WORDS]}\n[…]"
        return Outcome(with_notes([words], notes), figure=answer.source)
    if arguments.action == "symbols" and arguments.path and arguments.symbol:
        part = arguments.symbol.casefold()
        named = tuple(one for one in answer.places if part in one.name.casefold())
        answer = msgspec.structs.replace(answer, places=named)
    if not answer.places:
        words = f"{answer.source} found nothing for {quoted(subject_of(arguments))}"
        return Outcome(with_notes([words], notes), figure="nothing")
    return await _places(answer, arguments, context, notes)


def _problems(answer: CodeAnswer, arguments: Navigate, notes: Sequence[str]) -> Outcome:
    problems = answer.problems or ()
    lines = [one.label for one in problems[:MOST_PROBLEMS]]
    if len(problems) > MOST_PROBLEMS:
        lines.append(f"[and {len(problems) - MOST_PROBLEMS:,} more]")
    if not problems:
        lines = [f"{answer.source} reports no problems in {quoted(arguments.path)}"]
    return Outcome(with_notes(lines, notes), figure=counted(len(problems), "problem", "problems"))


async def _places(
    answer: CodeAnswer, arguments: Navigate, context: ToolContext, notes: list[str]
) -> Outcome:
    """Return positions with their lines, by file in the order of the answer."""
    roots, texts = context.workspace.roots, WorkspaceTexts(context)
    seen = [one for one in answer.places if not context.hidden(display(one.path, roots))]
    most = MOST_SYMBOLS if arguments.action == "symbols" else MOST_SHOWN
    is_whole = arguments.action in {"definition", "hover"} and len(seen) <= MOST_WHOLE
    by_path: dict[Path, list[CodePlace]] = {}
    for place in seen[:most]:
        by_path.setdefault(place.path, []).append(place)
    lines: list[str] = []
    for path, places in by_path.items():
        snapshot = await texts.snapshot(path)
        if snapshot is None:
            where = "" if is_inside(path, roots) else " (outside the workspace)"
            lines.append(f"{path_line(path, roots)}{where}")
            lines += [f"line {place.line}" for place in places]
        else:
            lines.append(path_line(path, roots) + (UNSAVED if snapshot.unsaved else ""))
            lines += await asyncio.to_thread(_numbered, snapshot, places, context, is_whole)
    if not seen:
        lines = [f"{answer.source} found nothing for {quoted(subject_of(arguments))}"]
    if len(seen) > most:
        notes.append(f"stopped at {most} of {len(seen):,} places; narrow the name, or give a path")
    if len(seen) > 1 and arguments.action not in {"references", "symbols"}:
        notes.append("several symbols fit: choose one by its path and line")
    if answer.is_by_name:
        notes.append(BY_NAME)
    return Outcome(with_notes(lines, notes), figure=counted(len(seen), "place", "places"))


def _numbered(
    snapshot: Snapshot,
    places: Sequence[CodePlace],
    context: ToolContext,
    is_whole: bool,  # noqa: FBT001 - called through a thread
) -> list[str]:
    """Return the lines of positions as ``read_file`` shows lines, in order, each line once."""
    lines = document_lines(snapshot.text)
    wanted: dict[int, None] = {}
    for place in places:
        end = _end_of(place, snapshot) if is_whole else place.line
        wanted.update(dict.fromkeys(range(place.line, min(end, place.line + MOST_NEAR - 1) + 1)))
    shown_lines = []
    for number in sorted(one for one in wanted if one <= len(lines)):
        line = context.hide(lines[number - 1].rstrip("\r\n"))
        shown_lines.append(f"{number}\t{text_line(line.encode('utf-8', 'replace'))}")
    return shown_lines


def _end_of(place: CodePlace, snapshot: Snapshot) -> int:
    """Return the last line of a definition, from the syntax tree if the source named one line."""
    if place.end_line > place.line or language_of(snapshot.path) is None:
        return max(place.line, place.end_line)
    try:
        found = outline(snapshot.path, snapshot.text)
    except SourceFailed:
        return place.line
    return max((one.end_line for one in found if one.line == place.line), default=place.line)
