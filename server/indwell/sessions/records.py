"""What a session's log holds, one record a line, and how it folds back into a conversation.

This module knows no disk and no clock: times come in as text (ISO 8601, UTC).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

import msgspec

from indwell.messages import Message, Usage

Ending: TypeAlias = Literal["done", "cancelled", "failed", "limit", "repeated", "budget"]


class SessionStarted(msgspec.Struct, frozen=True, tag="sessionStarted"):
    """First line: whose log this is."""

    session: str
    workspace: str
    model: str
    at: str
    format: int = 1


class Prefixed(msgspec.Struct, frozen=True, tag="prefixed"):
    """What stands before every request, so that a resumed session sends the same bytes (H13).

    Attributes:
        system: The text of each system block.
        tools: A digest of the tools' schemas.
        at: When it came into force; the newest one counts.
    """

    system: tuple[str, ...]
    tools: str
    at: str


class TurnStarted(msgspec.Struct, frozen=True, tag="turnStarted"):
    """The user's words as typed, before anything is done with them."""

    turn: int
    words: str
    at: str


class Steered(msgspec.Struct, frozen=True, tag="steered"):
    """What the user said while a turn ran, as typed; on disk before it is sent.

    If it reached the model it is also in a ``Said``; else it comes back in ``TurnFinished.words``.
    """

    turn: int
    words: str
    at: str


class Said(msgspec.Struct, frozen=True, tag="said"):
    """Blocks that joined the conversation; two of one role in a row are one message."""

    message: Message
    at: str


class Intent(msgspec.Struct, frozen=True, tag="intent"):
    """On disk before a write, an edit or a command begins (H59)."""

    turn: int
    tool_use_id: str
    tool: str
    arguments: str
    at: str


class Spent(msgspec.Struct, frozen=True, tag="spent"):
    """Tokens and cost (US dollars, None if unknown) of one model call."""

    turn: int
    model: str
    usage: Usage
    cost: float | None
    at: str


class Repaired(msgspec.Struct, frozen=True, tag="repaired"):
    """Something was mended: an orphaned call, a torn line."""

    what: str
    at: str


class TurnFinished(msgspec.Struct, frozen=True, tag="turnFinished"):
    """How a turn ended; ``words`` are given back if they never reached the model."""

    turn: int
    ending: Ending
    at: str
    message: str = ""
    words: str = ""


Record: TypeAlias = (
    SessionStarted
    | Prefixed
    | TurnStarted
    | Steered
    | Said
    | Intent
    | Spent
    | Repaired
    | TurnFinished
)


def fold(records: Iterable[Record]) -> tuple[Message, ...]:
    """The messages of a conversation, as its records say; blocks of one side are one message."""
    messages: list[Message] = []
    for record in records:
        if isinstance(record, Said):
            join(messages, record.message)
    return tuple(messages)


def join(messages: list[Message], message: Message) -> None:
    """Append ``message``, or merge it into the last one if that has the same role."""
    if messages and messages[-1].role == message.role:
        last = messages[-1]
        messages[-1] = Message(
            role=last.role, blocks=last.blocks + message.blocks, turn=message.turn
        )
    else:
        messages.append(message)
