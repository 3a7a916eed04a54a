"""The plan that the model proposes and the user approves: its states, as a table (H54). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

import msgspec

from indwell.context.untrusted_text import is_unseen, seen
from indwell.errors import UserError

PlanState: TypeAlias = Literal["none", "proposed", "approved", "rejected", "done"]
"""Where a plan stands."""

PlanInput: TypeAlias = Literal["propose", "edit", "approve", "reject", "finish"]
"""What happens to it: the model proposes and finishes, all else the user does."""

MOST_CHARACTERS = 12_000  # some 3,000 tokens, which stay in every request once it is approved
MOST_BYTES = 8 * MOST_CHARACTERS  # of its document; a longer file is no plan

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
"""The state that follows; what is not in it cannot happen, and ``next_state`` says why.

The user's further words change none: a plan that was talked about still waits.
"""

_CANNOT: Mapping[PlanState, str] = {
    "none": "there is no plan; ask for one in mode `plan`",
    "proposed": "the plan waits for your approval; approve or reject it",
    "approved": "the plan is approved already; say `go on`, or write what should be different",
    "rejected": "the plan was rejected; approve it all the same, or ask for another one",
    "done": "the plan is carried out; ask for a new one in mode `plan`",
}


class Plan(msgspec.Struct, frozen=True):
    """A plan and where it stands; ``path`` of its document, empty if there is none."""

    state: PlanState = "none"
    text: str = ""
    path: str = ""


def next_state(state: PlanState, happens: PlanInput) -> PlanState:
    """The state that follows.

    Raises:
        UserError: It cannot happen now, in plain words.
    """
    found = TABLE.get((state, happens))
    if found is None:
        raise UserError(_CANNOT[state])
    return found


def inherited(plan: Plan) -> Plan:
    """What of a plan goes along to a session that takes the task over: one that is not done."""
    return Plan(plan.state, plan.text) if plan.state in {"proposed", "approved"} else Plan()


def plan_text(text: str) -> str:
    """A plan as it is kept: what nobody would see in it shows, so that it is what is approved.

    Raises:
        UserError: It is empty or too long.
    """
    if is_unseen(text):
        raise UserError("the plan has no words; write what is to be done")
    # A comment is what a preview of Markdown hides.
    kept = seen(text.replace("\r\n", "\n")).text.replace("<!--", "&lt;!--").strip()
    if not kept:
        raise UserError("the plan has no words; write what is to be done")
    if len(kept) > MOST_CHARACTERS:
        raise UserError(
            f"a plan of {len(kept):,} characters is longer than the {MOST_CHARACTERS:,} that one "
            "may have; say it shorter"
        )
    return kept
