"""Where the user's settings and Indwell's state lie on this platform, and how they are read.

Everything here blocks for the time of one small file.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import platformdirs

from indwell.errors import SettingsError
from indwell.files.append_log import read_bytes_private
from indwell.files.reading import why_foreign
from indwell.settings import load

MOST_B = 1 << 20  # of a file that people write by hand; a larger one is none of these

_NAME = "indwell"


def user_file() -> Path:
    """The user's own settings file; it need not exist."""
    return platformdirs.user_config_path(_NAME, appauthor=False) / "config.toml"


def state_folder(environment: Mapping[str, str]) -> Path:
    """The folder for sessions and approvals: ``INDWELL_STATE``, or the platform's.

    Raises:
        SettingsError: ``INDWELL_STATE`` is no absolute path.
    """
    return load.state_folder(environment, platformdirs.user_state_path(_NAME, appauthor=False))


def undo_folder(environment: Mapping[str, str]) -> Path | None:
    """Where edits in place keep the old text until they are done; None without a state folder."""
    try:
        return state_folder(environment) / "undo"
    except SettingsError:  # said when a session is begun
        return None


def read_user_file(path: Path) -> str | None:
    """Read a settings file, through a link too (many keep theirs elsewhere); None if missing.

    Raises:
        SettingsError: It cannot be read, is no UTF-8, or far too large.
    """
    try:
        text = read_bytes_private(path, follow_link=True, limit_b=MOST_B).decode()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise SettingsError(
            f"{path.name} is no UTF-8 text (byte {error.start + 1:,}); "
            "save it as UTF-8 and try again"
        ) from error
    except OSError as error:
        raise SettingsError(
            f"{str(path)!r} cannot be read ({error.strerror}); mend that, or move the file away"
        ) from error
    if why := why_foreign(path):
        raise SettingsError(
            f"your settings are not used, as somebody else may have written them: {why}"
        )
    return text


def trusted_folders(trusted: tuple[str, ...]) -> tuple[Path, ...]:
    """The folders that the user trusts, resolved, for comparison with a resolved workspace.

    Raises:
        SettingsError: One is no absolute path.
    """
    folders = []
    for text in trusted:
        try:
            path = Path(text).expanduser()
        except RuntimeError as error:
            raise SettingsError(f"trusted = {text!r}: there is no such user; mend it") from error
        if not path.is_absolute():
            raise SettingsError(f"trusted = {text!r} is no absolute path; write the whole path")
        folders.append(path.resolve())
    return tuple(folders)
