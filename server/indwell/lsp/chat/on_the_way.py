"""Words of chat documents that are on their way, or that a running turn was given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from indwell.service.turns.tickets import Ticket


@dataclass(slots=True, eq=False)
class Sent:
    """Words on their way: as they stood in the document, and as they were sent.

    Attributes:
        is_placed: Have they left the draft? Nothing until a turn writes them down, or they wait.
    """

    ticket: Ticket
    uri: str
    raw: str
    words: str
    is_placed: Callable[[], bool] | None = None


@dataclass(slots=True, eq=False)
class Steering:
    """Words of a document that a running turn was given, as they stand there."""

    ticket: Ticket
    raws: list[str]
