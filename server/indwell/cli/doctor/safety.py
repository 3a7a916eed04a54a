"""What the doctor looks at for safety: sandbox, trust in this folder, standing permissions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from indwell.cli.doctor.check import Finding, Findings
from indwell.errors import SettingsError
from indwell.providers.endpoint import State
from indwell.service.folder_trust import FolderTrust
from indwell.service.user_settings import read_settings
from indwell.sessions.store import folder_name
from indwell.settings.places import state_folder, user_file
from indwell.settings.rules import RuleBook
from indwell.wiring.bounds.confining import strength
from indwell.wiring.bounds.sandbox_state import home_words, state_words


def sandbox(environment: Mapping[str, str], folder: Path) -> Findings:
    """How well commands are held here, and what would hold them better."""
    held = strength()
    state: State = "ok" if held.level in {"S3", "S3m"} else "warn"
    try:
        chosen = read_settings(environment).settings
        (standing,) = FolderTrust(environment).look((folder,), chosen)
    except SettingsError:  # said by the check of the settings
        return (Finding("sandbox", state, state_words(held) + home_words(held), held.reason),)
    is_restricted = standing.state != "trusted"
    words = state_words(held, mode=chosen.mode, is_restricted=is_restricted)
    return (Finding("sandbox", state, words + home_words(held), held.reason),)


def trust(environment: Mapping[str, str], folder: Path) -> Findings:
    """Is the folder trusted in which the doctor was called?"""
    try:
        chosen = read_settings(environment).settings
        (standing,) = FolderTrust(environment).look((folder,), chosen)
    except SettingsError:
        return ()  # said by the check of the settings
    if standing.state == "trusted":
        return (Finding("trust", "ok", f"{folder} is trusted: {standing.by}"),)
    sentence = f"{folder} is restricted, so nothing in it is changed, run or obeyed: {standing.by}"
    if "indwell trust" in standing.remedy:
        mend = "`indwell trust` says what it would enable"
        return (Finding("trust", "skipped", sentence, mend),)
    return (Finding("trust", "warn", sentence, standing.remedy),)


def permissions(environment: Mapping[str, str], folder: Path) -> Findings:
    """What was allowed for always in this folder, and which rules the settings have."""
    kept = RuleBook(state_folder(environment) / "permissions" / f"{folder_name(folder)}.json")
    if kept.problem:
        return (Finding("allowed", "warn", kept.problem),)
    try:
        chosen = read_settings(environment).settings
    except SettingsError:
        return ()
    found = {
        "for always here": len(kept.granted),
        "by `rules_allow`": len(chosen.rules_allow),
        "asked for by `rules_ask`": len(chosen.rules_ask),
        "denied by `rules_deny`": len(chosen.rules_deny),
    }
    words = ", ".join(f"{number} {what}" for what, number in found.items() if number)
    if not words:
        return (Finding("allowed", "ok", "you have no rules and no standing answers here"),)
    always = "`indwell permissions` lists what is for always" if kept.granted else ""
    rules = f"your rules stand in {user_file()}" if len(kept.granted) < sum(found.values()) else ""
    mend = "; ".join(filter(None, (always, rules)))
    return (Finding("allowed", "ok", words, mend),)
