"""What the doctor tells of hooks: how many there are, whose they are, and when they run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from indwell.cli.doctor.check import Finding, Findings
from indwell.errors import SettingsError
from indwell.service.folder_trust import FolderTrust
from indwell.service.user_settings import read_settings
from indwell.wiring.project.hooks import hooks_of
from indwell.workspace.disk import DiskWorkspace


def hooks(environment: Mapping[str, str], folder: Path) -> Findings:
    """Those that would run in the folder in which the doctor was called."""
    trust = FolderTrust(environment)
    try:
        chosen = read_settings(environment, roots=(folder,), trust=trust).settings
    except SettingsError:
        return ()  # said by the check of the settings
    found = hooks_of(DiskWorkspace([folder]), lambda: chosen, trust).look().hooks
    if not found:
        return (Finding("hooks", "ok", "there are none"),)
    counts = Counter((one.is_own, one.hook.event) for one in found)
    words = ", ".join(
        f"{number} {'of yours' if is_own else 'of this project'} for {event}"
        for (is_own, event), number in counts.items()
    )
    return (Finding("hooks", "ok", words),)
