"""Checks the user's own files: settings, key and state folder."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from indwell.cli.doctor.check import DoctorFinding, Findings
from indwell.errors import SettingsError
from indwell.files.append_log import AppendLog, make_private_folder
from indwell.files.private import remove_own
from indwell.files.system.access import how_to_close, why_readable
from indwell.providers.endpoint import State
from indwell.service.sessions.stored_sessions import MB, gone_words, recent, size_words
from indwell.service.stored_keys import with_stored_key
from indwell.service.user_settings import read_settings
from indwell.sessions.storage.automatic_deletion import held_b, record_of
from indwell.settings.credentials import origin_of
from indwell.settings.endpoints import is_editors
from indwell.settings.keys import KeyStore
from indwell.settings.load import MEASURED_VARIABLE, VARIABLES, lacking
from indwell.settings.model import Settings
from indwell.settings.paths import state_folder, trusted_folders, user_file

# With fewer free bytes, the doctor warns; a long session takes about ten megabytes.
LITTLE_SPACE_B = 200 << 20
NO_SPACE_B = 5 << 20


def settings(environment: Mapping[str, str]) -> Findings:
    """Check whether the settings are readable, and list ignored settings."""
    path = user_file()
    try:
        loaded = read_settings(environment)
        trusted_folders(loaded.settings.trusted)
    except SettingsError as error:
        return (DoctorFinding("settings", "fail", str(error), _settings_mend(error, path)),)
    where = str(path) if path.exists() else f"{path} does not exist; using the defaults"
    findings = [DoctorFinding("settings", "ok", where)]
    findings += [DoctorFinding("settings", "warn", notice) for notice in loaded.notices]
    return (*findings, *_readable_by_others(path), *_only_here(environment, path))


def key(environment: Mapping[str, str], store: KeyStore) -> Findings:
    """Check whether a model and a key are set, and say where each is stored."""
    try:
        chosen = read_settings(environment).settings
    except SettingsError:
        return (
            DoctorFinding("key", "skipped", "the settings cannot be read, so the key is not known"),
        )
    try:
        with_key = with_stored_key(chosen, store)
    except SettingsError as error:
        return (DoctorFinding("key", "fail", str(error), "indwell login"),)
    problem = lacking(with_key, str(user_file()))
    if problem:
        return (DoctorFinding("model", "fail", problem, "indwell login"),)
    return (_where(chosen, with_key, environment, store), *_readable_by_others(store.path))


def state(environment: Mapping[str, str]) -> Findings:
    """Check whether sessions can be written durably, and whether the disk has enough space."""
    folder = state_folder(environment)
    probe = folder / f"doctor-{os.getpid()}.probe"
    try:
        make_private_folder(folder)
        log = AppendLog(probe)
        try:
            log.append(b"a line\n")
            log.sync()
            has_locks = log.is_locked
        finally:
            log.close()
            remove_own(probe)
    except OSError as error:
        fix = "make it writable, or set INDWELL_STATE to a folder that is"
        sentence = f"{folder} cannot be written ({error.strerror})"
        return (DoctorFinding("state folder", "fail", sentence, fix),)
    free_b = shutil.disk_usage(folder).free
    room = f"{free_b / (1 << 30):.1f} GB free"
    if free_b < LITTLE_SPACE_B:
        level: State = "fail" if free_b < NO_SPACE_B else "warn"
        return (
            DoctorFinding(
                "state folder", level, f"{folder}: only {room}", "free some disk space there"
            ),
        )
    if not has_locks:
        sentence = (
            f"{folder}: writable, {room}, but the file system has no locks: two Indwell processes "
            "may write one session"
        )
        fix = "use one Indwell at a time, or set INDWELL_STATE to a folder on a local disk"
        return (DoctorFinding("state folder", "warn", sentence, fix),)
    return (DoctorFinding("state folder", "ok", f"{folder}: writable, {room}"),)


def kept(environment: Mapping[str, str]) -> Findings:
    """Report the sessions' disk space, the last deletions, and why other sessions are kept."""
    try:
        chosen = read_settings(environment).settings
    except SettingsError:
        return ()
    folder = state_folder(environment)
    b = held_b(folder)
    known = record_of(folder)
    words = size_words(b, chosen)
    findings = []
    if chosen.keep_sessions_mb and b > chosen.keep_sessions_mb * MB:
        words = f"{words}; the next session deletes the oldest ones, but none that is open or "
        words += "waits for review"
        findings.append(
            DoctorFinding("sessions", "warn", words, "indwell review, or indwell sessions")
        )
    else:
        findings.append(DoctorFinding("sessions", "ok", words))
    if known.doubted:
        sentence = (
            f"no old session is deleted until a day after {known.doubted[:16]}: at that time the "
            "clock was far from the time of the newest session"
        )
        findings.append(DoctorFinding("sessions", "warn", sentence, "set the clock if it is wrong"))
    if gone := gone_words(recent(known.gone, datetime.now(UTC))):
        findings.append(DoctorFinding("sessions", "ok", gone))
    return tuple(findings)


def _settings_mend(error: SettingsError, path: Path) -> str:
    if str(error).startswith((*VARIABLES, MEASURED_VARIABLE)):
        return "correct the variable, or unset it"
    return (
        f"correct that line of {path}; until then Indwell does not run, and `indwell login` "
        "cannot write the file"
    )


def clock() -> Findings:
    """Check the clock, because certificates, prices and session names depend on the time."""
    now = datetime.now(UTC)
    if now.year < 2026:  # noqa: PLR2004 -- the year of this version
        return (DoctorFinding("clock", "warn", f"it says {now:%Y-%m-%d}", "set the clock"),)
    return ()


def _where(
    chosen: Settings, with_key: Settings, environment: Mapping[str, str], store: KeyStore
) -> DoctorFinding:
    origin = origin_of(with_key.base_url)
    if with_key.provider == "scripted":
        return DoctorFinding("key", "ok", "the scripted model needs none")
    if is_editors(with_key.model):
        return DoctorFinding("key", "ok", f"{with_key.model} needs none: VS Code has the account")
    if chosen.api_key is not None:
        from_shell = environment.get("OPENAI_API_KEY", "").strip() == chosen.api_key.reveal()
        source = "OPENAI_API_KEY" if from_shell else user_file().name
        return DoctorFinding("key", "ok", f"from {source}, for {origin}")
    where = store.origins().get(origin)
    if where == "file":
        sentence = f"from {store.path}, for {origin}; it is not encrypted there"
        return DoctorFinding("key", "ok", sentence)
    if where == "keyring":
        return DoctorFinding("key", "ok", f"from the system's keyring, for {origin}")
    return DoctorFinding("key", "ok", f"no key; {origin} may not need one")


def _readable_by_others(path: Path) -> Findings:
    """Check that only the owner can read a file that may contain a key."""
    try:
        why = why_readable(path)
    except OSError:
        return ()
    if not why or not _holds_key(path):
        return ()
    sentence = f"{path} holds a key, and {why}"
    return (DoctorFinding("permissions", "fail", sentence, how_to_close(path)),)


def _holds_key(path: Path) -> bool:
    from indwell.settings.keys import FILE_NAME
    from indwell.settings.paths import read_user_file
    from indwell.settings.values import check, parse_toml

    if path.name == FILE_NAME:
        return True
    try:
        given = check(parse_toml(read_user_file(path) or "", path.name), path.name)
    except SettingsError:
        return False
    return "api_key" in given.values


def _only_here(environment: Mapping[str, str], path: Path) -> Findings:
    """Warn about variables of this shell that an editor lacks if the desktop starts the editor."""
    names = [name for name in VARIABLES if environment.get(name, "").strip()]
    if not names:
        return ()
    be = "are" if len(names) > 1 else "is"
    sentence = (
        f"{', '.join(names)} {be} set in this shell; an editor that was started from the desktop "
        "does not see that"
    )
    fix = f"`indwell login` stores it for both, in {path} and the keyring"
    return (DoctorFinding("shell", "warn", sentence, fix),)
