"""The to-do list as the model keeps it (H54). Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec

TodoState: TypeAlias = Literal["open", "doing", "done"]


class TodoItem(msgspec.Struct, frozen=True):
    """One item of the list, with its state.

    Attributes:
        text: The item, on one line.
        state: How far it is.
        after: The 1-based numbers of the items that must be done before it.
    """

    text: str
    state: TodoState = "open"
    after: tuple[int, ...] = ()


def done_words(items: Sequence[TodoItem]) -> str:
    """Describe the progress, such as ``2 of 5 done``."""
    if not items:
        return "empty"
    return f"{sum(one.state == 'done' for one in items)} of {len(items)} done"


def is_open(items: Sequence[TodoItem]) -> bool:
    """Is any item not done yet?"""
    return any(one.state != "done" for one in items)


def open_before(items: Sequence[TodoItem], item: TodoItem) -> tuple[int, ...]:
    """Return the numbers of the items that must be done before this one and are not."""
    return tuple(number for number in item.after if items[number - 1].state != "done")


def waits_words(items: Sequence[TodoItem], item: TodoItem) -> str:
    """Say what an item waits for, such as ``waits for 1, 2``; empty if it could begin."""
    numbers = open_before(items, item)
    return f"waits for {', '.join(map(str, numbers))}" if numbers else ""


def shown_lines(items: Sequence[TodoItem]) -> tuple[str, ...]:
    """Return the list for people, one line per item: number, state, what it waits for."""
    marks = {"open": " ", "doing": "~", "done": "x"}
    lines = []
    for number, one in enumerate(items, 1):
        waits = waits_words(items, one)
        lines.append(f"{number}. [{marks[one.state]}] {one.text}{f' ({waits})' if waits else ''}")
    return tuple(lines)


def problem_of(items: Sequence[TodoItem]) -> str:
    """Say why a list cannot be kept, if its order makes no sense; empty if it can."""
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
    """Return the body of ``<agent-todo>``: the model's own words, which instruct nobody."""
    lines = (f"- [{one.state}] {one.text}{_after_words(one)}" for one in items)
    return "\n".join(("Your list of steps, as you wrote it last:", *lines))


def _after_words(item: TodoItem) -> str:
    return f" (after {', '.join(map(str, item.after))})" if item.after else ""
