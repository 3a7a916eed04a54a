"""The conversation of a session that begins: what stands before every request, and no words."""

from __future__ import annotations

from indwell.agent.features.skills.shelf import Shelf
from indwell.agent.resume import tools_digest
from indwell.agent.session import Session
from indwell.context.conversation import Config, Conversation, system_block
from indwell.prompt.system import system_prompt
from indwell.sessions.records import Prefixed
from indwell.skills.catalogue import catalogue
from indwell.tools.base import Registry
from indwell.wiring.model import Model
from indwell.wiring.surroundings import this_machine


def first_conversation(
    session: str, model: Model, tools: Registry, own_words: str, shelf: Shelf
) -> Conversation:
    """Without a message.

    Args:
        session: Its id, for the endpoint's cache.
        model: That is asked.
        tools: All that it can call.
        own_words: The user's standing instructions.
        shelf: Whose own skills the model is told of.
    """
    names = tuple(spec.name for spec in tools.specs)
    prompt = system_prompt(this_machine(), names, own_words, catalogue(shelf.known.own))
    return Conversation(
        config=Config(
            model.name,
            model.window,
            model.max_output,
            cache_key=session,
            takes_pictures=model.pictures,
        ),
        system=(system_block(prompt),),
        tools=tools.specs,
    )


def prefix_of(session: Session) -> Prefixed:
    """What stands before every request of a session, for its log."""
    talk = session.conversation
    system = tuple(block.text for block in talk.system)
    digest = tools_digest(talk.tools)
    return Prefixed(system=system, tools=digest, at=session.timestamp(), specs=talk.tools)
