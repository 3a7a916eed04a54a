"""The files that words mention, as what goes with a prompt; deny rules count (editor §3)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from indwell.context.attachments import Listing, Selection
from indwell.errors import ToolError
from indwell.policy.approvals import one_line
from indwell.policy.paths import matches_any
from indwell.service.mentions.chat_names import is_chat
from indwell.service.mentions.folder_listing import listing_of
from indwell.service.mentions.mentions import MOST, Mention
from indwell.service.mentions.other_names import OtherNames
from indwell.settings.model import Settings
from indwell.workspace.base import Workspace
from indwell.workspace.lines import document_lines
from indwell.workspace.paths import display


class Attachments(NamedTuple):
    """What goes with a prompt, and why the rest does not, a sentence each."""

    files: tuple[Selection, ...] = ()
    folders: tuple[Listing, ...] = ()
    problems: tuple[str, ...] = ()


async def attachments(
    workspace: Workspace, settings: Settings, mentions: Sequence[Mention], names: OtherNames
) -> Attachments:
    """Look the mentioned lines up, as the buffers hold them."""
    files: dict[tuple[str, int, int], Selection] = {}
    folders: dict[str, Listing] = {}
    problems: list[str] = []
    wanted = tuple(dict.fromkeys(mentions))
    for mention in wanted[:MOST]:
        shown = one_line(mention.written)
        try:
            if mention.path.endswith("/"):
                listing = await _listed(workspace, settings, mention)
                folders[listing.path] = listing
                continue
            one = await _attached(workspace, settings, mention, names)
        except ToolError as error:
            problems.append(f"@{shown} is not attached: {error}")
            continue
        files[one.path, one.first_line, one.last_line] = one
    if len(wanted) > MOST:
        problems.append(f"only the first {MOST} of {len(wanted)} mentioned files are attached")
    return Attachments(tuple(files.values()), tuple(folders.values()), tuple(problems))


async def _listed(workspace: Workspace, settings: Settings, mention: Mention) -> Listing:
    if mention.first:
        raise ToolError("a folder has no lines")
    folder = workspace.resolve(mention.path.rstrip("/") or "/")
    if _is_denied(folder, display(folder, workspace.roots), mention, settings):
        raise ToolError("a rule of your settings (`deny`) keeps it from the model")
    return await listing_of(folder, workspace.roots, settings.deny)


async def _attached(
    workspace: Workspace, settings: Settings, mention: Mention, names: OtherNames
) -> Selection:
    path = workspace.resolve(mention.path)
    name = display(path, workspace.roots)
    if _is_denied(path, name, mention, settings):
        raise ToolError("a rule of your settings (`deny`) keeps it from the model")
    other = await names.kept_by(path, settings)
    if other:
        raise ToolError(
            f"it is another name (a hard link) of {other!r}, which a rule of your settings "
            "(`deny`) keeps from the model"
        )
    if is_chat(path.as_uri()):
        raise ToolError("it is a chat")
    snapshot = await workspace.read(path)
    lines = document_lines(snapshot.text)
    if lines and not lines[-1]:
        lines.pop()
    n_lines = len(lines)
    first, last = mention.first or 1, min(mention.last or n_lines, n_lines)
    if first > max(n_lines, 1):
        raise ToolError(f"it has {n_lines} lines")
    return Selection(
        path=name,
        first_line=first,
        last_line=max(first, last),
        text="".join(lines[first - 1 : last]),
        unsaved=snapshot.unsaved,
    )


def _is_denied(path: Path, name: str, mention: Mention, settings: Settings) -> bool:
    """By any of its names: as it was written, as it resolves, as it is shown."""
    names = (name, path.as_posix(), mention.path)
    return any(matches_any(one, settings.deny) for one in names)
