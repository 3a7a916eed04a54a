"""Checks budgets before a model call, then charges it to turn, session, day and log.

A sub-agent's calls are charged to the turn it works for, too. They must fit that turn's budgets,
in which the possible cost of its other running sub-agents counts as spent.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from indwell.agent.core import events
from indwell.agent.core.budget import Budgets, Ledger, Outlay, refusal
from indwell.agent.core.events import Listener
from indwell.agent.core.session import Session, TurnState
from indwell.context.request.cache_health import after_call
from indwell.errors import UserError
from indwell.messages import Usage
from indwell.sessions.records import Spent
from indwell.sessions.spending_lines import Reservation


class OverBudget(UserError):
    """The next model call could exceed a budget, so it was not made."""


@asynccontextmanager
async def leave(
    session: Session, turn: TurnState, usage: Usage, cost: float | None
) -> AsyncIterator[None]:
    """Reserve a call of ``usage`` within all budgets; raises ``OverBudget`` if it does not fit."""
    parts, helping = session.parts, session.helping
    held_cost = sum(dollars for _, dollars in turn.held)
    outlay = Outlay(
        turn=turn.spent + held_cost,
        session=session.spending.spent + held_cost,
        turn_tokens=turn.usage.input + turn.usage.output + sum(n for n, _ in turn.held),
    )
    hold = usage.input + usage.output, cost or 0.0
    async with allowance(parts.limits.budgets, outlay, usage, cost, parts.limits.ledger):
        turn.held.append(hold)
        try:
            if helping is None:
                yield
            else:
                async with leave(helping.session, helping.turn, usage, cost):
                    yield
        finally:
            turn.held.remove(hold)


@asynccontextmanager
async def allowance(
    budgets: Budgets, outlay: Outlay, usage: Usage, cost: float | None, ledger: Ledger
) -> AsyncIterator[None]:
    """Reserve the cost of a call made in this context; other processes count it as spent today.

    Args:
        budgets: The user's budgets.
        outlay: The spending of turn and session; its ``day`` is ignored.
        usage: The most that the call may use.
        cost: Its price in US dollars; None if the price is unknown.
        ledger: The spending of today.

    Raises:
        OverBudget: The call could exceed a budget; the message names it, with numbers.
    """
    why = refusal(msgspec.structs.replace(budgets, day=None), outlay, usage, cost)
    if why:
        raise OverBudget(why)
    if budgets.day is None or cost is None:
        yield
        return
    held = await ledger.hold(cost, budgets.day)
    if not isinstance(held, Reservation):
        outlay = msgspec.structs.replace(outlay, day=held)
        raise OverBudget(refusal(budgets, outlay, usage, cost))
    try:
        yield
    finally:
        ledger.release(held)  # after the call's cost was added, so that no moment counts neither


def charge(
    session: Session,
    turn: TurnState,
    emit: Listener,
    usage: Usage,
    *,
    model: str,
    cost: float | None,
    expected: int = 0,
    agent: str = "",
) -> None:
    """Charge a call of any model that this session makes.

    ``expected`` and ``agent`` are as in ``records.Spent``.
    """
    session.health = after_call(session.health, turn.number, usage, cost, expected=expected)
    turn.usage += usage
    session.spending.usage += usage
    turn.cost = _sum(turn.cost, cost)
    session.spending.cost = _sum(session.spending.cost, cost)
    turn.spent += cost or 0.0
    session.spending.spent += cost or 0.0
    at, helping = session.timestamp(), session.helping
    session.parts.log.append(
        Spent(
            turn.number,
            model,
            usage,
            cost,
            at,
            expected,
            agent,
            stands_in=session.parts.model.is_stand_in,
        )
    )
    if helping is not None:
        charge(
            helping.session,
            helping.turn,
            helping.emit,
            usage,
            model=model,
            cost=cost,
            expected=expected,
            agent=helping.name,
        )
        return
    if cost:
        session.parts.limits.ledger.add(cost)
    emit(events.UsageReported(turn.number, turn.rounds, usage, cost, turn.usage, turn.cost))


def _sum(before: float | None, cost: float | None) -> float | None:
    return None if before is None or cost is None else before + cost
