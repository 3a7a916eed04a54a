"""The typed messages of ``indwell/permission``: what the user is asked, and the answer."""

from __future__ import annotations

import attrs

from indwell.lsp.values import Value
from indwell.policy.approvals import Answer, AskedKind


@attrs.frozen(eq=False, repr=False)
class HunkShown(Value):
    """One hunk of an edit that is asked for: its name, where it stands, its lines, escaped."""

    id: str
    header: str
    text: str


@attrs.frozen(eq=False, repr=False)
class PermissionParams(Value):
    """May this run? ``detail`` is exactly what would run, or the diff of the edit.

    Attributes:
        id: Of the question.
        title: One line.
        detail: Whole, with what could hide or reorder text as code points.
        reason: Why it is asked.
        rule: What ``session`` and ``always`` store; empty if they are not offered.
        cwd: Where a command would run.
        sandbox: How commands are held here, in words.
        more: What a yes allows beyond that for this one call, in words.
        why: The model's own words for wanting it; show them as such.
        wanted: The model asks for ``more`` by itself: show that prominently.
        risky: The parts of a command that are the reason.
        hunks: Of an edit with several: each may be answered alone.
        kind: What is asked for.
    """

    id: str
    title: str
    detail: str
    reason: str
    rule: str
    cwd: str = ""
    sandbox: str = ""
    more: str = ""
    why: str = ""
    wanted: bool = False
    risky: tuple[str, ...] = ()
    hunks: tuple[HunkShown, ...] = ()
    kind: AskedKind = "other"


@attrs.frozen(eq=False, repr=False)
class PermissionResult(Value):
    """The user's answer; anything else than these words counts as ``no``.

    With any yes, ``hunks`` names those of the question that are allowed, for once, and no others;
    left out, all of them are.
    """

    answer: Answer
    hunks: tuple[str, ...] | None = None
