"""The lines that ``indwell run --file`` names, as if they were marked in an editor."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

from indwell.agent.other_names import denied_name
from indwell.context.attachments import Selection
from indwell.errors import ToolError, UserError
from indwell.files import has_other_names
from indwell.policy.paths import matches_any
from indwell.service.secret_places import SecretPlaces
from indwell.settings.model import Settings
from indwell.workspace.base import Workspace
from indwell.workspace.paths import FIND, display
from indwell.workspace.text import split_lines

_PLACE = re.compile(r"^(?P<path>.+?)(?::L?(?P<first>\d+)(?:-L?(?P<last>\d+))?)?$")


class WrongPlace(UserError):
    """``--file`` names nothing that can be sent."""


async def selection_of(place: str, workspace: Workspace, settings: Settings) -> Selection:
    """Of ``PATH`` or ``PATH:L1-L2``.

    Raises:
        WrongPlace: There is no such file, it may not be sent, or it has no such lines.
    """
    match = _PLACE.match(place)
    if match is None:
        raise WrongPlace("the name is empty; write PATH or PATH:L1-L2")
    try:
        path = workspace.resolve(match["path"])
        snapshot = await workspace.read(path)
    except ToolError as error:
        raise WrongPlace(str(error).removesuffix(FIND)) from error
    shown = display(path, workspace.roots)
    deny = settings.deny
    if any(matches_any(name, deny) for name in (shown, match["path"])):
        raise WrongPlace(f"{shown!r} matches a deny rule for secrets, so it is not sent")
    if has_other_names(path) and (other := await asyncio.to_thread(_denied, path, workspace, deny)):
        raise WrongPlace(
            f"{shown!r} is another name (a hard link) of {other!r}, which matches a deny rule for "
            "secrets, so it is not sent"
        )
    lines = split_lines(snapshot.text)
    first = int(match["first"] or 1)
    last = int(match["last"] or match["first"] or len(lines))
    if not 1 <= first <= last <= len(lines):
        raise WrongPlace(f"{shown!r} has {len(lines)} lines, so there is no range {first}-{last}")
    return Selection(
        path=shown, first_line=first, last_line=last, text="".join(lines[first - 1 : last])
    )


def _denied(path: Path, workspace: Workspace, deny: tuple[str, ...]) -> str:
    """The other name by which a rule keeps the file back; blocks."""
    secret = SecretPlaces(workspace.roots, lambda: deny).look()
    return denied_name(path, workspace.roots, secret, deny)
