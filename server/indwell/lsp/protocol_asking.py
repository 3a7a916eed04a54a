"""The typed messages of questions to the user, and of the memory: ``indwell/ask`` and its kin."""

from __future__ import annotations

from typing import Literal

import attrs

from indwell.lsp.values import Arguments, Value


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
class MemoryArguments(Arguments):
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
