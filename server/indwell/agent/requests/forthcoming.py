"""Previews the context of the next request, without the user's words and without side effects."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from indwell.agent.core.events import Event
from indwell.agent.core.feature import Moment
from indwell.agent.core.prompt import Prompt
from indwell.agent.core.session import Session
from indwell.agent.review.rejected_changes import verdict_blocks
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
    told: dict[Path, str] = {}
    verdicts = await verdict_blocks(session, turn, peek=told)
    became = await session.aftermath.blocks(
        session.seen, parts.workspace, parts.rules().hidden, turn=turn, hide=parts.hide, peek=told
    )
    reminders = await parts.features.reminders(moment)
    behind = (
        *verdicts,
        *became,
        *(block for one in reminders for block in one.blocks),
    )
    return Forthcoming(tuple(before), behind)
