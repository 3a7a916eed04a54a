"""Creates a sub-agent's session, and runs the session until the sub-agent answers.

A sub-agent may never do more than its parent. A sub-agent has the same policy or a stricter one,
fewer tools, and the same user, workspace and review ledger. A sub-agent shares the session's id and
turn number, so reviewing, undoing and rewinding a turn include sub-agents. Its tool calls get ids
that are unique in the session.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from indwell.agent.core.budget import Budgets, MemoryLedger
from indwell.agent.core.events import Listener
from indwell.agent.core.feature import Moment
from indwell.agent.core.prompt import Prompt
from indwell.agent.core.session import AskedUser, Helping, Session, TurnState
from indwell.agent.core.session_parts import (
    CompactionWish,
    Log,
    OtherModel,
    Parts,
    TurnLimits,
    has_no_fallback,
)
from indwell.agent.features.subagents.definition import Definition
from indwell.agent.loop.rounds import fitting_words, run_rounds
from indwell.agent.requests.request_blocks import gathered
from indwell.agent.requests.sending import OverBudget
from indwell.bounds.rules import Rules
from indwell.context import conversation as talk
from indwell.context.conversation import Config, Conversation, system_block
from indwell.context.injections import inject
from indwell.errors import ToolError, UserError
from indwell.files.spelling import quoted
from indwell.messages import Reply, Request, Usage
from indwell.prompt.reminders import Surroundings
from indwell.prompt.system import role_words
from indwell.providers.base import Provider, StreamEvent
from indwell.sessions.overview import preview_of
from indwell.sessions.records import Ending, Prefixed, TurnEndRecord, TurnStartRecord
from indwell.tools.base import Tool, ToolTable
from indwell.tools.truncate import untorn

LEFT_OUT = frozenset({"agent", "ask_user", "plan", "remember", "commands"})
"""Tools that no sub-agent has, because they reach the user, outlive the agent or start agents."""


class SubagentLimits(msgspec.Struct, frozen=True):
    """The limits of one sub-agent: model calls, and input and output tokens (None: no limit)."""

    rounds: int = 20
    tokens: int | None = None


class Task(msgspec.Struct, frozen=True):
    """The task of a sub-agent.

    Attributes:
        number: The sub-agent's number in its session, from 1.
        call: The id of the tool call that started the sub-agent.
        definition: The definition of a named sub-agent.
        read_only: Whether the model asked for a sub-agent that may only read.
    """

    number: int
    call: str
    definition: Definition | None = None
    read_only: bool = False

    @property
    def only_reads(self) -> bool:
        """Return whether the sub-agent may only read."""
        return self.read_only or (self.definition is not None and self.definition.read_only)


class OwnTools(msgspec.Struct, frozen=True):
    """The new tools of one conversation, with the compaction ``wish`` that the tools share."""

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
    """Create the session of a sub-agent.

    Args:
        helping: The turn that starts the sub-agent.
        task: The sub-agent's task.
        own: The tools of the sub-agent's conversation.
        limits: The sub-agent's limits; the budgets of the turn also apply.
        model: Another model to use in place of the session's, or None for the session's.
        log: The sub-agent's log.
    """
    parent = helping.session
    features = parent.parts.features.for_child()
    tools = _tools(
        parent.parts.tools, (*own.tools, *features.tools), features.late_tools, task.definition
    )
    bounded = _bounded(parent.parts, own, limits, log, tools, task)
    parts = _asking(replace(bounded, features=features), model)
    own_ids = OwnIds(parts.model.provider, f"a{task.number}")
    parts = replace(parts, model=replace(parts.model, provider=own_ids, fall_back=has_no_fallback))
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
        # Agents share the set of shown secrets, so that each agent treats them as secrets.
        asked=AskedUser(parent.asked.lock, shown_secrets=parent.asked.shown_secrets),
        helping=helping,
    )


def _is_foreign(definition: Definition) -> bool:
    """Return whether the definition is from a repository and so must not be a system message."""
    return definition.origin == "workspace"


def _tools(
    registry: ToolTable,
    own: Iterable[Tool[Any]],
    late: Callable[[], Sequence[Tool[Any]]],
    definition: Definition | None,
) -> ToolTable:
    """Return the sub-agent's tools: ``own``, and the allowed tools of the parent."""
    own_by_name: Mapping[str, Tool[Any]] = {tool.spec.name: tool for tool in own}
    wanted = None if definition is None else definition.tools
    fixed = {spec.name for spec in registry.fixed}

    def given(tools: Iterable[Tool[Any]]) -> tuple[Tool[Any], ...]:
        return tuple(
            own_by_name.get(name, tool)
            for tool in tools
            if (name := tool.spec.name) not in LEFT_OUT and (wanted is None or name in wanted)
        )

    lasting = given(tool for tool in registry.tools if tool.spec.name in fixed)
    return ToolTable(lasting, lambda: given(late()))


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
            MemoryLedger(),  # the turn of the parent records the spending
        ),
        compaction=replace(parts.compaction, wish=own.wish),
    )


def _asking(parts: Parts, model: OtherModel | None) -> Parts:
    """Return the parts, with another model if ``model`` is set."""
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
        effort=config.effort,
        verbosity=config.verbosity,
    )


class OwnIds:
    """Gives the tool calls of a model unique ids such as ``a3-…``; implements ``Provider``.

    The review ledger, the events and the log distinguish tool calls by id. An endpoint may number
    the calls of each conversation from 1.
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


ANSWER_LIMIT = 5_000  # the limit of characters for a sub-agent's answer
ANSWER_HEAD, ANSWER_TAIL = 3_000, 1_500
K = 1_000


class SubagentReport(msgspec.Struct, frozen=True):
    """The result of a sub-agent.

    Attributes:
        answer: The sub-agent's last text.
        early: The reason why the sub-agent ended early, or empty if it finished.
        rounds: Number of the sub-agent's model calls.
        usage: The tokens of all model calls.
    """

    answer: str
    early: str
    rounds: int
    usage: Usage

    @property
    def figure(self) -> str:
        """A summary of the work in a few words, for the user."""
        rounds = "1 round" if self.rounds == 1 else f"{self.rounds} rounds"
        tokens = self.usage.input + self.usage.output
        return f"{rounds}, {tokens if tokens < K else f'{tokens / K:.0f}k'} tokens"


async def work(
    child: Session, task: str, definition: Definition | None, emit: Listener
) -> SubagentReport:
    """Run ``child`` until its task ends; close its log afterwards, also after an error.

    Raises:
        ToolError: The sub-agent gave no answer; the message says why.
    """
    assert child.helping is not None
    turn = TurnState(child.turns, task, "", changes=child.helping.turn.changes)
    started = child.parts.clock.monotonic()
    ending: Ending = "failed"
    message = ""
    try:
        _begin_log(child, task)
        await _gather(Moment(child, turn.number, emit), task, definition, turn)
        ending, message = await run_rounds(child, turn, emit)
    except asyncio.CancelledError:
        ending, message = "cancelled", "stopped"
        raise
    except OverBudget as error:
        ending, message = "budget", str(error)
    except UserError as error:
        message = str(error)
    finally:
        seconds = round(child.parts.clock.monotonic() - started, 3)
        child.parts.log.append(
            TurnEndRecord(turn.number, ending, child.timestamp(), message, "", seconds)
        )
        await child.parts.log.close()
    early = _early(ending, message, turn.rounds)
    if not turn.answer.strip():
        raise ToolError(f"the sub-agent gave no answer: {early or 'its last message was empty'}")
    return SubagentReport(turn.answer.strip(), early, turn.rounds, turn.usage)


async def told(child: Session, report: SubagentReport) -> str:
    """Return the answer for the parent; a long answer is cut to head and tail."""
    answer = report.answer
    if len(answer) > ANSWER_LIMIT:
        path = await child.parts.spill.keep("agent", answer)
        head, tail = untorn(answer[:ANSWER_HEAD]), answer[-ANSWER_TAIL:]
        n_left = len(answer) - len(head) - len(tail)
        answer = (
            f"{head}\n[… {n_left:,} characters left out; all of it is in {quoted(path)}, for "
            f"read_file …]\n{tail}"
        )
    if report.early:
        return f"{answer}\n[the sub-agent ended early, so this may not be all: {report.early}]"
    return answer


def _begin_log(child: Session, task: str) -> None:
    conversation, at = child.conversation, child.timestamp()
    log = child.parts.log
    system = tuple(block.text for block in conversation.system)
    # The digest of the tools stays empty, because only a resumed session needs the digest.
    log.append(Prefixed(system=system, tools="", at=at, specs=conversation.tools))
    log.append(
        TurnStartRecord(child.turns, task, at, preview_of(task), (), child.parts.rules().mode)
    )


async def _gather(
    moment: Moment[Session], task: str, definition: Definition | None, turn: TurnState
) -> None:
    """Queue the context of a task: the environment, and instructions of project and sub-agent."""
    child = moment.session
    now = await child.parts.surroundings()
    blocks = await gathered(moment, Prompt(task), now)
    if definition is not None and definition.origin == "workspace":
        about = {"name": definition.name, "from": definition.path}
        body = child.parts.secrets.hide(definition.body)
        blocks.append(inject("skill", body, turn=turn.number, attributes=about))
    child.conversation = talk.queue(child.conversation, blocks)
    turn.words, _ = await fitting_words(child, turn.words)


def _early(ending: Ending, message: str, rounds: int) -> str:
    match ending:
        case "done":
            return message
        case "limit":
            return f"it has used its {rounds} rounds"
        case _:
            return message or ending
