"""What the doctor looks at among skills: which count here, and why others do not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from indwell.cli.doctor.check import Finding, Findings
from indwell.cli.doctor.here import settings_here
from indwell.policy.approvals import short_line
from indwell.skills.catalogue import MOST_LISTED, ranked
from indwell.wiring.project.skills import skills_here

_SENTENCE = 300  # characters of a problem
_MEND = "mend the SKILL.md, or move its folder away"


def skills(environment: Mapping[str, str], folder: Path) -> Findings:
    """How many skills count in ``folder``, and what is wrong with the others."""
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
        Finding("skill", "warn", short_line(one, _SENTENCE), _MEND) for one in found.problems
    ]
    notices = [Finding("skill", "ok", short_line(one, _SENTENCE)) for one in known.notices]
    if len(known.own) > MOST_LISTED:
        said = f"only {MOST_LISTED} of your {len(known.own)} skills are listed for the model"
        notices.append(Finding("skill", "warn", said, "call the others by `/name`"))
    return (Finding("skills", "ok", words), *problems, *notices)
