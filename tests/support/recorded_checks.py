"""Checks each request of a replayed session: user's texts, task, finished requests."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from indwell.context.compaction.presets import PRESETS
from indwell.context.compaction.summarising.span import WORDS_SHARE
from indwell.context.history import transcript
from indwell.context.pairing import problems
from indwell.context.tokens import BLOCK_OVERHEAD
from indwell.context.work_record import work_of
from indwell.messages import Message, Text
from indwell.replay.replayed_conversation import Point, ReplayRules, points
from indwell.sessions.imports import Recorded
from support.context_checks import KEEPS_WORDS, check_words

_LISTED = re.compile(r"^- turn (\d+), (open|finished|asked back): ", re.MULTILINE)
_SUMMED_UP = re.compile(
    r"^- turns? (\d+)(?: to (\d+))?: (over|open|finished|asked back)(?:, but (.*))?", re.MULTILINE
)
_BUT = re.compile(r"([\d, to]+): (open|asked back)")
_RUN = re.compile(r"(\d+)(?: to (\d+))?")
_EARLIER = "Earlier requests; what is finished is not to be done again:"


def violations(session: Recorded, preset: str, window: int) -> Counter[str]:
    """Return the failed checks with counts; ``requests`` and others count the checked items."""
    found: Counter[str] = Counter()
    said: list[Text] = []
    spills: dict[str, str] = {}
    for point in points(session.messages, ReplayRules(PRESETS[preset], window)):
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
    """Count user's texts that are lost or needlessly hidden, and a missing task."""
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
    """Count earlier requests that the newest card marks wrongly."""
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
    earlier = {one.turn: one.state for one in work_of(whole).asked() if one.turn < card.meta.turn}
    part = card.text.partition(_EARLIER)[2]
    listed = _summed_up(part, earlier) | {int(turn): is_ for turn, is_ in _LISTED.findall(part)}
    found["cards"] += 1
    found["requests in cards"] += len(listed)
    found["wrongly marked"] += sum(
        state not in {"over", earlier.get(turn)} for turn, state in listed.items()
    )
    found["requests not in the card"] += len(listed) < len(earlier)
    return found


def _summed_up(part: str, earlier: Collection[int]) -> dict[int, str]:
    """Return the statements about each turn in lines that summarise many turns."""
    said: dict[int, str] = {}
    for first, last, state, but in _SUMMED_UP.findall(part):
        said |= dict.fromkeys(_among(first, last, earlier), state)
        for runs, other in _BUT.findall(but):
            for one in _RUN.findall(runs):
                said |= dict.fromkeys(_among(*one, earlier), other)
    return said


def _among(first: str, last: str, turns: Collection[int]) -> list[int]:
    return [turn for turn in turns if int(first) <= turn <= int(last or first)]


LOOKED_AT = frozenset(
    {"requests", "compactions", "tasks", "requests with words in a file", "cards",
     "requests in cards"}
)  # fmt: skip
"""Keys of ``violations`` that are no violations."""
