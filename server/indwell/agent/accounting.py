"""Charges what a model call took: to the turn, the session, the day and the log; and asks first."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from indwell.agent import events
from indwell.agent.allowance import allowance
from indwell.agent.budget import Outlay
from indwell.agent.events import Listener
from indwell.agent.session import Session
from indwell.agent.turn_state import TurnState
from indwell.context.health import after_call
from indwell.messages import Usage
from indwell.sessions.records import Spent


def leave(
    session: Session, turn: TurnState, usage: Usage, cost: float | None
) -> AbstractAsyncContextManager[None]:
    """The budgets' leave for a call of ``usage``; raises ``OverBudget`` if it does not fit them."""
    parts = session.parts
    tokens = turn.usage.input + turn.usage.output
    outlay = Outlay(turn=turn.cost, session=session.cost, turn_tokens=tokens)
    return allowance(parts.budgets, outlay, usage, cost, parts.ledger)


def charge(
    session: Session,
    turn: TurnState,
    emit: Listener,
    usage: Usage,
    *,
    model: str,
    cost: float | None,
    expected: int = 0,
) -> None:
    """Count a call of any model that this session makes; ``expected`` as in ``records.Spent``."""
    session.health = after_call(session.health, turn.number, usage, cost, expected=expected)
    turn.usage += usage
    session.usage += usage
    turn.cost = _sum(turn.cost, cost)
    session.cost = _sum(session.cost, cost)
    if cost:
        session.parts.ledger.add(cost)
    session.parts.log.append(Spent(turn.number, model, usage, cost, session.timestamp(), expected))
    emit(events.UsageReported(turn.number, turn.rounds, usage, cost, turn.usage, turn.cost))


def _sum(before: float | None, cost: float | None) -> float | None:
    return None if before is None or cost is None else before + cost
