"""What the model hears of time: hours that went by between two turns, a day that ended in one.

The date itself stands in the reminder of the surroundings, said again only when it changes.
"""

from __future__ import annotations

from indwell.agent.session import Session
from indwell.agent.turn_state import TurnState
from indwell.context.conversation import queue
from indwell.context.injections import inject
from indwell.messages import Text
from indwell.prompt.environment import surroundings_words
from indwell.prompt.time import elapsed_words
from indwell.sessions.spending import local_day


def time_blocks(session: Session, turn: int) -> tuple[Text, ...]:
    """At the beginning of a turn: how long ago the model answered, if that is long ago."""
    words = elapsed_words(session.answered_at, session.parts.now())
    return (inject("reminder", words, turn=turn),) if words else ()


async def tell_day(session: Session, turn: TurnState) -> None:
    """Before a model call: the new date, if it is another one than when the turn began."""
    day = local_day(session.parts.now())
    if turn.day and day != turn.day:
        now = await session.parts.surroundings()
        block = inject("environment", surroundings_words(now), turn=turn.number)
        session.conversation = queue(session.conversation, (block,))
    turn.day = day
