"""Defines ``edit_file``, which replaces exact texts in one file: all of them or none (H47)."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import msgspec

from indwell.errors import EditRefused, TextMoved, TooLarge, ToolError
from indwell.files.spelling import quoted
from indwell.tools.arguments import PATHS, Given, of_struct, renamed
from indwell.tools.base import Outcome, Preview, Tool, ToolContext, ToolFacts
from indwell.tools.editing import edit_large
from indwell.tools.editing.rebase import (
    Collision,
    Proposal,
    allowed_part,
    check_whole,
    edit_result,
    propose,
    with_refused,
)
from indwell.tools.editing.replace import Replacement
from indwell.tools.known_texts import KnownTexts
from indwell.workspace.base import Snapshot, digest
from indwell.workspace.comparing.diff import unified_diff
from indwell.workspace.paths import display
from indwell.workspace.text import shown

TRIES = 3  # An edit is merged at most 3 times with a text that keeps changing (EDT-07).


class EditFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of ``edit_file``."""

    path: str
    edits: Annotated[
        tuple[Replacement, ...], msgspec.Meta(description="applied in order, all or none")
    ]


_EDIT_NAMES = {
    name: own
    for own, names in {
        "old": ("old_string", "oldString", "old_str", "oldText"),
        "new": ("new_string", "newString", "new_str", "newText"),
        "all": ("replace_all", "replaceAll"),
    }.items()
    for name in names
}


def _understood(given: Given) -> Given:
    """Translate other agents' names for the texts, and a single edit outside of ``edits``."""
    ours = renamed(given, PATHS)
    if isinstance(edits := ours.get("edits"), list):
        ours["edits"] = [
            renamed(one, _EDIT_NAMES) if isinstance(one, dict) else one for one in edits
        ]
    single = {name: ours.pop(name) for name in tuple(ours) if name in _EDIT_NAMES}
    if single and "edits" in ours:
        raise ToolError(f"{next(iter(single))!r} beside 'edits': say each edit in 'edits' alone")
    if single:
        ours["edits"] = [renamed(single, _EDIT_NAMES)]
    return ours


EDIT_FILE = of_struct(EditFile, _understood)


def make_edit_file() -> Tool[EditFile]:
    """Make the tool."""
    return Tool(
        name="edit_file",
        description="Replace exact texts in a file you have read.",
        arguments=EDIT_FILE,
        effect="edit",
        facts=lambda arguments: ToolFacts(tool="edit_file", effect="edit", paths=(arguments.path,)),
        run=_run,
        preview=_preview,
    )


async def _run(arguments: EditFile, context: ToolContext) -> Outcome:
    for _ in range(TRIES):
        try:
            snapshot, proposal = await _proposed(arguments, context)
        except TooLarge:
            check_whole(arguments.path, context)
            return await edit_large.run(arguments, context)
        name = display(snapshot.path, context.workspace.roots)
        if proposal.text == snapshot.text:
            return await _already(snapshot, proposal, context, name)
        allowed, refused = await allowed_part(snapshot, proposal, context, name)
        try:
            change = await context.workspace.write(
                snapshot.path, snapshot, allowed.text, label=f"Indwell: edit {name}"
            )
        except TextMoved as error:  # The file has changed meanwhile, so merge with the new text.
            moved = error
            continue
        if change.before == change.after:
            raise EditRefused(
                f"{name} is open in the editor, which keeps one line ending throughout a file; "
                "nothing was changed. The user can choose another in the editor"
            )
        return with_refused(await edit_result(change, allowed, context, f"edited {name}"), refused)
    raise EditRefused(
        f"{quoted(arguments.path)} was changed by others {TRIES} times while it was being edited; "
        "nothing was edited; read_file it again"
    ) from moved


async def _preview(arguments: EditFile, context: ToolContext) -> Preview:
    try:
        snapshot, proposal = await _proposed(arguments, context)
    except TooLarge:
        return Preview(await edit_large.preview(arguments, context))
    name = display(snapshot.path, context.workspace.roots)
    diff = await asyncio.to_thread(_diff, snapshot.text, proposal.text, name)
    return Preview(diff, by_hunk=True, before=snapshot.text)


async def _proposed(arguments: EditFile, context: ToolContext) -> tuple[Snapshot, Proposal]:
    """Return the current text, and the text after the edits.

    Raises:
    TooLarge: The file is edited in place.

    ToolError: The edits cannot be made.
    """
    path = context.resolve(arguments.path)
    snapshot = await read_known(path, arguments.path, context)
    if not snapshot.lossless:
        raise ToolError(
            f"{quoted(arguments.path)} holds bytes that are not text in its encoding, and editing "
            "it would damage it; convert it first, or change it with a command"
        )
    known = known_text(snapshot, context.seen)
    proposal = await asyncio.to_thread(
        propose, known, snapshot.text, arguments.edits, arguments.path
    )
    if isinstance(proposal, Collision):
        mark = await asyncio.to_thread(digest, proposal.known)
        context.seen.record(snapshot.path, mark, proposal.known)
        raise EditRefused(proposal.words)
    return snapshot, proposal


async def read_known(path: Path, written: str, context: ToolContext) -> Snapshot:
    """Read a file; report a deletion since the model read it (FS-15).

    Raises:
        TooLarge: The file is edited in place.
        ToolError: The file cannot be read.
    """
    try:
        return await context.workspace.read(path)
    except TooLarge:
        raise
    except ToolError as error:
        if not context.seen.digest(path):
            raise
        # The deletion is reported once, so that the model may create the file again.
        context.seen.record(path, "", None)
        raise ToolError(
            f"{quoted(written)} was read before, but now: {error}. It was deleted or renamed "
            "meanwhile; nothing was edited and nothing created"
        ) from error


def known_text(snapshot: Snapshot, seen: KnownTexts) -> str:
    """Return the text that the model knows.

    Raises:
        ToolError: The model never read the file, or so long ago that later changes are unknown.
    """
    known = seen.text(snapshot.path)
    if known is None or seen.digest(snapshot.path) == snapshot.stamp.digest:
        seen.check(snapshot)
        return snapshot.text
    return known


async def _already(
    snapshot: Snapshot, proposal: Proposal, context: ToolContext, name: str
) -> Outcome:
    """Return the result of an edit that others have already made, or that changes nothing."""
    if not proposal.others:
        raise EditRefused(
            f"these edits would leave {name} as it is: what they put in is there already; nothing "
            "was changed"
        )
    mark = await asyncio.to_thread(digest, proposal.known)
    context.seen.record(snapshot.path, mark, proposal.known)
    words = f"{name} already reads so: others made the same change; nothing was written"
    return Outcome(text=f"{words}\n{proposal.others}".rstrip("\n"), figure="same")


def _diff(before: str | None, after: str, name: str) -> str:
    return shown(unified_diff(before, after, name))
