"""Creates the model that the settings name, with its provider, prices and budgets."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple

import msgspec

from indwell.agent.core.budget import Budgets
from indwell.agent.core.parts import (
    OtherModel,
    SessionModel,
    holds_nothing,
    no_other_model,
)
from indwell.context.compaction.step import TokenRates
from indwell.errors import SettingsError
from indwell.messages import Effort, Usage, Verbosity
from indwell.providers.base import Provider
from indwell.providers.pricing import Prices
from indwell.providers.wires.dialect import Dialect
from indwell.service.stored_keys import key_store, with_stored_key
from indwell.settings.credentials import Secret
from indwell.settings.load import lacking
from indwell.settings.model import Settings
from indwell.settings.paths import user_file


def budgets_of(settings: Settings) -> Budgets:
    """The limits of money and tokens in the settings."""
    return Budgets(
        turn=settings.budget_turn,
        session=settings.budget_session,
        day=settings.budget_day,
        turn_tokens=settings.budget_turn_tokens,
    )


def unkept(budgets: Budgets, model: str, cost: Callable[[Usage], float | None]) -> str:
    """A notice that budgets of money cannot be kept, if the price is unknown; else empty."""
    if budgets.counts(cost):
        return ""
    return (
        f"the price of {model!r} is not known, so budgets in dollars cannot be kept; set "
        "`price_in` and `price_out`, or `budget_turn_tokens`"
    )


SCRIPTED_WINDOW = 64_000  # tokens; the scripted model has no limit of its own


class Model(NamedTuple):
    """A model that is ready to be called, and what is known about it.

    ``notice`` tells the user what is not known. ``hang_up`` closes the connections. ``pictures``
    says whether the model takes pictures. ``rates`` are its prices, or their usual ratios.
    ``small`` may write summaries, ``key`` is sent to the endpoint, and ``other`` returns another
    model of the same endpoint by its name. ``effort`` and ``verbosity`` are as in the settings.
    """

    provider: Provider
    name: str
    window: int
    max_output: int
    cost: Callable[[Usage], float | None]
    notice: str = ""
    hang_up: Callable[[], Awaitable[None]] = holds_nothing
    pictures: bool = False
    rates: TokenRates = TokenRates()
    small: OtherModel | None = None
    key: Secret | None = None
    effort: Effort = ""
    verbosity: Verbosity = ""
    other: Callable[[str], OtherModel | None] = no_other_model


class NoModel(SettingsError):
    """No model has been chosen yet."""


def make_model(settings: Settings, *, pace_s: float = 0.0) -> Model:
    """Create the model that the settings name.

    Raises:
        UserError: No model is chosen, or its key is missing; the message says what to do.
    """
    if settings.provider == "scripted":
        from indwell.providers.scripted import DEMO_MODEL, ScriptedProvider, demo_reply

        provider: Provider = ScriptedProvider(demo_reply, pace_s=pace_s)
        return Model(provider, DEMO_MODEL, SCRIPTED_WINDOW, 4_096, lambda _usage: 0.0)
    if not settings.model:  # before the keyring asks for its password
        raise NoModel(lacking(settings, str(user_file())))
    settings = with_stored_key(settings, key_store())
    problem = lacking(settings, str(user_file()))
    if problem:
        raise SettingsError(problem)
    return _endpoint_model(settings)


def _endpoint_model(settings: Settings) -> Model:
    from indwell.providers.client import EndpointClient
    from indwell.providers.facts import facts_for
    from indwell.providers.pricing import OwnRates, cost, overridden
    from indwell.providers.retry import Retrying

    facts = facts_for(settings.model, settings.base_url, now=datetime.now(UTC))
    own = OwnRates(
        settings.price_in, settings.price_out, settings.price_cached, settings.price_cache_write
    )
    prices = overridden(facts.prices, own)
    window = settings.window or facts.window
    key = settings.api_key.reveal() if settings.api_key else None
    chat = EndpointClient(
        base_url=settings.base_url,
        api_key=key,
        timeout_s=settings.stall_timeout_s,
        dialect=partial(_dialect, settings),
        keeps_wire=settings.wire != "auto",
    )
    notice = ""
    if not facts.known and settings.window is None:
        notice = (
            f"the window of {settings.model!r} is not known; {window:,} tokens are assumed, and "
            "`window` in the settings says otherwise"
        )
    return Model(
        Retrying(chat),
        settings.model,
        window,
        _max_output(settings, settings.model, window, facts.output_limit),
        partial(cost, prices=prices),
        notice,
        chat.aclose,
        facts.images is True if settings.pictures is None else settings.pictures,
        _rates(prices),
        _other_model(settings, settings.small_model, Retrying(chat)),
        settings.api_key,
        settings.effort,
        settings.verbosity,
        lambda name: _other_model(settings, name, Retrying(chat)),
    )


def _dialect(settings: Settings, model: str) -> Dialect:
    """Return the dialect of a model at the endpoint of the settings."""
    from indwell.providers.quirks import dialect_for

    dialect = dialect_for(settings.base_url, model)
    if settings.wire not in {"auto", dialect.wire}:
        dialect = msgspec.structs.replace(
            dialect, wire=settings.wire, cache_marks=settings.wire == "messages"
        )
    if settings.cache_marks:
        dialect = msgspec.structs.replace(dialect, cache_marks=True)
    return dialect


THINKING = 24_000  # tokens; with the default of `max_output` what makers of models advise


def _max_output(settings: Settings, model: str, window: int, limit: int | None) -> int:
    """Return the tokens that a reply may have, with its thinking: at most a quarter of the window.

    Args:
        settings: The settings.
        model: The endpoint's name of the model.
        window: Tokens of the model's window.
        limit: The model's own limit; None if unknown.
    """
    from indwell.providers.wires.messages import thinks

    wire = _dialect(settings, model).wire
    is_long = wire == "responses" or (wire == "messages" and thinks(model) == "adaptive")
    wanted = settings.max_output + (THINKING if is_long else 0)
    return min(wanted, window // 4, limit or wanted)


def _other_model(settings: Settings, name: str, provider: Provider) -> OtherModel | None:
    """Another model, at the same endpoint and through the same connections."""
    from indwell.providers.facts import facts_for
    from indwell.providers.pricing import cost

    if not name or name == settings.model:
        return None
    facts = facts_for(name, settings.base_url, now=datetime.now(UTC))
    return OtherModel(
        provider,
        name,
        facts.window,
        _max_output(settings, name, facts.window, facts.output_limit),
        partial(cost, prices=facts.prices),
        _rates(facts.prices),
        facts.images is True,
    )


def _rates(prices: Prices | None) -> TokenRates:
    if prices is None:
        return TokenRates()
    one = prices.rates
    return TokenRates(one.input, one.cached, one.cache_write, one.output)


def session_model(model: Model) -> SessionModel:
    """The model as the part of a session."""
    return SessionModel(
        model.provider, model.cost, model.rates, model.small, model.other, model.hang_up
    )
