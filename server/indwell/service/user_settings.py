"""Reads the settings from the environment, the user's file, the editor and trusted folders."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from indwell.bounds.folder_trust import FolderTrust
from indwell.errors import SettingsError, ToolError
from indwell.files.append_log import make_private_folder
from indwell.files.contents.atomic import write_atomic
from indwell.files.listing import is_missing
from indwell.files.private import write_private
from indwell.files.spelling import quoted
from indwell.files.system.access import why_foreign
from indwell.providers.catalogue import title_of
from indwell.providers.endpoint import NO_EXTRAS, OPENAI_URL, Extras
from indwell.service.stored_keys import (
    extras_of,
    foreign_key_notice,
    is_foreign_key,
    key_store,
)
from indwell.settings.credentials import origin_of
from indwell.settings.endpoints import in_force
from indwell.settings.load import WORKSPACE_FILE, Loaded, load, unreadable_workspace
from indwell.settings.paths import read_user_file, user_file
from indwell.settings.tighten import STRICTEST

MOST_UNTRUSTED_B = 16 << 10
UNTRUSTED = f"{WORKSPACE_FILE} is ignored as long as its folder is not trusted"
FOREIGN = "{} only makes your settings stricter, and none of its hooks runs: {}"


def read_settings(
    environment: Mapping[str, str],
    *,
    roots: tuple[Path, ...] = (),
    options: Mapping[str, object] | None = None,
    trust: FolderTrust | None = None,
) -> Loaded:
    """Read all sources of settings; ``trust`` examines the folders.

    The settings file of an untrusted folder has no effect. A short file is parsed for a notice
    about its ignored parts, which takes at most 15 ms. If the file of a trusted folder exists but
    cannot be read, Indwell asks before each tool call.

    Raises:
        SettingsError: The user's own file cannot be used.
    """
    path = user_file()
    text = read_user_file(path)
    users = load(environment, text, str(path), None, None).settings
    workspace_text = None
    unreadable = ""
    notices: tuple[str, ...] = ()
    if roots:
        trust = trust or FolderTrust(environment)
        trust.look(roots, users)
        try:
            data = _workspace_bytes(roots[0])
        except ToolError as error:
            data, unreadable = None, str(error) if trust.is_trusted(roots[0]) else ""
        if data is not None and trust.obeys(roots[0], WORKSPACE_FILE, data):
            workspace_text = data.decode("utf-8", "replace")
            foreign = why_foreign(roots[0] / WORKSPACE_FILE)
            notices = (FOREIGN.format(WORKSPACE_FILE, foreign),) if foreign else ()
        elif data is not None:
            notices = (UNTRUSTED,)
            if len(data) <= MOST_UNTRUSTED_B:
                would = load(environment, text, str(path), options, data.decode("utf-8", "replace"))
                known = (
                    *load(environment, text, str(path), options).notices,
                    STRICTEST.format(WORKSPACE_FILE),
                )
                notices += tuple(one for one in would.notices if one not in known)
    loaded = load(environment, text, str(path), options, workspace_text)
    is_foreign = is_foreign_key(loaded.settings, environment)
    if is_foreign:
        loaded = load(environment, text, str(path), options, workspace_text, takes_key=False)
        notice = foreign_key_notice(loaded.settings, key_store())
        notices += (notice,) if notice else ()
    if unreadable:
        loaded = unreadable_workspace(loaded, unreadable)
    return Loaded(loaded.settings, (*loaded.notices, *notices))


def change_user_settings(changes: Mapping[str, object]) -> None:
    """Change values of the user's settings file; see ``edit.edited`` for ``changes``. Blocks.

    Raises:
        SettingsError: The file is broken, too unusual to be edited, or cannot be written.
    """
    # The import is here, because tomlkit takes 15 ms and few commands need it.
    from indwell.settings.edit import edited

    path = user_file()
    before = read_user_file(path)
    write_user_file(path, edited(before or "", changes, path.name), before)


def write_user_file(path: Path, text: str, before: str | None) -> None:
    """Write the user's settings file if its text is still ``before``; None means no file.

    Raises:
    SettingsError: The file cannot be written.
    """
    data = text.encode()
    try:
        if before is None:
            make_private_folder(path.parent)
            write_private(path, data)
        else:
            target = path.resolve()  # Users may link to settings elsewhere.
            write_atomic(target, data, [target.parent], expected=before.encode())
    except (ToolError, OSError) as error:
        raise SettingsError(f"{quoted(path)} cannot be written ({error}); fix that") from error


def workspace_file(root: Path) -> bytes | None:
    """Return the settings file of a folder, trusted or not, or None if it cannot be read."""
    try:
        return _workspace_bytes(root)
    except ToolError:
        return None


def _workspace_bytes(root: Path) -> bytes | None:
    """Return the settings file of a folder, trusted or not, or None if it does not exist.

    Raises:
        ToolError: The file exists, or may exist, but cannot be read.
    """
    from indwell.files.contents.reading import read_bytes

    path = root / WORKSPACE_FILE
    try:
        return read_bytes(path, [root], 1 << 20)
    except ToolError:
        if is_missing(path):
            return None
        raise


def named_endpoints(environment: Mapping[str, str]) -> Mapping[str, Mapping[str, object]]:
    """Return the tables of the named endpoints, or an empty mapping if the settings are broken."""
    try:
        return read_settings(environment).settings.endpoints
    except SettingsError:
        return {}  # An error is reported where the settings are changed.


def extras_at(environment: Mapping[str, str], name: str, base_url: str) -> Extras:
    """Return the extra headers and fields for an endpoint, or empty for a new origin.

    ``name`` is the name of the endpoint's table in the settings, or empty for the unnamed endpoint.
    """
    try:
        settings = read_settings(environment).settings
        if name and name not in settings.endpoints:
            return NO_EXTRAS
        here = in_force(settings, f"any@{name}" if name else "any")
        is_same = origin_of(here.base_url) == origin_of(base_url)
    except SettingsError:
        return NO_EXTRAS  # An error is reported where the settings are changed.
    return extras_of(here) if is_same else NO_EXTRAS


def used_elsewhere(environment: Mapping[str, str], base_url: str) -> str:
    """Return the model and endpoint in use, if that is at another origin, or an empty text."""
    try:
        here = in_force(read_settings(environment).settings)
    except SettingsError:
        return ""  # An error is reported where the settings are changed.
    address = here.base_url or OPENAI_URL
    if not here.model or here.provider == "scripted" or origin_of(address) == origin_of(base_url):
        return ""
    return f"{here.model} at {title_of(address)}"
