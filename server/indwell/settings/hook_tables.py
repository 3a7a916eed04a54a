"""Hooks as they stand in a settings file: ``[[hooks]]`` tables, checked one by one. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

import msgspec

from indwell.errors import SettingsError
from indwell.settings.model import Hook, HookEvent

MOST_HOOKS = 30  # of one file; each may run at every call of a tool


def hooks_of(value: object) -> tuple[Hook, ...]:
    """Check what ``hooks`` is set to.

    Raises:
        SettingsError: It is no list of hooks; half a sentence that names the table.
    """
    if not isinstance(value, list | tuple):
        raise SettingsError("hooks do not fit, expected tables that begin with [[hooks]]")
    if len(value) > MOST_HOOKS:
        raise SettingsError(f"hooks are {len(value):,}, and there may be {MOST_HOOKS}")
    return tuple(_hook(one, number) for number, one in enumerate(value, 1))


def project_hooks(table: Mapping[str, Any], source: str) -> tuple[tuple[Hook, ...], str]:
    """The hooks of a trusted workspace's file, and what is wrong with them, for the user.

    They are no setting: nothing but the hooks' own code may take them from there. If one is broken
    none counts, for what it was to keep from happening is not known.
    """
    try:
        return hooks_of(table.get("hooks", ())), ""
    except SettingsError as error:
        return (), f"{source}: {error}; until that is mended none of its hooks runs"


def _hook(value: object, number: int) -> Hook:
    try:
        return msgspec.convert(value, Hook)
    except msgspec.ValidationError as error:
        words = str(error).replace(" - at `$.", " for `")
        if "Invalid enum value" in words and "event" in words:
            words += f", expected one of {', '.join(map(repr, get_args(HookEvent)))}"
        raise SettingsError(f"[[hooks]] number {number}: {words[:1].lower()}{words[1:]}") from error
