"""Creates the first conversation of a session, and switches the model of one."""

from __future__ import annotations

import platform
from dataclasses import replace
from datetime import UTC, datetime

import msgspec

from indwell.agent.core.budget import Budgets
from indwell.agent.core.session import Session
from indwell.agent.features.skills import Shelf
from indwell.context.conversation import Config, Conversation, system_block
from indwell.context.request.assemble import without_pictures
from indwell.prompt.reminders import Surroundings
from indwell.prompt.system import Machine, system_prompt
from indwell.sessions.storage.spending import local_day
from indwell.skills.skill import catalogue
from indwell.tools.base import ToolTable
from indwell.wiring.model import Model, session_model, unkept
from indwell.workspace.base import Workspace
from indwell.workspace.git.repository import branch_of


async def surroundings_of(workspace: Workspace, model: str) -> Surroundings:
    """Collect the facts for a turn's environment reminder."""
    return Surroundings(
        date=local_day(datetime.now(UTC)),
        folder=str(workspace.roots[0]),
        branch=await branch_of(workspace),
        model=model,
    )


def this_machine() -> Machine:
    """The facts about this machine for the system prompt."""
    return Machine(  # noqa: S604 - `shell` is a word for the prompt, nothing is run
        system=f"{platform.system()} {platform.release()}",
        architecture=platform.machine(),
        shell="bash",
        python=platform.python_version(),
    )


def first_conversation(
    session: str, model: Model, tools: ToolTable, own_words: str, shelf: Shelf
) -> Conversation:
    """Create a conversation without messages.

    Args:
        session: The session's id, for the endpoint's cache.
        model: The model that is called.
        tools: All tools that the model can call.
        own_words: The user's standing instructions.
        shelf: The skills that the model is told about.
    """
    prompt = system_prompt(this_machine(), own_words, catalogue(shelf.known.own))
    return Conversation(
        config=Config(
            model.name,
            model.window,
            model.max_output,
            cache_key=session,
            takes_pictures=model.pictures,
            effort=model.effort,
            verbosity=model.verbosity,
        ),
        system=(system_block(prompt),),
        tools=tools.specs,
    )


def with_model(session: Session, model: Model) -> None:
    """Use another model from the next turn of ``session`` on; the conversation continues."""
    workspace, before = session.parts.workspace, session.parts.model.hang_up
    for secret in model.secrets:
        session.parts.secrets.also_hide(secret)

    async def hang_up() -> None:
        await before()
        await model.hang_up()

    session.parts = replace(
        session.parts,
        model=replace(session_model(model), hang_up=hang_up),
        surroundings=lambda: surroundings_of(workspace, model.name),
    )
    config = msgspec.structs.replace(
        session.conversation.config,
        model=model.name,
        window=model.window,
        max_output=model.max_output,
        takes_pictures=model.pictures,
        effort=model.effort,
        verbosity=model.verbosity,
    )
    conversation = session.conversation
    if not model.pictures:
        conversation = without_pictures(conversation)
    session.conversation = msgspec.structs.replace(conversation, config=config)
    session.notice = model_notice(model, session.parts.limits.budgets)


def model_notice(model: Model, budgets: Budgets, *more: str) -> str:
    """A notice about the model and its price, followed by ``more``."""
    return "; ".join(filter(None, (model.notice, unkept(budgets, model.name, model.cost), *more)))
