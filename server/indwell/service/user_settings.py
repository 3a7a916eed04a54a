"""Reads the settings from the environment, the user's file, the editor and trusted folders."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from indwell.errors import ToolError
from indwell.files.reading import why_foreign
from indwell.service.folder_trust import FolderTrust
from indwell.service.stored_keys import foreign_key_notice, is_foreign_key, key_store
from indwell.settings.load import WORKSPACE_FILE, Loaded, load
from indwell.settings.paths import read_user_file, user_file

MOST_UNTRUSTED_B = 16 << 10
UNTRUSTED = f"{WORKSPACE_FILE} is ignored as long as its folder is not trusted"


def read_settings(
    environment: Mapping[str, str],
    *,
    roots: tuple[Path, ...] = (),
    options: Mapping[str, object] | None = None,
    trust: FolderTrust | None = None,
) -> Loaded:
    """Read all sources of settings; ``trust`` examines the folders.

    The settings file of an untrusted folder has no effect. If it is short, it is parsed to name
    what is ignored, which takes at most 15 ms.

    Raises:
        SettingsError: The user's own file cannot be used.
    """
    path = user_file()
    text = read_user_file(path)
    users = load(environment, text, str(path), None, None).settings
    workspace_text = None
    notices: tuple[str, ...] = ()
    if roots:
        trust = trust or FolderTrust(environment)
        trust.look(roots, users)
        data = workspace_file(roots[0])
        foreign = why_foreign(roots[0] / WORKSPACE_FILE) if data is not None else ""
        if foreign:
            notices = (f"{WORKSPACE_FILE} is ignored: {foreign}",)
        elif data is not None and trust.obeys(roots[0], WORKSPACE_FILE, data):
            workspace_text = data.decode("utf-8", "replace")
        elif data is not None:
            notices = (UNTRUSTED,)
            if len(data) <= MOST_UNTRUSTED_B:
                would = load(environment, text, str(path), options, data.decode("utf-8", "replace"))
                known = load(environment, text, str(path), options).notices
                notices += tuple(one for one in would.notices if one not in known)
    loaded = load(environment, text, str(path), options, workspace_text)
    loaded = Loaded(loaded.settings, (*loaded.notices, *notices))
    if not is_foreign_key(loaded.settings, environment):
        return loaded
    loaded = load(environment, text, str(path), options, workspace_text, takes_key=False)
    loaded = Loaded(loaded.settings, (*loaded.notices, *notices))
    notice = foreign_key_notice(loaded.settings, key_store())
    return Loaded(loaded.settings, (*loaded.notices, *([notice] if notice else ())))


def workspace_file(root: Path) -> bytes | None:
    """The settings file of a folder, trusted or not; None if it cannot be read."""
    from indwell.files import read_bytes

    try:
        return read_bytes(root / WORKSPACE_FILE, [root], 1 << 20)
    except ToolError:
        return None
