"""Where the review of a workspace lies on disk."""

from __future__ import annotations

from pathlib import Path

from indwell.sessions.store import folder_name

FOLDER = "_review"  # beside the sessions, and no session's id


def review_folder(state_folder: Path, workspace: Path) -> Path:
    """The folder of the log; ``workspace`` is its first root."""
    return state_folder / "sessions" / folder_name(workspace.resolve()) / FOLDER
