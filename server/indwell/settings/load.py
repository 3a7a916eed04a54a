"""Merges environment, the user's file, editor options and a workspace's file into ``Settings``.

Pure: texts and tables come in. Environment over user's file over defaults; the editor's options
and the workspace's file then only tighten.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from indwell.errors import SettingsError
from indwell.settings.credentials import OPENAI_URL, origin_of
from indwell.settings.model import Settings
from indwell.settings.tighten import tighten
from indwell.settings.values import SourceSettings, check, convert, parse_toml, project_hooks

VARIABLES: Mapping[str, str] = {
    "OPENAI_API_KEY": "api_key",
    "OPENAI_BASE_URL": "base_url",
    "INDWELL_MODEL": "model",
    "INDWELL_PROVIDER": "provider",
    "INDWELL_TRUSTED": "trusted",
}
"""Environment variables and the settings they set; ``INDWELL_STATE`` is apart, no setting.

``INDWELL_TRUSTED`` is a list as ``PATH`` is, and adds to the folders of the user's file.
"""

WORKSPACE_FILE = ".indwell/config.toml"
EDITOR_OPTIONS = "the editor's options"
MAX_WORKSPACE_CHARACTERS = 64 * 1024
MAX_WORKSPACE_DOTS = 1_000  # the reader's time grows with the square of the dots in a name


class Loaded(msgspec.Struct, frozen=True):
    """Settings, and what was ignored on the way: one sentence each, for the user."""

    settings: Settings
    notices: tuple[str, ...] = ()


def load(
    environment: Mapping[str, str],
    user_file: str | None = None,
    user_file_name: str = "config.toml",
    editor_options: object = None,
    workspace_file: str | None = None,
) -> Loaded:
    """Put the settings together.

    Args:
        environment: Of the process; never from a file of the workspace (TRU-04).
        user_file: Text of the user's own file; None if there is none.
        user_file_name: What notices call it.
        editor_options: ``initializationOptions``, or the section ``indwell`` of the editor's
            configuration; any JSON.
        workspace_file: Text of the workspace's file; None if there is none or it is not trusted.

    Raises:
        SettingsError: The user's file is broken, or a value of it or of the environment that must
            not be guessed (address, key, mode, provider, deny).
    """
    from_file = check(parse_toml(user_file or "", user_file_name), user_file_name)
    from_environment = _environment(environment)
    trusted = (*from_file.values.get("trusted", ()), *from_environment.get("trusted", ()))
    merged = Settings(
        **_with_default_deny({**from_file.values, **from_environment, "trusted": trusted})
    )
    users, notices = _keep_key_at_home(merged, from_file, from_environment, user_file_name)
    loaded = Loaded(users, from_file.notices + notices)
    if editor_options is not None:
        loaded = _tightened(loaded, editor_options, EDITOR_OPTIONS, chooses=True)
    if workspace_file is not None:
        loaded = _with_workspace(loaded, workspace_file)
    return Loaded(_with_unreadable(loaded.settings), loaded.notices)


def lacking(settings: Settings, user_file_name: str = "config.toml") -> str:
    """Say what has to be set before a model can be called; empty if nothing is missing.

    An endpoint of the user's own may do without a key; OpenAI's does not.
    """
    if settings.provider == "scripted":
        return ""
    if not settings.model:
        return (
            'no model is set; run `indwell login` in a terminal, or write model = "…" in '
            f"{user_file_name} or set INDWELL_MODEL"
        )
    if settings.api_key is None and origin_of(settings.base_url) == origin_of(OPENAI_URL):
        return (
            "no API key is set; run `indwell login` in a terminal, or set OPENAI_API_KEY or write "
            f"api_key in {user_file_name} (an editor started from the desktop does not see what a "
            "shell exports), or set base_url to an endpoint that needs none"
        )
    return ""


def state_folder(environment: Mapping[str, str], default: Path) -> Path:
    """Where sessions are kept: ``INDWELL_STATE``, or the platform's ``default``.

    Raises:
        SettingsError: The variable is no absolute path, and would lead into the workspace.
    """
    text = environment.get("INDWELL_STATE", "").strip()
    if not text:
        return default
    if not Path(text).is_absolute():
        raise SettingsError(f"INDWELL_STATE = {text!r} is no absolute path; write the whole path")
    return Path(text)


def _environment(environment: Mapping[str, str]) -> dict[str, Any]:
    values = {}
    for variable, name in VARIABLES.items():
        text = environment.get(variable, "").strip()  # set but empty means not set
        if text:
            try:
                values[name] = convert(name, _folders(text) if name == "trusted" else text)
            except SettingsError as error:
                raise SettingsError(f"{variable}: {error}; mend it and try again") from error
    return values


def _folders(text: str) -> list[str]:
    return [folder for folder in text.split(os.pathsep) if folder]


def _with_default_deny(values: Mapping[str, Any]) -> dict[str, Any]:
    """The user's own globs come on top: nobody should lose the defaults by adding one."""
    if "deny" not in values:
        return dict(values)
    return {**values, "deny": Settings().deny + tuple(dict.fromkeys(values["deny"]))}


def _with_unreadable(settings: Settings) -> Settings:
    """Files that a rule denies to read are kept from searches, selections and commands as well."""
    split = (rule.partition(":") for rule in settings.rules_deny)
    globs = (rest.strip() for head, _, rest in split if head.strip().casefold() == "read")
    new = tuple(glob for glob in dict.fromkeys(globs) if glob not in ("", *settings.deny))
    return msgspec.structs.replace(settings, deny=settings.deny + new) if new else settings


def _keep_key_at_home(
    settings: Settings, file: SourceSettings, environment: Mapping[str, Any], file_name: str
) -> tuple[Settings, tuple[str, ...]]:
    """Send a key of the file only to the file's own endpoint (editor.md §2)."""
    if "api_key" in environment or settings.api_key is None:
        return settings, ()
    if origin_of(settings.base_url) == origin_of(file.values.get("base_url")):
        return settings, ()
    notice = (
        f"api_key of {file_name} is not sent to {settings.base_url!r}, which OPENAI_BASE_URL "
        "names; set OPENAI_API_KEY for that endpoint"
    )
    return msgspec.structs.replace(settings, api_key=None), (notice,)


def _with_workspace(loaded: Loaded, text: str) -> Loaded:
    """A repository's broken file must not keep anybody from working; it is said instead."""
    try:
        table = workspace_table(text)
    except SettingsError as error:
        return Loaded(loaded.settings, (*loaded.notices, str(error)))
    _, problem = project_hooks(
        table, WORKSPACE_FILE
    )  # `wiring.project.commands` takes them, once it is trusted
    rest = {name: value for name, value in table.items() if name != "hooks"}
    loaded = Loaded(loaded.settings, (*loaded.notices, *([problem] if problem else ())))
    return _tightened(loaded, rest, WORKSPACE_FILE, chooses=False)


def workspace_table(text: str) -> Mapping[str, Any]:
    """The table of a workspace's file, as it stands there.

    Raises:
        SettingsError: It is no TOML, or too long to be looked at.
    """
    if len(text) > MAX_WORKSPACE_CHARACTERS or text.count(".") > MAX_WORKSPACE_DOTS:
        raise SettingsError(
            f"{WORKSPACE_FILE} is ignored: it is longer than any settings need to be"
        )
    try:
        return parse_toml(text, WORKSPACE_FILE)
    except SettingsError as error:
        words = f"{error}; until then this workspace's settings are ignored"
        raise SettingsError(words) from error


def _tightened(loaded: Loaded, table: object, source: str, *, chooses: bool) -> Loaded:
    if not isinstance(table, Mapping):
        notice = f"{source} are ignored: expected a table of settings"
        return Loaded(loaded.settings, (*loaded.notices, notice))
    tightened = tighten(loaded.settings, table, source, chooses=chooses)
    return Loaded(tightened.settings, loaded.notices + tightened.notices)
