"""``indwell doctor --report``: the text for a bug report, without secrets and private names.

The text contains no contents of files, prompts or answers. It is shown to the user before it is
written.
"""

from __future__ import annotations

import getpass
import platform
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeVar
from urllib.parse import quote, urlsplit, urlunsplit

import msgspec

from indwell.bounds.command_bounds import strength
from indwell.cli.doctor.check import Findings
from indwell.cli.serve import server_log
from indwell.cli.terminal.json_line import json_line
from indwell.cli.terminal.stdin import is_typed, yes_or_no
from indwell.cli.terminal.telling import tell
from indwell.context.untrusted_text import visible
from indwell.errors import NewerVersion, SessionError, SettingsError, UserError
from indwell.files.append_log import pieces_of
from indwell.files.private import write_private
from indwell.lazy_pattern import lazy_pattern
from indwell.lsp.messages.features import features_of
from indwell.secrets import Hider, spellings
from indwell.service.user_settings import read_settings
from indwell.sessions import log_lines
from indwell.sessions.records import SessionStarted, TurnEndRecord
from indwell.sessions.storage.retention import logs
from indwell.settings.credentials import told_address
from indwell.settings.keys import KeyStore, known_secrets
from indwell.settings.model import Settings
from indwell.settings.paths import state_folder

RECORDS = 20  # the limit of records of the server's log
RECORD_LINES = 40  # the limit of lines for one record
LINE_LIMIT = 300  # the limit of characters for one line of the log
SESSIONS = 3  # the limit of sessions with timings
CAPABILITIES = 20_000  # the limit of characters for the capabilities of one editor

T = TypeVar("T")
SHORTEST = 3  # shorter user and host names are not redacted, because they may be plain words
COMMON = frozenset({"root", "user", "admin", "localhost", "home", "indwell"})
"""Names that identify no person."""

_ADDRESS = lazy_pattern(r"\b[a-z][a-z0-9+.-]*://[^\s'\"<>|)]+", re.IGNORECASE)
_KEY_LIKE = lazy_pattern(  # A key may follow an underscore, as in `secret_sk-…`.
    r"(?<![A-Za-z0-9])(?:"
    r"(?:sk|pk|rk|gsk|xai|hf|ghp|gho|key|tok)[-_][A-Za-z0-9_-]{6,}|AIza[A-Za-z0-9_-]{10,})"
)
_BEARER = lazy_pattern(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}")
_MAIL = lazy_pattern(r"\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b")


class Private(msgspec.Struct, frozen=True):
    """Text that must not appear in a report.

    Attributes:
        secrets: The keys and tokens to redact.
        homes: The path of the home folder, in all spellings.
        here: The path of the current folder, in all spellings.
        names: The names of the user and the machine.
    """

    secrets: tuple[str, ...] = ()
    homes: tuple[str, ...] = ()
    here: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


def redacted(text: str, private: Private) -> str:
    """Return ``text`` with private parts redacted."""
    every = (one for secret in private.secrets for one in (secret, *spellings(secret)))
    for secret in _longest_first(every):
        text = text.replace(secret, "[key]")
    text = _ADDRESS.sub(lambda match: _plain_address(match[0]), text)
    text = _KEY_LIKE.sub("[key]", text)
    text = _BEARER.sub(r"\1 [key]", text)
    text = _MAIL.sub("[mail]", text)
    for here in _longest_first(private.here):
        text = text.replace(here, "[this folder]")
    for home in _longest_first(private.homes):
        text = text.replace(home, "~")
    for name in _longest_first(private.names):
        if len(name) >= SHORTEST and name.lower() not in COMMON:
            whole_word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", re.IGNORECASE)
            text = whole_word.sub("[name]", text)
    return text


def _plain_address(address: str) -> str:
    try:
        parts = urlsplit(address)
    except ValueError:
        return "[address]"
    return told_address(urlunsplit((parts.scheme, parts.netloc, parts.path, "", "")))


def _longest_first(texts: Iterable[str]) -> Sequence[str]:
    """Return the texts that are not empty, longest first, so that long texts are replaced first."""
    return sorted({text for text in texts if text}, key=len, reverse=True)


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def private_of(environment: Mapping[str, str], store: KeyStore) -> Private:
    """Return the keys, paths and names that a report on this machine must not contain."""
    home = Path.home()
    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # the container has no such user
        user = ""
    machine_name = platform.node()
    here = Path.cwd()
    return Private(
        secrets=known_secrets(environment, store),
        homes=tuple(
            spelling
            for one in (str(home), str(home.resolve()), environment.get("HOME", "").rstrip("/"))
            for spelling in (one, quote(one))  # the second as in the address of a file
        ),
        # A folder's name may be the name of a customer.
        here=() if home.is_relative_to(here) else (str(here), quote(str(here))),
        names=(user, home.name, machine_name, machine_name.partition(".")[0]),
    )


class Diagnosis(NamedTuple):
    """The facts of a report, not yet redacted.

    Attributes:
        findings: The results of all checks.
        settings: A line for each setting that differs from its default.
        editors: Lines about the editors that connected last.
        records: The last records of the server's log.
        timings: Lines about how long things took.
    """

    findings: Findings
    settings: Sequence[str] = ()
    editors: Sequence[str] = ()
    records: Sequence[str] = ()
    timings: Sequence[str] = ()


def bundle(diagnosis: Diagnosis, private: Private) -> str:
    """Return the report as Markdown, with private parts redacted."""
    lines = ["### indwell doctor", "", "| | what | found |", "|---|---|---|"]
    for one in diagnosis.findings:
        fix = f" → {one.fix}" if one.fix else ""
        lines.append(f"| {one.state} | {one.name} | {_cell(one.sentence + fix)} |")
    parts = (
        ("Settings that differ from the defaults", diagnosis.settings, CAPABILITIES),
        ("Editors that connected last", diagnosis.editors, CAPABILITIES),
        ("Last warnings and errors of servers", diagnosis.records, LINE_LIMIT),
        ("Timings", diagnosis.timings, CAPABILITIES),
    )
    hide = Hider().hide
    told = [redacted(hide(line), private) for line in lines]
    for title, found, limit in parts:
        # A secret may have several lines, and a cut secret would not be recognised.
        shown = redacted(hide("\n".join(found or ("none known",))), private)
        # A fence of four backticks holds any text with three.
        held = shown.replace("````", "[four backticks]").split("\n")
        told += ["", f"### {title}", "", "````text", *(one[:limit] for one in held), "````"]
    return "".join(visible(line) + "\n" for line in told)


def write_report(text: str, path: str, *, is_sure: bool) -> int:
    """Show the report, and write it to ``path`` if the user agrees.

    Returns:
        0 if the report was written or only shown, 1 if the user said no, 2 without a terminal.

    Raises:
        UserError: The file exists, or cannot be written.
    """
    sys.stdout.write(text)
    if path == "-":
        return 0
    if not is_sure:
        if not is_typed():
            tell(f"nothing was written; to write this to {path}, add --yes", file=sys.stderr)
            return 2
        if code := yes_or_no(f"Write this report to {path}?"):
            tell("nothing was written")
            return code
    try:
        write_private(Path(path), text.encode("utf-8", "replace"))
    except FileExistsError as error:
        raise UserError(f"{path} exists already; name a new file") from error
    except OSError as error:
        raise UserError(
            f"{path} cannot be written ({error.strerror}); name another file"
        ) from error
    tell(f"the report is in {path}", file=sys.stderr)
    return 0


def settings_lines(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return a line for each setting that differs from its default, without secret values."""
    try:
        chosen = read_settings(environment).settings
    except SettingsError as error:
        return (str(error),)
    plain = Settings()
    return tuple(
        f"{name} = {_shown_value(name, value)}"
        for name in Settings.__struct_fields__
        if (value := getattr(chosen, name)) != getattr(plain, name)
    )


_NOT_SHOWN = frozenset({
    *("instructions", "check_command", "extra_body", "headers", "query", "trusted", "deny"),
})  # fmt: skip
"""Settings whose text may be private: their size is shown, not their value."""


def _shown_value(name: str, value: object) -> str:
    match value:
        case str() if name in _NOT_SHOWN:
            return f"({len(value):,} characters)"
        case Mapping() if name == "endpoints" or name not in _NOT_SHOWN:
            return f"({len(value)}: {', '.join(map(str, value))})"
        case bool() | int() | float() | str() | None:
            return repr(value)
        case tuple() if name not in _NOT_SHOWN and all(isinstance(one, str) for one in value):
            return repr(list(value))
        case tuple() | Mapping():
            return f"({len(value)} entries)"
        case _:
            return "(hidden)"


def editor_lines(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return lines about the editors that connected last, with their capabilities."""
    lines: list[str] = []
    for editor in _or_nothing(lambda: server_log.known_editors(environment)):
        lines.append(
            f"{editor.name} {editor.version or '(no version)'}, last {editor.at}, positions in "
            f"{editor.encoding}, ready after {editor.ready_s:g} s"
        )
        used = features_of(editor.capabilities, editor.name)
        on = (
            f"{name}" if value is True else f"{name}: {', '.join(sorted(value))}"
            for name in used.__struct_fields__
            if (value := getattr(used, name))
        )
        lines.append(f"  used by Indwell: {'; '.join(on) or 'nothing'}")
        announced = json_line(editor.capabilities)
        lines.append(f"  announced: {announced}")
    return tuple(lines)


def last_records(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the last records of the server's log; tracebacks lose their source lines."""
    lines: list[str] = []
    for record in _or_nothing(lambda: server_log.last_records(environment, RECORDS)):
        lines += islice(_without_sources(record.splitlines()), RECORD_LINES)
    return tuple(lines)


def _without_sources(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a record without the source lines of a traceback."""
    return (line for line in lines if not line.startswith("    "))


def timing_lines(environment: Mapping[str, str], checks: Mapping[str, float]) -> tuple[str, ...]:
    """Return how long the checks took, and the turns of the newest sessions."""
    slowest = sorted(checks.items(), key=lambda one: -one[1])
    lines = ["checks: " + ", ".join(f"{name} {seconds:.2f} s" for name, seconds in slowest)]
    found = _or_nothing(lambda: logs(state_folder(environment)))
    lines += filter(None, (_session_line(path) for _, path in found[:SESSIONS]))
    held = strength()
    lines.append(f"sandbox: {held.words or 'commands are not sandboxed'} (level {held.level})")
    return tuple(dict.fromkeys(lines))  # two sessions may have had the same turns


def _session_line(path: Path) -> str:
    try:
        records = log_lines.read(pieces_of(path)).records
    except OSError:
        return ""
    model = next((one.model for one in records if isinstance(one, SessionStarted)), "")
    turns = (one for one in records if isinstance(one, TurnEndRecord))
    words = (f"{one.ending} {one.seconds or 0:.1f} s" for one in turns)
    return f"turns of a session with {model}: {', '.join(words) or 'none ended'}"


def _or_nothing(read: Callable[[], Sequence[T]]) -> Sequence[T]:
    """Return nothing if the state folder cannot be read; a check reports the reason."""
    try:
        return read()
    except (SettingsError, SessionError, NewerVersion):
        return ()
