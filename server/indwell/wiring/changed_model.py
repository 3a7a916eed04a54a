"""Another model for a session that goes on, and what its user should know of one."""

from __future__ import annotations

from dataclasses import replace

import msgspec

from indwell.agent.budget import Budgets
from indwell.agent.session import Session
from indwell.context.request.assemble import without_pictures
from indwell.wiring.budgets import unkept
from indwell.wiring.model import Model
from indwell.wiring.surroundings import surroundings_of


def with_model(session: Session, model: Model) -> None:
    """Let the next turn of ``session`` ask another model; the conversation goes on."""
    workspace, before = session.parts.workspace, session.parts.hang_up
    if model.key is not None:
        session.parts.also_hide(model.key.reveal())

    async def hang_up() -> None:
        await before()
        await model.hang_up()

    session.parts = replace(
        session.parts,
        provider=model.provider,
        other_model=model.other,
        hang_up=hang_up,
        cost=model.cost,
        surroundings=lambda: surroundings_of(workspace, model.name),
        rates=model.rates,
        small=model.small,
    )
    config = msgspec.structs.replace(
        session.conversation.config,
        model=model.name,
        window=model.window,
        max_output=model.max_output,
        takes_pictures=model.pictures,
    )
    conversation = session.conversation
    if not model.pictures:
        conversation = without_pictures(conversation)
    session.conversation = msgspec.structs.replace(conversation, config=config)
    session.notice = model_notice(model, session.parts.budgets)


def model_notice(model: Model, budgets: Budgets, *more: str) -> str:
    """What the user should know of a model and its price, before all that is told besides."""
    return "; ".join(filter(None, (model.notice, unkept(budgets, model.name, model.cost), *more)))
