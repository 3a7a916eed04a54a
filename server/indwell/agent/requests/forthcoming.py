"""Previews the context of the next request, without the user's words and without side effects."""

from __future__ import annotations

from typing import NamedTuple

from indwell.agent.core.events import Event
from indwell.agent.core.feature import Moment
from indwell.agent.core.prompt import Prompt
from indwell.agent.core.session import Session
from indwell.agent.requests.late_tools import tool_reminder
from indwell.context.injections import inject
from indwell.messages import Text
from indwell.prompt.environment import surroundings_words


class Forthcoming(NamedTuple):
    """Blocks in request order: those before the editor's attachments, and those after them."""

    before: tuple[Text, ...] = ()
    behind: tuple[Text, ...] = ()


NOTHING = Forthcoming()


def _tell_nobody(_event: Event) -> None:
    """Drop an event; a preview emits none."""


async def forthcoming(session: Session) -> Forthcoming:
    """The blocks that ``turn`` and ``before_call`` would add now, repeated ones included."""
    parts, turn = session.parts, session.turns + 1
    before = [inject("environment", surroundings_words(await parts.surroundings()), turn=turn)]
    moment = Moment(session, turn, _tell_nobody)
    before += await parts.features.prompt_blocks(moment, Prompt(""))
    reminders = await parts.features.reminders(moment)
    tools = await tool_reminder(session, turn)
    return Forthcoming(
        tuple(before), (*tools, *(block for one in reminders for block in one.blocks))
    )
