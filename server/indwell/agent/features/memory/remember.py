"""``remember``: the model proposes a fact, and the user sees exactly what would be kept.

What is proposed is checked before anybody is asked. The question is the policy's own
(``Asked.keeps``): it comes each time, in every mode, and no standing answer covers it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import Meta

from indwell.agent.features.memory.pages import Pages
from indwell.context.memory.likeness import alike, same
from indwell.context.memory.page import FACT_CHARACTERS, Fact, Scope
from indwell.errors import SettingsError, ToolError
from indwell.policy.approvals import one_line, short_line
from indwell.secrets.hiding import has_mark, kinds_in
from indwell.tools.base import Facts, Outcome, Preview, Tool, ToolContext

NAME = "remember"
FOR: dict[Scope, str] = {
    "workspace": "for later sessions in this workspace",
    "user": "for later sessions in every workspace",
}


class Arguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the model says."""

    fact: str
    scope: Annotated[Scope, Meta(description="user: holds everywhere")] = "workspace"


def make_remember(pages: Pages, session: str, now: Callable[[], datetime]) -> Tool[Arguments]:
    """The tool of one session.

    Args:
        pages: Keep the facts.
        session: Its id, which stands behind each fact.
        now: The time.
    """

    async def preview(arguments: Arguments, context: ToolContext) -> Preview:
        text = fact_of(arguments, context.hide)
        old = await asyncio.to_thread(replaced, pages, text, arguments.scope)
        instead = f"\n- {one_line(old)}" if old else ""
        return Preview(diff=f"+ {text}{instead}")

    async def run(arguments: Arguments, context: ToolContext) -> Outcome:
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
        description="Propose a fact for later sessions, such as a convention; one sentence. The "
        "user confirms it.",
        arguments=Arguments,
        effect="read",
        facts=lambda given: Facts(
            tool=NAME,
            effect="read",
            subject=short_line(given.fact, FACT_CHARACTERS),
            keeps=FOR[given.scope],
        ),
        run=run,
        preview=preview,
    )


def fact_of(arguments: Arguments, hide: Callable[[str], str]) -> str:
    """The fact as it would be kept: one line, in which everything shows.

    Raises:
        ToolError: It is none that may be kept.
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
    """The fact that this one takes the place of; empty if there is none. Blocks.

    Raises:
        ToolError: It is known already, or the page cannot be read.
    """
    facts = pages.facts(scope)
    if pages.problem:
        raise ToolError(pages.problem)
    if same(text, facts) is not None:
        raise ToolError("that is remembered already")
    old = alike(text, facts)
    return "" if old is None else old.text
