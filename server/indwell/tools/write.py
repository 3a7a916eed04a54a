"""``write_file``: a whole file, new or replaced (H46)."""

from __future__ import annotations

import asyncio
from typing import Annotated

import msgspec

from indwell.errors import EditRefused, ToolError
from indwell.tools.base import Facts, Outcome, Tool, ToolContext
from indwell.tools.edit import outcome
from indwell.workspace.base import Snapshot
from indwell.workspace.diff import unified_diff
from indwell.workspace.paths import display
from indwell.workspace.text import split_lines


class WriteFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of ``write_file``."""

    path: str
    content: Annotated[str, msgspec.Meta(description="the whole text")]


def make_write_file() -> Tool[WriteFile]:
    """The tool."""
    return Tool(
        name="write_file",
        description=(
            "Write a whole file, with its folders. For new files and full rewrites of a file that "
            "was read; otherwise use edit_file."
        ),
        arguments=WriteFile,
        effect="edit",
        facts=lambda arguments: Facts(tool="write_file", effect="edit", paths=(arguments.path,)),
        run=_run,
        preview=_preview,
    )


async def _run(arguments: WriteFile, context: ToolContext) -> Outcome:
    path = context.workspace.resolve(arguments.path)
    name = display(path, context.workspace.roots)
    base, unreadable = await _base(arguments, context)
    text = _like(base, arguments.content)
    n_lines = len(split_lines(text))
    lines = "1 line" if n_lines == 1 else f"{n_lines} lines"
    if base is not None and base.text == text:
        return Outcome(text=f"{name} already reads so ({lines}); nothing changed", figure="same")
    try:
        change = await context.workspace.write(path, base, text, label=f"Indwell: write {name}")
    except EditRefused as error:
        if unreadable is not None:  # it exists, and why it cannot be read says more
            raise ToolError(f"{unreadable}; it was not replaced") from error
        raise
    did = "created" if base is None else "wrote"
    if base is not None:
        return await outcome(change, text, context, f"{did} {name} ({lines})")
    # The model has just written all of it: repeating it as a diff would only cost tokens.
    told = await outcome(change, text, context, f"{did} {name} ({lines})")
    return msgspec.structs.replace(told, text=told.text.partition("\n")[0])


async def _preview(arguments: WriteFile, context: ToolContext) -> str:
    base, _ = await _base(arguments, context)
    path = context.workspace.resolve(arguments.path)
    name = display(path, context.workspace.roots)
    before = None if base is None else base.text
    return await asyncio.to_thread(unified_diff, before, _like(base, arguments.content), name)


async def _base(
    arguments: WriteFile, context: ToolContext
) -> tuple[Snapshot | None, ToolError | None]:
    """What stands there and was read by the model; else None and why it could not be read."""
    try:
        snapshot = await context.workspace.read(context.workspace.resolve(arguments.path))
    except ToolError as error:  # missing, as a rule; if not, creating it will be refused
        return None, error
    context.seen.check(snapshot)
    return snapshot, None


def _like(base: Snapshot | None, content: str) -> str:
    """The new text with the line endings of a file that uses CRLF throughout."""
    if base is None or "\r" in content or "\r\n" not in base.text:
        return content
    if base.text.count("\n") != base.text.count("\r\n"):
        return content
    return content.replace("\n", "\r\n")
