"""A request made again from the log, as it went out. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from indwell.context.conversation import Config, Conversation, system_block
from indwell.context.request.assemble import without_pictures
from indwell.errors import SessionError
from indwell.messages import Message, Request
from indwell.sessions.branches import lived
from indwell.sessions.folding import folded, join
from indwell.sessions.records import Prefixed, Record, Sent, Wire


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
    sent: Sent | None = None
    attempts: list[Wire] = []
    n_sent = 0
    for record in records:
        match record:
            case Sent():
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


def _request(sent: Sent, prefix: Prefixed, messages: tuple[Message, ...]) -> Request:
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
