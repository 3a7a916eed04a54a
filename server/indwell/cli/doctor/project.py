"""Checks a folder: sandbox, trust, permissions, skills, hooks, sub-agents and servers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from indwell.bounds.command_bounds import container_words, home_words, state_words, strength
from indwell.bounds.folder_trust import FolderTrust
from indwell.cli.doctor.check import DoctorFinding, Findings
from indwell.context.untrusted_text import named, short_line
from indwell.errors import SettingsError
from indwell.files.system.access import why_writable
from indwell.mcp.definition import StdioServer
from indwell.mcp.server_book import KnownServer, ServerBook
from indwell.providers.endpoint import State
from indwell.sandbox.environment import commands_path, path_without, program_in
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
    """Return the user's settings and the trust in ``folder``, or None after a reported error."""
    trust = FolderTrust(environment)
    try:
        chosen = read_settings(environment).settings
        trust.look((folder,), chosen)
    except SettingsError:
        return None
    return chosen, trust


def sandbox(environment: Mapping[str, str], folder: Path) -> Findings:
    """Check the strength of this machine's sandbox, with advice to improve it."""
    held = strength()
    state: State = "ok" if held.is_whole else "warn"
    try:
        chosen = read_settings(environment).settings
        (standing,) = FolderTrust(environment).look((folder,), chosen)
    except SettingsError:  # the check of the settings reports the error
        words = state_words(held) + home_words(held)
        return (DoctorFinding("sandbox", state, words, held.reason),)
    is_restricted = standing.state != "trusted"
    words = state_words(held, mode=chosen.mode, is_restricted=is_restricted)
    words += home_words(held) + container_words(held, folder)
    return (DoctorFinding("sandbox", state, words, held.reason),)


def writers(environment: Mapping[str, str], folder: Path) -> Findings:
    """Check whether other accounts of this machine may write in the folder."""
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
    """Check whether the current folder is trusted."""
    try:
        chosen = read_settings(environment).settings
        (standing,) = FolderTrust(environment).look((folder,), chosen)
    except SettingsError:
        return ()  # the check of the settings reports the error
    if standing.state == "trusted":
        return (DoctorFinding("trust", "ok", f"{named(str(folder))} is trusted: {standing.by}"),)
    sentence = (
        f"{named(str(folder))} is restricted: Indwell changes and runs nothing in it, and ignores "
        f"its instructions; {standing.by}"
    )
    if "indwell trust" in standing.remedy:
        fix = "`indwell trust` shows what trust would enable"
        return (DoctorFinding("trust", "skipped", sentence, fix),)
    return (DoctorFinding("trust", "warn", sentence, standing.remedy),)


def permissions(environment: Mapping[str, str], folder: Path) -> Findings:
    """List the permanent permissions of this folder, and the rules of the settings."""
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
    """List the hooks that would run in the current folder."""
    trust = FolderTrust(environment)
    try:
        chosen = read_settings(environment, roots=(folder,), trust=trust).settings
    except SettingsError:
        return ()  # the check of the settings reports the error
    found = hooks_of(DiskWorkspace([folder]), lambda: chosen, trust).look().hooks
    if not found:
        return (DoctorFinding("hooks", "ok", "there are none"),)
    counts = Counter((one.is_own, one.hook.event) for one in found)
    words = ", ".join(
        f"{number} {'of yours' if is_own else 'of this project'} for {event}"
        for (is_own, event), number in counts.items()
    )
    return (DoctorFinding("hooks", "ok", words),)


_SENTENCE = 300  # the limit of characters for a problem
_MEND = "correct the SKILL.md, or move its folder away"


def skills(environment: Mapping[str, str], folder: Path) -> Findings:
    """Report the number of skills available in ``folder``, and the problems of unusable skills."""
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


_NAMES = 200  # the limit of characters for the list of names


def agents(environment: Mapping[str, str], folder: Path) -> Findings:
    """Report the sub-agents available in ``folder``, and the problems of unusable definitions."""
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


def mcp_servers(environment: Mapping[str, str], folder: Path) -> Findings:
    """Report the MCP servers that ``folder`` may use, without starting servers.

    A server that the user has not approved, or whose program is missing, has its own finding.
    """
    here = settings_here(environment, folder)
    if here is None:
        return ()
    chosen, trust = here
    trust.look((folder,), chosen)
    found = ServerBook(lambda: (folder,), lambda: chosen, trust, environment).look()
    usable = [one for one in found.servers if one.standing == "usable"]
    unused = [one.name for one in found.servers if one.standing == "restricted"]
    words = short_line(", ".join(one.name for one in usable), _NAMES) or "there are none"
    if unused:
        words += f"; not used before you trust this folder: {short_line(', '.join(unused), _NAMES)}"
    notices = [_waiting(one) for one in found.servers if one.standing == "open"]
    for one in usable:
        transport = one.definition.transport
        if isinstance(transport, StdioServer):
            path = commands_path() if one.definition.is_confined else path_without((folder,))
            lacks = _missing_program(one.name, transport.command, path, folder)
            notices += _with_name("MCP server", lacks, f"try it: `indwell mcp test {one.name}`")
    notices += [
        DoctorFinding("MCP server", "warn", short_line(one, _SENTENCE), "correct the file")
        for one in found.problems
    ]
    return (DoctorFinding("MCP servers", "ok", words), *notices)


def _waiting(server: KnownServer) -> DoctorFinding:
    words = f"{server.name} of {short_line(server.source, _NAMES)} waits for your approval"
    fix = f"look at it and decide: `indwell mcp approve {server.name}`"
    return DoctorFinding("MCP server", "skipped", words, fix)


def language_servers(environment: Mapping[str, str], folder: Path) -> Findings:
    """Report the language servers that the user named, without starting servers."""
    here = settings_here(environment, folder)
    if here is None or not here[0].language_servers:
        return ()
    servers = here[0].language_servers
    notices: list[DoctorFinding] = []
    for name, setting in servers.items():
        path = commands_path() if setting.confined else path_without((folder,))
        lacks = _missing_program(name, setting.command[0], path, folder)
        fix = f"install it, or correct [language_servers.{name}] in {user_file()}"
        notices += _with_name("language server", lacks, fix)
    words = short_line(", ".join(servers), _NAMES)
    return (DoctorFinding("language servers", "ok", words), *notices)


def _missing_program(name: str, command: str, path: str, folder: Path) -> str:
    """Say that a server's program is missing; the text is empty if the program exists."""
    if "/" in command or "\\" in command:
        is_here = (folder / command).is_file()
    else:
        is_here = program_in(command, path) is not None
    return "" if is_here else f"the program of {name} is missing: {short_line(command, _NAMES)}"


def _with_name(name: str, sentence: str, fix: str) -> Iterable[DoctorFinding]:
    return (DoctorFinding(name, "warn", sentence, fix),) if sentence else ()
