"""Converts untyped tables (TOML, JSON) to checked settings; reports unknown keys as notices."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec

from indwell.compatibility import DEPRECATIONS, Deprecation, deprecation_of, refuse_newer
from indwell.context.compaction.presets import Preset, adjusted
from indwell.errors import NewerVersion, SettingsError
from indwell.lazy_pattern import lazy_pattern
from indwell.prepared_types import prepared
from indwell.settings.credentials import Secret, redacted, told_address
from indwell.settings.endpoints import ADDRESS_BOUND, EDITOR, MOST_ENDPOINTS, NAME, SHARED
from indwell.settings.model import Settings
from indwell.settings.table_types import hooks_of

TYPES: Mapping[str, Any] = {
    field.encode_name: field.type for field in msgspec.structs.fields(Settings)
}
"""The type of each setting, with bounds."""

STRICT = frozenset(
    {
        *("api_key", "api_key_variable", "base_url", "deny", "endpoints", "extra_body", "fallback"),
        *("headers", "hooks", "key_header", "mode", "provider", "proxy", "query", "rules_ask"),
        *("rules_deny", "wire"),
    }
)
"""Settings for which an invalid value is an error, because the default could expose data."""

RULE_SUBJECTS = ("read", "edit", "write", "tool")
"""Words before the colon in patterns for files and tools."""

_SHOWN = 60  # A notice shows at most 60 characters of a name or value.
# Larger numbers are not formatted, because Python refuses numbers of over 4,300 digits.
_HUGE = 10**_SHOWN
_DOT_NAME = lazy_pattern(r"\.[^./\\*?\[][^/\\*?\[]*\*?")
_AT_LINE = lazy_pattern(r" \(at line (\d+), column \d+\)$")
_KEY = lazy_pattern(r"[\x21-\x7e]+")  # An HTTP header allows these characters.


class SourceSettings(msgspec.Struct, frozen=True):
    """The settings of one source, with notices.

    Attributes:
        values: The checked and converted values, by name.
        notices: A sentence for each ignored entry.
    """

    values: Mapping[str, Any]
    notices: tuple[str, ...] = ()


def parse_toml(text: str, name: str) -> Mapping[str, Any]:
    """Parse a settings file; the version that the file may name is checked and left out.

    Raises:
        SettingsError: The text is not TOML (the message names the line), or for a newer Indwell.
    """
    return without_version(toml_table(text, name), name)


def toml_table(text: str, name: str) -> dict[str, Any]:
    """Parse TOML of any version.

    Raises:
        SettingsError: The text is not TOML.
    """
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except RecursionError as error:
        raise SettingsError(f"{name} is nested too deep; correct it and try again") from error
    # The error is a TOMLDecodeError, or a number has thousands of digits.
    except ValueError as error:
        message = str(error)
        at = _AT_LINE.search(message)
        last = text.rstrip("\n").count("\n") + 1
        line = int(at[1]) if at else last if message.endswith("(at end of document)") else None
        what = message[: message.rindex(" (at ")] if line else message
        where = f" line {line}" if line else ""
        raise SettingsError(
            f"{name}{where}: {what[:1].lower()}{what[1:]}; correct it and try again"
        ) from error


def without_version(table: dict[str, Any], name: str) -> Mapping[str, Any]:
    """Check the version of a table, and remove the version from the table.

    Raises:
        SettingsError: The version is newer than this Indwell, or is not a number from 1 on.
    """
    found = table.pop("version", 1)
    if not isinstance(found, int) or isinstance(found, bool) or found < 1:
        raise SettingsError(f"{name}: 'version' is {shown(found)}; write 1, or remove the line")
    try:
        refuse_newer("settings", found, name)
    except NewerVersion as error:
        raise SettingsError(str(error)) from error
    return table


def check(
    table: Mapping[str, Any], source: str, known: Iterable[Deprecation] = DEPRECATIONS
) -> SourceSettings:
    """Check every entry of a table.

    Args:
        table: Flat names, or tables with the rest of a name (``[attach] selection`` is
            ``attach_selection``).
        source: The user's name for the source, such as ``config.toml``.
        known: The deprecated names.

    Raises:
        SettingsError: A value of ``STRICT`` is invalid, or has a removed name.
    """
    values: dict[str, Any] = {}
    notices: list[str] = []
    for written, value in flatten(table):
        name, warning = current_name(written, source, known)
        if warning:
            notices.append(warning)
        if not name:
            continue
        if name not in TYPES:
            notices.append(unknown(name, source))
            continue
        if name in values:
            notices.append(f"{name!r} is set twice in {source}; the last one applies")
        try:
            values[name] = convert(name, value)
        except SettingsError as error:
            if name in STRICT:
                raise SettingsError(f"{source}: {error}; correct it and try again") from error
            notices.append(f"{source}: {error}; the default applies")
    return SourceSettings(values, tuple(notices))


def current_name(
    name: str, source: str, known: Iterable[Deprecation] = DEPRECATIONS
) -> tuple[str, str]:
    """Return a setting's current name, empty if it was removed, and a warning about an old name.

    Raises:
        SettingsError: The old name of a setting of ``STRICT`` was removed.
    """
    one = deprecation_of("setting", name, known)
    if one is None:
        return name, ""
    warning = f"{source}: {one.warning()}"
    if one.is_removed() and one.new in STRICT:
        raise SettingsError(warning)
    return "" if one.is_removed() else one.new, warning


def preset_of(settings: Settings) -> Preset:
    """Return the compaction preset with the user's own thresholds.

    Raises:
        SettingsError: The values contradict each other; ``load.load`` never returns such settings.
    """
    return adjusted(
        settings.compaction,
        thresholds=settings.compaction_thresholds,
        aim=settings.compaction_aim,
        keep_turns=settings.compaction_keep_turns,
        keep_tokens=settings.compaction_keep_tokens,
    )


def flatten(table: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield entries with their full names; only one level of tables is read."""
    for name, value in table.items():
        if isinstance(value, Mapping) and name == "compaction":
            for inner, item in value.items():
                yield name if inner == "preset" else f"{name}_{inner}", item
        elif isinstance(value, Mapping) and name not in TYPES:
            yield from ((f"{name}_{inner}", item) for inner, item in value.items())
        else:
            yield str(name), value


def convert(name: str, value: object) -> Any:  # noqa: ANN401 -- as many types as settings
    """Check a value against its setting's type.

    Raises:
        SettingsError: The value does not fit; the message is a clause with value and type.
    """
    if name == "api_key":
        return _key(value)
    if name == "base_url":
        return _address(value)
    if name == "hooks":
        return hooks_of(value)
    if name in CHECKS_OF_TABLES:
        return CHECKS_OF_TABLES[name](name, value)
    try:
        converted = msgspec.convert(value, prepared(TYPES[name]))
    except msgspec.ValidationError as error:
        expected = _choices(name) or str(error).removeprefix("Expected ")
        raise SettingsError(f"{name} = {shown(value)} is not valid, expected {expected}") from error
    if name.startswith("rules_"):
        return tuple(_pattern(name, one) for one in converted)
    if name == "harmless_names":
        return tuple(_dot_name(one) for one in converted)
    if name == "deny":  # The value is a folder in the form of ignore files.
        return tuple(f"{glob}**" if glob.endswith("/") else glob for glob in converted)
    return converted


def _pattern(name: str, written: str) -> str:
    """Parse a rule's pattern, without surrounding blanks.

    Raises:
        SettingsError: The pattern is empty, or contains a forbidden character.
    """
    pattern = written.strip()
    head, colon, rest = pattern.partition(":")
    names_nothing = (
        colon
        and head.strip().casefold() in RULE_SUBJECTS
        and (not rest.strip() or rest.strip().startswith("!"))  # Rules cannot exclude files.
    )
    is_unknown = (
        # A program does not have a name of this form.
        colon and head.strip().isalpha() and rest[:1].isspace()
    ) and head.strip().casefold() not in RULE_SUBJECTS
    if is_unknown:
        raise SettingsError(
            f"{name} holds {shown(written)}, and there are no rules for {head.strip()!r}; write "
            "'read: …', 'edit: …' or 'tool: …', or the words of a command"
        )
    if not pattern or names_nothing or not pattern.isprintable():
        raise SettingsError(
            f"{name} holds {shown(written)}, which is not a pattern; write one such as "
            "'git push *' or 'edit: src/**'"
        )
    return pattern


def _dot_name(written: str) -> str:
    """Parse a name that begins with a dot and may end with a star.

    Raises:
        SettingsError: The text is not such a name, or matches all names.
    """
    name = written.strip().removesuffix("/")
    if not _DOT_NAME.fullmatch(name) or not name.isprintable():
        raise SettingsError(
            f"harmless_names holds {shown(written)}, which is not a name that begins with a dot; "
            "write one such as '.acme-cache' or '.acme-*', without a folder"
        )
    return name


def unknown(name: str, source: str) -> str:
    """Report an unknown setting, and suggest a similar setting."""
    near = difflib.get_close_matches(name[:_SHOWN], TYPES, n=3)
    # Two swapped letters are the likeliest typo: `modle` means `model`, though `mode` scores
    # higher.
    near.sort(key=lambda known: sorted(known) != sorted(name))
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return f"unknown setting {shown(name)} in {source} is ignored{hint}"


def shown(value: object) -> str:
    """Format a value for a notice: escaped, shortened, and safe for deep or huge values."""
    if isinstance(value, str):
        value = redacted(value)
        return repr(value) if len(value) <= _SHOWN else f"{value[:_SHOWN]!r}…"
    if isinstance(value, bool | float) or (isinstance(value, int) and abs(value) < _HUGE):
        return repr(value)
    return f"({type(value).__name__})"


def _choices(name: str) -> str:
    kind = msgspec.inspect.type_info(TYPES[name])
    while isinstance(kind, msgspec.inspect.Metadata):
        kind = kind.type
    if not isinstance(kind, msgspec.inspect.LiteralType):
        return ""
    return "one of " + ", ".join(repr(value) for value in kind.values)


def _key(value: object) -> Secret:
    """Parse a key, without ever repeating it in a message."""
    if not isinstance(value, str):
        raise SettingsError("api_key is not valid, expected a text in quotes")
    if _KEY.fullmatch(value.strip()) is None:
        raise SettingsError("api_key holds a space or a character that no key has; copy it again")
    return Secret(value.strip())


def _address(value: object) -> str:
    expected = "expected one like 'https://host/v1'"
    if not isinstance(value, str):
        raise SettingsError(f"base_url = {shown(value)} is not an address, {expected}")
    told = shown(told_address(value))
    problem = f"base_url = {told} is not an address, {expected}"
    try:
        parts = urlsplit(value.strip())
        is_address = parts.scheme in {"http", "https"} and bool(parts.hostname)
        is_address = is_address and (parts.port is None or parts.port > 0)
    except ValueError as error:
        raise SettingsError(problem) from error
    if parts.username is not None or parts.password is not None:
        raise SettingsError("base_url holds a user or password; put the key in api_key instead")
    if is_address and (parts.query or parts.fragment):
        raise SettingsError(f"base_url = {told} goes on with a '?' or '#'; leave that out")
    if not is_address or not _is_visible(value.strip()):
        raise SettingsError(problem)
    return value.strip()


def _is_visible(text: str) -> bool:
    """Return whether ``text`` has only visible characters; ``urlsplit`` would drop line feeds."""
    return text.isprintable() and " " not in text


# A header's name is a token by RFC 9110.
_HEADER = lazy_pattern(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_VARIABLE = lazy_pattern(r"[A-Za-z_]\w*", re.ASCII)
_KEY_NAME = lazy_pattern(
    r"(?!.*KEY(RING|LOG|CHAIN|BOARD|MAP|TIMEOUT)).*(KEY|TOKEN|SECRET)", re.IGNORECASE
)  # `secrets.is_secret` recognises the value as a secret.
_OURS = frozenset(
    {"connection", "content-length", "content-type", "host", "transfer-encoding", "accept-encoding"}
)
_OUR_FIELDS = frozenset(
    {"input", "instructions", "messages", "model", "stream", "system", "tools", "tool_choice"}
)
MOST_ENTRIES = 50  # One table has at most 50 entries.
MOST_CHARACTERS = 4_000  # The limit is in characters of a header or a parameter.


def _endpoints(_name: str, value: object) -> dict[str, dict[str, Any]]:
    """Check the tables of named endpoints."""
    found = {}
    for name, table in _table("endpoints", value, MOST_ENDPOINTS).items():
        if not NAME.fullmatch(name):
            raise SettingsError(
                f"[endpoints.{shown(name)}] is not a name for an endpoint; use small letters, "
                "digits, '-' and '_', beginning with a letter"
            )
        if name == EDITOR:
            raise SettingsError(
                f"[endpoints.{name}] cannot be yours: MODEL@{name} is a model of VS Code's own; "
                "give the endpoint another name"
            )
        if not isinstance(table, Mapping) or "base_url" not in table:
            raise SettingsError(f"[endpoints.{name}] does not say its base_url")
        found[name] = {entry: _own(name, entry, one) for entry, one in table.items()}
    return found


def _own(endpoint: str, name: str, value: object) -> Any:  # noqa: ANN401 - of many types
    where = f"[endpoints.{endpoint}]"
    if name not in (*ADDRESS_BOUND, *SHARED):
        near = difflib.get_close_matches(name[:_SHOWN], (*ADDRESS_BOUND, *SHARED), n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise SettingsError(f"{where} has the unknown setting {shown(name)}{hint}")
    try:
        return convert(name, value)
    except SettingsError as error:
        raise SettingsError(f"{where}: {error}") from error


MOST_SERVERS = 100


def _servers(_name: str, value: object) -> dict[str, dict[str, Any]]:
    """Check the tables of MCP servers; ``mcp.server_files`` reads each table."""
    found = {}
    for name, table in _table("mcp", value, MOST_SERVERS).items():
        if not isinstance(table, Mapping):
            raise SettingsError(f"mcp holds {shown(name)}, expected a table [mcp.NAME]")
        found[name] = dict(table)
    return found


def _headers(_name: str, value: object) -> dict[str, Secret]:
    """Check a table of headers; all values count as secrets, because some headers have secrets."""
    found = {}
    for name, text in _table("headers", value, MOST_ENTRIES).items():
        if not _HEADER.fullmatch(name) or name.lower() in _OURS:
            raise SettingsError(f"headers holds {shown(name)}, which you cannot set")
        if not isinstance(text, str) or not _is_header_value(text):
            raise SettingsError(f"the header {name} has a value that no header can carry")
        found[name.lower()] = Secret(text.strip())
    return found


def _is_header_value(text: str) -> bool:
    return text.isascii() and text.isprintable() and 0 < len(text.strip()) <= MOST_CHARACTERS


def _query(_name: str, value: object) -> dict[str, str]:
    found = {}
    for name, text in _table("query", value, MOST_ENTRIES).items():
        if not isinstance(text, str | int) or len(str(text)) > MOST_CHARACTERS:
            raise SettingsError(f"query holds {shown(name)}, whose value is not a text")
        found[name] = str(text)
    return found


def _extra_body(_name: str, value: object) -> dict[str, Any]:
    table = _table("extra_body", value, MOST_ENTRIES)
    ours = next((name for name in table if name in _OUR_FIELDS), None)
    if ours is not None:
        raise SettingsError(f"extra_body holds {ours!r}, which Indwell itself writes")
    try:
        if len(msgspec.json.encode(table)) <= MOST_CHARACTERS:
            return dict(table)
    except (TypeError, ValueError, RecursionError) as error:
        raise SettingsError("extra_body holds a value that JSON does not support") from error
    raise SettingsError(f"extra_body is longer than {MOST_CHARACTERS:,} characters")


def _table(name: str, value: object, most: int) -> Mapping[str, Any]:
    """Check that a value is a table with a bounded number of entries."""
    if not isinstance(value, Mapping):
        raise SettingsError(f"{name} = {shown(value)} is not valid, expected a table")
    if len(value) > most:
        raise SettingsError(f"{name} has {len(value):,} entries, and at most {most} are allowed")
    return {str(key): one for key, one in value.items()}


def _proxy(name: str, value: object) -> str:
    text = value.strip() if isinstance(value, str) else ""
    try:
        parts = urlsplit(text)
        is_address = parts.scheme in {"http", "https", "socks5"} and bool(parts.hostname)
    except ValueError:
        is_address = False
    if not is_address or not _is_visible(text):
        raise SettingsError(f"{name} is not valid, expected one like 'http://host:3128'")
    if parts.username is not None or parts.password is not None:
        raise SettingsError(f"{name} holds a user or password; set HTTPS_PROXY instead")
    return text


def _key_header(name: str, value: object) -> str:
    if not isinstance(value, str) or not _HEADER.fullmatch(value) or value.lower() in _OURS:
        raise SettingsError(f"{name} = {shown(value)} is not a header, expected one like 'api-key'")
    return value.lower()


def _key_variable(name: str, value: object) -> str:
    """Check the name of a variable with a key; commands must not get a variable of this name."""
    if not isinstance(value, str) or not _VARIABLE.fullmatch(value):
        raise SettingsError(f"{name} = {shown(value)} is not the name of a variable")
    if not _KEY_NAME.match(value):
        raise SettingsError(
            f"{name} = {shown(value)} does not fit: the name must hold KEY, TOKEN or SECRET, so "
            "that Indwell hides the variable from the agent's commands"
        )
    return value


CHECKS_OF_TABLES: Mapping[str, Callable[[str, object], Any]] = {
    "endpoints": _endpoints,
    "mcp": _servers,
    "headers": _headers,
    "query": _query,
    "extra_body": _extra_body,
    "proxy": _proxy,
    "key_header": _key_header,
    "api_key_variable": _key_variable,
}
"""Additional checks of settings, where types alone are not enough."""
