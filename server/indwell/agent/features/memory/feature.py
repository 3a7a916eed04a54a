"""Memory as a feature: the tool that proposes a fact, and the facts that go with a prompt."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from indwell.agent.feature import Feature, Moment
from indwell.agent.features.memory.pages import Pages
from indwell.agent.prompt import Prompt
from indwell.agent.session import Session
from indwell.context.memory.ranking import Query
from indwell.context.memory.recall import recalled
from indwell.messages import Text
from indwell.tools.base import Tool


def memory_feature(pages: Pages, tools: Sequence[Tool[Any]]) -> Feature[Session]:
    """The memory of one session.

    Args:
        pages: Where facts are kept.
        tools: What writes them; none where nothing may be kept.
    """

    async def prompt_blocks(moment: Moment[Session], prompt: Prompt) -> tuple[Text, ...]:
        return await facts_for(pages, moment.session, prompt, moment.turn)

    return Feature(name="memory", tools=tuple(tools), prompt_blocks=prompt_blocks)


async def facts_for(pages: Pages, session: Session, prompt: Prompt, turn: int) -> tuple[Text, ...]:
    """One block with the facts that fit the user's words, or none."""
    if not prompt.words:  # a preview
        return ()
    hide, conversation = session.parts.hide, session.conversation

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
