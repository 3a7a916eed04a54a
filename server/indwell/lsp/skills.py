"""``indwell/skills``: the skills that the user can call, for a client that completes ``/``."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from indwell.lsp.host import Host
from indwell.lsp.protocol_skills import SkillRow, SkillsResult
from indwell.skills.skill import Skill


async def skills_of(host: Host) -> Mapping[str, Skill]:
    """Those that count now, by name; none where no folder is open."""
    workspace = host.sessions.workspace
    if workspace is None:
        return {}
    return (await host.backend.skills(workspace.roots, host.settings)).by_name


async def names_of(host: Host) -> Collection[str]:
    """The names of those that could be called, also if their folder is not trusted: it is said."""
    workspace = host.sessions.workspace
    if workspace is None:
        return ()
    found = await host.backend.skills(workspace.roots, host.settings)
    return (*found.by_name, *found.withheld)


async def skill_rows(host: Host) -> SkillsResult:
    """The same as the answer to a request."""
    found = await skills_of(host)
    return SkillsResult(
        tuple(SkillRow(one.name, one.description, one.origin) for one in found.values())
    )
