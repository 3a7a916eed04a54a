"""``edit_file``: replace exact texts in one file, all of them or none (H47)."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import msgspec

from indwell.errors import ToolError
from indwell.tools.base import Facts, Outcome, Tool, ToolContext
from indwell.tools.replace import Edit, apply
from indwell.tools.truncate import cut_diff
from indwell.workspace.base import Change, Snapshot
from indwell.workspace.diff import count_changes, unified_diff
from indwell.workspace.paths import display


class EditFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of ``edit_file``."""

    path: str
    edits: Annotated[tuple[Edit, ...], msgspec.Meta(description="applied in order, all or none")]


def make_edit_file() -> Tool[EditFile]:
    """The tool."""
    return Tool(
        name="edit_file",
        description=(
            "Replace exact texts in a file that was read. Copy old from the file, without line "
            "numbers, with enough lines around it to be unique."
        ),
        arguments=EditFile,
        effect="edit",
        facts=lambda arguments: Facts(tool="edit_file", effect="edit", paths=(arguments.path,)),
        run=_run,
        preview=_preview,
    )


async def _run(arguments: EditFile, context: ToolContext) -> Outcome:
    snapshot, proposed = await _propose(arguments, context)
    name = display(snapshot.path, context.workspace.roots)
    change = await context.workspace.write(
        snapshot.path, snapshot, proposed, label=f"Indwell: edit {name}"
    )
    return await outcome(change, proposed, context, f"edited {name}")


async def _preview(arguments: EditFile, context: ToolContext) -> str:
    snapshot, proposed = await _propose(arguments, context)
    name = display(snapshot.path, context.workspace.roots)
    return await asyncio.to_thread(unified_diff, snapshot.text, proposed, name)


async def _propose(arguments: EditFile, context: ToolContext) -> tuple[Snapshot, str]:
    """What was read, and the text that the edits would make of it."""
    snapshot = await context.workspace.read(context.workspace.resolve(arguments.path))
    if not snapshot.lossless:
        raise ToolError(
            f"{arguments.path!r} is neither UTF-8 nor UTF-16, and editing it would damage it; "
            "convert it first, or change it with a command"
        )
    context.seen.check(snapshot)
    return snapshot, await asyncio.to_thread(apply, snapshot.text, arguments.edits, arguments.path)


async def outcome(change: Change, proposed: str, context: ToolContext, did: str) -> Outcome:
    """Tell a change: one sentence, the diff, the figures.

    The model has seen what it proposed. If something else stands there now, it has to read it
    before the next edit.
    """
    if change.after == proposed:
        context.seen.record(change.path, change.stamp.digest, change.after)
    figure, diff = await asyncio.to_thread(_figures, change, context.workspace.roots)
    words = [f"{did}: {figure}"]
    if change.note:
        words.append(change.note)
    if not change.verified:
        words.append("it could not be verified; read_file it")
    return Outcome(
        text=f"{'; '.join(words)}\n{cut_diff(diff)}".rstrip("\n"),
        figure=figure,
        diff=diff,
        changes=(change,),
    )


def _figures(change: Change, roots: tuple[Path, ...]) -> tuple[str, str]:
    n_added, n_removed = count_changes(change.before or "", change.after)
    diff = unified_diff(change.before, change.after, display(change.path, roots))
    return f"+{n_added} \N{MINUS SIGN}{n_removed}", diff
