"""Reads the files on disk for ``indwell review``, and updates the ledger with their text."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import msgspec

from indwell.errors import NotText, TooLarge, ToolError
from indwell.files.listing import exists
from indwell.review.hunk import Hunk
from indwell.review.ledger import ReviewLedger
from indwell.workspace.base import Workspace
from indwell.workspace.comparing.diff import compare
from indwell.workspace.text import line_at

UNSAVED = "not saved in your editor yet: review it there, or save it and run this again"


class WantedFiles(msgspec.Struct, frozen=True):
    """The files and hunks to review.

    Attributes:
        places: The files, and the folders with their contents, or empty for all files.
        session: The session that made the changes, or empty for all sessions.
        turn: The turn of the session that made the changes, or 0 for all turns.
    """

    places: tuple[Path, ...] = ()
    session: str = ""
    turn: int = 0

    def has_path(self, path: Path) -> bool:
        """Return whether the file is selected."""
        return not self.places or any(path.is_relative_to(one) for one in self.places)

    def has(self, hunk: Hunk) -> bool:
        """Return whether the hunk is selected."""
        return self.has_path(hunk.path) and any(
            self.session in {"", one.session} and self.turn in {0, one.turn} for one in hunk.actors
        )


class FileLook(msgspec.Struct, frozen=True):
    """The pending changes on disk.

    Attributes:
        hunks: Pending hunks that can be reviewed, file by file, from top to bottom.
        texts: The text of each file, or None if the file is deleted or not text.
        unsaved: Hunks that are only in the editor's unsaved buffer, by file.
    """

    hunks: tuple[Hunk, ...] = ()
    texts: dict[Path, str | None] = {}
    unsaved: dict[Path, tuple[Hunk, ...]] = {}


async def look(
    ledger: ReviewLedger,
    workspace: Workspace,
    wanted: WantedFiles,
    *,
    is_edited: Callable[[Collection[str]], bool],
) -> FileLook:
    """Read every selected file that the ledger follows.

    Args:
        ledger: Gets the files' text, except for files that an editor has not saved.
        workspace: The files on disk.
        wanted: The files and hunks to review.
        is_edited: Returns whether an editor has one of these sessions open; blocks.
    """
    found = FileLook()
    for path in filter(wanted.has_path, ledger.known()):
        before = ledger.hunks(path)
        text, is_known = await _text(workspace, path)
        is_lacking = (
            is_known
            and bool(before)
            and (text == ledger.base(path) or lacks(ledger.text(path), text, before))
        )
        sessions = {actor.session for one in before for actor in one.actors}
        if is_lacking and await asyncio.to_thread(is_edited, sessions):
            meant = tuple(filter(wanted.has, before))
            found.unsaved.update({path: meant} if meant else {})
            continue
        if is_known:
            await ledger.synced(path, text)
        found.texts[path] = text
        meant = tuple(filter(wanted.has, ledger.hunks(path)))
        found = msgspec.structs.replace(found, hunks=found.hunks + meant)
    return found


def lacks(known: str | None, text: str | None, hunks: Sequence[Hunk]) -> bool:
    """Return whether ``text`` lacks some of these changes. Pure.

    Args:
        known: The text of the file with all changes.
        text: The text on disk, or None if there is no file.
        hunks: The pending hunks of the file.
    """
    if known == text:
        return False
    if known is None or text is None:
        kind = "create" if text is None else "delete"
        return any(one.kind == kind for one in hunks)
    undone = {(one.line, one.new, one.old) for one in hunks if one.kind == "change"}
    places = compare(known, text).places
    at = line = 0
    for place in places:
        line += line_at(known[at : place.start], place.start - at) - 1
        at = place.start
        if (line + 1, tuple(place.old), tuple(place.new)) in undone:
            return True
    return False


async def _text(workspace: Workspace, path: Path) -> tuple[str | None, bool]:
    """Return a file's text, and whether the file is text; a binary file is not changed."""
    try:
        return (await workspace.read(path)).text, True
    except (NotText, TooLarge):
        return None, False
    except ToolError:
        return None, not await asyncio.to_thread(exists, path)
