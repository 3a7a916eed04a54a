"""The typed messages of ``indwell/skills``: which skills the user can call by ``/name``."""

from __future__ import annotations

import attrs

from indwell.lsp.values import Value


@attrs.frozen(eq=False, repr=False)
class SkillsParams(Value):
    """Nothing is asked with it."""


@attrs.frozen(eq=False, repr=False)
class SkillRow(Value):
    """One skill; ``source`` is ``user``, ``workspace`` or ``indwell``."""

    name: str
    description: str
    source: str


@attrs.frozen(eq=False, repr=False)
class SkillsResult(Value):
    """All that count now, by name; those of a workspace only if it is trusted as it is."""

    skills: tuple[SkillRow, ...]
