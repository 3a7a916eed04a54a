"""Typed messages of questions to the user: permissions, the model's questions, and the memory."""

from __future__ import annotations

from typing import Literal

import attrs

from indwell.lsp.messages.values import CommandArguments, Value
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


@attrs.frozen(eq=False, repr=False)
class AskParams(Value):
    """A question to the user with a line of text, or one of some options, as the answer.

    Attributes:
        prompt: The question; of the model's only what is visible, at most 1,000 characters.
        placeholder: An example of an answer.
        by: Whose question it is. The model's is never a permission, and has to look like no other.
        options: Answers to choose from, each a line; words of the user's own are as good.
        session: Whose turn asks; empty if no turn does.
        id: Of the model's call that asks, as in ``toolStarted``; empty if none does.
    """

    prompt: str
    placeholder: str = ""
    by: Literal["indwell", "model"] = "indwell"
    options: tuple[str, ...] = ()
    session: str = ""
    id: str = ""


@attrs.frozen(eq=False, repr=False)
class AskResult(Value):
    """What was typed, or which of the options was chosen, 0-based; both null if it was closed."""

    text: str | None = None
    chosen: int | None = None


@attrs.frozen(eq=False, repr=False)
class MemoryArguments(CommandArguments):
    """The argument of ``indwell.memory``; all of it optional.

    Attributes:
        scope: Which facts: of this workspace, or of the user everywhere.
    """

    scope: Literal["workspace", "user"] = "workspace"


@attrs.frozen(eq=False, repr=False)
class MemoryResult(Value):
    """The file with the facts: where it is, and whether the editor has opened it."""

    uri: str
    path: str
    shown: bool
