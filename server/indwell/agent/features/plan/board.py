"""The plan of a session, and the tool by which the model proposes one (H54).

The plan is state of the session: the log has the whole plan each time it changes, so a resumed,
    forked or rewound session has the right one. It is in no prefix: once the user has approved it,
    it goes to the model at the end of a request, word for word, and compaction keeps it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta

from indwell.context.plan import Plan, PlanInput, next_state, plan_text
from indwell.context.todo import TodoItem, is_open
from indwell.errors import ToolError, UserError
from indwell.policy.approvals import narrow
from indwell.settings.model import Mode
from indwell.tools.base import Outcome, Tool, ToolContext, ToolFacts

NAME = "plan"
APPROVED = "The plan is approved: carry it out."
"""The user's words of the turn that carries a plan out."""

SHOWN = "the plan is shown to the user, who approves it or says what should be different"
NOT_NEEDED = "the mode is `{mode}`, in which no plan needs approval: go on with the work itself"


class Steps(NamedTuple):
    """The to-do list as a plan needs it: its steps, and the turn in which they were written."""

    items: tuple[TodoItem, ...] = ()
    written_in: int = 0


class PlanBoard:
    """The plan of one session, and what has still to be told of it.

    Args:
        steps: Returns the to-do list of the session.

    Attributes:
        plan: The present plan.
        proposed_in: The turn in which the model proposed it; 0 if not in this process.
        told_turn: The last turn in which the model was told that the mode is ``plan``; 0 if, as far
            as the model knows, it is not.
        older_steps: The to-do list at the time of approval; its open steps do not belong to the
            plan.
    """

    def __init__(self, steps: Callable[[], Steps] = Steps) -> None:
        self.steps = steps
        self.plan = Plan()
        self.told_turn = 0
        self.older_steps: tuple[TodoItem, ...] = ()
        self._is_news = False
        self.proposed_in = 0
        self._ends_turn = False

    @property
    def is_news(self) -> bool:
        """Is the plan or its state not told yet?"""
        return self._is_news

    def approve(self, text: str | None) -> None:
        """Let the user approve the plan, with this text.

        Raises:
            UserError: As ``take``.
        """
        self.take("approve", text)
        self.older_steps = self.steps().items

    def has_open_steps(self) -> bool:
        """Are steps open that were written since the plan was approved?"""
        items = self.steps().items
        return is_open(items) and items != self.older_steps

    def take(self, happens: PlanInput, text: str | None = None) -> None:
        """Move to the next state; a ``text`` replaces the plan's, which then has no document.

        Raises:
            UserError: It cannot happen now, or the text cannot be a plan; nothing has changed.
        """
        state = next_state(self.plan.state, happens)
        plan = msgspec.structs.replace(self.plan, state=state)
        if text is not None and (kept := plan_text(text)) != plan.text:
            plan = Plan(state, kept)
        self._ends_turn = False
        self.adopt(plan)

    def rewrite(self, text: str) -> None:
        """Take over the text that the user has written into the plan's document.

        Raises:
            UserError: The plan cannot be changed now, or the text cannot be a plan.
        """
        state = next_state(self.plan.state, "edit")
        self.adopt(Plan(state, plan_text(text), self.plan.path))

    def adopt(self, plan: Plan) -> None:
        """Adopt a plan unchanged, such as one of another session."""
        self._is_news |= plan != self.plan
        self.plan = plan

    def tell_again(self) -> None:
        """Mark the plan as not told, so that a plan without a document gets one."""
        self._is_news = True

    def propose(self, text: str, turn: int) -> None:
        """Propose a plan; the turn ends, and the user sees all of its characters.

        Raises:
            UserError: The text cannot be a plan.
        """
        self.take("propose", narrow(text.replace("\r\n", "\n").strip()))
        self._is_news = self._ends_turn = True  # the same text again is news, too
        self.proposed_in = turn

    def take_news(self) -> bool:
        """Return whether the plan changed since the last call."""
        was_news, self._is_news = self._is_news, False
        return was_news

    def take_end(self, turn: int) -> bool:
        """Return whether this turn proposed a plan since the last call, so the user is next."""
        ends, self._ends_turn = self._ends_turn and self.proposed_in == turn, False
        return ends


class PlanToolArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of the tool."""

    text: Annotated[str, Meta(description="Markdown: steps, files, checks")]


def make_plan(board: PlanBoard, mode: Callable[[], Mode]) -> Tool[PlanToolArguments]:
    """Make the tool of the session that ``board`` belongs to; ``mode`` returns the current mode."""

    async def run(arguments: PlanToolArguments, context: ToolContext) -> Outcome:
        if (now := mode()) != "plan":
            return Outcome(NOT_NEEDED.format(mode=now), figure="not needed")
        text = await asyncio.to_thread(context.hide, arguments.text)
        try:
            board.propose(text, context.turn)
        except UserError as error:
            raise ToolError(str(error)) from error
        return Outcome(SHOWN, figure="proposed")

    return Tool(
        name=NAME,
        description="In mode `plan`, once you know enough, propose what you would do. The user "
        "approves or edits it.",
        arguments=PlanToolArguments,
        effect="read",
        facts=lambda _: ToolFacts(tool=NAME, effect="read"),
        run=run,
    )
