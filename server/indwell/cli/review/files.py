"""Looks at the files on disk for ``indwell review``, and lets the ledger learn what they read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import msgspec

from indwell.errors import NotText, TooLarge, ToolError
from indwell.files import exists
from indwell.review.hunk import Hunk
from indwell.review.ledger import ReviewLedger
from indwell.workspace.base import Workspace
from indwell.workspace.comparing.diff import compare
from indwell.workspace.text import line_at

UNSAVED = "not saved in your editor yet: review it there, or save it and come back"


class WantedFiles(msgspec.Struct, frozen=True):
    """What is looked at.

    Attributes:
        places: Files, and folders with all in them; none for everything.
        session: Only what this one changed; empty for all.
        turn: Only what this turn of it changed; 0 for all.
    """

    places: tuple[Path, ...] = ()
    session: str = ""
    turn: int = 0

    def has_path(self, path: Path) -> bool:
        """Is a file among them?"""
        return not self.places or any(path.is_relative_to(one) for one in self.places)

    def has(self, hunk: Hunk) -> bool:
        """Is a hunk among them?"""
        return self.has_path(hunk.path) and any(
            self.session in {"", one.session} and self.turn in {0, one.turn} for one in hunk.actors
        )


class FileLook(msgspec.Struct, frozen=True):
    """What stands there.

    Attributes:
        hunks: Pending ones that can be judged here, file by file, from top to bottom.
        texts: What their files read; None for one that is gone or no text.
        unsaved: Hunks that only the editor's buffer has, by file.
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
    """Look at every file that the ledger follows, as far as it is wanted.

    Args:
        ledger: Learns what the files read, but for those that an editor has not saved.
        workspace: The files.
        wanted: Which.
        is_edited: Has an editor this workspace open, perhaps with one of these sessions? Blocks.
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
    """Does ``text`` read as if some of these changes had never come to it? Pure.

    Args:
        known: What the file is known to read, with all of them.
        text: What stands on disk; None if there is no file.
        hunks: The pending ones of the file.
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
    """What a file reads, and whether that is known: what is no text is left as it was."""
    try:
        return (await workspace.read(path)).text, True
    except (NotText, TooLarge):
        return None, False
    except ToolError:
        return None, not await asyncio.to_thread(exists, path)
