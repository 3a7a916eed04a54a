"""What must hold of each request of a recorded session that is run again: words, task, finished."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from indwell.context.compaction.plans import WORDS_SHARE
from indwell.context.compaction.presets import PRESETS
from indwell.context.history import transcript
from indwell.context.pairing import problems
from indwell.context.tokens import BLOCK_OVERHEAD
from indwell.context.work import asked
from indwell.messages import Message, Text
from indwell.replay.course import Point, Rules, points
from indwell.sessions.foreign import Recorded
from support.context_checks import KEEPS_WORDS, check_words

_LISTED = re.compile(r"^- turn (\d+), (open|finished|asked back): ", re.MULTILINE)
_MORE = re.compile(r"^- (?:and (\d+) before these|… (\d+) more)$", re.MULTILINE)
_EARLIER = "Earlier requests; what is finished is not to be done again:"


def violations(session: Recorded, preset: str, window: int) -> Counter[str]:
    """What does not hold, and how often; ``requests`` and others say how much was looked at."""
    found: Counter[str] = Counter()
    said: list[Text] = []
    spills: dict[str, str] = {}
    for point in points(session.messages, Rules(PRESETS[preset], window)):
        found["requests"] += 1
        found["compactions"] += bool(point.done.layers)
        said += _users(point.arrived)
        spills |= {spill.name: spill.text for spill in point.done.spills}
        messages = point.conversation.messages
        shown = {one.text for message in messages for one in _users(message.blocks)}
        found["not whole"] += bool(problems(messages))
        found["loops"] += point.done.is_loop
        if preset in KEEPS_WORDS:
            found += _words_lost(point, said, shown, spills, window)
            found["too large"] += not point.fits and preset != "none"
        if PRESETS[preset].card:
            found += _wrongly_marked(messages, point)
    return found


def _users(blocks: Sequence[object]) -> Iterator[Text]:
    return (one for one in blocks if isinstance(one, Text) and one.meta.source == "user")


def _words_lost(
    point: Point, said: Sequence[Text], shown: set[str], spills: dict[str, str], window: int
) -> Counter[str]:
    """Words neither shown nor in a file; hidden though there is room; a task that is not shown."""
    found: Counter[str] = Counter()
    task = next((one for one in said if one.meta.turn == said[-1].meta.turn), None)
    found["tasks"] += task is not None
    found["task hidden"] += task is not None and task.text not in shown
    hidden = [one for one in said if one.text not in shown]
    if not hidden:
        return found
    found["requests with words in a file"] += 1
    total = sum(one.meta.tokens + BLOCK_OVERHEAD for one in said)
    found["words hidden though there is room"] += total <= window // WORDS_SHARE
    try:
        check_words(point.conversation, [one.text for one in hidden], spills)
    except AssertionError:
        found["words lost"] += 1
    return found


def _wrongly_marked(messages: Sequence[Message], point: Point) -> Counter[str]:
    """Does the newest card mark all requests before its own as what they were?"""
    found: Counter[str] = Counter()
    cards = [
        one
        for message in messages
        for one in message.blocks
        if isinstance(one, Text) and one.meta.source == "task_card"
    ]
    if not cards:
        return found
    card = cards[-1]
    whole = transcript(messages, point.conversation.history)
    earlier = {one.turn: one.state for one in asked(whole) if one.turn < card.meta.turn}
    listed = {int(turn): state for turn, state in _LISTED.findall(card.text)}
    part = card.text.partition(_EARLIER)[2]
    more = sum(int(one or other) for one, other in _MORE.findall(part))
    found["cards"] += 1
    found["requests in cards"] += len(listed)
    found["wrongly marked"] += sum(state != earlier.get(turn) for turn, state in listed.items())
    found["requests not in the card"] += len(listed) + more < len(earlier)
    return found


LOOKED_AT = frozenset(
    {"requests", "compactions", "tasks", "requests with words in a file", "cards",
     "requests in cards"}
)  # fmt: skip
"""Keys of ``violations`` that are no violations."""
