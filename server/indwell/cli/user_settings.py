"""Reads the settings from all sources: environment, user's file, editor, trusted workspace."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from indwell.cli.stored_keys import foreign_key_notice, is_foreign_key, key_store
from indwell.errors import ToolError
from indwell.settings.load import Loaded, load
from indwell.settings.model import Settings
from indwell.settings.places import read_user_file, trusted_folders, user_file


def read_settings(
    environment: Mapping[str, str],
    *,
    roots: tuple[Path, ...] = (),
    options: Mapping[str, object] | None = None,
) -> Loaded:
    """Read all sources of settings.

    Raises:
        SettingsError: The user's own file cannot be used.
    """
    path = user_file()
    text = read_user_file(path)
    users = load(environment, text, str(path), None, None).settings
    workspace_text = None
    if roots and is_trusted(roots[0], users):
        workspace_text = _read_text(roots[0] / ".indwell" / "config.toml")
    loaded = load(environment, text, str(path), options, workspace_text)
    if not is_foreign_key(loaded.settings, environment):
        return loaded
    others = {name: value for name, value in environment.items() if name != "OPENAI_API_KEY"}
    loaded = load(others, text, str(path), options, workspace_text)
    notice = foreign_key_notice(loaded.settings, key_store())
    return Loaded(loaded.settings, (*loaded.notices, *([notice] if notice else ())))


def is_trusted(root: Path, settings: Settings) -> bool:
    """Did the user name this folder, or one above it, in ``trusted``?"""
    return any(
        root.resolve().is_relative_to(folder) for folder in trusted_folders(settings.trusted)
    )


def _read_text(path: Path) -> str | None:
    from indwell.files import read_bytes

    try:
        return read_bytes(path, [path.parent.parent], 1 << 20).decode("utf-8", "replace")
    except ToolError:
        return None
