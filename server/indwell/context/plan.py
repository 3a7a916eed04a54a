"""The plan that the model proposes and the user approves: a table of its states (H54). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

import msgspec

from indwell.context.untrusted_text import is_unseen, seen
from indwell.errors import UserError

PlanState: TypeAlias = Literal["none", "proposed", "approved", "rejected", "done"]
"""The state of a plan."""

PlanInput: TypeAlias = Literal["propose", "edit", "approve", "reject", "finish"]
"""An event in the life of a plan: the model proposes and finishes; the user does the rest."""

MOST_CHARACTERS = 12_000  # some 3,000 tokens, which each request has once the plan is approved
MOST_BYTES = 8 * MOST_CHARACTERS  # bytes of its document; a longer file is no plan

TABLE: Mapping[tuple[PlanState, PlanInput], PlanState] = {
    ("none", "propose"): "proposed",
    ("proposed", "propose"): "proposed",
    ("proposed", "edit"): "proposed",
    ("proposed", "approve"): "approved",
    ("proposed", "reject"): "rejected",
    ("approved", "propose"): "proposed",
    ("approved", "finish"): "done",
    ("rejected", "propose"): "proposed",
    ("rejected", "edit"): "proposed",
    ("rejected", "approve"): "approved",
    ("done", "propose"): "proposed",
}
"""The next states. An event that is not in the table cannot happen, and ``next_state`` says why.

Further words of the user change no state: a discussed plan still waits for approval.
"""

_CANNOT: Mapping[PlanState, str] = {
    "none": "there is no plan; ask for one in mode `plan`",
    "proposed": "the plan waits for your approval; approve or reject it",
    "approved": "the plan is approved already; say `go on`, or write what should be different",
    "rejected": "the plan was rejected; approve it all the same, or ask for another one",
    "done": "the plan is carried out; ask for a new one in mode `plan`",
}


class Plan(msgspec.Struct, frozen=True):
    """A plan with its state; ``path`` of its document is empty if there is none."""

    state: PlanState = "none"
    text: str = ""
    path: str = ""


def next_state(state: PlanState, happens: PlanInput) -> PlanState:
    """Return the next state.

    Raises:
        UserError: The event cannot happen now; the message says why.
    """
    found = TABLE.get((state, happens))
    if found is None:
        raise UserError(_CANNOT[state])
    return found


def inherited(plan: Plan) -> Plan:
    """Return the plan for a session that continues the task; None if the plan is done."""
    return Plan(plan.state, plan.text) if plan.state in {"proposed", "approved"} else Plan()


def plan_text(text: str) -> str:
    """Return a plan's text as it is kept, with invisible characters shown: what the user approves.

    Raises:
        UserError: The plan is empty or too long.
    """
    if is_unseen(text):
        raise UserError("the plan has no words; write what is to be done")
    # A Markdown preview hides comments.
    kept = seen(text.replace("\r\n", "\n")).text.replace("<!--", "&lt;!--").strip()
    if not kept:
        raise UserError("the plan has no words; write what is to be done")
    if len(kept) > MOST_CHARACTERS:
        raise UserError(
            f"a plan of {len(kept):,} characters is longer than the {MOST_CHARACTERS:,} that one "
            "may have; say it shorter"
        )
    return kept
