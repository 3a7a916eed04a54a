"""Typed messages of questions to the user: permissions, the model's questions, the memory."""

from __future__ import annotations

from typing import Literal

import attrs

from indwell.lsp.messages.values import CommandArguments, Value
from indwell.policy.approvals import Answer, AskedKind


@attrs.frozen(eq=False, repr=False)
class HunkShown(Value):
    """One hunk of an edit in question: its name, its place, its lines, escaped."""

    id: str
    header: str
    text: str


@attrs.frozen(eq=False, repr=False)
class PermissionParams(Value):
    """Asks for a permission; ``detail`` is exactly what would run, or the diff of the edit.

    Attributes:
        id: The id of the question.
        title: One line.
        detail: The complete text, with characters that could hide or reorder text as code points.
        reason: Why the user is asked.
        rule: What ``session`` and ``always`` store; empty if they are not offered.
        cwd: The folder in which a command would run.
        sandbox: How commands are confined here, in words.
        more: What a yes allows beyond that for this one call, in words.
        why: The model's reason in its own words; show it as such.
        wanted: Whether the model itself asks for ``more``; show that prominently.
        risky: The parts of a command that cause the question.
        hunks: The hunks of an edit with several, each of which can be answered.
        kind: The kind of permission.
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
    """The user's answer; anything but these words counts as ``no``.

    With a yes, ``hunks`` names those of the question that are allowed once, and no others; if left
    out, all are.
    """

    answer: Answer
    hunks: tuple[str, ...] | None = None


@attrs.frozen(eq=False, repr=False)
class AskParams(Value):
    """A question to the user, answered by a line of text or by one of some options.

    Attributes:
        prompt: The question; of the model's only the visible text, at most 1,000 characters.
        placeholder: An example of an answer.
        by: Who asks. A question of the model is never a permission, and must not look like one.
        options: Answers to choose from, a line each; the user may answer in words instead.
        session: The session whose turn asks; empty if none does.
        id: The id of the model's call that asks, as in ``toolStarted``; empty if none does.
    """

    prompt: str
    placeholder: str = ""
    by: Literal["indwell", "model"] = "indwell"
    options: tuple[str, ...] = ()
    session: str = ""
    id: str = ""


@attrs.frozen(eq=False, repr=False)
class AskResult(Value):
    """The typed text, or the 0-based index of the chosen option; both null if it was closed."""

    text: str | None = None
    chosen: int | None = None


@attrs.frozen(eq=False, repr=False)
class MemoryArguments(CommandArguments):
    """The argument of ``indwell.memory``; all fields are optional.

    Attributes:
        scope: Facts about this workspace, or about the user everywhere.
    """

    scope: Literal["workspace", "user"] = "workspace"


@attrs.frozen(eq=False, repr=False)
class MemoryResult(Value):
    """The file with the facts: its URI, and whether the editor has opened it."""

    uri: str
    path: str
    shown: bool
