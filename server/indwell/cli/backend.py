"""What the language server is given: settings, workspace, sessions, from the composition root."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from indwell.agent.session import Session
from indwell.cli.compose import open_session, read_settings
from indwell.errors import SettingsError
from indwell.lsp.client import Client
from indwell.lsp.documents import Documents
from indwell.lsp.editor_workspace import EditorWorkspace
from indwell.lsp.host import Configured
from indwell.lsp.permission import EditorApprover
from indwell.policy.approvals import Approver
from indwell.settings.model import Settings
from indwell.workspace.base import Workspace
from indwell.workspace.disk import DiskWorkspace


class EditorBackend:
    """Gives the protocol layer its parts; implements ``lsp.host.Backend``.

    Args:
        environment: The process's variables.
        scripted: Use the scripted model, whatever the settings say.
        pace_s: Seconds between two pieces of the scripted model's text.
    """

    def __init__(
        self, environment: Mapping[str, str], *, scripted: bool = False, pace_s: float = 0.0
    ) -> None:
        self._environment = environment
        self._scripted = scripted
        self._pace_s = pace_s

    def configure(self, options: Mapping[str, Any], roots: tuple[Path, ...]) -> Configured:
        """Read the settings; a file that cannot be used makes every prompt say so."""
        try:
            loaded = read_settings(self._environment, roots=roots, options=options)
        except SettingsError as error:
            return Configured(settings=Settings(), problem=str(error))
        settings = loaded.settings
        if self._scripted:
            settings = msgspec.structs.replace(settings, provider="scripted")
        return Configured(settings=settings, notices=loaded.notices)

    def workspace(
        self, roots: tuple[Path, ...], documents: Documents, client: Client, settings: Settings
    ) -> Workspace:
        """Buffers over the disk."""
        disk = DiskWorkspace(roots or (Path.cwd(),))
        return EditorWorkspace(
            documents, client, disk, apply_timeout_s=settings.apply_edit_timeout_s
        )

    def approver(self, client: Client, settings: Settings) -> Approver:
        """The user, through the editor."""
        return EditorApprover(client, timeout_s=settings.answer_timeout_s)

    async def open_session(
        self, workspace: Workspace, approver: Approver, settings: Callable[[], Settings]
    ) -> Session:
        """Begin a session; see ``compose.open_session``."""
        return await open_session(
            workspace, approver, settings, environment=self._environment, pace_s=self._pace_s
        )

    def monotonic(self) -> float:
        """Seconds of the system's monotonic clock."""
        return time.monotonic()
