"""Builds the blocks that go with the user's words: environment, context and attachments."""

from __future__ import annotations

from indwell.agent.core.feature import Moment
from indwell.agent.core.prompt import Prompt
from indwell.agent.core.session import Session
from indwell.agent.permission.redaction import hidden
from indwell.context.attachments import picture_blocks
from indwell.context.injections import inject, is_oversize, oversize_words
from indwell.errors import UserError
from indwell.messages import Block, Text
from indwell.prompt.environment import Surroundings, surroundings_words


async def gathered(moment: Moment[Session], prompt: Prompt, now: Surroundings) -> list[Text]:
    """The environment reminder, then the features' blocks for these words."""
    session, turn = moment.session, moment.turn
    blocks = [inject("environment", surroundings_words(now), turn=turn)]
    blocks += await session.parts.features.prompt_blocks(moment, prompt)
    return blocks


async def attached_blocks(session: Session, prompt: Prompt, turn: int) -> tuple[Block, ...]:
    """Attached texts and pictures; they go with these words only, never with later ones."""
    blocks: list[Block] = []
    window = session.conversation.config.window
    for one in prompt.texts:
        text = await hidden(session, one.text)
        if is_oversize(text, window):
            path = await session.parts.spill.keep("attached", text)
            text = oversize_words(text, str(path))
        blocks.append(inject("attached", text, turn=turn, attributes={"name": one.label}))
    return (*blocks, *picture_blocks(prompt.pictures, turn=turn))


def check_pictures(session: Session, prompt: Prompt) -> None:
    """Return if the model accepts the attached pictures.

    Raises:
        UserError: Pictures are attached, but the model takes none.
    """
    config = session.conversation.config
    if prompt.pictures and not config.takes_pictures:
        raise UserError(no_pictures_words(config.model))


def no_pictures_words(model: str) -> str:
    """Why pictures cannot be sent, and what to do."""
    return (
        f"the model {model!r} is not known to take pictures, so nothing was sent; take them out, "
        "choose another model, or set `pictures = true` in your settings if it does"
    )
