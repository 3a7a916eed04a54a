"""Lets editor options and workspace files make settings only stricter (TRU-02, TRU-03).

Editors may fill their options from repository files, so both sources are as untrusted as the
repository. Pure: each rule returns the stricter of two values. An entry that cannot be understood
may have been stricter than the user's settings, so Indwell then asks before each tool call.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

import msgspec

from indwell.errors import SettingsError
from indwell.settings.model import FREEDOM, Mode, Settings
from indwell.settings.values import (
    STRICT,
    TYPES,
    convert,
    current_name,
    flatten,
    shown,
    unknown,
)

MAX_ENTRIES = 100
"""The largest number of entries in a table; further entries are ignored."""

MAX_GLOBS = 50
MAX_GLOB_CHARACTERS = 100

Rule: TypeAlias = Callable[[Any, Any], tuple[Any, str]]
"""Maps the current and the requested value to the stricter value, and the reason if the requested
value is not used.
"""


ASK_ALL = ("*", "tool: *")
"""Ask rules that match each command and each tool."""

STRICTEST = "{} may be stricter than Indwell can read, so Indwell asks before each tool call"


class Tightened(msgspec.Struct, frozen=True):
    """The settings, which are at least as strict as before, and notices about rejected entries.

    Attributes:
        settings: The settings.
        notices: A sentence for each rejected entry.
        is_complete: Whether each entry that protects something is in force.
    """

    settings: Settings
    notices: tuple[str, ...] = ()
    is_complete: bool = True


def tighten(
    settings: Settings, table: Mapping[str, Any], source: str, *, chooses: bool
) -> Tightened:
    """Apply the entries of ``table`` that make ``settings`` stricter.

    Args:
        settings: The user's settings, perhaps already stricter.
        table: Any JSON or TOML table; untrusted.
        source: The user's name for the source.
        chooses: Whether the source may choose among the user's models.
    """
    notices: list[str] = []
    entries = list(flatten(table))
    is_complete = len(entries) <= MAX_ENTRIES
    for name, value in entries[:MAX_ENTRIES]:
        if value is None:
            continue  # Editors send this value for an unset setting.
        try:
            present, warning = current_name(name, source)
        except SettingsError as error:
            present, warning, is_complete = "", str(error), False
        if present:
            one = _take(settings, present, value, source, chooses=chooses)
            settings, is_complete = one.settings, is_complete and one.is_complete
            notices += (warning, *one.notices)
        else:
            notices.append(warning)
    if len(entries) > MAX_ENTRIES:
        notices.append(f"{len(entries) - MAX_ENTRIES:,} more entries in {source} are ignored")
    if not is_complete:
        settings = strictest(settings)
        notices.append(STRICTEST.format(source))
    return Tightened(settings, tuple(filter(None, notices)), is_complete)


def strictest(settings: Settings) -> Settings:
    """Return settings that are as strict as any file of a workspace can make them.

    Limits of money and time stay, because each call has a question.
    """
    return msgspec.structs.replace(
        settings,
        mode=min(settings.mode, "ask", key=FREEDOM.index),
        rules_ask=tuple(dict.fromkeys((*settings.rules_ask, *ASK_ALL))),
        redact_secrets=True,
        **dict.fromkeys(_SENDS, False),
    )


def _take(settings: Settings, name: str, value: object, source: str, *, chooses: bool) -> Tightened:
    if name not in TYPES:
        return Tightened(settings, (unknown(name, source),))
    rule = RULES.get(name)
    if name == "model" and chooses:
        rule = _among(settings.models)
    if rule is None:
        notice = f"{name!r} in {source} is ignored: only your own settings can set it"
        return Tightened(settings, (notice,))
    notices: tuple[str, ...] = ()
    is_complete = True
    try:
        wanted = convert(name, value)
    except SettingsError as error:
        notices = (f"{source}: {error}; it is ignored",)
        is_complete = name not in PROTECTING
        if rule not in _LISTS or not isinstance(value, list | tuple):
            return Tightened(settings, notices, is_complete)
        wanted = _readable(name, value)
    tighter, reason = rule(getattr(settings, name), wanted)
    if reason:
        notices += (f"{name} = {shown(value)} in {source} is ignored: {reason}",)
    if rule in _LISTS:  # An exception, which begins with ``!``, would not be stricter.
        is_complete &= all(one in tighter or one.startswith("!") for one in wanted)
    settings = msgspec.structs.replace(settings, **{name: tighter})
    return Tightened(settings, notices, is_complete)


def _readable(name: str, value: Sequence[object]) -> tuple[str, ...]:
    """Return the valid entries of a list."""
    found: list[str] = []
    for one in value:
        with suppress(SettingsError):  # The notice is about the whole list.
            found += convert(name, [one])
    return tuple(found)


def _tighter_mode(current: Mode, wanted: Mode) -> tuple[Mode, str]:
    if FREEDOM.index(wanted) > FREEDOM.index(current):
        return current, f"it may only be tighter than your {current!r}"
    return wanted, ""


def _off(current: bool, wanted: bool) -> tuple[bool, str]:  # noqa: FBT001 -- two values of one setting
    if wanted and not current:
        return current, "you have turned it off"
    return wanted, ""


def _on(current: bool, wanted: bool) -> tuple[bool, str]:  # noqa: FBT001 -- two values of one setting
    if current and not wanted:
        return current, "it may only be turned on"
    return wanted, ""


def _either(_current: bool, wanted: bool) -> tuple[bool, str]:  # noqa: FBT001 -- as above
    return wanted, ""


def _lower(current: float | None, wanted: float | None) -> tuple[float | None, str]:
    if wanted is None or (current is not None and wanted > current):
        return current, f"it may only be lower than your {current or 0:g}"
    return wanted, ""


def _higher(current: float, wanted: float) -> tuple[float, str]:
    if wanted < current:
        return current, f"it may only be higher than your {current:g}"
    return wanted, ""


def _more_globs(current: tuple[str, ...], wanted: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
    new = tuple(glob for glob in dict.fromkeys(wanted) if glob not in current)
    taken = tuple(glob for glob in new[:MAX_GLOBS] if _is_harmless(glob))
    refused = next((glob for glob in new if glob not in taken), None)
    if refused is None:
        return current + taken, ""
    return current + taken, (
        f"{shown(refused)} is more than it may add ({MAX_GLOBS} globs without '!', up to "
        f"{MAX_GLOB_CHARACTERS} characters and 4 '*', of which one '**'); the others apply"
    )


def _more_rules(current: tuple[str, ...], wanted: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
    new = tuple(rule for rule in dict.fromkeys(wanted) if rule not in current)
    taken = tuple(rule for rule in new[:MAX_GLOBS] if _is_harmless(rule))
    refused = next((rule for rule in new if rule not in taken), None)
    if refused is None:
        return current + taken, ""
    return current + taken, (
        f"{shown(refused)} is more than it may add ({MAX_GLOBS} patterns of up to "
        f"{MAX_GLOB_CHARACTERS} characters and 4 '*'); the others apply"
    )


def _is_harmless(glob: str) -> bool:
    """Return whether a glob has no ``!`` and takes little time to match.

    wcmatch's time is exponential in the stars: three ``**`` and a path of 1,000 folders took 18 s,
    one ``**`` 0.06 s.
    """
    stars = re.findall(r"\*+", glob)
    return (
        not glob.startswith("!")
        and len(glob) <= MAX_GLOB_CHARACTERS
        and len(stars) <= 4  # noqa: PLR2004 -- stated in the docstring and the notice
        and sum(len(run) > 1 for run in stars) <= 1
    )


def _among(models: tuple[str, ...]) -> Rule:
    def rule(current: str, wanted: str) -> tuple[str, str]:
        if wanted == current or wanted in models:
            return wanted, ""
        return current, "add it to 'models' in your own settings to allow it"

    return rule


RULES: Mapping[str, Rule] = {
    "mode": _tighter_mode,
    "max_output": _lower,
    "round_limit": _lower,
    "memory": _off,
    "agent_rounds": _lower,
    "agent_budget_tokens": _lower,
    "attach_selection": _off,
    "attach_opened_file": _off,
    "attach_diagnostics": _off,
    "check_edits": _off,
    "check_timeout_s": _lower,
    "review_hints": _either,
    "deny": _more_globs,
    "redact_secrets": _on,
    "rules_ask": _more_rules,
    "rules_deny": _more_rules,
    "apply_edit_timeout_s": _lower,
    "answer_timeout_s": _lower,
    "question_pause_s": _higher,
    "command_timeout_s": _lower,
    "stall_timeout_s": _lower,
    "first_token_timeout_s": _lower,
    "budget_turn": _lower,
    "budget_session": _lower,
    "budget_day": _lower,
    "budget_turn_tokens": _lower,
}
"""Settings that editors and workspaces may make stricter; the model has separate rules."""

PROTECTING = (STRICT & RULES.keys()) | {"redact_secrets"}
"""Settings whose unreadable value may have forbidden something."""

_LISTS = frozenset({_more_globs, _more_rules})
_SENDS = tuple(name for name, rule in RULES.items() if rule is _off)
