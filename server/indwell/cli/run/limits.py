"""Limits of one ``indwell run``: money, tokens, model calls and time, over all its prompts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import replace

import msgspec

from indwell.agent.core import events
from indwell.agent.core.session import Session
from indwell.cli import DONE, FAILED, LIMITED
from indwell.cli.run.grammar import RunLimits
from indwell.errors import UserError
from indwell.messages import Usage

_OPTIONS = {"budget_session": "--max-cost", "budget_turn_tokens": "--max-tokens"}
"""How a budget is called here, if it is the one of the command line that counts."""


class Limiting:
    """Keeps a session within limits.

    Raises:
        UserError: A limit of money, and the price is not known.
    """

    def __init__(self, session: Session, limits: RunLimits) -> None:
        parts = session.parts
        if limits.cost is not None and parts.cost(Usage(input=1, output=1)) is None:
            raise UserError(
                f"the price of {session.conversation.config.model!r} is not known, so --max-cost "
                "cannot be kept; set `price_in` and `price_out`, or say --max-tokens"
            )
        self._session, self._limits = session, limits
        self._budgets, self._round_limit = parts.budgets, parts.round_limit
        self._cost, self._usage = session.spent, session.usage
        self._n_rounds = 0

    def begin_turn(self) -> str:
        """Give the next turn what is left; why it may not begin, if nothing is."""
        limits, budgets = self._limits, self._budgets
        rounds = self._round_limit
        if limits.rounds is not None:
            rounds = min(rounds, limits.rounds - self._n_rounds)
            if rounds <= 0:
                return f"not begun: --max-rounds {limits.rounds} is used up"
        if limits.cost is not None:
            most = self._cost + limits.cost
            budgets = msgspec.structs.replace(budgets, session=_least(budgets.session, most))
        if limits.tokens is not None:
            used = _tokens(self._session.usage) - _tokens(self._usage)
            left = limits.tokens - used
            if left <= 0:
                return f"not begun: --max-tokens {limits.tokens:,} is used up"
            budgets = msgspec.structs.replace(
                budgets, turn_tokens=int(_least(budgets.turn_tokens, left))
            )
        self._session.parts = replace(self._session.parts, budgets=budgets, round_limit=rounds)
        return ""

    def end_turn(self, finished: events.TurnFinished) -> int:
        """Count it; gives the exit code that it means."""
        self._n_rounds += finished.rounds
        return code_of(finished)

    def worded(self, finished: events.TurnFinished) -> events.TurnFinished:
        """The end with the names of options, where these were the limit."""
        message = finished.message
        if finished.ending == "budget":
            given = {"--max-cost": self._limits.cost, "--max-tokens": self._limits.tokens}
            for name, option in _OPTIONS.items():
                if given[option] is not None:
                    message = message.replace(f"`{name}`", f"`{option}`").replace(name, option)
        elif finished.ending == "limit" and self._limits.rounds is not None:
            message = message.replace("`round_limit`", "`--max-rounds`")
        return msgspec.structs.replace(finished, message=message)


def code_of(finished: events.TurnFinished) -> int:
    """The exit code that the end of a turn means."""
    if finished.ending in {"limit", "budget"}:
        return LIMITED
    return DONE if finished.ending == "done" else FAILED


class Timed:
    """A listener that hears why a turn was stopped, where that was the time limit.

    Attributes:
        is_told: Was that said?
    """

    def __init__(self, view: events.Listener, clock: asyncio.Timeout, seconds: float) -> None:
        self.is_told = False
        self._view, self._clock, self._seconds = view, clock, seconds

    def __call__(self, event: events.Event) -> None:
        """Hand it on."""
        if isinstance(event, events.TurnFinished) and self._clock.expired():
            self.is_told = True
            words = f"stopped: the {self._seconds:g} s of --time-limit are over"
            event = msgspec.structs.replace(event, message=words)
        self._view(event)


async def within(
    seconds: float | None,
    view: events.Listener,
    work: Callable[[events.Listener, AsyncExitStack], Awaitable[int]],
    untold: events.TurnFinished,
) -> int:
    """The exit code of ``work``, which may take so long; what it leaves to its end is not counted.

    Args:
        seconds: None: it takes as long as it takes.
        view: Hears that the time is over.
        work: Given a listener, and a stack of what is to be done when it has ended.
        untold: Told, with that reason, if the time is over while no turn runs.
    """
    async with AsyncExitStack() as ending:
        if seconds is None:
            return await work(view, ending)
        clock = asyncio.timeout(seconds)
        timed = Timed(view, clock, seconds)
        try:
            async with clock:
                return await work(timed, ending)
        except TimeoutError:
            if not clock.expired():
                raise
        if not timed.is_told:
            timed(untold)
    return LIMITED


def _least(one: float | None, other: float) -> float:
    return other if one is None else min(one, other)


def _tokens(usage: Usage) -> int:
    return usage.input + usage.output
