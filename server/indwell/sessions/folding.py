"""How the records of a log fold back into a conversation. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from indwell.context.history import History, spliced
from indwell.messages import Message
from indwell.sessions.records import Compacted, Record, Repaired, Said
from indwell.sessions.splices import impossible


class Folded(NamedTuple):
    """A conversation as its records tell it.

    Attributes:
        messages: The live ones: what is sent.
        history: What the first of them were before they were compacted.
        notices: What could not be applied, a sentence each.
    """

    messages: tuple[Message, ...]
    history: History
    notices: tuple[str, ...]


def fold(records: Iterable[Record]) -> tuple[Message, ...]:
    """The messages of a conversation, as its records say; blocks of one side are one message."""
    return folded(records).messages


def folded(records: Iterable[Record]) -> Folded:
    """The messages of a conversation and what they were; an impossible rewrite is passed over.

    What was not rewritten is longer than it was, and nothing of it is lost.

    Args:
        records: Of one way through the log (``branches.lived``).
    """
    messages: list[Message] = []
    history = History()
    notices: list[str] = []
    for record in records:
        match record:
            case Said(message=message):
                join(messages, message)
            case Compacted(splices=splices) | Repaired(splices=splices) if splices:
                why = impossible(splices, record.live, len(messages))
                if why:
                    kind = "compaction" if isinstance(record, Compacted) else "repair"
                    notices.append(f"a {kind} of {record.at} does not fit the log ({why})")
                    continue
                live, history = spliced(messages, history, splices)
                messages = list(live)
            case _:
                pass  # the others say what was done, not what was said
    return Folded(tuple(messages), history, tuple(notices))


def join(messages: list[Message], message: Message) -> None:
    """Append ``message``, or merge it into the last one if that has the same role."""
    if messages and messages[-1].role == message.role:
        last = messages[-1]
        messages[-1] = Message(
            role=last.role, blocks=last.blocks + message.blocks, turn=message.turn
        )
    else:
        messages.append(message)
