"""The command ``indwell doctor``: runs all checks at once, and prints them or a bug report."""

from __future__ import annotations

import getpass
import os
import platform
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import msgspec
from rich.console import Console

from indwell.cli.doctor import endpoint, machine, own_files, size
from indwell.cli.doctor import machine as editors
from indwell.cli.doctor import machine as programs
from indwell.cli.doctor import project as agents
from indwell.cli.doctor import project as hooks
from indwell.cli.doctor import project as safety
from indwell.cli.doctor import project as skills
from indwell.cli.doctor.check import DoctorCheck, DoctorFinding, Findings, blocking, run_checks
from indwell.cli.login import MARKS, PLAIN_MARKS
from indwell.cli.terminal.json_line import json_line
from indwell.cli.terminal.waiting import wait_for
from indwell.errors import SettingsError, UserError
from indwell.policy.approvals import visible
from indwell.settings.credentials import told_address
from indwell.settings.keys import FILE_NAME, KeyStore, Ring
from indwell.settings.places import read_user_file, user_file

SHORTEST = 3  # characters of a user's or machine's name that is taken out; shorter ones are words
COMMON = frozenset({"root", "user", "admin", "localhost", "home", "indwell"})
"""Names that say nothing about a person."""

_ADDRESS = re.compile(r"\b[a-z][a-z0-9+.-]*://[^\s'\"<>|)]+", re.IGNORECASE)
_KEY_LIKE = re.compile(  # an underscore before it is no letter: `secret_sk-…`
    r"(?<![A-Za-z0-9])(?:"
    r"(?:sk|pk|rk|gsk|xai|hf|ghp|gho|key|tok)[-_][A-Za-z0-9_-]{6,}|AIza[A-Za-z0-9_-]{10,})"
)
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}")
_MAIL = re.compile(r"\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b")


class Private(msgspec.Struct, frozen=True):
    """What must not stand in a report.

    Attributes:
        secrets: Keys and tokens, as they are.
        homes: The home folder, in all its spellings.
        names: Of the user and the machine.
    """

    secrets: tuple[str, ...] = ()
    homes: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


def report(findings: Findings, private: Private) -> str:
    """The findings as Markdown, redacted."""
    lines = ["### indwell doctor", "", "| | what | found |", "|---|---|---|"]
    for one in findings:
        mend = f" → {one.mend}" if one.mend else ""
        found = redacted(f"{one.sentence}{mend}", private)
        lines.append(f"| {one.state} | {redacted(one.name, private)} | {_cell(found)} |")
    return "\n".join(lines) + "\n"


def redacted(text: str, private: Private) -> str:
    """``text`` without what is private."""
    for secret in _longest_first(private.secrets):
        text = text.replace(secret, "[key]")
    text = _ADDRESS.sub(lambda match: _plain_address(match[0]), text)
    text = _KEY_LIKE.sub("[key]", text)
    text = _BEARER.sub(r"\1 [key]", text)
    text = _MAIL.sub("[mail]", text)
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
    """So that no part of a longer one is left over; the empty one would be everywhere."""
    return sorted({text for text in texts if text}, key=len, reverse=True)


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


RING_S = 5.0  # seconds that a keyring has here: a locked one must not hold the doctor up
_SECRET_NAMES = re.compile(r"KEY|TOKEN|SECRET|PASS|CREDENTIAL", re.IGNORECASE)
_SHORTEST_SECRET = 6  # characters; a shorter value is a flag, and would tear holes into words


def doctor(*, as_json: bool, as_report: bool, offline: bool) -> int:
    """Check everything; 0 if nothing failed, 1 otherwise."""
    environment = dict(os.environ)
    store = KeyStore(user_file().parent / FILE_NAME, _open_ring)
    findings = wait_for(run_checks(_checks(environment, store, offline=offline)))
    if as_report:
        sys.stdout.write(report(findings, _private(environment, store)))
    elif as_json:
        plain = _plain(findings, environment, store)
        ok = not any(one.state == "fail" for one in findings)
        sys.stdout.write(json_line({"ok": ok, "findings": plain}) + "\n")
    else:
        _show(_plain(findings, environment, store))
    return 1 if any(one.state == "fail" for one in findings) else 0


def _checks(
    environment: Mapping[str, str], store: KeyStore, *, offline: bool
) -> tuple[DoctorCheck, ...]:
    checks = [
        blocking("Indwell", machine.versions),
        blocking("settings", lambda: own_files.settings(environment)),
        blocking("key", lambda: own_files.key(environment, store)),
        blocking("proxy", lambda: endpoint.proxies(environment)),
        DoctorCheck("programs", lambda: programs.programs(Path.cwd())),
        blocking("own place", lambda: programs.installation(Path.cwd())),
        blocking("sandbox", lambda: safety.sandbox(environment, Path.cwd())),
        blocking("trust", lambda: safety.trust(environment, Path.cwd())),
        blocking("permissions", lambda: safety.permissions(environment, Path.cwd())),
        blocking("skills", lambda: skills.skills(environment, Path.cwd())),
        blocking("sub-agents", lambda: agents.agents(environment, Path.cwd())),
        blocking("hooks", lambda: hooks.hooks(environment, Path.cwd())),
        DoctorCheck("prompt size", lambda: size.size(environment, Path.cwd())),
        blocking("state folder", lambda: own_files.state(environment)),
        blocking("sessions", lambda: own_files.kept(environment)),
        blocking("clock", own_files.clock),
        blocking("limits", machine.limits),
        blocking("text", machine.text),
        DoctorCheck("editors", lambda: editors.editors(Path.home(), Path.cwd())),
    ]
    if not offline:
        checks[4:4] = [
            DoctorCheck("endpoint", lambda: endpoint.endpoint(environment, store)),
            DoctorCheck("local model", lambda: endpoint.local(environment)),
        ]
    return tuple(checks)


def _plain(findings: Findings, environment: Mapping[str, str], store: KeyStore) -> Findings:
    """The findings without keys, for a screen that others may see; names and paths stay."""
    private = Private(secrets=_secrets(environment, store))
    return tuple(
        msgspec.structs.replace(
            one, sentence=redacted(one.sentence, private), mend=redacted(one.mend, private)
        )
        for one in findings
    )


def _show(findings: Findings) -> None:
    console = Console(highlight=False)
    marks = MARKS if console.encoding.lower().startswith("utf") else PLAIN_MARKS
    arrow = "→" if marks is MARKS else "->"
    for one in findings:
        line = visible(f"{marks[one.state]} {one.name}: {one.sentence}")
        console.print(line, markup=False, soft_wrap=True)
        if one.mend:
            console.print(visible(f"    {arrow} {one.mend}"), markup=False, soft_wrap=True)
    console.print(_sum(findings), markup=False, soft_wrap=True)


def _sum(findings: tuple[DoctorFinding, ...]) -> str:
    n_failed = sum(one.state == "fail" for one in findings)
    n_warned = sum(one.state == "warn" for one in findings)
    if n_failed:
        return f"{n_failed} of {len(findings)} failed; mend the first one first"
    return "nothing failed" + (f", {n_warned} to look at" if n_warned else "")


def _private(environment: Mapping[str, str], store: KeyStore) -> Private:
    home = Path.home()
    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # no such user in this container
        user = ""
    machine_name = platform.node()
    return Private(
        secrets=_secrets(environment, store),
        homes=(str(home), str(home.resolve()), environment.get("HOME", "").rstrip("/")),
        names=(user, home.name, machine_name, machine_name.partition(".")[0]),
    )


def _secrets(environment: Mapping[str, str], store: KeyStore) -> tuple[str, ...]:
    """All keys that could have come into a sentence: of variables, the settings file, our own."""
    found = [value for name, value in environment.items() if _SECRET_NAMES.search(name)]
    for path in (user_file(), store.path):
        try:
            text = read_user_file(path) or ""
        except (SettingsError, UserError):
            continue
        found += re.findall(r"(?m)^\s*\"?(?:api_)?key\"?\s*[=:]\s*[\"']([^\"']+)[\"']", text)
    return tuple(value.strip() for value in found if len(value.strip()) >= _SHORTEST_SECRET)


def _open_ring() -> Ring:
    from indwell.settings.system_keyring import system_ring

    return system_ring(answer_s=RING_S)
