"""Splices in a log: made of a rewrite, and looked at before they are believed. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from indwell.context.history import Splice
from indwell.messages import Message


def impossible(splices: Sequence[Splice], live: int, n_messages: int) -> str:
    """Why these splices cannot be made of ``n_messages`` messages; empty if they can.

    Args:
        splices: Of one record.
        live: As the record says; 0 if it does not.
        n_messages: That there are.
    """
    if live and live != n_messages:
        return f"it was made of {live} messages, and there are {n_messages}"
    at = 0
    for one in splices:
        if not at <= one.start <= one.stop <= n_messages:
            return f"messages {one.start} to {one.stop} of {n_messages}"
        at = one.stop
    return ""


def rewritten(before: Sequence[Message], after: Sequence[Message]) -> tuple[Splice, ...]:
    """The splices that make ``after`` of ``before``; none if they are equal."""
    if len(before) == len(after):
        return tuple(
            Splice(index, index + 1, (new,))
            for index, (old, new) in enumerate(zip(before, after, strict=True))
            if old is not new and old != new
        )
    least = min(len(before), len(after))
    head = next((at for at in range(least) if before[at] != after[at]), least)
    n_tail = 0
    while n_tail < least - head and before[-1 - n_tail] == after[-1 - n_tail]:
        n_tail += 1
    stop = len(before) - n_tail
    return (Splice(head, stop, tuple(after[head : len(after) - n_tail])),)
