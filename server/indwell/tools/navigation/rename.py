"""Renames a symbol in all files that use it, or in none."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from indwell.errors import EditRefused, TextMoved, ToolError
from indwell.files.spelling import quoted
from indwell.navigation.lsp_answers import changed_text
from indwell.navigation.navigator import CodeAnswer, Navigated, Navigator
from indwell.tools.base import Call, Outcome, Preview, ToolContext, ToolFacts
from indwell.tools.navigation.locate import Navigate, bare_name, is_inside, question_of
from indwell.tools.searching.patterns import counted
from indwell.tools.truncate import cut_diff
from indwell.workspace.base import AppliedChange, Snapshot
from indwell.workspace.comparing.diff import unified_diff
from indwell.workspace.paths import display
from indwell.workspace.text import shown

MOST_FILES = 200  # One rename changes at most 200 files.
MOST_NAMED = 5  # A message names at most 5 positions or files.


class RenamedFile(msgspec.Struct, frozen=True):
    """A file that a rename changes.

    Attributes:
        base: The text that the rename was planned on.
        text: The new text.
        n_places: The number of changed positions.
    """

    base: Snapshot
    text: str
    n_places: int


def subject_of(arguments: Navigate) -> str:
    """Return the subject of a call, for people."""
    what = arguments.symbol or arguments.path
    to = f" to {arguments.new_name}" if arguments.action == "rename" else ""
    return f"{arguments.action} {what}{to}"


async def plan_rename(
    arguments: Navigate, navigator: Navigator, context: ToolContext, ours: str
) -> Call:
    """Plan a rename, and return the call that carries out the rename.

    Args:
        arguments: The model's arguments.
        navigator: Asks the sources that can rename.
        context: The context of the call that prepares the rename.
        ours: The call's arguments as JSON, under the argument names of Indwell's tools.

    Raises:
        ToolError: No source can rename the symbol, or a part of the rename is not allowed.
    """
    asked = await question_of(arguments, context, navigator)
    if isinstance(asked, Navigated):
        raise ToolError(_several(arguments, asked, context))
    found = await navigator.ask(asked)
    answer = found.answer
    if answer is None or not (answer.changes or answer.refusal):
        raise ToolError("; ".join([_nobody(arguments, answer), *found.notes]))
    if answer.refusal:
        raise ToolError(f"{answer.source} refuses the rename: {answer.refusal}")
    files = await _planned(arguments, answer, context)
    roots = context.workspace.roots
    paths = tuple(_written(one.base.path, roots) for one in files)

    async def run(context: ToolContext) -> Outcome:
        return await _renamed(arguments, files, context)

    async def preview(context: ToolContext) -> Preview:
        await _check_unchanged(files, context)
        return Preview(await asyncio.to_thread(_diffs, files, roots))

    facts = ToolFacts("navigate", "edit", paths, subject=subject_of(arguments), renames=True)
    return Call(effect="edit", arguments=ours, facts=facts, run=run, preview=preview)


def _written(path: Path, roots: Sequence[Path]) -> str:
    inside = path.is_relative_to(roots[0])
    return path.relative_to(roots[0]).as_posix() if inside else path.as_posix()


def _several(arguments: Navigate, found: Navigated, context: ToolContext) -> str:
    assert found.answer is not None
    places = found.answer.places
    named = ", ".join(
        f"{display(one.path, context.workspace.roots)} line {one.line}"
        for one in places[:MOST_NAMED]
    )
    more = f" and {len(places) - MOST_NAMED} more" if len(places) > MOST_NAMED else ""
    return (
        f"{len(places)} symbols are named {quoted(arguments.symbol)}: {named}{more}; "
        "say the path and line of one"
    )


def _nobody(arguments: Navigate, answer: CodeAnswer | None) -> str:
    if answer is not None:
        return f"{answer.source} found nothing to rename at {quoted(arguments.symbol)}"
    return (
        f"nothing can rename {quoted(arguments.symbol)} here: no editor or language server "
        "answers; find the places with references, and change them with edit_file"
    )


async def _planned(
    arguments: Navigate, answer: CodeAnswer, context: ToolContext
) -> tuple[RenamedFile, ...]:
    """Compute the new texts; refuse the whole rename if a file cannot be changed."""
    if len(answer.changes) > MOST_FILES:
        raise ToolError(
            f"the rename would change {len(answer.changes):,} files, and at most {MOST_FILES} are "
            "changed at once; nothing was renamed"
        )
    files = []
    roots = context.workspace.roots
    for path in sorted(answer.changes):
        changes, name = answer.changes[path], display(path, roots)
        if not is_inside(path, roots):
            raise ToolError(f"the rename would change {name}; nothing was renamed")
        real = context.workspace.resolve(str(path))
        if context.hidden(name) or context.hidden(display(real, roots)):
            raise ToolError(
                "the rename would change a file that you may not see; nothing was renamed"
            )
        base = await context.workspace.read(real)
        if not base.lossless:
            raise ToolError(f"{name} is not text in its encoding; nothing was renamed")
        made = await asyncio.to_thread(changed_text, base.text, changes, answer.encoding)
        if made is None or not all(bare_name(arguments.symbol) in one for one in made.replaced):
            raise ToolError(
                f"{answer.source} knows an older text of {name}; nothing was renamed; try again"
            )
        if made.text != base.text:
            files.append(RenamedFile(base, made.text, len(changes)))
    if not files:
        raise ToolError("the rename changes nothing: the new name is the old one")
    return tuple(files)


async def _check_unchanged(
    files: Sequence[RenamedFile], context: ToolContext
) -> Mapping[Path, Snapshot]:
    """Read the files again; refuse the whole rename if one has changed."""
    present = {}
    for one in files:
        now = await context.workspace.read(one.base.path)
        if now.stamp.digest != one.base.stamp.digest:
            raise _moved(one.base.path, context)
        present[one.base.path] = now
    return present


def _moved(path: Path, context: ToolContext) -> EditRefused:
    name = display(path, context.workspace.roots)
    return EditRefused(
        f"{name} changed while the rename was prepared; nothing was renamed; call it again"
    )


def _diffs(files: Sequence[RenamedFile], roots: Sequence[Path]) -> str:
    named = ((one, display(one.base.path, roots)) for one in files)
    return "".join(shown(unified_diff(one.base.text, one.text, name)) for one, name in named)


async def _renamed(
    arguments: Navigate, files: Sequence[RenamedFile], context: ToolContext
) -> Outcome:
    """Write all files; if a file cannot be written, revert the other files."""
    present = await _check_unchanged(files, context)
    label = f"Indwell: rename {arguments.symbol} to {arguments.new_name}"
    made: list[AppliedChange] = []
    try:
        for one in files:
            base = present[one.base.path]
            made.append(await context.workspace.write(base.path, base, one.text, label=label))
            _check_complete(made[-1], context)
    # Changes are also reverted for a stopped turn, which must not leave half of a rename.
    except BaseException as error:
        kept = await _taken_back(made, context, label)
        if isinstance(error, TextMoved) and not kept:
            raise _moved(files[len(made)].base.path, context) from error
        if isinstance(error, ToolError) and kept:
            raise EditRefused(
                f"{error}; the rename was taken back, but not in {', '.join(kept)}; read_file them"
            ) from error
        raise
    for change, one in zip(made, files, strict=True):
        if context.seen.digest(change.path) == one.base.stamp.digest and change.after == one.text:
            context.seen.record(change.path, change.stamp.digest, change.after)
    return await asyncio.to_thread(_outcome, arguments, files, made, context)


def _check_complete(change: AppliedChange, context: ToolContext) -> None:
    if change.n_left_out:
        name = display(change.path, context.workspace.roots)
        raise EditRefused(
            f"nothing was renamed: the editor asked the user, who left out places of {name}"
        )


async def _taken_back(
    made: Sequence[AppliedChange], context: ToolContext, label: str
) -> tuple[str, ...]:
    """Revert the changes; return the files that others have changed in the meantime."""
    kept = []
    for change in reversed(made):
        name = display(change.path, context.workspace.roots)
        assert change.before is not None
        try:
            now = await context.workspace.read(change.path)
            if now.text == change.after:
                await context.workspace.write(change.path, now, change.before, label=label)
                continue
        except ToolError:
            pass  # The result of the rename names such a file.
        kept.append(name)
    return tuple(kept)


def _outcome(
    arguments: Navigate,
    files: Sequence[RenamedFile],
    made: Sequence[AppliedChange],
    context: ToolContext,
) -> Outcome:
    roots = context.workspace.roots
    n_places = sum(one.n_places for one in files)
    where = f"{counted(n_places, 'place', 'places')} in {counted(len(files), 'file', 'files')}"
    words = [f"renamed {arguments.symbol} to {arguments.new_name}: {where}"]
    notes = (
        f"{display(one.path, roots)}: {one.note or 'it could not be verified; read_file it'}"
        for one in made
        if one.note or not one.verified
    )
    words += notes
    diffs = (shown(unified_diff(one.before, one.after, display(one.path, roots))) for one in made)
    return Outcome(
        text="\n".join([*words, cut_diff("".join(diffs)).rstrip("\n")]),
        figure=where,
        changes=tuple(made),
    )
