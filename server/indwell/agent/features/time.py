"""Tells the model that hours passed between two turns, or that a new day began in a turn.

The date itself is part of the environment reminder, which is sent again only after a change.
"""

from __future__ import annotations

from indwell.agent.core.feature import Feature, Moment, Reminder
from indwell.agent.core.prompt import Prompt
from indwell.agent.core.session import Session
from indwell.context.injections import inject
from indwell.messages import Text
from indwell.prompt.reminders import elapsed_words, surroundings_words
from indwell.sessions.storage.spending import local_day


def time_feature() -> Feature[Session]:
    """Return the feature that tells one session's model about passed time."""
    days = Days()
    return Feature(name="time", prompt_blocks=_elapsed, remind=days.remind, for_child=time_feature)


async def _elapsed(moment: Moment[Session], _prompt: Prompt) -> tuple[Text, ...]:
    """Return a block about the time since the model's last answer, if hours have passed."""
    session = moment.session
    words = elapsed_words(session.spending.answered_at, session.parts.clock.now())
    return (inject("reminder", words, turn=moment.turn),) if words else ()


class Days:
    """Stores the date of the last request in a turn."""

    def __init__(self) -> None:
        self._day = ""
        self._turn = 0

    async def remind(self, moment: Moment[Session]) -> Reminder:
        """Return a reminder of the new date, if the day has changed since an earlier request."""
        parts = moment.session.parts
        day = local_day(parts.clock.now())

        def told() -> None:
            self._day, self._turn = day, moment.turn

        if self._turn != moment.turn or day == self._day or parts.tools.is_lean:
            return Reminder((), told)
        now = await parts.surroundings()
        return Reminder((inject("environment", surroundings_words(now), turn=moment.turn),), told)
