"""Edits the user's settings file, keeping its comments, order and spelling. Pure.

Importing this module takes 50 ms, so only commands that change settings import it.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import Any

import tomlkit
import tomlkit.exceptions

from indwell.errors import SettingsError
from indwell.settings.values import check, parse_toml


def edited(text: str, changes: Mapping[str, object], name: str) -> str:
    """Set values in the text of a settings file; the value None removes a setting.

    Args:
        text: Valid TOML, or empty for a new file.
        changes: New values by setting name; ``endpoints.work.base_url`` is in the table of the
            named endpoint ``work``.
        name: The user's name for the file.

    Raises:
        SettingsError: The file is invalid, or too unusual to be edited reliably.
    """
    parse_toml(text, name)  # The parser raises an error that names the line.
    try:
        document = tomlkit.parse(text.removeprefix("\ufeff"))
        for setting, value in changes.items():
            *path, name_there = setting.split(".")
            _set(_table(document, path, of_tables=isinstance(value, Mapping)), name_there, value)
        new = tomlkit.dumps(document)
        came_out = check(parse_toml(new, name), name).values
    except (tomlkit.exceptions.TOMLKitError, SettingsError) as error:
        raise _unusual(name, changes) from error
    for setting, value in changes.items():
        if _value(came_out, setting) != value:
            raise _unusual(name, changes)
    return new


def _table(
    document: MutableMapping[str, Any], path: list[str], *, of_tables: bool
) -> MutableMapping[str, Any]:
    """Return the table at a path, created if missing; ``of_tables`` is for a table of tables."""
    for place, name in enumerate(path):
        if name not in document:
            document[name] = tomlkit.table(is_super_table=of_tables or place < len(path) - 1)
        document = document[name]
    return document


def _value(values: Mapping[str, Any], setting: str) -> object:
    found: object = values
    for name in setting.split("."):
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def _set(document: MutableMapping[str, Any], setting: str, value: object) -> None:
    """Set a value, even if the file has the setting in a table: ``[base] url``."""
    prefix, _, rest = setting.partition("_")
    table = document.get(prefix)
    if isinstance(table, MutableMapping) and rest in table:
        del table[rest]
    if value is None:
        document.pop(setting, None)
    elif setting not in document or document[setting] != value:
        document[setting] = _item(value)


def _item(value: object) -> object:
    """Return a value in the form for the file; tables inside a table have one line each."""
    if not isinstance(value, Mapping):
        return value
    table = tomlkit.table()
    for name, one in value.items():
        if isinstance(one, Mapping):
            table[name] = tomlkit.inline_table()
            table[name].update(one)
        else:
            table[name] = one
    return table


def _unusual(name: str, changes: Mapping[str, object]) -> SettingsError:
    wanted = ", ".join(changes)
    return SettingsError(
        f"{name} is written so that {wanted} cannot be changed there; edit it yourself"
    )
