"""The typed messages of the plan that the model proposes: ``indwell/plan`` and ``indwell.plan``."""

from __future__ import annotations

from typing import Literal

import attrs

from indwell.context.plan import PlanState
from indwell.lsp.values import Arguments, Value


@attrs.frozen(eq=False, repr=False)
class PlanParams(Value):
    """See a session's plan, change its text, or say what is to become of it.

    Attributes:
        session: Its id; the current one if it is left out.
        action: ``approve`` begins the turn that carries it out, in the mode of before; ``reject``
            stays in mode plan; ``edit`` makes ``text`` the plan.
        text: With ``edit`` the new text. With ``approve`` the text that was on the screen, which
            is the plan then; what stands in the plan's document if it is left out.
        words: With ``reject``: what is wrong, which is the next prompt.
    """

    action: Literal["show", "approve", "reject", "edit"] = "show"
    session: str | None = None
    text: str | None = None
    words: str | None = None


@attrs.frozen(eq=False, repr=False)
class PlanResult(Value):
    """Where the plan stands now.

    Attributes:
        state: ``none`` where the model has proposed none.
        text: Markdown; empty if there is none.
        path: Of the document in which the user may edit it; empty if there is none.
    """

    state: PlanState
    text: str
    path: str


@attrs.frozen(eq=False, repr=False)
class PlanArguments(Arguments):
    """The argument of ``indwell.plan``; all of it optional.

    Attributes:
        action: ``open`` shows the plan's document; the others as in ``PlanParams``.
        session: The current one if it is left out.
        words: With ``reject``: what is wrong, which is the next prompt.
        wait: Answer only when it is done.
    """

    action: Literal["open", "approve", "reject"] = "open"
    session: str | None = None
    words: str | None = None
    wait: bool = False
