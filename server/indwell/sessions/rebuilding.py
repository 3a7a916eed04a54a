"""Folds records back into a conversation, and rebuilds a request as it was sent. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from indwell.context.conversation import Config, Conversation, system_block
from indwell.context.history import History, MessageSplice, spliced
from indwell.context.request.assemble import without_pictures
from indwell.errors import SessionError
from indwell.messages import Message, Request
from indwell.sessions.branches import lived
from indwell.sessions.records import (
    CompactionRecord,
    MessageRecord,
    Prefixed,
    Record,
    Repaired,
    RequestRecord,
    Wire,
)


class Rebuilt(NamedTuple):
    """A request of the past.

    Attributes:
        turn: In which it went out.
        number: Of it in the session, 1-based.
        request: It.
        attempts: How its bytes were made, in order; none if no endpoint was asked.
        notices: What could not be read of the conversation before it.
    """

    turn: int
    number: int
    request: Request
    attempts: tuple[Wire, ...]
    notices: tuple[str, ...]


def rebuilt(records: Iterable[Record], number: int) -> Rebuilt:
    """Make request ``number`` again, from what stood in the log when it went out.

    Raises:
        SessionError: The log has no such request, or does not hold what stood before it.
    """
    before: list[Record] = []
    sent: RequestRecord | None = None
    attempts: list[Wire] = []
    n_sent = 0
    for record in records:
        match record:
            case RequestRecord():
                n_sent = max(n_sent, record.number)
                if record.number == number:  # the newest, if a kill made two of one number
                    sent, frozen, attempts = record, len(before), []
            case Wire():
                if record.number == number:
                    attempts.append(record)
            case _:
                before.append(record)
    if sent is None:
        raise SessionError(
            f"the session has no request {number}; it has {n_sent} that can be made again"
        )
    if sent.alone is not None:
        own = Prefixed(sent.alone, "", sent.at)
        return Rebuilt(sent.turn, number, _request(sent, own, sent.tail), tuple(attempts), ())
    branch = lived(before[:frozen])
    prefix = next((one for one in reversed(branch) if isinstance(one, Prefixed)), None)
    if prefix is None:
        raise SessionError(
            f"the system prompt and the tools of request {number} are not in the log, which is "
            "of an older Indwell"
        )
    told = folded(branch)
    messages = list(told.messages)
    for message in sent.tail:
        join(messages, message)
    request = _request(sent, prefix, tuple(messages))
    return Rebuilt(sent.turn, number, request, tuple(attempts), told.notices)


def _request(sent: RequestRecord, prefix: Prefixed, messages: tuple[Message, ...]) -> Request:
    conversation = Conversation(
        config=Config(sent.model, sent.window, sent.max_output, sent.cache_key),
        system=tuple(map(system_block, prefix.system)),
        tools=prefix.specs,
        messages=messages,
    )
    if not sent.pictures:
        conversation = without_pictures(conversation)
    return Request(
        model=sent.model,
        system=conversation.system,
        tools=conversation.tools,
        messages=conversation.messages,
        max_output=sent.max_output,
        anchors=sent.anchors,
        tool_choice=sent.tool_choice,
        cache_key=sent.cache_key,
    )


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
            case MessageRecord(message=message):
                join(messages, message)
            case CompactionRecord(splices=splices) | Repaired(splices=splices) if splices:
                why = impossible(splices, record.live, len(messages))
                if why:
                    kind = "compaction" if isinstance(record, CompactionRecord) else "repair"
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


def impossible(splices: Sequence[MessageSplice], live: int, n_messages: int) -> str:
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


def rewritten(before: Sequence[Message], after: Sequence[Message]) -> tuple[MessageSplice, ...]:
    """The splices that make ``after`` of ``before``; none if they are equal."""
    if len(before) == len(after):
        return tuple(
            MessageSplice(index, index + 1, (new,))
            for index, (old, new) in enumerate(zip(before, after, strict=True))
            if old is not new and old != new
        )
    least = min(len(before), len(after))
    head = next((at for at in range(least) if before[at] != after[at]), least)
    n_tail = 0
    while n_tail < least - head and before[-1 - n_tail] == after[-1 - n_tail]:
        n_tail += 1
    stop = len(before) - n_tail
    return (MessageSplice(head, stop, tuple(after[head : len(after) - n_tail])),)
