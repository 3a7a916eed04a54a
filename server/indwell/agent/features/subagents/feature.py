"""Offers the tool ``agent``, which runs a sub-agent, and lists the sub-agents' names.

Several calls of the tool in one reply run at once. The call itself counts as a read, because the
policy decides about each tool call of the sub-agent. A sub-agent has a log file; decisions also go
to the parent's log.

The description of the tool stays the same for a whole session, and no text of a workspace may have
the system role. The names of the workspace's sub-agents are therefore sent at the end of a request,
as data, and again after each change.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated

import msgspec
from msgspec import Meta

from indwell.agent.core import events
from indwell.agent.core.events import Listener
from indwell.agent.core.feature import Feature, Moment, Reminder
from indwell.agent.core.prompt import is_blank
from indwell.agent.core.session import Helping, Session, TurnState
from indwell.agent.core.session_parts import Log, OtherModel
from indwell.agent.features.subagents.child import (
    OwnTools,
    SubagentLimits,
    Task,
    make_child,
    told,
    work,
)
from indwell.agent.features.subagents.definition import (
    NAME,
    NAME_LIMIT,
    Definition,
    catalogue,
    next_name,
    subject,
)
from indwell.context import conversation as talk
from indwell.context.injections import inject
from indwell.context.untrusted_text import short_line
from indwell.errors import ToolError
from indwell.messages import Text
from indwell.sessions.audit_trail import DONE
from indwell.sessions.records import CallEnded, Decided, Intent, Record
from indwell.tools.base import Outcome, Tool, ToolContext, ToolFacts

MOST_AGENTS = 32  # the limit of sub-agents in one turn; each may use `agent_budget_tokens`

_DESCRIPTION = """\
Give a sub-agent an independent part of the work, such as a wide search. It knows only `task`: \
write all it needs. Only its answer comes back. Calls in one reply run in parallel."""

_TOLD = (
    events.ToolStarted,
    events.ToolOutput,
    events.ToolFinished,
    events.EditApplied,
    events.PermissionAsked,
    events.PermissionAnswered,
    events.UsageReported,
    events.Notice,
)


class SubagentArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of the tool ``agent``."""

    task: str
    name: Annotated[str, Meta(description="a named one, else general")] = ""
    read_only: bool = False


@dataclass(slots=True)
class Subagents:
    """The parts that a session needs for sub-agents; ``wiring`` creates them.

    Attributes:
        listed: The named sub-agents in the tool's description, as found when a session begins.
        known: Returns the named sub-agents that exist now; reads files.
        limits: Returns the limits of a sub-agent, by the current settings.
        model: The model in the settings, or empty for the session's model.
        own_tools: Makes the tools of one conversation.
        logs: Creates a sub-agent's log, given the session and the name of the model; returns the
            log with the sub-agent's number.
        session: The session that the sub-agents work for; set as soon as the session exists.
    """

    listed: Sequence[Definition]
    known: Callable[[], Awaitable[Mapping[str, Definition]]]
    limits: Callable[[], SubagentLimits]
    model: Callable[[], str]
    own_tools: Callable[[], OwnTools]
    logs: Callable[[Session, str], Awaitable[tuple[int, Log]]]
    session: Session | None = field(default=None)


def make_agent(subagents: Subagents) -> Tool[SubagentArguments]:
    """Make the tool ``agent`` of one session."""

    async def run(arguments: SubagentArguments, context: ToolContext) -> Outcome:
        return await _run(subagents, arguments, context)

    lines = catalogue({one.name: one for one in subagents.listed})
    return Tool(
        name=NAME,
        description="\n".join((_DESCRIPTION, *(("Named:", *lines) if lines else ()))),
        arguments=SubagentArguments,
        effect="read",
        facts=lambda given: ToolFacts(tool=NAME, effect="read", subject=_subject(given)),
        run=run,
    )


def _subject(arguments: SubagentArguments) -> str:
    """Describe a call for people: the sub-agent's name, and the beginning of the task."""
    return subject(arguments.name, arguments.task)


async def _run(subagents: Subagents, arguments: SubagentArguments, context: ToolContext) -> Outcome:
    session = subagents.session
    assert session is not None, "the composition root sets it"
    turn = session.under_way or TurnState(context.turn, "", "")
    # Choose the name first, because names are numbered in the order in which calls begin.
    name = next_name(_subject(arguments), turn.agents)
    if is_blank(arguments.task):
        raise ToolError("there is no task; write what is to be done, with all that it needs")
    definition = await _named(subagents, arguments.name)
    wanted = (definition.model if definition is not None else "") or subagents.model()
    model = session.parts.model.other(wanted) if wanted else None
    _check_counted(session, model)
    _check_few(turn)
    asked = session.conversation.config.model if model is None else model.name
    number, own_log = await subagents.logs(session, asked)

    task = Task(number, context.call_id, definition, arguments.read_only)
    hear = relay(context.call_id, context.tell)
    helping = Helping(session, turn, hear, name, context.call_id)
    log = _log(session, own_log, arguments, context)
    child = make_child(helping, task, subagents.own_tools(), subagents.limits(), model, log)
    report = await work(child, arguments.task, definition, hear)
    return Outcome(await told(child, report), figure=report.figure)


def _check_counted(session: Session, model: OtherModel | None) -> None:
    """Refuse a model without a known price if the turn has a budget in dollars.

    Raises:
        ToolError: The price of ``model`` is unknown.
    """
    budgets = session.parts.limits.budgets
    if model is None or budgets.counts(model.cost) or not budgets.counts(session.parts.model.cost):
        return
    raise ToolError(
        f"the price of the sub-agent's model {short_line(model.name, NAME_LIMIT)!r} is not known, "
        "so the user's limit in dollars could not be kept; nothing was begun. Do it yourself, and "
        "tell the user"
    )


def _check_few(turn: TurnState) -> None:
    """Count a new sub-agent in the turn.

    Raises:
        ToolError: The limit is reached.
    """
    if turn.n_agents >= MOST_AGENTS:
        raise ToolError(
            f"this turn has begun {MOST_AGENTS} sub-agents, and there may be no more; do the rest "
            "yourself, or end the turn and say what is left"
        )
    turn.n_agents += 1


def _log(
    session: Session, own: Log, arguments: SubagentArguments, context: ToolContext
) -> ChildLog:
    """Return a sub-agent's log, which copies the sub-agent's actions into the session's log."""
    turn, call, at = context.turn, context.call_id, session.timestamp()
    words = msgspec.json.encode(arguments).decode()
    return ChildLog(
        own,
        session.parts.log,
        Decided(turn, call, NAME, _subject(arguments), "allow", at),
        Intent(turn, call, NAME, words, at),
    )


async def _named(subagents: Subagents, name: str) -> Definition | None:
    """Return the named definition, or None for the general sub-agent.

    Raises:
        ToolError: No agent has that name; the message lists the names.
    """
    if not name:
        return None
    known = await subagents.known()
    found = known.get(name.lower())
    if found is None:
        lines = "\n".join(catalogue(known)) or "none"
        raise ToolError(
            f"there is no sub-agent {short_line(name, NAME_LIMIT)!r}; leave `name` out for a "
            f"general one, or use one of these:\n{lines}"
        )
    return found


def relay(call: str, emit: Listener) -> Listener:
    """Return a listener that forwards a sub-agent's events to ``emit``, if clients may get them.

    Args:
        call: The id of the call that started the sub-agent.
        emit: Receives the events of the turn.
    """

    def hear(event: events.Event) -> None:
        match event:
            case events.HunksChanged():  # the event is about the workspace, not about a sub-agent
                emit(event)
            case _ if isinstance(event, _TOLD):
                emit(msgspec.structs.replace(event, agent=call))
            case _:
                pass

    return hear


class ChildLog:
    """Writes to two logs; implements ``Log``. ``close`` closes only the sub-agent's own file.

    Args:
        own: The sub-agent's log.
        above: The log of the session that the sub-agent works for.
        call: The record of the call that started the sub-agent; written to ``above`` before the
            first action.
        begun: The record that the call may change something; written before the first change.
    """

    def __init__(self, own: Log, above: Log, call: Decided, begun: Intent) -> None:
        self._own = own
        self._above = above
        self._within = call.tool_use_id
        self._call: Decided | None = call
        self._begun: Intent | None = begun
        self._decided: dict[str, Decided] = {}

    def append(self, record: Record) -> None:
        """Queue a record, and copy records about actions into the session's log."""
        self._own.append(record)
        match record:
            case Intent():
                if self._begun is not None:
                    self._above.append(msgspec.structs.replace(self._begun, at=record.at))
                    self._begun = None
                self._above.append(record)
            case Decided():
                if self._call is not None:
                    self._above.append(msgspec.structs.replace(self._call, at=record.at))
                    self._call = None
                # Checks and hooks are not calls of the sub-agent, so clients show them outside of
                # the call.
                within = self._within if record.agent else ""
                decided = msgspec.structs.replace(record, within=within)
                self._decided[record.tool_use_id] = decided
                self._above.append(decided)
            case CallEnded(tool_use_id=call):
                wanted = self._decided.pop(call, None)
                if wanted is not None:
                    end = record.figure or DONE
                    self._above.append(msgspec.structs.replace(wanted, ending=end, at=record.at))
                self._above.append(msgspec.structs.replace(record, within=self._within))
            case _:
                pass

    async def commit(self) -> None:
        """Write the sub-agent's log and the session's log to disk, before files are changed.

        Raises:
            SessionError: The records cannot be written to disk.
        """
        await self._above.commit()
        await self._own.commit()

    def commit_soon(self) -> None:
        """Start to write the queued records to disk, and return at once."""
        self._own.commit_soon()

    async def close(self) -> None:
        """Close the file of the sub-agent's log."""
        await self._own.close()


_OF_FOLDER = "Sub-agents that this folder's files describe; call agent with a name if one fits:"
_NONE_LEFT = "This folder has no named sub-agents any more."
_FROM = {"from": "workspace"}


def subagents_feature(
    subagents: Subagents, find: Callable[[], Awaitable[tuple[str, ...]]]
) -> Feature[Session]:
    """Return the sub-agents' feature; ``find`` lists the workspace's sub-agents as lines."""
    listing = SubagentListing(find)
    return Feature(
        name="sub-agents",
        tools=(make_agent(subagents),),
        remind=listing.remind,
        for_child=lambda: None,
    )


class SubagentListing:
    """The sub-agents that the workspace defined at the first request of the turn."""

    def __init__(self, find: Callable[[], Awaitable[tuple[str, ...]]]) -> None:
        self._find = find
        self._lines: tuple[str, ...] = ()
        self._turn = 0

    async def remind(self, moment: Moment[Session]) -> Reminder:
        """Return the current list, unless the conversation already shows the same list."""
        session, turn = moment.session, moment.turn
        if not session.parts.tools.has(NAME):
            return Reminder(())
        lines = self._lines if turn == self._turn else await self._find()

        def told() -> None:
            self._lines, self._turn = lines, turn

        return Reminder(await _blocks(session, turn, lines), told)


async def _blocks(session: Session, turn: int, lines: tuple[str, ...]) -> tuple[Text, ...]:
    if lines:
        words = await session.hidden("\n".join((_OF_FOLDER, *lines)))
        return (inject("agent_list", words, turn=turn, attributes=_FROM),)
    newest, _ = talk.sent_texts(session.conversation)
    if "agent_list" in newest:
        return (inject("agent_list", _NONE_LEFT, turn=turn, attributes=_FROM),)
    return ()
