"""Defines and checks the values of settings that are tables: hooks, language servers, traces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias, get_args

import msgspec
from msgspec import Meta

from indwell.errors import SettingsError
from indwell.prepared_types import prepared

HookEvent: TypeAlias = Literal[
    "prompt_submitted", "before_tool", "after_tool", "edit_applied", "turn_end", "compaction"
]


class Hook(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A user's command that runs on an event (H56).

    Attributes:
        event: The event on which the hook runs.
        command: The shell command, which gets a JSON object on standard input.
        tools: Globs of tool names, for tool events, or empty for all tools.
        timeout_s: Seconds after which the command is ended.
        if_broken: The decision if the hook cannot run, fails or takes too long.
    """

    event: HookEvent
    command: Annotated[str, Meta(min_length=1, max_length=8_000)]
    tools: tuple[str, ...] = ()
    timeout_s: Annotated[float, Meta(gt=0, le=600)] = 30.0
    if_broken: Literal["", "block", "go on"] = ""


class LanguageServerSetting(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A language server that answers questions about code.

    Attributes:
        command: The program and its arguments; the program uses its standard streams for the
            protocol.
        languages: Ids of the server's languages, such as ``python``.
        files: Globs of other files, with the language of each.
        settings: The server's own settings, which the server requests by section.
        confined: Whether the server runs in the sandbox, without network and without write access.
    """

    command: Annotated[tuple[str, ...], Meta(min_length=1)]
    languages: tuple[str, ...] = ()
    files: dict[str, str] = {}
    settings: dict[str, Any] = {}
    confined: bool = True


class TraceSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whether and where traces of turns are sent; only the user's own settings can set this.

    Attributes:
        export: Whether traces are sent.
        endpoint: The base address of an OTLP/HTTP endpoint, such as ``http://localhost:4318``, or
            empty for the address in OpenTelemetry's own variables.
        contents: Whether spans contain prompts, answers, and the arguments and results of tools.
    """

    export: bool = False
    endpoint: Annotated[str, Meta(max_length=2_000, pattern=r"^(https?://[^\s@]+)?$")] = ""
    contents: bool = False


MOST_HOOKS = 30  # One file has at most 30 hooks, because each may run at every tool call.


def hooks_of(value: object) -> tuple[Hook, ...]:
    """Check the value of ``hooks``.

    Raises:
        SettingsError: The value is not a list of hooks; the message names the table.
    """
    if not isinstance(value, list | tuple):
        raise SettingsError("hooks are not valid, expected tables that begin with [[hooks]]")
    if len(value) > MOST_HOOKS:
        raise SettingsError(f"there are {len(value):,} hooks, and at most {MOST_HOOKS} are allowed")
    return tuple(_hook(one, number) for number, one in enumerate(value, 1))


def project_hooks(table: Mapping[str, Any], source: str) -> tuple[tuple[Hook, ...], str]:
    """Return the hooks of a trusted workspace's file, and their errors for the user.

    Project hooks are not a setting, because only the hooks feature may use them. One invalid hook
    makes all hooks invalid, because nobody knows which action the invalid hook should have
    prevented.
    """
    try:
        return hooks_of(table.get("hooks", ())), ""
    except SettingsError as error:
        return (), f"{source}: {error}; none of its hooks runs until you correct that"


def _hook(value: object, number: int) -> Hook:
    try:
        return msgspec.convert(value, prepared(Hook))
    except msgspec.ValidationError as error:
        words = str(error).replace(" - at `$.", " for `")
        if "Invalid enum value" in words and "event" in words:
            words += f", expected one of {', '.join(map(repr, get_args(HookEvent)))}"
        raise SettingsError(f"[[hooks]] number {number}: {words[:1].lower()}{words[1:]}") from error
