"""Creates a turn as if it were read from a log."""

from __future__ import annotations

from indwell.agent.core.events import Event, TextAdded, TurnFinished, TurnStarted
from indwell.messages import Usage
from indwell.service.sessions.recorded_turns import RecordedTurn
from indwell.sessions.records import Ending


def recorded_turn(
    number: int,
    words: str,
    *told: Event,
    ending: Ending | None = "done",
    message: str = "",
    at: str = "2026",
    left: bool = False,
) -> RecordedTurn:
    """Return a turn with these events; without an ``ending`` the turn runs or was killed."""
    answers = [one.text for one in told if isinstance(one, TextAdded)]
    answer = answers[-1] if answers else ""
    begin = TurnStarted(number, words[:80], words, "m")
    end = ()
    if ending is not None:
        end = (TurnFinished(number, ending, message, answer, "", 1, Usage(), 0.0, 1.0),)
    return RecordedTurn(number, at, left, (begin, *told, *end))
