"""What a sub-agent did, call by call, as its session's log tells it. Pure.

A call that may change something is known from when it was decided on, any other one from its end.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from indwell.sessions.decided import Decided
from indwell.sessions.told import CallEnded


class InnerCall(msgspec.Struct, frozen=True):
    """A call of a sub-agent; its result stayed with the sub-agent.

    Attributes:
        id: Of the call.
        tool: Its name.
        target: What it worked on.
        figure: Such as ``+3 −1``.
        seconds: That it took; None: it has no end in the log.
        failed: How the words of its failure begin; empty if it did not fail.
        diff: Of its edits.
    """

    id: str
    tool: str
    target: str
    figure: str = ""
    seconds: float | None = None
    failed: str = ""
    diff: str = ""

    @property
    def is_ended(self) -> bool:
        """Does the log tell how it ended?"""
        return self.seconds is not None


Inner: TypeAlias = tuple[InnerCall, ...]


def heard(calls: Inner, record: Decided | CallEnded) -> Inner:
    """The calls of one sub-agent, oldest first, after one more record of it."""
    match record:
        case Decided():
            told = InnerCall(record.tool_use_id, record.tool, record.what)
            # One of an end comes with a ``CallEnded``; a second one is the answer to a question.
            is_known = bool(record.ending) or _place(calls, told.id) is not None
            return calls if is_known else (*calls, told)
        case CallEnded():
            told = InnerCall(
                record.tool_use_id,
                record.tool,
                record.target,
                record.figure,
                record.seconds,
                record.failed,
                record.diff,
            )
            at = _place(calls, told.id)
            return (*calls, told) if at is None else (*calls[:at], told, *calls[at + 1 :])


def _place(calls: Inner, id_: str) -> int | None:
    """Where the newest call of that id stands, if it has not ended: some endpoints repeat ids."""
    for at in range(len(calls) - 1, -1, -1):
        if calls[at].id == id_:
            return None if calls[at].is_ended else at
    return None
