"""A recorded conversation of another tool as the records of a session of ours. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from indwell.context.pairing import tool_results
from indwell.messages import Message, Text
from indwell.sessions.foreign import Recorded
from indwell.sessions.records import IMPORTED, Record, Repaired, Said, TurnFinished, TurnStarted


def imported_records(recorded: Recorded, *, source: str, at: str) -> Iterator[Record]:
    """What stands in the log behind its first line.

    Each message with words of the user begins a turn. The recorded system prompt does not come
    along: no text of somebody else ever has that role here (H13).

    Args:
        recorded: The conversation.
        source: Where it came from.
        at: When it is imported.
    """
    yield Repaired(f"{IMPORTED}{source} ({recorded.id})", at)
    for note in recorded.notes:
        yield Repaired(note, at)
    turn = 0
    for message in recorded.messages:
        answers, rest = _split(message)
        if answers is not None:
            yield Said(answers, at)  # of the turn before
        words = _words(rest)
        if words or not turn:
            if turn:
                yield TurnFinished(turn, "done", at)
            turn = max(turn + 1, message.turn)
            yield TurnStarted(turn, words, at)
        if rest.blocks:
            yield Said(rest, at)
    if turn:
        yield TurnFinished(turn, "done", at)


def _split(message: Message) -> tuple[Message | None, Message]:
    """The results in front of a message, if it has any, and what stands behind them."""
    n_results = len(tool_results(message))
    if not n_results:
        return None, message
    head, tail = message.blocks[:n_results], message.blocks[n_results:]
    return Message(message.role, head, message.turn), Message(message.role, tail, message.turn)


def _words(message: Message) -> str:
    """What the user said in it; empty if nothing."""
    if message.role != "user":
        return ""
    return "\n\n".join(
        block.text
        for block in message.blocks
        if isinstance(block, Text) and block.meta.source == "user"
    )
