"""What the next request would say by itself, beside the user's words; looking tells nobody."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from indwell.agent.secrecy import hidden
from indwell.agent.session import Session
from indwell.agent.verdicts import verdict_blocks
from indwell.context.injections import inject
from indwell.messages import Text
from indwell.prompt.environment import surroundings_words
from indwell.prompt.instructions import instruction_words


class Forthcoming(NamedTuple):
    """Blocks in the order of the request: before what the editor attaches, and behind it."""

    before: tuple[Text, ...] = ()
    behind: tuple[Text, ...] = ()


NOTHING = Forthcoming()


async def forthcoming(session: Session) -> Forthcoming:
    """As ``turn`` and ``before_call`` would make them now; what was sent before is among them."""
    parts, turn = session.parts, session.turns + 1
    before = [inject("environment", surroundings_words(await parts.surroundings()), turn=turn)]
    instructions = await hidden(session, await parts.instructions())
    if instructions:
        before.append(inject("instructions", instruction_words(instructions), turn=turn))
    told: dict[Path, str] = {}
    verdicts = await verdict_blocks(session, turn, peek=told)
    became = await session.aftermath.blocks(
        session.seen, parts.workspace, parts.hidden, turn=turn, hide=parts.hide, peek=told
    )
    return Forthcoming(tuple(before), (*verdicts, *became))
