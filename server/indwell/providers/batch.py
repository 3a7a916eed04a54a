"""Events of one network read, told together: neighbours of one kind become one event; pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from indwell.providers.base import StreamEvent, TextDelta, ThinkingDelta


class EventBatch:
    """Collects events until they are told; order is kept."""

    def __init__(self) -> None:
        self._events: list[StreamEvent] = []
        self._kind: type[TextDelta | ThinkingDelta] | None = None
        self._words: list[str] = []

    def add(self, events: Iterable[StreamEvent]) -> None:
        """Take what one chunk brought."""
        for event in events:
            if isinstance(event, TextDelta | ThinkingDelta):
                if type(event) is not self._kind:
                    self._close()
                    self._kind = type(event)
                self._words.append(event.text)
            else:
                self._close()
                self._events.append(event)

    def tell(self, on_event: Callable[[StreamEvent], None]) -> None:
        """Tell everything since the last time."""
        if not self._words and not self._events:
            return
        self._close()
        events, self._events = self._events, []
        for event in events:
            on_event(event)

    def _close(self) -> None:
        if self._kind is not None:
            self._events.append(self._kind("".join(self._words)))
            self._words.clear()
            self._kind = None
