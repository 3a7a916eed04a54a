"""Paths of the user's settings and Indwell's state on this platform, and reading the settings.

All functions block, for reading a small file.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import platformdirs

from indwell.errors import SettingsError
from indwell.files.append_log import read_bytes_private
from indwell.files.spelling import quoted
from indwell.files.system.access import why_foreign
from indwell.settings import load

MOST_B = 1 << 20  # The limit is in bytes of the settings file.

_NAME = "indwell"


def user_file() -> Path:
    """Return the path of the user's settings file, which may be missing."""
    return platformdirs.user_config_path(_NAME, appauthor=False) / "config.toml"


def state_folder(environment: Mapping[str, str]) -> Path:
    """Return the folder for sessions and approvals: ``INDWELL_STATE``, or the platform's.

    Raises:
        SettingsError: ``INDWELL_STATE`` is not an absolute path.
    """
    return load.state_folder(environment, platformdirs.user_state_path(_NAME, appauthor=False))


def worktrees_folder(environment: Mapping[str, str]) -> Path:
    """Return the folder for the files of worktrees, beside the state folder.

    The state folder itself is hidden from every command, so worktrees cannot be inside.

    Raises:
        SettingsError: ``INDWELL_STATE`` is not an absolute path.
    """
    state = state_folder(environment)
    return state.with_name(f"{state.name}-worktrees")


def batches_folder(environment: Mapping[str, str]) -> Path:
    """Return the folder for the workspaces of ``indwell batch``, beside the state folder.

    Commands see nothing in the state folder, and no repository is around the workspaces.

    Raises:
        SettingsError: ``INDWELL_STATE`` is not an absolute path.
    """
    state = state_folder(environment)
    return state.with_name(f"{state.name}-batches")


def server_log(environment: Mapping[str, str]) -> Path:
    """Return the path of the log with the last warnings of servers, which may be missing.

    Raises:
        SettingsError: ``INDWELL_STATE`` is not an absolute path.
    """
    return state_folder(environment) / "diagnosis" / "server.log"


def undo_folder(environment: Mapping[str, str]) -> Path | None:
    """Return the folder for old texts during writes in place, or None if no state folder exists."""
    try:
        return state_folder(environment) / "undo"
    except SettingsError:  # The error is reported when a session starts.
        return None


def read_user_file(path: Path) -> str | None:
    """Read a settings file, even if it is a link; return None if missing.

    Raises:
        SettingsError: The file is unreadable, not UTF-8, or far too large.
    """
    try:
        text = read_bytes_private(path, follow_link=True, limit_b=MOST_B).decode()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise SettingsError(
            f"{path.name} is not UTF-8 text (byte {error.start + 1:,}); "
            "save it as UTF-8 and try again"
        ) from error
    except OSError as error:
        raise SettingsError(
            f"{quoted(path)} cannot be read ({error.strerror}); fix that, or move the file away"
        ) from error
    if why := why_foreign(path, is_project=False):
        raise SettingsError(
            f"your settings are not used, as somebody else may have written them: {why}"
        )
    return text


def trusted_folders(trusted: tuple[str, ...]) -> tuple[Path, ...]:
    """Resolve the folders that the user trusts.

    Raises:
        SettingsError: A folder is not an absolute path.
    """
    folders = []
    for text in trusted:
        try:
            path = Path(text).expanduser()
        except RuntimeError as error:
            raise SettingsError(f"trusted = {text!r}: there is no such user; correct it") from error
        if not path.is_absolute():
            raise SettingsError(f"trusted = {text!r} is not an absolute path; write the whole path")
        folders.append(path.resolve())
    return tuple(folders)
