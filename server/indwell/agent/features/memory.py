"""Stores facts that the model proposes and the user allows, and sends them with prompts.

A proposed fact is checked before the user is asked. The user sees exactly the text to be stored.
The policy asks the user each time and in every mode (``Asked.keeps``); stored permissions do not
apply.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Annotated, Any, Protocol

import msgspec
from msgspec import Meta

from indwell.agent.core.feature import Feature, Moment
from indwell.agent.core.prompt import Prompt
from indwell.agent.core.session import Session
from indwell.context.memory import FACT_CHARACTERS, Fact, MemoryQuery, Scope, alike, recalled, same
from indwell.context.untrusted_text import one_line, short_line
from indwell.errors import SettingsError, ToolError
from indwell.messages import Text
from indwell.secrets import has_mark, kinds_in
from indwell.tools.base import Outcome, Preview, Tool, ToolContext, ToolFacts

NAME = "remember"
FOR: dict[Scope, str] = {
    "workspace": "for later sessions in this workspace",
    "user": "for later sessions in every workspace",
}


class MemoryToolArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of the tool ``remember``."""

    fact: str
    scope: Annotated[Scope, Meta(description="user: for all workspaces")] = "workspace"


def memory_feature(pages: Pages, tools: Sequence[Tool[Any]]) -> Feature[Session]:
    """Return the memory of one session as a feature.

    Args:
        pages: The pages with the facts.
        tools: The tools that store facts, or empty if no fact may be stored.
    """

    async def prompt_blocks(moment: Moment[Session], prompt: Prompt) -> tuple[Text, ...]:
        return await facts_for(pages, moment.session, prompt, moment.turn)

    return Feature(name="memory", tools=tuple(tools), prompt_blocks=prompt_blocks)


async def facts_for(pages: Pages, session: Session, prompt: Prompt, turn: int) -> tuple[Text, ...]:
    """Return a block with the facts that match the user's text, if there are any."""
    if not prompt.words:  # A preview of a request has no text of the user.
        return ()
    hide, conversation = session.parts.secrets.hide, session.conversation

    def look() -> Text | None:
        facts = (*pages.facts("user"), *pages.facts("workspace"))
        return recalled(facts, query_of(prompt), conversation, turn=turn, hide=hide)

    block = await asyncio.to_thread(look)
    return () if block is None else (block,)


def query_of(prompt: Prompt) -> MemoryQuery:
    """Return a query for facts, from the text, the files and the selection of a prompt."""
    paths = [one.path for one in (prompt.opened, prompt.selection) if one is not None]
    paths += [one.path for one in prompt.mentioned] + [one.path for one in prompt.folders]
    marked = prompt.selection.text if prompt.selection is not None else ""
    return MemoryQuery(prompt.words, tuple(paths), marked)


def make_remember(
    pages: Pages, session: str, now: Callable[[], datetime]
) -> Tool[MemoryToolArguments]:
    """Make the tool ``remember`` of one session.

    Args:
        pages: The pages with the facts.
        session: The session's id, which is stored with each fact.
        now: Returns the time.
    """

    async def preview(arguments: MemoryToolArguments, context: ToolContext) -> Preview:
        text = fact_of(arguments, context.hide)
        old = await asyncio.to_thread(replaced, pages, text, arguments.scope)
        instead = f"\n- {one_line(old)}" if old else ""
        return Preview(diff=f"+ {text}{instead}")

    async def run(arguments: MemoryToolArguments, context: ToolContext) -> Outcome:
        text = fact_of(arguments, context.hide)
        day = now().date().isoformat()
        fact = Fact(text, arguments.scope, day=day, session=session)

        def keep() -> str:
            old = replaced(pages, text, arguments.scope)
            pages.keep(fact, old)
            return old

        try:
            old = await asyncio.to_thread(keep)
        except SettingsError as error:
            raise ToolError(str(error)) from error
        words = f"kept {FOR[arguments.scope]}"
        return Outcome(f"{words}, instead of: {old}" if old else words, figure="kept")

    return Tool(
        name=NAME,
        description="Propose one sentence for later sessions, such as a convention. The "
        "user confirms it.",
        arguments=MemoryToolArguments,
        effect="read",
        facts=lambda given: ToolFacts(
            tool=NAME,
            effect="read",
            subject=short_line(given.fact, FACT_CHARACTERS),
            keeps=FOR[given.scope],
        ),
        run=run,
        preview=preview,
    )


def fact_of(arguments: MemoryToolArguments, hide: Callable[[str], str]) -> str:
    """Return the fact as it would be stored: one line with all characters visible.

    Raises:
        ToolError: The fact may not be stored.
    """
    text = " ".join(arguments.fact.split())
    if not text:
        raise ToolError("the fact has no words; say what is worth knowing")
    if len(text) > FACT_CHARACTERS:
        raise ToolError(
            f"a fact of {len(text):,} characters is longer than the {FACT_CHARACTERS} that are "
            "kept; say it in one sentence, or propose several"
        )
    if one_line(text) != text:
        raise ToolError(f"the fact holds characters that do not show: {one_line(text)!r}")
    if has_mark(text) or kinds_in(text) or hide(text) != text:
        raise ToolError("the fact holds what looks like a secret; secrets are not kept")
    return text


def replaced(pages: Pages, text: str, scope: Scope) -> str:
    """Return the fact that the new fact replaces, or empty if the fact replaces none. Blocks.

    Raises:
        ToolError: The fact is known already, or the page cannot be read.
    """
    facts = pages.facts(scope)
    if pages.problem:
        raise ToolError(pages.problem)
    if same(text, facts) is not None:
        raise ToolError("that is remembered already")
    old = alike(text, facts)
    return "" if old is None else old.text


class Pages(Protocol):
    """Stores facts, on one page for each scope; all methods block, so call them in a thread."""

    def facts(self, scope: Scope) -> Sequence[Fact]:
        """Return the facts of one page, or empty if the page cannot be read."""
        ...

    @property
    def problem(self) -> str:
        """The reason why a page could not be read, or empty if all pages could be read."""
        ...

    def keep(self, fact: Fact, instead_of: str = "") -> None:
        """Store a fact; remove the fact with the text ``instead_of``.

        Raises:
            SettingsError: The page cannot be written.
        """
        ...


class NoPages:
    """Implements ``Pages`` for sessions without memory."""

    problem = ""

    def facts(self, scope: Scope) -> Sequence[Fact]:
        """Return no facts, because there is no page."""
        del scope
        return ()

    def keep(self, fact: Fact, instead_of: str = "") -> None:
        """Refuse to store a fact, because there is no page.

        Raises:
            SettingsError: The method always raises this error.
        """
        del fact, instead_of
        raise SettingsError("nothing is remembered here: `memory` is off in the settings")
