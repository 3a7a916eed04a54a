"""Merges environment, user file, editor options and workspace file into ``Settings``.

Pure: callers pass texts and tables. The environment overrides the user's file, and the user's file
overrides the defaults. Editor options and the workspace's file can only make the result stricter.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from indwell.errors import SettingsError
from indwell.lazy_pattern import lazy_pattern
from indwell.settings.credentials import OPENAI_URL, origin_of
from indwell.settings.endpoints import in_force, with_variables
from indwell.settings.model import Settings
from indwell.settings.table_types import project_hooks
from indwell.settings.tighten import STRICTEST, strictest, tighten
from indwell.settings.values import (
    SourceSettings,
    check,
    convert,
    parse_toml,
    preset_of,
    toml_table,
    without_version,
)

VARIABLES: Mapping[str, str] = {
    "OPENAI_API_KEY": "api_key",
    "OPENAI_BASE_URL": "base_url",
    "INDWELL_MODEL": "model",
    "INDWELL_PROVIDER": "provider",
    "INDWELL_TRUSTED": "trusted",
}
"""Maps environment variables to settings; ``INDWELL_STATE`` is not a setting.

``INDWELL_TRUSTED`` is a list like ``PATH``, and adds to the folders of the user's file.
"""

MEASURED_VARIABLE = "INDWELL_SETTINGS"
"""The variable with TOML, which overrides the settings of ``MEASURED`` in the user's file."""

MEASURED = frozenset({
    *("effort", "verbosity", "temperature", "top_p", "seed", "max_output", "profile"),
    *("compaction", "compaction_thresholds", "compaction_aim", "compaction_keep_turns"),
    *("compaction_keep_tokens", "agent_rounds", "round_limit", "memory", "instructions"),
    *("cache_marks", "cache_life", "check_edits"),
})  # fmt: skip
"""The settings that an evaluation may compare."""

WORKSPACE_FILE = ".indwell/config.toml"
EDITOR_OPTIONS = "the editor's options"
MAX_WORKSPACE_CHARACTERS = 64 * 1024
MAX_WORKSPACE_DOTS = 1_000  # Parsing time grows with the square of the dots in a name.


class Loaded(msgspec.Struct, frozen=True):
    """The settings, and a sentence for the user about each ignored entry."""

    settings: Settings
    notices: tuple[str, ...] = ()


def load(
    environment: Mapping[str, str],
    user_file: str | None = None,
    user_file_name: str = "config.toml",
    editor_options: object = None,
    workspace_file: str | None = None,
    *,
    takes_key: bool = True,
) -> Loaded:
    """Merge the settings of all sources.

    Args:
        environment: Variables of this process, never from a workspace file (TRU-04).
        user_file: Text of the user's settings file, or None if missing.
        user_file_name: The name of the user's file in notices.
        editor_options: ``initializationOptions``, or the editor's configuration section
            ``indwell``; any JSON.
        workspace_file: Text of the workspace's file, or None if missing or not trusted.
        takes_key: Whether ``OPENAI_API_KEY`` is for the unnamed endpoint.

    Raises:
        SettingsError: The user's file is invalid, or the file or environment has an invalid value
            without a safe default (address, key, mode, provider, deny).
    """
    from_file = check(parse_toml(user_file or "", user_file_name), user_file_name)
    measured = measured_settings(environment.get(MEASURED_VARIABLE, ""), MEASURED_VARIABLE)
    from_environment = {**measured, **_environment(environment)}
    if not takes_key:
        from_environment.pop("api_key", None)
    trusted = (*from_file.values.get("trusted", ()), *from_environment.get("trusted", ()))
    merged = Settings(
        **_with_default_deny({**from_file.values, **from_environment, "trusted": trusted})
    )
    merged = with_variables(merged, environment)
    users, notices = _keep_key_at_home(merged, from_file, from_environment, user_file_name)
    users, senseless = _with_valid_preset(users, user_file_name)
    loaded = Loaded(users, from_file.notices + notices + senseless)
    if editor_options is not None:
        loaded = _tightened(loaded, editor_options, EDITOR_OPTIONS, chooses=True)
    if workspace_file is not None:
        loaded = _with_workspace(loaded, workspace_file)
    return Loaded(_with_unreadable(loaded.settings), loaded.notices)


def _with_valid_preset(settings: Settings, file_name: str) -> tuple[Settings, tuple[str, ...]]:
    """Drop thresholds and an aim that contradict each other or the preset."""
    try:
        preset_of(settings)
    except SettingsError as error:
        plain = msgspec.structs.replace(settings, compaction_thresholds=(), compaction_aim=None)
        return plain, (f"{file_name}: {error}; the preset's own values apply",)
    return settings, ()


def lacking(settings: Settings, user_file_name: str = "config.toml") -> str:
    """Name the setting that is missing for calling a model, or return an empty text.

    OpenAI needs a key; another endpoint may not need a key.
    """
    if settings.provider == "scripted":
        return ""
    if not settings.model:
        return (
            'no model is set; run `indwell login` in a terminal, or write model = "…" in '
            f"{user_file_name} or set INDWELL_MODEL"
        )
    try:
        settings = in_force(settings)
    except SettingsError as error:
        return str(error)
    if settings.api_key is None and settings.api_key_variable:
        return (
            f"the variable {settings.api_key_variable}, which holds the key for "
            f"{settings.model!r}, is not set; set it where the editor starts, or run "
            "`indwell login`"
        )
    if settings.api_key is None and origin_of(settings.base_url) == origin_of(OPENAI_URL):
        return (
            "no API key is set; run `indwell login` in a terminal, or set OPENAI_API_KEY or "
            f"write api_key in {user_file_name} (an editor started from the desktop does not see "
            "the variables of a shell), or set base_url to an endpoint that needs none"
        )
    return ""


def state_folder(environment: Mapping[str, str], default: Path) -> Path:
    """Return the folder of sessions: ``INDWELL_STATE``, or the platform's ``default``.

    Raises:
        SettingsError: The variable is not an absolute path, so it would be inside the workspace, or
            the folder is one that other programs use.
    """
    text = environment.get("INDWELL_STATE", "").strip()
    if not text:
        return default
    if not Path(text).is_absolute():
        raise SettingsError(
            f"INDWELL_STATE = {text!r} is not an absolute path; write the whole path"
        )
    path = Path(os.path.normpath(text))
    home = Path(environment.get("HOME", "").strip() or default)
    if path != default and (home.is_relative_to(path) or default.is_relative_to(path)):
        raise SettingsError(
            f"INDWELL_STATE = {text!r} contains your home folder or the state of other programs; "
            "name a folder that only Indwell uses"
        )
    return path


def measured_settings(text: str, source: str) -> dict[str, Any]:
    """Return the settings of a TOML text that an evaluation compares.

    Only settings of ``MEASURED`` are allowed, because the text may come with a file of tasks. None
    of them decides what the agent may do, or names an endpoint or a program.

    Args:
        text: TOML, or an empty text.
        source: The user's name for the text.

    Raises:
        SettingsError: The text is not TOML, or an entry is unknown, invalid or not allowed.
    """
    checked = check(parse_toml(text, source), source)
    if checked.notices:
        raise SettingsError(checked.notices[0])
    for name in checked.values:
        if name not in MEASURED:
            raise SettingsError(
                f"{source}: {name!r} cannot be set here; write it into your settings file"
            )
    return dict(checked.values)


def _environment(environment: Mapping[str, str]) -> dict[str, Any]:
    values = {}
    for variable, name in VARIABLES.items():
        text = environment.get(variable, "").strip()  # An empty variable counts as unset.
        if text:
            try:
                values[name] = convert(name, _folders(text) if name == "trusted" else text)
            except SettingsError as error:
                raise SettingsError(f"{variable}: {error}; correct it and try again") from error
    return values


def _folders(text: str) -> list[str]:
    return [folder for folder in text.split(os.pathsep) if folder]


def _with_default_deny(values: Mapping[str, Any]) -> dict[str, Any]:
    """Add the user's globs to the default globs, which stay active."""
    if "deny" not in values:
        return dict(values)
    return {**values, "deny": Settings().deny + tuple(dict.fromkeys(values["deny"]))}


def _with_unreadable(settings: Settings) -> Settings:
    """Also hide files with a read-deny rule from searches, selections and commands."""
    split = (rule.partition(":") for rule in settings.rules_deny)
    globs = (rest.strip() for head, _, rest in split if head.strip().casefold() == "read")
    new = tuple(glob for glob in dict.fromkeys(globs) if glob not in ("", *settings.deny))
    return msgspec.structs.replace(settings, deny=settings.deny + new) if new else settings


def _keep_key_at_home(
    settings: Settings, file: SourceSettings, environment: Mapping[str, Any], file_name: str
) -> tuple[Settings, tuple[str, ...]]:
    """Send the file's key only to the file's own endpoint."""
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
    """Make the settings stricter by the workspace's file.

    The readable entries of a broken or newer file apply. The rest may have been stricter, so
    Indwell asks before each tool call.
    """
    table, problem = _readable_entries(text)
    # `wiring.project_files` reads the hooks of a trusted file. A hook that does not run may have
    # prevented a call.
    _, hook_problem = project_hooks(table, WORKSPACE_FILE)
    rest = {name: value for name, value in table.items() if name != "hooks"}
    problems = tuple(filter(None, (problem, hook_problem)))
    tightened = tighten(loaded.settings, rest, WORKSPACE_FILE, chooses=False)
    notices = (*loaded.notices, *problems, *tightened.notices)
    if not problems:
        return Loaded(tightened.settings, notices)
    more = (STRICTEST.format(WORKSPACE_FILE),) if tightened.is_complete else ()
    return Loaded(strictest(tightened.settings), notices + more)


def unreadable_workspace(loaded: Loaded, why: str) -> Loaded:
    """Return the strictest settings, because the workspace's file exists and cannot be read."""
    notices = (f"{WORKSPACE_FILE} cannot be read: {why}", STRICTEST.format(WORKSPACE_FILE))
    return Loaded(strictest(loaded.settings), (*loaded.notices, *notices))


def workspace_table(text: str) -> Mapping[str, Any]:
    """Parse the workspace's file into a table.

    Raises:
        SettingsError: The file is not TOML, is too long, or is for a newer Indwell.
    """
    _check_length(text)
    return parse_toml(text, WORKSPACE_FILE)


def _readable_entries(text: str) -> tuple[Mapping[str, Any], str]:
    """Return the entries of the workspace's file that can be read, and the problem of the rest.

    Of a broken file, the entries before the first broken line can often be read.
    """
    table: dict[str, Any] = {}
    try:
        _check_length(text)
        table = toml_table(text, WORKSPACE_FILE)
        without_version(table, WORKSPACE_FILE)
    except SettingsError as error:
        if not table and (line := _LINE.search(str(error))) is not None:
            before = text.split("\n")[: int(line[1]) - 1]
            with suppress(SettingsError):  # The broken line may continue an earlier entry.
                table = toml_table("\n".join(before), WORKSPACE_FILE)
        table.pop("version", None)
        return table, str(error)
    return table, ""


_LINE = lazy_pattern(rf"^{re.escape(WORKSPACE_FILE)} line (\d+): ")


def _check_length(text: str) -> None:
    if len(text) > MAX_WORKSPACE_CHARACTERS or text.count(".") > MAX_WORKSPACE_DOTS:
        raise SettingsError(
            f"{WORKSPACE_FILE} is longer than any settings need to be; make it shorter"
        )


def _tightened(loaded: Loaded, table: object, source: str, *, chooses: bool) -> Loaded:
    if not isinstance(table, Mapping):
        notice = f"{source} are ignored: expected a table of settings"
        return Loaded(loaded.settings, (*loaded.notices, notice))
    tightened = tighten(loaded.settings, table, source, chooses=chooses)
    return Loaded(tightened.settings, loaded.notices + tightened.notices)
