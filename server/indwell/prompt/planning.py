"""The words for the model about mode ``plan``, in which nothing may change (H54). Pure."""

from __future__ import annotations

_READS_ONLY = "The mode is `plan`: you may read, search and look, but nothing may be changed."
_PROPOSE = (
    f"{_READS_ONLY} Find out what you need; then propose what you would do with the tool `plan`, "
    "for the user to approve. A question that needs no change needs no plan."
)


def plan_mode_words(*, can_propose: bool) -> str:
    """For each turn in mode ``plan``; ``can_propose``: it has the tool for it."""
    return _PROPOSE if can_propose else f"{_READS_ONLY} Describe what you would do."


def mode_words(mode: str) -> str:
    """When it is ``plan`` no longer."""
    return f"The mode is `{mode}` now: changes may be made."
