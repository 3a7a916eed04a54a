"""What the doctor's checks of a folder start from: the user's settings, and whom they trust."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from indwell.errors import SettingsError
from indwell.service.folder_trust import FolderTrust
from indwell.service.user_settings import read_settings
from indwell.settings.model import Settings


def settings_here(
    environment: Mapping[str, str], folder: Path
) -> tuple[Settings, FolderTrust] | None:
    """The user's settings, and the trust in ``folder``; None: another check says why."""
    trust = FolderTrust(environment)
    try:
        chosen = read_settings(environment).settings
        trust.look((folder,), chosen)
    except SettingsError:
        return None
    return chosen, trust
