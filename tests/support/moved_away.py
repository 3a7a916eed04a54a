"""Finds files that the server moved out of a workspace, by their former paths."""

from __future__ import annotations

from pathlib import Path

from indwell.files.quarantine import NOTE


def moved_away(quarantine: Path, root: Path) -> dict[str, list[Path]]:
    """Return each moved entry by its former path relative to ``root``."""
    found: dict[str, list[Path]] = {}
    for place in sorted(one for one in quarantine.iterdir() if (one / NOTE).is_file()):
        came_from = Path((place / NOTE).read_text("utf-8").rstrip("\n"))
        things = [one for one in place.iterdir() if one.name != NOTE]
        if came_from.is_relative_to(root):
            found.setdefault(came_from.relative_to(root).as_posix(), []).extend(things)
    return found
