"""From what a log tells to a session that goes on: what is said of what nobody knows. Pure.

What stands in the log is not changed and nothing is run again. Calls that have no result get one
that says what is known of them (H24, PER-09, PER-11); it is written down, so that the next resume
reads the same bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from indwell.agent.core.session import Session
from indwell.agent.restore.restored_state import UNKNOWN, OpenCall
from indwell.context.conversation import tool_result
from indwell.messages import ToolResult, ToolSpec

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
    """A session that goes on.

    Attributes:
        session: It.
        draft: Words of the user that never reached the model.
        notices: What the user should know, a sentence each.
    """

    session: Session
    draft: str
    notices: tuple[str, ...]


class HeldWith(NamedTuple):
    """The model of a session; ``problem`` says why it cannot be asked any more, if it cannot.

    ``instead`` are the models that the user's settings name.
    """

    model: str
    problem: str = ""
    instead: tuple[str, ...] = ()


def outcomes(calls: Iterable[OpenCall], found: Mapping[str, str]) -> tuple[ToolResult, ...]:
    """Results of calls that have none.

    Args:
        calls: In their order.
        found: By the id of a call, what its file looks like now.
    """
    results = []
    for call in calls:
        words = UNKNOWN if call.begun else NOT_BEGUN
        looked = found.get(call.use.id, "")
        text = f"[{words}]" + (f"\n{looked}" if looked else "")
        results.append(tool_result(call.use, text, is_error=True))
    return tuple(results)


def tools_digest(tools: Iterable[ToolSpec]) -> str:
    """Of everything of the tools that is sent; another one means other bytes."""
    return hashlib.blake2b(msgspec.json.encode(tuple(tools)), digest_size=16).hexdigest()


def unknown_words(calls: Sequence[OpenCall]) -> str:
    """What the user should look at; empty if every call is known."""
    begun = [call.use.name for call in calls if call.begun]
    if not begun:
        return ""
    names = ", ".join(dict.fromkeys(begun))
    number = "1 call" if len(begun) == 1 else f"{len(begun)} calls"
    return f"Indwell ended in the middle of {number} ({names}), so what came of it is not known"
