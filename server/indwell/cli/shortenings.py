"""Compaction on a terminal: one line for each run of it, and few of them in a turn."""

from __future__ import annotations

import msgspec

from indwell.agent import events
from indwell.agent.receipt import compaction_words

MOST_TOLD = 5  # runs in a turn; more is noise, and says that the window is small
HINT = (
    "the window is small for this work, so it is shortened again and again; a model with a larger "
    "window would help (the rest of the turn is not told)"
)


class Shortenings:
    """What a turn's compactions came to; steps that follow each other are one run."""

    def __init__(self) -> None:
        self._run: tuple[int, int] | None = None  # tokens before and after
        self._notes: dict[str, None] = {}
        self._n_runs = 0

    def taken(self, event: events.Event) -> tuple[str, events.Event | None]:
        """A line that comes first, and what is shown of ``event`` itself; None: nothing."""
        if isinstance(event, events.TurnFinished) and not event.rounds:
            event = self._told_by(event)
        elif not self._takes(event):
            return "", None
        return self._line(event), event

    def _takes(self, event: events.Event) -> bool:
        """Is there something to show? Not of a step in a run, nor once enough was told."""
        match event:
            case events.TurnStarted():
                self._n_runs = 0
            case events.Compacted(before=before, after=after, note=note):
                self._run = (self._run[0] if self._run else before, after)
                self._notes.update({note: None} if note else {})
                return False
            case events.Notice(level="info", message=message) if message.startswith("summing up "):
                return self._n_runs < MOST_TOLD
            case events.Text(text="", restart=False) | events.UsageReported() | events.Thinking():
                return False  # nothing of it is shown, so it ends no run
            case _:
                pass
        return True

    def _line(self, event: events.Event) -> str:
        """The run that ends with ``event``, if one does and it is told."""
        if self._run is None or isinstance(event, events.Notice):
            return ""
        (before, after), notes = self._run, "; ".join(self._notes)
        self._run, self._notes = None, {}
        self._n_runs += 1
        if self._n_runs <= MOST_TOLD:
            return compaction_words(before, after, notes)
        return HINT if self._n_runs == MOST_TOLD + 1 else ""

    def _told_by(self, event: events.TurnFinished) -> events.TurnFinished:
        """The end of a turn that did nothing else: it says all of it, so no line is needed."""
        notes = "; ".join(self._notes)
        if self._run is None or not event.message or event.ending != "done":
            return event
        self._run, self._notes = None, {}
        words = f"{event.message}; {notes}" if notes else event.message
        return msgspec.structs.replace(event, message=words)
