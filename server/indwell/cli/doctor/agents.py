"""What the doctor looks at among named sub-agents: which count here, and why others do not."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from indwell.cli.doctor.check import Finding, Findings
from indwell.cli.doctor.here import settings_here
from indwell.policy.approvals import short_line
from indwell.wiring.subagents import find_agents

_SENTENCE = 300  # characters of a problem
_NAMES = 200  # of the names


def agents(environment: Mapping[str, str], folder: Path) -> Findings:
    """The names that count in ``folder``, and what is wrong with other files."""
    here = settings_here(environment, folder)
    if here is None:
        return ()
    chosen, trust = here
    found = find_agents((folder,), trust, chosen.deny)
    names = Finding("sub-agents", "ok", short_line(", ".join(found.known), _NAMES))
    mend = "mend the file, or move it away"
    problems = (
        Finding("sub-agent", "warn", short_line(one, _SENTENCE), mend) for one in found.problems
    )
    return (names, *problems)
