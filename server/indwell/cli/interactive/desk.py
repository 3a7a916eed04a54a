"""The interface between a conversation and the line at which the user types.

The rule that keys typed ahead never answer a question is also in this module. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import NamedTuple, Protocol

from rich.console import Console

from indwell.context.untrusted_text import visible

LIVE_LINES = 6  # the limit of shown lines of an unfinished paragraph
PAUSE_S = 0.7  # seconds without a key before a question may be drawn
LOOK_S = 0.6  # seconds without a key after a question was drawn, before a key can answer
PASTE_S = (
    0.05  # Only a paste brings other keys within this time before or after a line, in seconds.
)


class Line(NamedTuple):
    """A submitted line of the user.

    Attributes:
        words: The text.
        pasted: Long texts that were pasted; each is folded to its label in the words.
        is_alone: Whether no other line came just before, and no other key just after. Without
            bracketed paste, this is the only sign that the user typed the line.
    """

    words: str
    pasted: tuple[tuple[str, str], ...] = ()
    is_alone: bool = True


class Desk(Protocol):
    """Reads the user's input at the bottom of a terminal, and shows lines above it."""

    @property
    def console(self) -> Console:
        """The console for everything that is shown."""
        ...

    def asking(self) -> AbstractAsyncContextManager[None]:
        """Wait for a pause in typing; then keep keys out of the draft until the context ends."""
        ...

    async def typed(self, prompt: str) -> str | None:
        """Show a prompt within ``asking``; return the typed line, or None if withdrawn."""
        ...

    def show_live(self, text: str) -> None:
        """Show an unfinished paragraph below the finished lines; an empty text removes it."""
        ...

    def put_draft(self, words: str) -> None:
        """Put words into the draft, before the words that are there."""
        ...

    def refresh(self) -> None:
        """Draw the status line again."""
        ...

    def leave(self) -> None:
        """End the reading of lines."""
        ...


class AnswerGate:
    """Decides which keys reach a question.

    A question is drawn only after the user has paused. After that, keys count only after another
    short pause, so text typed while the question appears never answers the question. A key that
    waits to be read may be old: the process may have been stopped, or busy. So only ``look`` lets
    keys through, after a pause at whose end no key waits.

    Args:
        now: Returns seconds of a monotonic clock.
        waits: Returns whether typed keys wait to be read.
    """

    def __init__(self, now: Callable[[], float], waits: Callable[[], bool]) -> None:
        self._now = now
        self._waits = waits
        self._last_key = float("-inf")
        self._drawn: float | None = None
        self._is_open = False

    @property
    def pause_left(self) -> float:
        """Seconds until a question may be drawn."""
        return max(0.0, self._last_key + PAUSE_S - self._now())

    def look(self) -> float:
        """Let keys through if the user has paused; return seconds until the next look, or 0."""
        if self._drawn is None or self._is_open:
            return 0.0
        left = max(self._drawn, self._last_key) + LOOK_S - self._now()
        self._is_open = left <= 0 and not self._waits()
        return 0.0 if self._is_open else max(left, PASTE_S)

    def key(self) -> bool:
        """Record that a key arrived; return whether the key reaches the input line."""
        self._last_key = self._now()
        return self._drawn is None or self._is_open

    @contextmanager
    def drawn(self) -> Iterator[None]:
        """Block keys at first, because a question is drawn now; unblock them after the question."""
        before = self._drawn
        self._drawn, self._is_open = self._now(), False
        try:
            yield
        finally:
            self._drawn, self._is_open = before, False


class Status(NamedTuple):
    """The content of the status line.

    Attributes:
        model: The model's name.
        mode: The mode.
        used: Tokens of the last request.
        window: Tokens of the model's window, or 0 if unknown.
        cost: US dollars of the session, or None if unknown.
        doing: The current activity, or empty if nothing runs.
    """

    model: str = ""
    mode: str = ""
    used: int = 0
    window: int = 0
    cost: float | None = 0.0
    doing: str = ""


def status_line(status: Status, columns: int) -> str:
    """Return the status in at most this many columns; the least important parts are left out."""
    context = f"{status.used / status.window:.0%} context" if status.used and status.window else ""
    cost = (
        ""
        if not status.cost
        else f"${status.cost:.2f}"
        if status.cost >= 1
        else (f"${status.cost:.4f}")
    )
    parts = [part for part in (status.doing, status.mode, status.model, context, cost) if part]
    for dropped in (status.model, cost, context):
        if len(_joined(parts)) <= columns:
            break
        parts = [part for part in parts if part != dropped]
    return _joined(parts)[:columns]


def _joined(parts: Sequence[str]) -> str:
    return " · ".join(parts)


def live_tail(text: str, columns: int, most: int = LIVE_LINES) -> str:
    """Return the end of an unfinished paragraph, in at most ``most`` lines of a terminal. Pure."""
    lines: list[str] = []
    for line in visible(text).expandtabs(4).split("\n")[-most:]:
        lines += [line[at : at + columns] for at in range(0, len(line), columns)] or [""]
    return "\n".join(lines[-most:]).strip("\n")
