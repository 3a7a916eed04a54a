"""Records a turn, its model calls and its tool calls as spans, if the user's settings say so.

Prompts, answers, arguments and results are attributes only if the setting ``contents`` is on, and
without secrets. Verdicts of a review become a separate span when the next turn begins or the
session ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from indwell import __version__
from indwell.agent.core import events
from indwell.agent.core.events import EditApplied, Event
from indwell.agent.core.feature import Ended, Feature, Moment
from indwell.agent.core.session import Session
from indwell.agent.features.traces import attributes
from indwell.agent.features.traces.sending import Tracing, fail, tracing_to
from indwell.errors import UserError
from indwell.messages import Request, ToolUse
from indwell.settings.model import Settings
from indwell.tools.base import Call, Outcome

if TYPE_CHECKING:
    from opentelemetry.trace import Span
else:
    Span: TypeAlias = Any


@dataclass(slots=True)
class _OpenTurn:
    """The open spans of a turn.

    Attributes:
        span: The span of the turn.
        calls: The open model call of each agent, by the id of the call that started the agent.
        tools: The open tool calls, by id.
        ended: The tool calls that have ended, and whose results are known a moment later.
        compacted: Whether the conversation was shortened in this turn.
    """

    span: Span
    calls: dict[str, Span] = field(default_factory=dict)
    tools: dict[str, Span] = field(default_factory=dict)
    ended: dict[str, Span] = field(default_factory=dict)
    compacted: bool = False

    def parent(self, agent: str) -> Span:
        """Return the span to which the work of an agent belongs."""
        return self.tools.get(agent, self.span)

    def close(self) -> None:
        """End all spans; a span that is still open belongs to work that was interrupted."""
        for span in (*self.calls.values(), *self.tools.values()):
            fail(span, "interrupted")
            span.end()
        for span in (*self.ended.values(), self.span):
            span.end()


class SessionTraces:
    """The traces of one session.

    Args:
        settings: Returns the settings in force.
    """

    def __init__(self, settings: Callable[[], Settings]) -> None:
        self._settings = settings
        self._tracing: Tracing | None = None
        self._session: Session | None = None
        self._turn: _OpenTurn | None = None
        self._prompt = self._answer = ""  # without secrets, and only if contents are on
        self._counted: set[str] = set()
        self._problem = ""
        self._told: set[str] = set()

    def feature(self) -> Feature[Session]:
        """Return the feature; a sub-agent's requests belong to the session's turn."""
        return Feature(
            name="traces",
            begin=self._begin,
            tell=self._tell,
            observe=self._observe,
            before_request=self._begin_call,
            after_tool=self._after_tool,
            after_reply=self._after_reply,
            end=self._end,
            close=self._close,
        )

    async def _begin(self, moment: Moment[Session]) -> None:
        """Open the connection if traces are on; ``_tell`` reports a problem."""
        wanted = self._settings().traces
        self._tracing, problem = None, ""
        if wanted.export:
            try:
                self._tracing = await asyncio.to_thread(tracing_to, wanted.endpoint)
                problem = self._tracing.failure
            except UserError as error:
                problem = str(error)
        self._problem = problem
        if self._tracing is not None:
            self._session = moment.session
            self._prompt = self._answer = ""
            if wanted.contents and moment.session.under_way is not None:
                self._prompt = await moment.session.hidden(moment.session.under_way.words)
            await self._review(self._tracing, moment.session)

    async def _tell(self, moment: Moment[Session]) -> None:
        """Tell the user once that spans cannot be sent; called after a turn has begun."""
        if self._problem and self._problem not in self._told:
            self._told.add(self._problem)
            moment.emit(events.Notice(moment.turn, "warning", self._problem))

    async def _review(self, tracing: Tracing, session: Session) -> None:
        """Record the verdicts on the session's changes since the last call of this function."""
        ledger = session.parts.changes.ledger
        if ledger is None:
            return
        await ledger.refresh()
        new = [one for one in ledger.untold(session.id) if one.id not in self._counted]
        self._counted.update(one.id for one in new)
        if new:
            accepted = sum(len(one.accepted) for one in new)
            rejected = sum(len(one.rejected) for one in new)
            about = attributes.review(session.id, accepted=accepted, rejected=rejected)
            tracing.start("review", about).end()

    def _begin_call(self, moment: Moment[Session], request: Request) -> None:
        """Start the span of a model call."""
        if self._tracing is None or self._turn is None:
            return
        helping = moment.session.helping
        agent = "" if helping is None else helping.call
        if (before := self._turn.calls.pop(agent, None)) is not None:
            fail(before, "no_reply")
            before.end()
        about = attributes.call_begins(
            moment.session.id,
            request.model,
            attributes.provider_name(self._settings()),
            max_output=request.max_output,
        )
        span = self._tracing.start(
            f"chat {request.model}", about, within=self._turn.parent(agent), kind="client"
        )
        if self._turn.compacted and not agent:
            span.set_attribute("gen_ai.conversation.compacted", value=True)
        self._turn.calls[agent] = span

    def _observe(self, moment: Moment[Session], event: Event) -> None:
        """Start, complete and end spans as the events of a turn say."""
        if self._tracing is None:
            return
        if isinstance(event, events.TurnStarted):
            self._begin_turn(self._tracing, moment, event)
            return
        if (turn := self._turn) is None:
            return
        match event:
            case events.ToolStarted(agent=agent, id=call, name=name):
                about = attributes.tool_begins(moment.session.id, call, name)
                turn.tools[call] = self._tracing.start(
                    f"execute_tool {name}", about, within=turn.parent(agent)
                )
            case events.ToolFinished() if event.id in turn.tools:
                self._end_tool(turn, event)
            case events.PermissionAnswered(id=call, answer=answer) if call in turn.tools:
                turn.tools[call].set_attribute("indwell.permission.answer", answer)
            case events.UsageReported():
                self._spend(self._tracing, turn, moment.session, event)
            case events.Compacted():
                turn.compacted = True
                saved = {"indwell.tokens.before": event.before, "indwell.tokens.after": event.after}
                turn.span.add_event(f"compaction {event.layer}", saved)
            case events.TurnFinished():
                self._end_turn(turn, event)
            case _:
                pass

    def _begin_turn(
        self, tracing: Tracing, moment: Moment[Session], event: events.TurnStarted
    ) -> None:
        session, settings = moment.session, self._settings()
        provider = attributes.provider_name(settings)
        about = attributes.turn_begins(session.id, moment.turn, provider, __version__)
        span = tracing.start("invoke_agent indwell", about)
        span.set_attribute("gen_ai.request.model", event.model)
        span.set_attribute("indwell.mode", event.mode or "")
        if self._prompt:
            prompt = attributes.content_of("user", self._prompt)
            span.set_attribute("gen_ai.input.messages", prompt)
        self._turn = _OpenTurn(span)

    def _spend(
        self, tracing: Tracing, turn: _OpenTurn, session: Session, event: events.UsageReported
    ) -> None:
        """End the span of a model call; a call outside of the conversation gets a short span."""
        span = turn.calls.pop(event.agent, None)
        if span is None:  # for example the call that wrote a summary
            provider = attributes.provider_name(self._settings())
            about = {
                "gen_ai.operation.name": "chat",
                "gen_ai.provider.name": provider,
                "gen_ai.conversation.id": session.id,
            }
            span = tracing.start("chat", about, within=turn.parent(event.agent), kind="client")
        span.set_attributes(dict(attributes.usage_of(event.usage, event.cost)))
        span.end()

    def _end_tool(self, turn: _OpenTurn, event: events.ToolFinished) -> None:
        span = turn.tools.pop(event.id)
        if event.is_error:
            fail(span, "tool_error")
        if self._settings().traces.contents and not event.agent:
            turn.ended[event.id] = span
        else:
            span.end()

    async def _after_tool(
        self,
        moment: Moment[Session],
        use: ToolUse,
        _call: Call,
        outcome: Outcome,
        _applied: Sequence[EditApplied],
    ) -> None:
        await self._add_contents(moment.session, use, outcome)

    async def _after_reply(
        self, moment: Moment[Session], uses: Sequence[ToolUse], outcomes: Mapping[str, Outcome]
    ) -> Mapping[str, str]:
        for use in uses:  # Calls that were refused have not been completed yet.
            if use.id in outcomes:
                await self._add_contents(moment.session, use, outcomes[use.id])
        return {}

    async def _add_contents(self, session: Session, use: ToolUse, outcome: Outcome) -> None:
        """Add arguments and result to an ended tool call, and end the span."""
        span = None if self._turn is None else self._turn.ended.pop(use.id, None)
        if span is not None:
            arguments = await session.hidden(use.arguments)
            span.set_attribute("gen_ai.tool.call.arguments", arguments)
            span.set_attribute("gen_ai.tool.call.result", outcome.text)
            span.end()

    async def _end(self, moment: Moment[Session], _how: Ended) -> None:
        """Prepare the answer for the span of the turn, if contents are on."""
        turn = moment.session.under_way
        if self._settings().traces.contents and turn is not None and self._turn is not None:
            self._answer = await moment.session.hidden(turn.answer)

    def _end_turn(self, turn: _OpenTurn, event: events.TurnFinished) -> None:
        turn.span.set_attributes(dict(attributes.turn_ends(event)))
        if event.ending == "failed":
            fail(turn.span, event.ending)
        if self._answer:
            answer = attributes.content_of("assistant", self._answer)
            turn.span.set_attribute("gen_ai.output.messages", answer)
        turn.close()
        self._turn = None

    async def _close(self) -> None:
        """Record the last verdicts, and send what waits."""
        if self._tracing is None or self._session is None:
            return
        await self._review(self._tracing, self._session)
        await self._tracing.flush()
