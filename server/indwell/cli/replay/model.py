"""Writes summaries for ``indwell replay --model`` with a model, as in a real session.

``agent.compaction.summary`` sends the requests, with the limits and checks of a session. Each
request contains only the part to summarise, because no cache holds a replayed conversation.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from indwell.agent.compaction.summary import summary_step
from indwell.agent.core.events import usage_words
from indwell.agent.core.session import Session, TurnState
from indwell.agent.core.session_parts import OtherModel
from indwell.cli.terminal.front_door import AllowingApprover
from indwell.cli.terminal.output import cost_words
from indwell.cli.terminal.telling import tell
from indwell.context.compaction.digesting.transcript_index import TranscriptIndex
from indwell.context.compaction.presets import Preset
from indwell.context.compaction.step import CompactionFacts, SummarySpan, TokenRates
from indwell.context.conversation import Conversation
from indwell.errors import NobodyThere, NotAuthorised, OutOfCredit, Unreachable
from indwell.files.private import NOWHERE
from indwell.messages import Reply, Request, Usage
from indwell.providers.base import Provider, StreamEvent
from indwell.replay.replayed_conversation import Summarise, WrittenSummary
from indwell.service.endpoint.model_list import facts_of
from indwell.service.user_settings import read_settings
from indwell.sessions.storage.writer import MemoryLog
from indwell.settings.endpoints import in_force, split_name
from indwell.settings.model import Settings
from indwell.wiring.compose import SessionPlace, make_session
from indwell.wiring.model import Model, make_model
from indwell.workspace.disk import DiskWorkspace

_HOPELESS = (Unreachable, NotAuthorised, OutOfCredit)
# The end of a note by ``agent.compaction.summary`` about a summary without a model.
_TROUBLE = ", without a model ("


@contextmanager
def model_summaries(name: str) -> Iterator[Summarise]:
    """Yield a function that summarises with the model ``name``; use it in the main thread.

    Raises:
        UserError: There is no endpoint or no key.
    """
    loaded = read_settings(os.environ)
    settings = msgspec.structs.replace(loaded.settings, model=name)
    model = make_model(settings)
    for notice in filter(None, (*loaded.notices, model.notice)):
        tell(notice, file=sys.stderr)
    session = _session(settings, model)
    with asyncio.Runner() as runner:
        asking = _Asking(session, model, runner)
        try:
            yield asking
        finally:
            runner.run(session.close())
            if asking.n_calls:
                tell(f"summaries by {name}: {_spent(session, asking.n_calls)}", file=sys.stderr)


def _spent(session: Session, n_calls: int) -> str:
    calls = "1 call" if n_calls == 1 else f"{n_calls:,} calls"
    return f"{calls}, {usage_words(session.spending.usage)}, {cost_words(session.spending.cost)}"


class _Asking:
    """Summarises with a model, one request at a time; implements ``Summarise``."""

    def __init__(self, session: Session, model: Model, runner: asyncio.Runner) -> None:
        self._session, self._model, self._runner = session, model, runner
        self._watched = _Watched(model.provider)
        small = session.parts.model.small
        assert small is not None
        self._small = small._replace(provider=self._watched)

    @property
    def n_calls(self) -> int:
        """The number of requests that were answered."""
        return self._watched.n_calls

    def __call__(
        self,
        conversation: Conversation,
        plan: SummarySpan,
        facts: CompactionFacts,
        preset: Preset,
        index: TranscriptIndex,
    ) -> WrittenSummary:
        session, model = self._session, self._model
        config = msgspec.structs.replace(conversation.config, model=model.name)
        session.conversation = msgspec.structs.replace(conversation, config=config)
        session.shortening.index = index
        parts = session.parts
        session.parts = replace(
            parts,
            compaction=replace(parts.compaction, preset=preset),
            model=replace(parts.model, small=self._small),
        )
        facts = msgspec.structs.replace(
            facts, rates=model.rates, small=model.rates, is_cached=False
        )
        before = session.spending.usage
        turn = TurnState(1, "", "")
        step = self._runner.run(summary_step(session, turn, plan, facts, lambda _event: None))
        if self._watched.hopeless:
            raise NobodyThere(f"{model.name!r} cannot write summaries: {self._watched.hopeless}")
        trouble = step.note.partition(_TROUBLE)[2].removesuffix(")")
        return WrittenSummary(step, price(before, session.spending.usage, model.rates), trouble)


class _Watched:
    """Forwards to a provider, and remembers a failure that would repeat for every summary."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        self.hopeless, self.n_calls = "", 0

    async def complete(self, request: Request, on_event: Callable[[StreamEvent], None]) -> Reply:
        """Forward the request to the provider."""
        try:
            reply = await self._provider.complete(request, on_event)
        except _HOPELESS as error:
            self.hopeless = str(error)
            raise
        self.n_calls += 1
        return reply


def price(before: Usage, after: Usage, rates: TokenRates) -> float:
    """Return the cost of the calls between two usage totals, multiplied by a million."""
    cached = after.cached - before.cached
    written = after.cache_write - before.cache_write
    plain = after.input - before.input - cached - written
    output = after.output - before.output
    return (
        plain * rates.input
        + cached * rates.cached
        + written * rates.cache_write
        + output * rates.output
    )


def listed_rates(name: str, *, anywhere: bool = False) -> tuple[TokenRates, str] | None:
    """Return a model's prices in US dollars per million tokens, and their source.

    The user's settings override the prices of the endpoint.

    Args:
        name: The model.
        anywhere: Whether the prices of any other endpoint may be used.
    """
    from indwell.providers.facts import prices_anywhere
    from indwell.providers.pricing import OwnRates, overridden

    now, settings = datetime.now(UTC), read_settings(os.environ).settings
    is_main = name == settings.model or bool(split_name(name, settings.endpoints)[1])
    settings = in_force(settings, name)  # the user's prices for an endpoint apply to its models
    prices, whose = facts_of(settings).prices, "at your endpoint"
    own = OwnRates(
        settings.price_in, settings.price_out, settings.price_cached, settings.price_cache_write
    )
    if is_main and own != OwnRates():
        prices, whose = overridden(prices, own), "by your settings"
    if prices is None and anywhere and (found := prices_anywhere(name, now=now)):
        prices, whose = found[0], f"at {found[1]}, not your endpoint"
    if prices is None:
        return None
    one = prices.rates
    return TokenRates(one.input, one.cached, one.cache_write, one.output), f"{name} costs {whose}"


def _session(settings: Settings, model: Model) -> Session:
    """Return a session for writing summaries, which has no turns and is never saved."""
    place = SessionPlace("replay", MemoryLog(), NOWHERE)
    session = make_session(
        place,
        DiskWorkspace([Path.cwd()]),
        AllowingApprover(),
        lambda: settings,
        model,
        environment=os.environ,
    )
    small = OtherModel(
        model.provider, model.name, model.window, model.max_output, model.cost, model.rates
    )
    session.parts = replace(session.parts, model=replace(session.parts.model, small=small))
    return session
