"""What a conversation was before it was compacted, and the one way to rewrite it (H26, H31). Pure.

``Conversation.messages`` is what is sent. The first of them may stand for more: ``History`` keeps
the originals, so that a summary is never made of a summary.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from indwell.messages import Message


class History(msgspec.Struct, frozen=True):
    """The originals of the first messages of a conversation that was compacted.

    Attributes:
        originals: Messages as they were before any compaction, from the first one on.
        places: For each of the first ``len(places)`` live messages the index in ``originals`` of
            the first that it stands for; it stands for all up to the next one's place.
        n_blocks: How many blocks the last of these live messages had: it may grow later, if it is
            the last of the conversation.
    """

    originals: tuple[Message, ...] = ()
    places: tuple[int, ...] = ()
    n_blocks: int = 0


def transcript(messages: Sequence[Message], history: History) -> tuple[Message, ...]:
    """The complete conversation, as if nothing had been compacted."""
    return _grown(messages, history) + tuple(messages[len(history.places) :])


def place_of(messages: Sequence[Message], history: History, index: int) -> int:
    """Where in the transcript the live message ``index`` begins; of one past the end its length."""
    n_live = len(history.places)
    if index < n_live:
        return history.places[index]
    return len(_grown(messages, history)) + index - n_live


def spliced(
    messages: Sequence[Message],
    history: History,
    splices: Sequence[tuple[int, int, Sequence[Message]]],
) -> tuple[tuple[Message, ...], History]:
    """Replace ranges of messages, and remember what stood there.

    Args:
        messages: The live ones.
        history: Of them.
        splices: ``(start, stop, replacement)``, ascending and not overlapping. A replacement of
            the same length stands message for message; of another one its first message stands for
            the whole range.
    """
    if not splices:
        return tuple(messages), history
    known = max(len(history.places), splices[-1][1])
    originals = transcript(messages[:known], history)
    live: list[Message] = []
    places: list[int] = []
    at = 0
    for start, stop, replacement in splices:
        assert at <= start <= stop <= len(messages), (at, start, stop)
        live += messages[at:start]
        places += (place_of(messages, history, one) for one in range(at, start))
        live += replacement
        end = place_of(messages, history, stop)
        if len(replacement) == stop - start:
            places += (place_of(messages, history, one) for one in range(start, stop))
        else:
            head = [place_of(messages, history, start)]
            places += (head + [end] * (len(replacement) - 1))[: len(replacement)]
        at = stop
    live += messages[at:known]
    places += (place_of(messages, history, one) for one in range(at, known))
    n_blocks = len(live[-1].blocks) if live else 0
    return tuple(live) + tuple(messages[known:]), History(originals, tuple(places), n_blocks)


def _grown(messages: Sequence[Message], history: History) -> tuple[Message, ...]:
    """The originals, with what joined the last message that was rewritten afterwards."""
    if not history.places:
        return history.originals
    message = messages[len(history.places) - 1]
    joined = message.blocks[history.n_blocks :]
    if not joined:
        return history.originals
    last = history.originals[-1] if history.originals else None
    if last is None or last.role != message.role:
        return (*history.originals, Message(message.role, joined, message.turn))
    return (*history.originals[:-1], Message(last.role, last.blocks + joined, message.turn))
