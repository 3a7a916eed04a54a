"""Defines ``write_file``, which creates or replaces a whole file (H46)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import msgspec

from indwell.context.untrusted_text import restored
from indwell.errors import EditRefused, TextMoved, TooLarge, ToolError
from indwell.files.spelling import quoted
from indwell.tools.arguments import PATHS, of_struct, renaming
from indwell.tools.base import Outcome, Preview, Tool, ToolContext, ToolFacts
from indwell.tools.editing.edit import TRIES, known_text, read_known
from indwell.tools.editing.rebase import (
    CHANGED,
    Proposal,
    RefusedHunks,
    allowed_part,
    check_whole,
    cut_others,
    edit_result,
    with_refused,
)
from indwell.tools.known_texts import KnownTexts
from indwell.workspace.base import Snapshot
from indwell.workspace.comparing.diff import unified_diff
from indwell.workspace.line_ends import with_line_end
from indwell.workspace.paths import display
from indwell.workspace.text import shown, split_lines

KEPT_ENDS = (
    " but for its line endings: they are \\r\\n throughout, and write_file keeps them; to change "
    'them, use edit_file with old "\\r\\n", new "\\n" and all'
)
MAX_NAMED = 5  # A message names at most 5 ranges of lines.


class WriteFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of ``write_file``."""

    path: str
    content: str


WRITE_FILE = of_struct(WriteFile, renaming(**PATHS, contents="content", file_text="content"))


def make_write_file() -> Tool[WriteFile]:
    """Make the tool."""
    return Tool(
        name="write_file",
        description=("Write a whole file, new or read before. Creates folders."),
        arguments=WRITE_FILE,
        effect="edit",
        facts=lambda arguments: ToolFacts(
            tool="write_file", effect="edit", paths=(arguments.path,)
        ),
        run=_run,
        preview=_preview,
    )


async def _run(arguments: WriteFile, context: ToolContext) -> Outcome:
    path = context.resolve(arguments.path)
    name = display(path, context.workspace.roots)
    for _ in range(TRIES):
        base, unreadable = await _base(arguments, context)
        text = await _like(base, arguments.content, path, context)
        lines = _lines(text)
        if base is not None and base.text == text:
            kept = KEPT_ENDS if text != restored(arguments.content, base.text) else ""
            return Outcome(
                text=f"{name} already reads so ({lines}){kept}; nothing changed", figure="same"
            )
        proposal, refused = Proposal(text, text), RefusedHunks()
        if base is None:
            check_whole(arguments.path, context)
        else:
            proposal, refused = await allowed_part(base, proposal, context, name)
        try:
            change = await context.workspace.write(
                path, base, proposal.text, label=f"Indwell: write {name}"
            )
        except TextMoved as error:  # Compare again: report a change, or continue without a change.
            moved = error
            continue
        except EditRefused as error:
            if unreadable is not None:  # The file exists, so report why the file cannot be read.
                raise ToolError(f"{unreadable}; it was not replaced") from error
            raise
        if not (base and base.text) and _same_but_ends(change.after, proposal.text):
            # The editor may have changed line endings.
            proposal = Proposal(change.after, change.after)
        did = "created" if base is None else "wrote"
        outcome = await edit_result(
            change, proposal, context, f"{did} {name} ({_lines(proposal.text)})"
        )
        return with_refused(outcome, refused)
    raise EditRefused(
        f"{quoted(arguments.path)} was changed by others {TRIES} times while it was being written; "
        "nothing was written; read_file it again"
    ) from moved


async def _preview(arguments: WriteFile, context: ToolContext) -> Preview:
    base, _ = await _base(arguments, context)
    path = context.resolve(arguments.path)
    name = display(path, context.workspace.roots)
    before = None if base is None else base.text
    after = await _like(base, arguments.content, path, context)
    diff = await asyncio.to_thread(lambda: shown(unified_diff(before, after, name)))
    return Preview(diff, by_hunk=before is not None, before=before)


def _same_but_ends(one: str, other: str) -> bool:
    return one.replace("\r\n", "\n") == other.replace("\r\n", "\n")


def _lines(text: str) -> str:
    n_lines = len(split_lines(text))
    return "1 line" if n_lines == 1 else f"{n_lines} lines"


async def _base(
    arguments: WriteFile, context: ToolContext
) -> tuple[Snapshot | None, ToolError | None]:
    """Return the current text, which the model has read, or None with the reason.

    Raises:
    ToolError: The model never read the file, or the file was changed or deleted since.
    """
    path = context.resolve(arguments.path)
    was_known = bool(context.seen.digest(path))
    try:
        snapshot = await read_known(path, arguments.path, context)
    # The file is probably missing; if not, the creation will be refused.
    except ToolError as error:
        if was_known and not isinstance(error, TooLarge):
            raise
        return None, error
    known = known_text(snapshot, context.seen)
    unshown = context.seen.unshown(path)
    if unshown:
        raise _unread(arguments.path, unshown, has_changed=known != snapshot.text)
    if known != snapshot.text:
        raise await asyncio.to_thread(_changed, snapshot, known, arguments.path, context.seen)
    return snapshot, None


def _unread(path: str, unshown: Sequence[range], *, has_changed: bool) -> EditRefused:
    """Refuse a text that would remove lines that the model has never seen."""
    if has_changed:
        return EditRefused(
            f"{quoted(path)} {CHANGED}, and not all of it was shown; nothing was written; "
            "read_file all of it, or change it with edit_file"
        )
    named = [
        f"{lines.start:,} to {lines[-1]:,}" if len(lines) > 1 else f"{lines.start:,}"
        for lines in unshown[:MAX_NAMED]
    ]
    more = ", …" if len(unshown) > MAX_NAMED else ""
    return EditRefused(
        f"{quoted(path)} was shown only in part; nothing was written; read_file lines "
        f"{', '.join(named)}{more} first, or change it with edit_file"
    )


def _changed(snapshot: Snapshot, known: str, path: str, seen: KnownTexts) -> EditRefused:
    """Refuse a text that would remove changes by others, and show these changes."""
    words = f"{quoted(path)} {CHANGED}; nothing was written"
    others, is_whole = cut_others(known, snapshot.text, path)
    if not is_whole:
        return EditRefused(f"{words}; read_file it again. The difference begins:\n{others}")
    # The model has seen all changes.
    seen.record(snapshot.path, snapshot.stamp.digest, snapshot.text)
    return EditRefused(f"{words}. Write it again with this change taken in:\n{others}")


async def _like(base: Snapshot | None, content: str, path: Path, context: ToolContext) -> str:
    """Return the new text with the line endings of a file that uses CRLF throughout.

    A new or empty file gets the line endings that are usual in the file's folder. Escapes for
    invisible characters become the characters again (INJ-06).
    """
    content = content if base is None else restored(content, base.text)
    if base is None or not base.text:
        return with_line_end(content, await context.workspace.line_end(path, content))
    if "\r" in content or "\r\n" not in base.text:
        return content
    if base.text.count("\n") != base.text.count("\r\n"):
        return content
    return content.replace("\n", "\r\n")
