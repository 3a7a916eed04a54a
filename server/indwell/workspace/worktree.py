"""The files of a worktree: a private copy of the user's folder in which one session works."""

from __future__ import annotations

from pathlib import Path

from indwell.workspace.base import Workspace
from indwell.workspace.disk import DiskWorkspace


class WorktreeFiles(DiskWorkspace):
    """The files of a worktree on disk.

    Args:
        root: The folder in which the session works.
        folder: The user's folder, of which the worktree is a copy.
        private: See ``DiskWorkspace``.

    Attributes:
        folder: The user's folder.
    """

    def __init__(self, root: Path, folder: Path, *, private: Path | None = None) -> None:
        super().__init__([root], private=private)
        self.folder = folder


def home_folder(workspace: Workspace) -> Path:
    """Return the user's folder to which sessions, permissions and memory belong."""
    if isinstance(workspace, WorktreeFiles):
        return workspace.folder
    return workspace.roots[0]
