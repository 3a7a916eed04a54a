"""The facts that go with the user's words, if any of those that were kept fit."""

from __future__ import annotations

import asyncio

from indwell.agent.prompt import Prompt
from indwell.agent.session import Session
from indwell.context.memory.ranking import Query
from indwell.context.memory.recall import recalled
from indwell.messages import Text


async def facts_for(session: Session, prompt: Prompt, turn: int) -> tuple[Text, ...]:
    """One block for the next request, or none."""
    pages, hide, conversation = session.parts.memory, session.parts.hide, session.conversation

    def look() -> Text | None:
        facts = (*pages.facts("user"), *pages.facts("workspace"))
        return recalled(facts, query_of(prompt), conversation, turn=turn, hide=hide)

    block = await asyncio.to_thread(look)
    return () if block is None else (block,)


def query_of(prompt: Prompt) -> Query:
    """What a prompt is about: its words, its files, what is marked."""
    paths = [one.path for one in (prompt.opened, prompt.selection) if one is not None]
    paths += [one.path for one in prompt.mentioned] + [one.path for one in prompt.folders]
    marked = prompt.selection.text if prompt.selection is not None else ""
    return Query(prompt.words, tuple(paths), marked)
