"""Values of the agent and the store as results of the protocol. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from indwell.agent.core.events import TurnFinished
from indwell.agent.core.prompt import labels
from indwell.agent.features.subagents.naming import NAME, subject_of
from indwell.agent.restore.resume import Resumed
from indwell.context.plan import Plan
from indwell.lsp.messages import methods as protocol
from indwell.lsp.messages import views
from indwell.lsp.messages.views import InnerRow, PieceRow, PlanResult
from indwell.messages import Usage
from indwell.providers.endpoint import LoginOutcome
from indwell.providers.models import OfferedModel
from indwell.service.turns.event_log import Missed
from indwell.service.turns.queue import Queue, Ticket
from indwell.sessions.branches import plan_of, todo_of
from indwell.sessions.log_lines import LogReading
from indwell.sessions.overview import Overview, overview
from indwell.sessions.transcript import InnerCall, TranscriptPiece, TurnView, transcript

TEXT_CHARACTERS = 20_000  # of one piece of a session; a screen shows far less
PAGE_LIMIT = 100  # sessions or turns of one answer
PAGE_CHARACTERS = 1_000_000  # of all pieces of one answer; it always has one turn


def started(ticket: Ticket) -> protocol.StartedResult:
    """A turn that has begun, or a prompt that waits."""
    if ticket.session is None:
        return protocol.StartedResult(session=None, turn=None, queued=ticket.waiting.id)
    return protocol.StartedResult(session=ticket.session.id, turn=ticket.number, queued=None)


def turn_result(ticket: Ticket, finished: TurnFinished) -> protocol.TurnResult:
    """How a turn ended."""
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
    """What waits."""
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
    found: Sequence[Overview], current: str | None, *, more: bool
) -> views.SessionsResult:
    """A page of the list of sessions."""
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
        )
        for one in found
    )
    return views.SessionsResult(tuple(rows), more)


def resume_result(resumed: Resumed) -> views.ResumeResult:
    """A session that was taken up."""
    return views.ResumeResult(
        session=resumed.session.id,
        turns=resumed.session.turns,
        model=resumed.session.conversation.config.model,
        draft=resumed.draft,
        notices=resumed.notices,
    )


def session_result(
    session: str, reading: LogReading, *, before: int | None, limit: int
) -> views.SessionResult:
    """A page of a session's turns: the last ones, or those before a turn; takes a while."""
    turns = transcript(reading.records)
    wanted = [_turn(one) for one in turns if before is None or one.turn < before]
    page = _newest(wanted, page_size(limit))
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
    """A plan, and where it stands."""
    return PlanResult(plan.state, plan.text, plan.path)


def _newest(turns: Sequence[views.TurnRow], limit: int) -> tuple[views.TurnRow, ...]:
    """The last turns, as many as one answer holds."""
    size = 0
    found: list[views.TurnRow] = []
    for turn in reversed(turns[-limit:]):
        size += sum(map(_size, turn.pieces))
        if found and size > PAGE_CHARACTERS:
            break
        found.append(turn)
    return tuple(reversed(found))


def _size(piece: PieceRow) -> int:
    inner = sum(len(one.message) + len(one.diff) for one in piece.inner)
    return len(piece.text) + len(piece.arguments) + len(piece.diff) + inner


def page_size(wanted: int) -> int:
    """How many entries an answer has when ``wanted`` were asked for."""
    return max(1, min(wanted, PAGE_LIMIT))


def models_result(offered: Sequence[OfferedModel], chosen: str) -> views.ModelsResult:
    """What the endpoint offers."""
    rows = (
        views.ModelRow(
            one.name, one.window, one.price_in, one.price_out, one.tools, one.name == chosen
        )
        for one in offered
    )
    return views.ModelsResult(tuple(rows))


def login_result(outcome: LoginOutcome) -> views.LoginResult:
    """How a login ended."""
    return views.LoginResult(
        ok=outcome.ok,
        model=outcome.model,
        message=outcome.message,
        steps=tuple(
            views.StepRow(one.name, one.state, one.sentence, one.mend) for one in outcome.steps
        ),
        notes=outcome.notes,
        models=tuple(one.name for one in outcome.offered),
        origin=outcome.origin,
    )


def events_result(session: str, missed: Missed) -> views.EventsResult:
    """Events that a client did not see."""
    return views.EventsResult(
        session=session,
        events=tuple(
            views.NumberedEvent(one.seq, protocol.event_json(one.event)) for one in missed.events
        ),
        next=missed.next,
        complete=missed.is_complete,
    )


def _usage(usage: Usage, cost: float | None) -> views.UsageResult:
    return views.UsageResult(usage.input, usage.cached, usage.output, cost)


def _turn(turn: TurnView) -> views.TurnRow:
    return views.TurnRow(
        turn=turn.turn,
        at=turn.at,
        ending=turn.ending,
        message=turn.message,
        usage=_usage(turn.usage, turn.cost),
        pieces=tuple(map(_piece, turn.pieces)),
        left=turn.left,
        title=turn.title,
        attached=turn.attached,
        mode=turn.mode,
        seconds=turn.seconds,
        changes=tuple(views.FileResult(one.path, one.added, one.removed) for one in turn.changes),
    )


def _piece(piece: TranscriptPiece) -> PieceRow:
    # The log has the target of a call from its end on; a sub-agent at work shows its task.
    begun = subject_of(piece.arguments) if piece.source == NAME else ""
    whole = (piece.text, piece.arguments, piece.target or begun, piece.diff)
    text, arguments, target, diff = (one[:TEXT_CHARACTERS] for one in whole)
    return PieceRow(
        kind=piece.kind,
        text=text,
        source=piece.source,
        id=piece.id,
        arguments=arguments,
        error=piece.is_error,
        answered=piece.is_answered,
        cut=sum(map(len, whole)) - len(text) - len(arguments) - len(target) - len(diff),
        target=target,
        figure=piece.figure,
        seconds=piece.seconds,
        diff=diff,
        inner=tuple(map(_inner, piece.inner)),
    )


def _inner(call: InnerCall) -> InnerRow:
    whole = (call.target, call.diff)
    target, diff = (one[:TEXT_CHARACTERS] for one in whole)
    return InnerRow(
        id=call.id,
        name=call.tool,
        target=target,
        error=bool(call.failed),
        figure=call.figure,
        seconds=call.seconds,
        message=call.failed,
        diff=diff,
        ended=call.is_ended,
        cut=sum(map(len, whole)) - len(target) - len(diff),
    )
