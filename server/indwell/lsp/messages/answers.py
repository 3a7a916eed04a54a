"""Converts values of the agent and the session store to results of the protocol. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from indwell.agent.core.event_log import Missed
from indwell.agent.core.events import Event, TurnFinished
from indwell.agent.core.prompt import labels
from indwell.agent.core.session import Resumed
from indwell.context.task_state import Plan
from indwell.lsp.messages import methods as protocol
from indwell.lsp.messages import views
from indwell.lsp.messages.views import PlanResult
from indwell.messages import Usage
from indwell.providers.endpoint import LoginOutcome
from indwell.providers.offered_models import OfferedModel
from indwell.service.front_door import translated_event
from indwell.service.sessions.recorded_turns import RecordedTurn, events_of
from indwell.service.turns.queue import Queue, Ticket
from indwell.sessions.branches import plan_of, todo_of
from indwell.sessions.log_lines import LogReading
from indwell.sessions.overview import Overview, overview
from indwell.translation import ENGLISH, Translation

# the limit of characters for one text of an event; a screen shows far less
TEXT_CHARACTERS = 20_000
PAGE_LIMIT = 100  # the limit of sessions or turns in one answer
# the limit of characters for all events of one answer, which always has at least one turn
PAGE_CHARACTERS = 1_000_000


def started(ticket: Ticket) -> protocol.StartedResult:
    """Return the result for a turn that has begun, or for a queued prompt."""
    if ticket.session is None:
        return protocol.StartedResult(session=None, turn=None, queued=ticket.waiting.id)
    return protocol.StartedResult(session=ticket.session.id, turn=ticket.number, queued=None)


def turn_result(ticket: Ticket, finished: TurnFinished) -> protocol.TurnResult:
    """Return the result that says how a turn ended."""
    return protocol.TurnResult(
        session=ticket.session.id if ticket.session else None,
        turn=finished.turn,
        ending=finished.ending,
        message=finished.message,
        answer=finished.answer,
        draft=finished.draft,
        rounds=finished.rounds,
        usage=_usage(finished.usage, finished.cost),
        changes=tuple(
            views.FileResult(one.path, one.added, one.removed) for one in finished.changes
        ),
        verified=finished.verified,
    )


def queue_result(queue: Queue) -> views.QueueResult:
    """Return the result that describes the queue."""
    return views.QueueResult(
        queue.seq,
        queue.held,
        tuple(
            views.QueuedResult(
                one.id,
                one.prompt.title,
                one.prompt.words,
                one.target or one.home or None,
                labels(one.prompt),
            )
            for one in queue.waiting
        ),
    )


def sessions_result(
    found: Sequence[Overview], current: str | None, *, more: bool, tasks: Mapping[str, str]
) -> views.SessionsResult:
    """Return a page of the list of sessions; ``tasks`` has the task of a session, by its id."""
    rows = (
        views.SessionRow(
            id=one.id,
            at=one.at,
            model=one.model,
            title=one.title,
            preview=one.preview,
            turns=one.turns,
            usage=_usage(one.usage, one.cost),
            open=one.id == current,
            notices=one.notices,
            task=tasks.get(one.id, ""),
        )
        for one in found
    )
    return views.SessionsResult(tuple(rows), more)


def resume_result(resumed: Resumed) -> views.ResumeResult:
    """Return the result that describes a resumed session."""
    return views.ResumeResult(
        session=resumed.session.id,
        turns=resumed.session.turns,
        model=resumed.session.conversation.config.model,
        draft=resumed.draft,
        notices=resumed.notices,
    )


def session_result(
    session: str,
    reading: LogReading,
    *,
    before: int | None,
    limit: int,
    translation: Translation = ENGLISH,
) -> views.SessionResult:
    """Return a page of a session's turns: the last turns, or the turns before a given one. Slow."""
    turns = events_of(reading.records)
    wanted = [one for one in turns if before is None or one.turn < before]
    page = _newest(wanted, page_size(limit), translation)
    seen = overview(session, reading)
    return views.SessionResult(
        session=session,
        title=seen.title,
        at=seen.at,
        model=seen.model,
        total=len(turns),
        turns=page,
        more=len(wanted) > len(page),
        notices=reading.notices,
        todo=tuple(
            views.TodoRow(one.text, one.state, one.after) for one in todo_of(reading.records)
        ),
        plan=plan_result(plan) if (plan := plan_of(reading.records)).text else None,
    )


def plan_result(plan: Plan) -> PlanResult:
    """Return the result that describes a plan."""
    return PlanResult(plan.state, plan.text, plan.path)


def _newest(
    turns: Sequence[RecordedTurn], limit: int, translation: Translation
) -> tuple[views.TurnRow, ...]:
    """Return the newest turns, as many as fit into one answer."""
    size = 0
    found: list[views.TurnRow] = []
    for turn in reversed(turns[-limit:]):
        row, n_characters = _turn(turn, translation)
        size += n_characters
        if found and size > PAGE_CHARACTERS:
            break
        found.append(row)
    return tuple(reversed(found))


def _turn(turn: RecordedTurn, translation: Translation) -> tuple[views.TurnRow, int]:
    """Return a turn with its long texts cut, and the number of its characters."""
    size = cut = 0
    told: list[Event] = []
    for recorded in turn.events:
        event = translated_event(recorded, translation)
        texts = _texts(event)
        size += sum(min(len(text), TEXT_CHARACTERS) for text in texts.values())
        long = {name: text for name, text in texts.items() if len(text) > TEXT_CHARACTERS}
        cut += sum(len(text) - TEXT_CHARACTERS for text in long.values())
        kept = {name: text[:TEXT_CHARACTERS] for name, text in long.items()}
        told.append(msgspec.structs.replace(event, **kept) if kept else event)
    rows = tuple(map(protocol.event_json, told))
    return views.TurnRow(turn.turn, turn.at, turn.left, cut, rows), size


def _texts(event: Event) -> dict[str, str]:
    fields: dict[str, Any] = {name: getattr(event, name) for name in event.__struct_fields__}
    return {name: value for name, value in fields.items() if isinstance(value, str)}


def page_size(wanted: int) -> int:
    """Return the number of entries in an answer when ``wanted`` were requested."""
    return max(1, min(wanted, PAGE_LIMIT))


def models_result(offered: Sequence[OfferedModel], chosen: str) -> views.ModelsResult:
    """Return the result that lists the endpoint's models."""
    rows = (
        views.ModelRow(
            one.name, one.window, one.price_in, one.price_out, one.tools, one.name == chosen
        )
        for one in offered
    )
    return views.ModelsResult(tuple(rows))


def login_result(outcome: LoginOutcome) -> views.LoginResult:
    """Return the result that says how a login ended."""
    return views.LoginResult(
        ok=outcome.ok,
        model=outcome.model,
        message=outcome.message,
        steps=tuple(
            views.StepRow(one.name, one.state, one.sentence, one.fix) for one in outcome.steps
        ),
        notes=outcome.notes,
        models=tuple(one.name for one in outcome.offered),
        origin=outcome.origin,
    )


def events_result(session: str, missed: Missed, translation: Translation) -> views.EventsResult:
    """Return the result with the events that a client has missed."""
    return views.EventsResult(
        session=session,
        events=tuple(
            views.NumberedEvent(
                one.seq, protocol.event_json(translated_event(one.event, translation))
            )
            for one in missed.events
        ),
        next=missed.next,
        complete=missed.is_complete,
    )


def _usage(usage: Usage, cost: float | None) -> views.UsageResult:
    return views.UsageResult(usage.input, usage.cached, usage.output, cost)
