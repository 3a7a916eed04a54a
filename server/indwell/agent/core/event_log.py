"""Sends each event to listeners, and keeps the newest events for clients that missed some.

Events are numbered from 1 without gaps. Consecutive parts of text, reasoning or output share one
entry, which a client can read from any part on. When the log is full, the oldest entries are
dropped. This module has no clock and no network.
"""

from __future__ import annotations

import logging
from array import array
from bisect import bisect_right
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from typing import NamedTuple

import msgspec

from indwell.agent.core.events import Event, TextAdded, ThinkingAdded, ToolOutput

_log = logging.getLogger(__name__)

# the limit of characters for one session; enough for some turns with their diffs
KEPT_CHARACTERS = 1 << 20
KEPT_SESSIONS = 8  # the number of sessions in one process whose events are kept
_ENTRY = 200  # An entry counts for 200 characters in addition to its texts.
_PIECE = 8  # A part of a joined entry counts for 8 characters in addition to its text.


class EventEntry(NamedTuple):
    """An event with its number; a joined event has the number of its last part."""

    seq: int
    event: Event


class Missed(NamedTuple):
    """The events after a given number, and whether the log still has all of them."""

    events: tuple[EventEntry, ...]
    next: int
    is_complete: bool


class _EventRun(msgspec.Struct):
    """Consecutive events of one kind as one entry; ``pieces`` is set while the entry may grow."""

    first: int
    event: Event
    ends: array[int] = msgspec.field(default_factory=lambda: array("L"))
    pieces: list[str] | None = None
    text: str = ""

    @property
    def last(self) -> int:
        return self.first + max(0, len(self.ends) - 1)

    def after(self, seq: int) -> EventEntry:
        """Return the event with only the text that came after number ``seq``."""
        if not self.ends:
            return EventEntry(self.first, self.event)
        text = self.text if self.pieces is None else "".join(self.pieces)
        start = self.ends[seq - self.first] if seq >= self.first else 0
        return EventEntry(self.last, msgspec.structs.replace(self.event, text=text[start:]))

    def close(self) -> None:
        """Join the texts into one text to save memory; the entry cannot grow afterwards."""
        if self.pieces is not None:
            self.text, self.pieces = "".join(self.pieces), None


class SessionEvents:
    """The newest events of one session.

    Args:
        kept: The approximate limit of characters; the newest entry is always kept.
    """

    def __init__(self, kept: int = KEPT_CHARACTERS) -> None:
        self.seq = 0
        self._kept = kept
        self._size = 0
        self._runs: deque[_EventRun] = deque()

    def add(self, event: Event) -> int:
        """Add an event; return its number."""
        self.seq += 1
        newest = self._runs[-1] if self._runs else None
        if newest is not None and _joins(newest.event, event):
            assert isinstance(event, TextAdded | ThinkingAdded | ToolOutput)
            self._grow(newest, event.text)
        else:
            if newest is not None:
                newest.close()
            run = _EventRun(self.seq, event)
            self._runs.append(run)
            if _is_piece(event):
                assert isinstance(event, TextAdded | ThinkingAdded | ToolOutput)
                run.pieces = []
                self._size += _ENTRY
                self._grow(run, event.text)
            else:
                self._size += _weight(event)
        while self._size > self._kept and len(self._runs) > 1:
            self._size -= _run_weight(self._runs.popleft())
        return self.seq

    def after(self, seq: int) -> Missed:
        """Return the events after ``seq``; 0 means all."""
        oldest = self._runs[0].first if self._runs else self.seq + 1
        events = tuple(self._newer(seq))
        return Missed(events, max(seq, self.seq), seq >= oldest - 1 and seq <= self.seq)

    def _newer(self, seq: int) -> Iterator[EventEntry]:
        firsts = [run.first for run in self._runs]
        begin = max(0, bisect_right(firsts, seq) - 1)
        for place in range(begin, len(self._runs)):
            run = self._runs[place]
            if run.last > seq:
                yield run.after(seq)

    def _grow(self, run: _EventRun, text: str) -> None:
        assert run.pieces is not None
        run.pieces.append(text)
        run.ends.append((run.ends[-1] if run.ends else 0) + len(text))
        self._size += len(text) + _PIECE


class EventLog:
    """The events of this process's sessions.

    Args:
        kept: The limit of characters for each session.

    Attributes:
        listeners: Pairs of event kinds and a function. The function gets each event of the kinds,
            with session and number. Listeners are called in order. If one listener fails, other
            listeners still get the event.
    """

    def __init__(self, kept: int = KEPT_CHARACTERS) -> None:
        self.listeners: list[tuple[type | tuple[type, ...], Callable[[str, int, Event], None]]] = []
        self._kept = kept
        self._has_failed = False
        self._sessions: OrderedDict[str, SessionEvents] = OrderedDict()

    def tell(self, session: str, event: Event) -> None:
        """Number an event, store the event, and send it to the listeners of its kind."""
        seq = self.add(session, event)
        for kinds, hear in tuple(self.listeners):
            if isinstance(event, kinds):
                try:
                    hear(session, seq, event)
                except Exception:  # noqa: BLE001 - the boundary to a front door: a turn outlives it
                    self.not_told()

    def not_told(self) -> None:
        """Log the current exception, but only once, because later events may fail the same way."""
        if not self._has_failed:
            self._has_failed = True
            _log.exception("events could not be sent to the editor; turns continue")

    def add(self, session: str, event: Event) -> int:
        """Add an event; return its number in the session."""
        known = self._sessions.get(session)
        if known is None:
            known = self._sessions[session] = SessionEvents(self._kept)
            while len(self._sessions) > KEPT_SESSIONS:
                self._sessions.popitem(last=False)
        return known.add(event)

    def forget(self, session: str) -> None:
        """Drop the events of a session."""
        self._sessions.pop(session, None)

    def after(self, session: str, seq: int) -> Missed | None:
        """Return the events of a session after ``seq``, or None for an unknown session."""
        known = self._sessions.get(session)
        return known.after(seq) if known is not None else None


def _is_piece(event: Event) -> bool:
    match event:
        case TextAdded(restart=False) | ThinkingAdded() | ToolOutput():
            return True
        case _:
            return False


def _joins(before: Event, event: Event) -> bool:
    """Return whether both events continue one text, with the same kind, turn and call."""
    match before, event:
        case (TextAdded(restart=False), TextAdded(restart=False)) | (
            ThinkingAdded(),
            ThinkingAdded(),
        ):
            return before.turn == event.turn
        case ToolOutput(id=first), ToolOutput(id=second):
            return first == second and before.turn == event.turn
        case _:
            return False


def _weight(event: Event) -> int:
    texts = (getattr(event, name) for name in event.__struct_fields__)
    return _ENTRY + sum(len(text) for text in texts if isinstance(text, str))


def _run_weight(run: _EventRun) -> int:
    return _ENTRY + run.ends[-1] + _PIECE * len(run.ends) if run.ends else _weight(run.event)
