"""What compaction promises of the user's words, held against each request of a replay. Pure.

All words of the user stand in the request, or in a file that it names; those of the current task
stand in it; of a finished request that still stands there it can be seen that it is finished, by
the agent's closing words or by a note, so that it is not done again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from indwell.context.work import asked
from indwell.messages import Message, Text
from indwell.replay.course import Point

_SHOWN = 120  # characters of a closing line by which it is known again inside a summary
_TELLING = 20  # characters of a line that can stand nowhere else by chance
_SUMMED_UP = re.compile(r"^- turns? (\d+)(?: to (\d+))?: finished(?:, but (.*))?$", re.MULTILINE)
_RUN = re.compile(r"(\d+)(?: to (\d+))?")
_WORDS = "words-"  # files that hold words of the user are named so (``summarising.plans``)


class Broken(msgspec.Struct, frozen=True):
    """What one request does not keep.

    Attributes:
        words: Words of the user are nowhere.
        task: Those of the current task do not stand in the request.
        finished: A finished request stands there, and nothing says that it is finished.
    """

    words: bool = False
    task: bool = False
    finished: bool = False


class _Finished(msgspec.Struct, frozen=True):
    turn: int
    words: str
    closing: str


class Promises:
    """Follows one replay, request by request."""

    def __init__(self) -> None:
        self._said: dict[str, None] = {}
        self._newest = ""
        self._asked: Message | None = None
        self._answered: Message | None = None
        self._finished: list[_Finished] = []
        self._files: dict[str, str] = {}

    def at(self, point: Point) -> Broken:
        """What the request of this point does not keep."""
        self._files |= {
            one.name: one.text for one in point.done.spills if one.name.startswith(_WORDS)
        }
        self._hear([one for one in point.arrived if isinstance(one, Text) and is_users(one)])
        self._answered = point.reply
        blocks = [
            block
            for message in point.request.messages
            for block in message.blocks
            if isinstance(block, Text)
        ]
        shown = {block.text for block in blocks}
        missing = [words for words in self._said if words not in shown]
        doubtful = [
            one for one in self._finished if one.words in shown and one.closing not in shown
        ]
        if not missing and not doubtful:
            return Broken()
        notes = "\n".join(block.text for block in blocks if not is_users(block))
        return Broken(
            words=any(not self._is_filed(words, notes) for words in missing),
            task=bool(self._newest) and self._newest not in shown,
            finished=any(not _is_noted(one, notes) for one in doubtful),
        )

    def _hear(self, words: Sequence[Text]) -> None:
        """Take new words of the user; what was asked before is over, finished or not."""
        if not words:
            return
        message = Message("user", tuple(words), words[-1].meta.turn)
        before, reply = self._asked, self._answered
        if before is not None and reply is not None and before.turn != message.turn:
            earlier = asked((before, reply, message))[0]
            said = [one.text for one in reply.blocks if isinstance(one, Text)]
            if earlier.state == "finished" and said:
                first = next(one.text for one in before.blocks if isinstance(one, Text))
                self._finished.append(_Finished(before.turn, first, "\n\n".join(said)))
        self._asked = message
        self._said |= dict.fromkeys(one.text for one in words)
        self._newest = words[-1].text

    def _is_filed(self, words: str, notes: str) -> bool:
        return any(words in text and name in notes for name, text in self._files.items())


def is_users(block: Text) -> bool:
    """Are these the user's own words?"""
    return block.meta.source == "user"


def _is_noted(one: _Finished, notes: str) -> bool:
    if f"turn {one.turn}, finished" in notes or _is_summed_up(one.turn, notes):
        return True
    lines = [line.strip() for line in one.closing.splitlines() if line.strip()]
    telling = [line for line in lines if len(line) >= _TELLING] or lines
    return any(line[:_SHOWN] in notes for line in telling)


def _is_summed_up(turn: int, notes: str) -> bool:
    """Does a line of the task card that stands for many turns say that this one is finished?"""
    return any(
        int(first) <= turn <= int(last or first)
        and not any(int(a) <= turn <= int(b or a) for a, b in _RUN.findall(but))
        for first, last, but in _SUMMED_UP.findall(notes)
    )
