"""Checks of a folder: sandbox, trust, permissions, skills, hooks and sub-agents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from indwell.bounds.command_bounds import container_words, home_words, state_words, strength
from indwell.bounds.folder_trust import FolderTrust
from indwell.cli.doctor.check import DoctorFinding, Findings
from indwell.context.untrusted_text import short_line
from indwell.errors import SettingsError
from indwell.files.system.access import why_writable
from indwell.providers.endpoint import State
from indwell.service.user_settings import read_settings
from indwell.sessions.storage.store import folder_name
from indwell.settings.model import Settings
from indwell.settings.paths import state_folder, user_file
from indwell.settings.permission_rules import RuleBook
from indwell.skills.skill import MOST_LISTED, ranked
from indwell.wiring.project_files import hooks_of, skills_here
from indwell.wiring.subagents import find_agents
from indwell.workspace.disk import DiskWorkspace


def settings_here(
    environment: Mapping[str, str], folder: Path
) -> tuple[Settings, FolderTrust] | None:
    """The user's settings, and the trust in ``folder``; None if another check reports why."""
    trust = FolderTrust(environment)
    try:
        chosen = read_settings(environment).settings
        trust.look((folder,), chosen)
    except SettingsError:
        return None
    return chosen, trust


def sandbox(environment: Mapping[str, str], folder: Path) -> Findings:
    """Check the strength of the sandbox here, with advice to improve it."""
    held = strength()
    state: State = "ok" if held.is_whole else "warn"
    try:
        chosen = read_settings(environment).settings
        (standing,) = FolderTrust(environment).look((folder,), chosen)
    except SettingsError:  # the check of the settings reports this
        words = state_words(held) + home_words(held)
        return (DoctorFinding("sandbox", state, words, held.reason),)
    is_restricted = standing.state != "trusted"
    words = state_words(held, mode=chosen.mode, is_restricted=is_restricted)
    words += home_words(held) + container_words(held, folder)
    return (DoctorFinding("sandbox", state, words, held.reason),)


def writers(environment: Mapping[str, str], folder: Path) -> Findings:
    """May other accounts of this machine write in the current folder?"""
    del environment
    try:
        why, _, fix = why_writable(folder).partition("; ")
    except OSError:
        return ()
    if not why:
        return ()
    sentence = f"{why}, and so change what Indwell reads, and what your tools run, in this folder"
    fix = f"if others use this machine, {fix}" if fix.startswith("run ") else fix
    return (DoctorFinding("folder", "warn", sentence, fix),)


def trust(environment: Mapping[str, str], folder: Path) -> Findings:
    """Is the current folder trusted?"""
    try:
        chosen = read_settings(environment).settings
        (standing,) = FolderTrust(environment).look((folder,), chosen)
    except SettingsError:
        return ()  # the check of the settings reports this
    if standing.state == "trusted":
        return (DoctorFinding("trust", "ok", f"{folder} is trusted: {standing.by}"),)
    sentence = (
        f"{folder} is restricted: Indwell changes and runs nothing in it, and ignores its "
        f"instructions;  {standing.by}"
    )
    if "indwell trust" in standing.remedy:
        fix = "`indwell trust` shows what trust would enable"
        return (DoctorFinding("trust", "skipped", sentence, fix),)
    return (DoctorFinding("trust", "warn", sentence, standing.remedy),)


def permissions(environment: Mapping[str, str], folder: Path) -> Findings:
    """The standing permissions of this folder, and the rules of the settings."""
    kept = RuleBook(state_folder(environment) / "permissions" / f"{folder_name(folder)}.json")
    if kept.problem:
        return (DoctorFinding("allowed", "warn", kept.problem),)
    try:
        chosen = read_settings(environment).settings
    except SettingsError:
        return ()
    found = {
        "always allowed here": len(kept.granted),
        "by `rules_allow`": len(chosen.rules_allow),
        "asked for by `rules_ask`": len(chosen.rules_ask),
        "denied by `rules_deny`": len(chosen.rules_deny),
    }
    words = ", ".join(f"{number} {what}" for what, number in found.items() if number)
    if not words:
        return (
            DoctorFinding(
                "allowed", "ok", "you have no rules, and allowed nothing permanently here"
            ),
        )
    always = "`indwell permissions` lists what is always allowed" if kept.granted else ""
    rules = f"your rules are in {user_file()}" if len(kept.granted) < sum(found.values()) else ""
    fix = "; ".join(filter(None, (always, rules)))
    return (DoctorFinding("allowed", "ok", words, fix),)


def hooks(environment: Mapping[str, str], folder: Path) -> Findings:
    """The hooks that would run in the current folder."""
    trust = FolderTrust(environment)
    try:
        chosen = read_settings(environment, roots=(folder,), trust=trust).settings
    except SettingsError:
        return ()  # the check of the settings reports this
    found = hooks_of(DiskWorkspace([folder]), lambda: chosen, trust).look().hooks
    if not found:
        return (DoctorFinding("hooks", "ok", "there are none"),)
    counts = Counter((one.is_own, one.hook.event) for one in found)
    words = ", ".join(
        f"{number} {'of yours' if is_own else 'of this project'} for {event}"
        for (is_own, event), number in counts.items()
    )
    return (DoctorFinding("hooks", "ok", words),)


_SENTENCE = 300  # characters of a problem
_MEND = "correct the SKILL.md, or move its folder away"


def skills(environment: Mapping[str, str], folder: Path) -> Findings:
    """The number of available skills in ``folder``, and the problems of other skills."""
    here = settings_here(environment, folder)
    if here is None:
        return ()
    chosen, trust = here
    found = skills_here((folder,), chosen, trust, environment)
    known = ranked(found.skills)
    counts = Counter(one.origin for one in known.by_name.values())
    words = (
        f"{counts['user']} yours, {counts['workspace']} of this folder, "
        f"{counts['indwell']} of Indwell"
    )
    problems = [
        DoctorFinding("skill", "warn", short_line(one, _SENTENCE), _MEND) for one in found.problems
    ]
    notices = [DoctorFinding("skill", "ok", short_line(one, _SENTENCE)) for one in known.notices]
    if len(known.own) > MOST_LISTED:
        said = f"only {MOST_LISTED} of your {len(known.own)} skills are listed for the model"
        notices.append(DoctorFinding("skill", "warn", said, "call the others by `/name`"))
    return (DoctorFinding("skills", "ok", words), *problems, *notices)


_NAMES = 200  # of the names


def agents(environment: Mapping[str, str], folder: Path) -> Findings:
    """The sub-agents available in ``folder``, and the problems of other files."""
    here = settings_here(environment, folder)
    if here is None:
        return ()
    chosen, trust = here
    found = find_agents((folder,), trust, chosen.deny)
    names = DoctorFinding("sub-agents", "ok", short_line(", ".join(found.known), _NAMES))
    fix = "correct the file, or move it away"
    problems = (
        DoctorFinding("sub-agent", "warn", short_line(one, _SENTENCE), fix)
        for one in found.problems
    )
    return (names, *problems)
