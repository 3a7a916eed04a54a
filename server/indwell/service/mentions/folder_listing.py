"""The names of the files below a folder that the user mentions; ignore and deny rules hold."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from indwell.context.attachments import Listing
from indwell.errors import ToolError
from indwell.policy.paths import matches_any
from indwell.service.mentions.files_below import files_below
from indwell.tools.searching.search_place import SearchPlace
from indwell.workspace.paths import display

MOST_NAMED = 300  # about 3,000 tokens
MOST_LOOKED_AT = 20_000


async def listing_of(folder: Path, roots: Sequence[Path], deny: tuple[str, ...]) -> Listing:
    """The files below ``folder``, which is resolved and lies in one of ``roots``.

    Raises:
        ToolError: There is no such folder, or it cannot be listed.
    """
    shown = display(folder, roots)
    name = shown if shown.endswith("/") else f"{shown}/"
    if not await asyncio.to_thread(folder.is_dir):
        raise ToolError(f"there is no folder {name!r}")
    root = next(one for one in roots if folder.parts[: len(one.parts)] == one.parts)
    place = SearchPlace(root, folder).argument
    found = await files_below(place, root, roots, enough=MOST_LOOKED_AT)
    paths = (root / one for one in sorted(found))
    allowed = [one for one in paths if not _is_denied(one, roots, deny)]
    names = tuple(display(one, roots) for one in allowed[:MOST_NAMED])
    return Listing(name, names, len(allowed) - len(names))


def _is_denied(path: Path, roots: Sequence[Path], deny: tuple[str, ...]) -> bool:
    return any(matches_any(one, deny) for one in (display(path, roots), path.as_posix()))
