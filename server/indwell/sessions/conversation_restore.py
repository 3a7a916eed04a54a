"""Restores a conversation from log records, and rebuilds a request's exact bytes. Pure."""

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
    """A rebuilt request.

    Attributes:
        turn: The turn that sent the request.
        number: Number of the request in the session, 1-based.
        request: The request.
        attempts: The attempts to send the request, in order, or empty if the request was never
            sent.
        notices: Problems with the conversation before the request.
    """

    turn: int
    number: int
    request: Request
    attempts: tuple[Wire, ...]
    notices: tuple[str, ...]


def rebuilt(records: Iterable[Record], number: int) -> Rebuilt:
    """Rebuild request ``number`` from the records before it.

    Raises:
        SessionError: The log has no such request, or lacks its system prompt and tools.
    """
    before: list[Record] = []
    sent: RequestRecord | None = None
    attempts: list[Wire] = []
    n_sent = 0
    for record in records:
        match record:
            case RequestRecord():
                n_sent = max(n_sent, record.number)
                # If a killed process left two requests of one number, the newest is used.
                if record.number == number:
                    sent, frozen, attempts = record, len(before), []
            case Wire():
                if record.number == number:
                    attempts.append(record)
            case _:
                before.append(record)
    if sent is None:
        raise SessionError(
            f"the session has no request {number}; it has {n_sent} that can be rebuilt"
        )
    if sent.alone is not None:
        own = Prefixed(sent.alone, "", sent.at)
        return Rebuilt(sent.turn, number, _request(sent, own, sent.tail), tuple(attempts), ())
    branch = lived(before[:frozen])
    prefix = next((one for one in reversed(branch) if isinstance(one, Prefixed)), None)
    if prefix is None:
        raise SessionError(
            f"the system prompt and the tools of request {number} are not in the log, which an "
            "older Indwell wrote"
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
        effort=sent.effort,
        cache_life=sent.cache_life,
        verbosity=sent.verbosity,
    )


class Folded(NamedTuple):
    """A restored conversation.

    Attributes:
        messages: The live messages, as sent to the model.
        history: The original messages that compactions replaced.
        notices: Sentences about records that could not be applied.
    """

    messages: tuple[Message, ...]
    history: History
    notices: tuple[str, ...]


def fold(records: Iterable[Record]) -> tuple[Message, ...]:
    """Return a conversation's live messages; consecutive blocks of one role are merged."""
    return folded(records).messages


def folded(records: Iterable[Record]) -> Folded:
    """Restore a conversation with its history; skip a compaction that does not fit.

    A skipped compaction loses nothing, because the messages just stay longer.

    Args:
        records: The records of one branch (``branches.lived``).
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
                pass  # Other records are not part of the conversation.
    return Folded(tuple(messages), history, tuple(notices))


def join(messages: list[Message], message: Message) -> None:
    """Append ``message``, or merge it into the last message if the role is the same."""
    if messages and messages[-1].role == message.role:
        last = messages[-1]
        messages[-1] = Message(
            role=last.role, blocks=last.blocks + message.blocks, turn=message.turn
        )
    else:
        messages.append(message)


def impossible(splices: Sequence[MessageSplice], live: int, n_messages: int) -> str:
    """Return the reason why splices do not fit a conversation, or an empty text if they fit.

    Args:
        splices: The splices of one record.
        live: The record's count of messages, or 0 if unknown.
        n_messages: Number of messages in the conversation.
    """
    if live and live != n_messages:
        return f"it was made for {live} messages, and there are {n_messages}"
    at = 0
    for one in splices:
        if not at <= one.start <= one.stop <= n_messages:
            return f"messages {one.start} to {one.stop} of {n_messages}"
        at = one.stop
    return ""


def rewritten(before: Sequence[Message], after: Sequence[Message]) -> tuple[MessageSplice, ...]:
    """Return the splices that turn ``before`` into ``after``; if both are equal, there are none."""
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
