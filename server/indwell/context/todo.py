"""The list of what is to be done, as the model keeps it (H54). Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec

TodoState: TypeAlias = Literal["open", "doing", "done"]


class TodoItem(msgspec.Struct, frozen=True):
    """One thing to do, in one line, and how far it is."""

    text: str
    state: TodoState = "open"


def done_words(items: Sequence[TodoItem]) -> str:
    """How far it is, such as ``2 of 5 done``."""
    if not items:
        return "empty"
    return f"{sum(one.state == 'done' for one in items)} of {len(items)} done"


def is_open(items: Sequence[TodoItem]) -> bool:
    """Is anything left to be done?"""
    return any(one.state != "done" for one in items)


def list_words(items: Sequence[TodoItem]) -> str:
    """The body of ``<agent-todo>``: the model's own words, which instruct nobody."""
    lines = (f"- [{one.state}] {one.text}" for one in items)
    return "\n".join(("Your list of steps, as you wrote it last:", *lines))
