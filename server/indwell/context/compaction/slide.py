"""The oldest exchanges are dropped: what a plain agent does when its window is full."""

from __future__ import annotations

from indwell.context.compaction.exchanges import boundaries, last_exchange
from indwell.context.compaction.preset import Slide
from indwell.context.compaction.step import Action, Step
from indwell.context.compaction.view import View
from indwell.context.history import Splice
from indwell.context.injections import inject
from indwell.context.tokens import BLOCK_OVERHEAD, message_tokens
from indwell.messages import Block, Message

_WORDS = (
    "The conversation began earlier: its oldest part was dropped to make room, the user's words of "
    "that part included."
)


def slide(layer: Slide, view: View) -> Action | None:
    """Drop as many of the oldest exchanges as the goal needs; never the newest, never a pin."""
    del layer
    stop = _stop(view)
    if stop <= 0:
        return None
    messages = view.messages
    notice = inject("reminder", _WORDS, turn=messages[stop - 1].turn)
    pinned = tuple(
        block for message in messages[:stop] for block in message.blocks if view.facts.keeps(block)
    )
    blocks: tuple[Block, ...] = (notice, *pinned)
    end = stop
    if messages[stop].role == "user":
        blocks += messages[stop].blocks
        end += 1
    first = Message("user", blocks, messages[end - 1].turn)
    if message_tokens(first) >= sum(message_tokens(one) for one in messages[:end]):
        return None
    note = f"the oldest {stop} messages were dropped to make room"
    return Step("slide", (Splice(0, end, (first,), whole=True),), note=note)


def _stop(view: View) -> int:
    """First message that stays; 0 if nothing can go."""
    messages = view.messages
    last = last_exchange(messages)
    kept = inject("reminder", _WORDS, turn=0).meta.tokens + BLOCK_OVERHEAD
    freed, at, best = -kept, 0, 0
    for stop in boundaries(messages, 1, last):
        freed += sum(_droppable(message, view) for message in messages[at:stop])
        at = best = stop
        if freed >= view.to_free:
            break
    return best


def _droppable(message: Message, view: View) -> int:
    kept = (one for one in message.blocks if view.facts.keeps(one))
    pinned = sum(one.meta.tokens + BLOCK_OVERHEAD for one in kept)
    return message_tokens(message) - pinned
