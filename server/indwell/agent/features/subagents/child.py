"""Creates a sub-agent's session: the parts of its parent, with a conversation of its own.

A sub-agent may never do more than its parent: the same policy or a tighter one, fewer tools, the
same user who is asked, the same workspace and review ledger. Its id and turn number are those
of the session, so reviewing, undoing and rewinding a turn include its sub-agents. Its calls get
ids that are unique in the session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import msgspec

from indwell.agent.core.budget import Budgets
from indwell.agent.core.compact_tool import CompactionWish
from indwell.agent.core.ledger import MemoryLedger
from indwell.agent.core.log import Log
from indwell.agent.core.other_models import OtherModel
from indwell.agent.core.parts import Parts, TurnLimits
from indwell.agent.core.rules import Rules
from indwell.agent.core.session import AskedUser, Helping, Session
from indwell.agent.features.subagents.definition import Definition
from indwell.context.conversation import Config, Conversation, system_block
from indwell.messages import Reply, Request
from indwell.prompt.environment import Surroundings
from indwell.prompt.system import role_words
from indwell.providers.base import Provider, StreamEvent
from indwell.tools.base import Tool, ToolTable

LEFT_OUT = frozenset({"agent", "ask_user", "plan", "remember", "commands"})
"""Tools that no sub-agent has: they reach the user, outlive the agent, or start sub-agents."""


class SubagentLimits(msgspec.Struct, frozen=True):
    """Limits of one sub-agent: model calls, and input and output tokens (None: unlimited)."""

    rounds: int = 20
    tokens: int | None = None


class Task(msgspec.Struct, frozen=True):
    """The task of a sub-agent.

    Attributes:
        number: The sub-agent's number in its session, from 1.
        call: The id of the call that started it.
        definition: The definition of a named sub-agent.
        read_only: Whether the model asked for a sub-agent that only reads.
    """

    number: int
    call: str
    definition: Definition | None = None
    read_only: bool = False

    @property
    def only_reads(self) -> bool:
        """May the sub-agent only read?"""
        return self.read_only or (self.definition is not None and self.definition.read_only)


class OwnTools(msgspec.Struct, frozen=True):
    """Tools made anew for one conversation, with the compaction ``wish`` that they share."""

    wish: CompactionWish
    tools: tuple[Tool[Any], ...]


def make_child(  # noqa: PLR0917 - all that it is made of
    helping: Helping,
    task: Task,
    own: OwnTools,
    limits: SubagentLimits,
    model: OtherModel | None,
    log: Log,
) -> Session:
    """Create the session.

    Args:
        helping: The turn that it works for.
        task: Its task.
        own: The tools of its conversation.
        limits: Its own limits; the budgets of the turn apply as well.
        model: Another model in place of the session's, if any.
        log: Its own log.
    """
    parent = helping.session
    features = parent.parts.features.for_child()
    tools = _tools(parent.parts.tools, (*own.tools, *features.tools), task.definition)
    bounded = _bounded(parent.parts, own, limits, log, tools, task)
    parts = _asking(replace(bounded, features=features), model)
    own_ids = OwnIds(parts.model.provider, f"a{task.number}")
    parts = replace(parts, model=replace(parts.model, provider=own_ids))
    config = _config(parent.conversation.config, model, f"-a{task.number}")
    names = tuple(spec.name for spec in tools.specs)
    told = "" if task.definition is None or _is_foreign(task.definition) else task.definition.body
    role = role_words(names, read_only=task.only_reads, own=told)
    return Session(
        id=parent.id,
        parts=parts,
        conversation=Conversation(
            config=config,
            system=(*parent.conversation.system, system_block(role)),
            tools=tools.specs,
        ),
        turns=helping.turn.number,
        # The same set: a secret shown to one is a secret to all.
        asked=AskedUser(parent.asked.lock, shown_secrets=parent.asked.shown_secrets),
        helping=helping,
    )


def _is_foreign(definition: Definition) -> bool:
    """Is it text of a repository, which never gets the system role (H13)?"""
    return definition.origin == "workspace"


def _tools(
    registry: ToolTable, own: Iterable[Tool[Any]], definition: Definition | None
) -> ToolTable:
    """Return the parent's tools, with the child's own in place; fewer if the definition says so."""
    anew: Mapping[str, Tool[Any]] = {tool.spec.name: tool for tool in own}
    wanted = None if definition is None else definition.tools
    return ToolTable(
        [
            anew.get(name, tool)
            for tool in registry.tools
            if (name := tool.spec.name) not in LEFT_OUT and (wanted is None or name in wanted)
        ]
    )


def _bounded(  # noqa: PLR0917 - all that is its own
    parts: Parts, own: OwnTools, limits: SubagentLimits, log: Log, tools: ToolTable, task: Task
) -> Parts:
    def rules() -> Rules:
        now = parts.rules()
        return now.in_mode("plan") if task.only_reads else now

    rounds = None if task.definition is None else task.definition.rounds
    return replace(
        parts,
        tools=tools,
        rules=rules,
        log=log,
        limits=TurnLimits(
            min(limits.rounds, rounds or limits.rounds),
            Budgets(turn_tokens=limits.tokens, tokens_setting="agent_budget_tokens"),
            MemoryLedger(),  # the turn that it works for pays
        ),
        compaction=replace(parts.compaction, wish=own.wish),
    )


def _asking(parts: Parts, model: OtherModel | None) -> Parts:
    """Return the parts with another model, if there is one."""
    if model is None:
        return parts

    async def surroundings() -> Surroundings:
        now = await parts.surroundings()
        return msgspec.structs.replace(now, model=model.name)

    return replace(
        parts,
        model=replace(parts.model, provider=model.provider, cost=model.cost, rates=model.rates),
        surroundings=surroundings,
    )


def _config(config: Config, model: OtherModel | None, suffix: str) -> Config:
    key = f"{config.cache_key}{suffix}"
    if model is None:
        return msgspec.structs.replace(config, cache_key=key)
    return Config(
        model.name,
        window=model.window,
        max_output=model.max_output,
        cache_key=key,
        takes_pictures=model.pictures,
    )


class OwnIds:
    """A model whose calls get ids such as ``a3-…``; implements ``Provider``.

    The review ledger, the events and the session's log distinguish calls by their ids, and an
    endpoint may number the calls of each conversation from 1.
    """

    def __init__(self, provider: Provider, prefix: str) -> None:
        self._provider = provider
        self._prefix = prefix

    async def complete(self, request: Request, on_event: Callable[[StreamEvent], None]) -> Reply:
        """Complete a request; see ``Provider.complete``.

        Raises:
            ProviderError: The endpoint failed.
        """
        reply = await self._provider.complete(request, on_event)
        calls = tuple(
            msgspec.structs.replace(call, id=f"{self._prefix}-{call.id or 'call'}")
            for call in reply.calls
        )
        return msgspec.structs.replace(reply, calls=calls)
