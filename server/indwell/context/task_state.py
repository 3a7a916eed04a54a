"""Defines the states of the plan that the user approves, and the to-do list. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

import msgspec

from indwell.context.untrusted_text import is_unseen, seen
from indwell.errors import UserError

PlanState: TypeAlias = Literal["none", "proposed", "approved", "rejected", "done"]
"""The state of a plan."""
PlanInput: TypeAlias = Literal["propose", "edit", "approve", "reject", "finish"]
"""An event of a plan: the model proposes and finishes; the user edits, approves and rejects."""
# the limit of characters, about 3,000 tokens, because each request contains an approved plan
MOST_CHARACTERS = 12_000
MOST_BYTES = 8 * MOST_CHARACTERS  # a plan's document with more bytes is not read
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
"""The next state for each state and event. An event without an entry cannot happen; ``next_state``
says why.

Prompts of the user do not change the state.
"""
_CANNOT: Mapping[PlanState, str] = {
    "none": "there is no plan; ask for one in mode `plan`",
    "proposed": "the plan waits for your approval; approve or reject it",
    "approved": "the plan is approved already; say `go on`, or write what should be different",
    "rejected": "the plan was rejected; approve it anyway, or ask for another one",
    "done": "the plan is carried out; ask for a new one in mode `plan`",
}
TodoState: TypeAlias = Literal["open", "doing", "done"]


class Plan(msgspec.Struct, frozen=True):
    """A plan with its state; ``path`` is the plan's document, or empty if there is no document."""

    state: PlanState = "none"
    text: str = ""
    path: str = ""


def next_state(state: PlanState, happens: PlanInput) -> PlanState:
    """Return the next state.

    Raises:
        UserError: The plan cannot move from its state to this state; the message says why.
    """
    found = TABLE.get((state, happens))
    if found is None:
        raise UserError(_CANNOT[state])
    return found


def inherited(plan: Plan) -> Plan:
    """Return the plan for a new session that continues the task, or empty if the plan is done."""
    return Plan(plan.state, plan.text) if plan.state in {"proposed", "approved"} else Plan()


def plan_text(text: str) -> str:
    """Return a plan's text for storage and approval, with invisible characters shown.

    Raises:
        UserError: The plan is empty or too long.
    """
    if is_unseen(text):
        raise UserError("the plan has no words; write what is to be done")
    # A Markdown preview hides HTML comments.
    kept = seen(text.replace("\r\n", "\n")).text.replace("<!--", "&lt;!--").strip()
    if not kept:
        raise UserError("the plan has no words; write what is to be done")
    if len(kept) > MOST_CHARACTERS:
        raise UserError(
            f"a plan of {len(kept):,} characters is longer than the {MOST_CHARACTERS:,} that one "
            "may have; say it shorter"
        )
    return kept


class TodoItem(msgspec.Struct, frozen=True):
    """One item of the to-do list, with its state.

    Attributes:
        text: The item, on one line.
        state: The item's progress.
        after: The 1-based numbers of the items that must be done before this item.
    """

    text: str
    state: TodoState = "open"
    after: tuple[int, ...] = ()


def done_words(items: Sequence[TodoItem]) -> str:
    """Return the progress of the to-do list, such as ``2 of 5 done``."""
    if not items:
        return "empty"
    return f"{sum(one.state == 'done' for one in items)} of {len(items)} done"


def is_open(items: Sequence[TodoItem]) -> bool:
    """Return whether an item is not done yet."""
    return any(one.state != "done" for one in items)


def open_before(items: Sequence[TodoItem], item: TodoItem) -> tuple[int, ...]:
    """Return the numbers of the open items that must be done before ``item``."""
    return tuple(number for number in item.after if items[number - 1].state != "done")


def waits_words(items: Sequence[TodoItem], item: TodoItem) -> str:
    """Name the items that an item waits for (``waits for 1, 2``), or nothing if it could begin."""
    numbers = open_before(items, item)
    return f"waits for {', '.join(map(str, numbers))}" if numbers else ""


def shown_lines(items: Sequence[TodoItem]) -> tuple[str, ...]:
    """Return one line per item for people: number, state, items to wait for."""
    marks = {"open": " ", "doing": "~", "done": "x"}
    lines = []
    for number, one in enumerate(items, 1):
        waits = waits_words(items, one)
        lines.append(f"{number}. [{marks[one.state]}] {one.text}{f' ({waits})' if waits else ''}")
    return tuple(lines)


def problem_of(items: Sequence[TodoItem]) -> str:
    """Return why a list is invalid, such as an impossible order, or empty if the list is valid."""
    for number, one in enumerate(items, 1):
        if unknown := [other for other in one.after if not 1 <= other <= len(items)]:
            return (
                f"step {number} comes after {unknown[0]}, and there is no such step; the list has "
                f"{len(items)}"
            )
        if number in one.after:
            return f"step {number} comes after itself; leave that out"
    if circle := _circle(items):
        steps = ", ".join(map(str, circle))
        return f"the steps {steps} wait for each other, so none can be begun; leave one `after` out"
    for number, one in enumerate(items, 1):
        if one.state != "open" and (before := open_before(items, one)):
            return (
                f"step {number} is `{one.state}`, but it comes after {before[0]}, which is "
                f"`{items[before[0] - 1].state}`; do that one first, or change `after`"
            )
    return ""


def _circle(items: Sequence[TodoItem]) -> tuple[int, ...]:
    """Return the numbers of items that can never begin, because they wait for each other."""
    left = dict(enumerate((frozenset(one.after) for one in items), 1))
    while free := [number for number, after in left.items() if not after & left.keys()]:
        for number in free:
            del left[number]
    return tuple(left)


def list_words(items: Sequence[TodoItem]) -> str:
    """Return the text inside ``<agent-todo>``, in the model's own words."""
    lines = (f"- [{one.state}] {one.text}{_after_words(one)}" for one in items)
    return "\n".join(("Your list of steps, as you wrote it last:", *lines))


def _after_words(item: TodoItem) -> str:
    return f" (after {', '.join(map(str, item.after))})" if item.after else ""
