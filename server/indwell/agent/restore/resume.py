"""Resumes a session: gives results to calls that a crash left open, and tells the user. Pure.

The log is not changed and no call runs again. An open call gets a result that says what is known of
it (H24, PER-09, PER-11). The result is logged, so that the next resume reads the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from indwell.agent.core.session import Session
from indwell.agent.restore.restored_state import UNKNOWN, OpenCall
from indwell.context.conversation import tool_result
from indwell.messages import ToolResult

NOT_BEGUN = "not done: Indwell ended before this began; call it again if it is still needed"
REMINDER = (
    "Indwell was started again since, and this session goes on. Files may have changed meanwhile: "
    "read a file again before you edit it."
)
TAKEN_BACK = (
    "The user took the conversation back to this point: what was said and done after it is not "
    "shown here, but files may hold its work. Read a file again before you edit it."
)


class Resumed(NamedTuple):
    """A resumed session.

    Attributes:
        session: The session.
        draft: Words of the user that never reached the model.
        notices: Messages for the user, a sentence each.
    """

    session: Session
    draft: str
    notices: tuple[str, ...]


def outcomes(calls: Iterable[OpenCall], found: Mapping[str, str]) -> tuple[ToolResult, ...]:
    """Results for open calls.

    Args:
        calls: The open calls, in order.
        found: The state of a call's file now, in words, by the call's id.
    """
    results = []
    for call in calls:
        words = UNKNOWN if call.begun else NOT_BEGUN
        looked = found.get(call.use.id, "")
        text = f"[{words}]" + (f"\n{looked}" if looked else "")
        results.append(tool_result(call.use, text, is_error=True))
    return tuple(results)


def unknown_words(calls: Sequence[OpenCall]) -> str:
    """What the user should check; empty if the outcome of every call is known."""
    begun = [call.use.name for call in calls if call.begun]
    if not begun:
        return ""
    names = ", ".join(dict.fromkeys(begun))
    number = "1 call" if len(begun) == 1 else f"{len(begun)} calls"
    return f"Indwell ended in the middle of {number} ({names}), so what came of it is not known"
