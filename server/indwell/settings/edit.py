"""Changes of the user's settings file that keep its comments, order and spelling. Pure.

Importing this takes a twentieth of a second: only the commands that change settings do.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import Any

import tomlkit
import tomlkit.exceptions

from indwell.errors import SettingsError
from indwell.settings.values import check, parse_toml


def edited(text: str, changes: Mapping[str, str | int | None], name: str) -> str:
    """The text of a settings file with some top-level values set, or taken out (None).

    Args:
        text: Valid TOML; empty for a new file.
        changes: By the setting's name.
        name: What the user calls the file.

    Raises:
        SettingsError: The file is broken, or so unusual that the change does not come out right.
    """
    parse_toml(text, name)  # words the fault, with its line
    try:
        document = tomlkit.parse(text.removeprefix("\ufeff"))
        for setting, value in changes.items():
            _set(document, setting, value)
        new = tomlkit.dumps(document)
        came_out = check(parse_toml(new, name), name).values
    except (tomlkit.exceptions.TOMLKitError, SettingsError) as error:
        raise _unusual(name, changes) from error
    for setting, value in changes.items():
        if came_out.get(setting) != value:
            raise _unusual(name, changes)
    return new


def _set(document: MutableMapping[str, Any], setting: str, value: str | int | None) -> None:
    """A setting may also stand in a table whose name comes first: ``[base] url``."""
    prefix, _, rest = setting.partition("_")
    table = document.get(prefix)
    if isinstance(table, MutableMapping) and rest in table:
        del table[rest]
    if value is None:
        document.pop(setting, None)
    elif setting not in document or document[setting] != value:
        document[setting] = value


def _unusual(name: str, changes: Mapping[str, object]) -> SettingsError:
    wanted = ", ".join(changes)
    return SettingsError(
        f"{name} is written so that {wanted} cannot be changed there; edit it yourself"
    )
