"""Creates the model that the settings name, with its provider, prices and budgets."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from indwell.agent.core.budget import Budgets
from indwell.agent.core.session_parts import (
    OtherModel,
    holds_nothing,
    no_other_model,
)
from indwell.context.compaction.step import TokenRates
from indwell.errors import SettingsError
from indwell.messages import CacheLife, Effort, Usage, Verbosity
from indwell.providers.base import EditorModel, Provider
from indwell.providers.catalogue import SMALL, is_local_model, size_in_name
from indwell.providers.endpoint import LEAST_SECRET
from indwell.providers.pricing import Prices
from indwell.providers.wires.dialect import Dialect, WireName
from indwell.service.endpoint.editor_models import NO_EDITOR, EditorModels
from indwell.service.endpoint.learned_wires import keep_wire, learned_wire
from indwell.service.endpoint.model_list import ask_for_facts, facts_of
from indwell.service.stored_keys import extras_of, key_store, with_stored_key
from indwell.settings.credentials import origin_of
from indwell.settings.endpoints import EDITOR, in_force, is_editors, split_name
from indwell.settings.load import lacking
from indwell.settings.model import Settings
from indwell.settings.paths import state_folder, user_file

if TYPE_CHECKING:
    # The import comes late, because it takes a third of a second.
    from indwell.providers.facts import ModelFacts


def budgets_of(settings: Settings) -> Budgets:
    """Return the limits of money and tokens in the settings."""
    return Budgets(
        turn=settings.budget_turn,
        session=settings.budget_session,
        day=settings.budget_day,
        turn_tokens=settings.budget_turn_tokens,
    )


def unkept(budgets: Budgets, model: str, cost: Callable[[Usage], float | None]) -> str:
    """Return a notice if an unknown price makes money limits uncheckable, or an empty text."""
    if budgets.counts(cost):
        return ""
    return (
        f"the price of {model!r} is not known, so budgets in dollars cannot be enforced; set "
        "`price_in` and `price_out`, or `budget_turn_tokens`"
    )


SCRIPTED_WINDOW = 64_000  # The scripted model has no limit of its own, in tokens.


class Model(NamedTuple):
    """A model that is ready to be called, and what is known about the model.

    ``notice`` informs the user about an assumed window or an unknown price. ``hang_up`` closes the
    connections. ``pictures`` says whether the model accepts pictures. ``rates`` are the prices, or
    usual ratios of prices. ``small`` may write summaries, ``secrets`` are sent to the endpoints,
    and ``other`` returns another model by its name. ``fallback`` creates the model that continues
    if this model is down. ``effort`` and ``verbosity`` are as in the settings. ``lean`` is the
    reason for a short system prompt, or empty for the full prompt. ``cache_life`` is the value in
    the settings, if the endpoint accepts a lifetime for its cache.
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
    secrets: tuple[str, ...] = ()
    effort: Effort = ""
    verbosity: Verbosity = ""
    other: Callable[[str], OtherModel | None] = no_other_model
    fallback: Callable[[], Model] | None = None
    lean: str = ""
    cache_life: CacheLife = ""


class NoModel(SettingsError):
    """The user has not chosen a model yet."""


def uses_editor(settings: Settings) -> bool:
    """Return whether the settings name a model of the editor's own."""
    named = (settings.model, settings.small_model, settings.agent_model, settings.fallback)
    return any(map(is_editors, named))


def make_model(
    settings: Settings, *, pace_s: float = 0.0, editor: EditorModels = NO_EDITOR
) -> Model:
    """Create the model that the settings name.

    Args:
        settings: The user's settings.
        pace_s: Seconds between two parts of the scripted model's text.
        editor: The models that the editor has reported.

    Raises:
        UserError: No model is chosen, or its key is missing; the message says what to do.
    """
    if settings.provider == "scripted":
        from indwell.providers.scripted import DEMO_MODEL, ScriptedProvider, demo_reply

        provider: Provider = ScriptedProvider(demo_reply, pace_s=pace_s)
        return Model(provider, DEMO_MODEL, SCRIPTED_WINDOW, 4_096, lambda _usage: 0.0)
    if not settings.model:  # The name is checked before the keyring asks for its password.
        raise NoModel(lacking(settings, str(user_file())))
    main = with_stored_key(settings, key_store())
    problem = lacking(main, str(user_file()))
    if problem:
        raise SettingsError(problem)
    if is_editors(main.model):
        main = _with_told(main, editor.check(main.model))
    return _endpoint_model(settings, main, editor)


def _with_told(settings: Settings, told: EditorModel | None) -> Settings:
    """Return the settings of an editor's model, with the values that the editor reports."""
    window = told.window if told is not None else None
    return msgspec.structs.replace(
        settings,
        window=window or EDITORS_WINDOW,
        pictures=told is not None and told.pictures is True,
    )


EDITORS_WINDOW = 64_000  # The smallest context window of the editor's models has this many tokens.


def _endpoint_model(settings: Settings, main: Settings, editor: EditorModels) -> Model:
    from indwell.providers.pricing import cost

    endpoints = _Endpoints(settings, main, editor)
    ask_for_facts((main, *_others(endpoints, main)))
    facts = facts_of(main)
    window = main.window or facts.window
    prices = _prices(main, facts)
    notice = ""
    if not facts.known and main.window is None:
        notice = (
            f"the window of {main.model!r} is not known; {window:,} tokens are assumed; set "
            "`window` in the settings to change that"
        )
    small = _other_model(endpoints, main, settings.small_model)
    has_hours = main.cache_life == "1h" and dialect_of(main, main.model).cache_hours
    life: CacheLife = "1h" if has_hours else ""
    return Model(
        endpoints.provider(main),
        main.model,
        window,
        _max_output(main, window, facts.output_limit),
        partial(cost, prices=prices),
        notice,
        endpoints.hang_up,
        facts.images is True if main.pictures is None else main.pictures,
        _rates(prices, life),
        small,
        endpoints.secrets,
        main.effort,
        main.verbosity,
        lambda name: _other_model(endpoints, main, name),
        partial(_fallback, settings, main.fallback, editor) if main.fallback else None,
        why_lean(main, window),
        life,
    )


LEAN_BELOW = 16_000  # The unit is tokens of a context window.


def why_lean(settings: Settings, window: int | None, size: float | None = None) -> str:
    """Return why the model gets a short prompt in a new session, or empty for the full prompt.

    Args:
        settings: The settings of the model's endpoint.
        window: Tokens of the model's window, if they are known.
        size: Billions of parameters as reported by the endpoint; None to guess from the name.
    """
    if settings.profile != "auto":
        return "your settings say so" if settings.profile == "lean" else ""
    if window is not None and window < LEAN_BELOW:
        return f"its window has {window:,} tokens"
    size = size or size_in_name(
        settings.counts_as or split_name(settings.model, settings.endpoints)[0]
    )
    if size is None or size >= SMALL:
        return ""
    return f"it has {size:g} billion parameters"


def _others(endpoints: _Endpoints, main: Settings) -> Iterator[Settings]:
    """Yield the settings of other models than the main one that a session may use."""
    for name in {main.small_model, main.agent_model} - {"", main.model}:
        with suppress(SettingsError):  # An error is reported where the model is used.
            yield _settings_of_other(endpoints, main, name)


def _fallback(settings: Settings, name: str, editor: EditorModels) -> Model:
    """Create the model that continues in place of another model, without a further fallback.

    Raises:
        SettingsError: The model's endpoint is unknown, or its key cannot be read.
    """
    model = make_model(msgspec.structs.replace(settings, model=name), editor=editor)
    return model._replace(fallback=None)


class _Endpoints:
    """The clients of one session's endpoints; models at the same endpoint share connections.

    Args:
        settings: The user's settings.
        main: The settings of the main model's endpoint, with its key.
        editor: The models of the editor.
    """

    def __init__(self, settings: Settings, main: Settings, editor: EditorModels) -> None:
        self._settings = settings
        self._main = main
        self._editor = editor
        self._clients: dict[str, tuple[Provider, Callable[[], Awaitable[None]]]] = {}
        self._known: dict[str, Settings] = {main.model: main}

    def settings_of(self, model: str) -> Settings:
        """Return the settings of a model's endpoint, with its key.

        Raises:
            SettingsError: The endpoint is unknown, or its key cannot be read.
        """
        if model not in self._known:
            found = in_force(self._settings, model)
            is_same = origin_of(found.base_url) == origin_of(self._main.base_url)
            if is_same and found.api_key is None:  # The keyring is asked only once.
                found = msgspec.structs.replace(found, api_key=self._main.api_key)
            else:
                found = with_stored_key(found, key_store())
            if is_editors(model):
                found = _with_told(found, self._editor.find(model))
            self._known[model] = found
        return self._known[model]

    def provider(self, settings: Settings) -> Provider:
        """Return the client of the endpoint of these settings."""
        endpoint = endpoint_of(settings)
        if endpoint not in self._clients:
            self._clients[endpoint] = (
                _editor_client(settings, self._editor) if endpoint == EDITOR else _client(settings)
            )
        return self._clients[endpoint][0]

    async def hang_up(self) -> None:
        """Close the connections of all clients."""
        clients, self._clients = self._clients, {}
        for _, close in clients.values():
            await close()

    @property
    def secrets(self) -> tuple[str, ...]:
        """Keys and values of headers, which must never appear in a text."""
        found = (
            (*((one.api_key,) if one.api_key else ()), *one.headers.values())
            for one in self._known.values()
        )
        return tuple(
            dict.fromkeys(
                secret.reveal()
                for secrets in found
                for secret in secrets
                if len(secret.reveal()) >= LEAST_SECRET
            )
        )


def endpoint_of(settings: Settings) -> str:
    """Return the name of the model's endpoint, or an empty text for the unnamed endpoint."""
    return split_name(settings.model, settings.endpoints)[1]


def _prices(settings: Settings, facts: ModelFacts) -> Prices | None:
    from indwell.providers.pricing import OwnRates, overridden

    own = OwnRates(
        settings.price_in, settings.price_out, settings.price_cached, settings.price_cache_write
    )
    return overridden(facts.prices, own)


def _client(settings: Settings) -> tuple[Provider, Callable[[], Awaitable[None]]]:
    """Return a client of the endpoint of the settings, and a function that closes the client."""
    from indwell.providers.client import EndpointClient
    from indwell.providers.retry import Retrying

    client = EndpointClient(
        base_url=settings.base_url,
        api_key=settings.api_key.reveal() if settings.api_key else None,
        timeout_s=settings.stall_timeout_s,
        first_s=settings.first_token_timeout_s or _first_s(settings),
        dialect=partial(dialect_of, settings),
        extras=extras_of(settings),
        keeps_wire=settings.wire != "auto",
        on_wire=partial(_keep_wire, settings),
    )
    return Retrying(client), client.aclose


def _keep_wire(settings: Settings, model: str, wire: WireName | None) -> None:
    with suppress(SettingsError):  # Without a state folder, nothing is stored.
        keep_wire(state_folder(os.environ), settings.base_url, model, wire)


def _editor_client(
    settings: Settings, editor: EditorModels
) -> tuple[Provider, Callable[[], Awaitable[None]]]:
    """Return a client of the editor's own models, which uses the editor's connection.

    Raises:
        SettingsError: The editor offers no models.
    """
    from indwell.providers.retry import Retrying
    from indwell.service.endpoint.editor_client import EditorClient

    client = EditorClient(
        editor.need_connection(settings.model),
        timeout_s=settings.stall_timeout_s,
        first_s=settings.first_token_timeout_s or FIRST_S,
        dialect=partial(dialect_of, settings),
    )
    return Retrying(client), holds_nothing


FIRST_S = 300.0  # Reasoning models send nothing before they have finished reasoning.


def _first_s(settings: Settings) -> float | None:
    """Return the seconds until a reply must begin, or None for a local model."""
    return None if is_local_model(settings.base_url) else FIRST_S


LOCAL_TEMPERATURE = 0.2  # Servers on this machine have a higher default, such as 0.8 in llama.cpp.


def dialect_of(settings: Settings, model: str) -> Dialect:
    """Return the dialect of a model at the endpoint of the settings."""
    from indwell.providers.quirks import dialect_for
    from indwell.providers.wires.dialect import fields_text

    name, _ = split_name(model, settings.endpoints)
    counts_as = settings.counts_as if model == settings.model else ""
    if is_editors(model):
        return Dialect(wire="editor", name=name)
    dialect = dialect_for(settings.base_url, counts_as.rpartition("/")[2] or name)
    wire = settings.wire if settings.wire != "auto" else _learned_wire(settings, model)
    if wire not in {None, dialect.wire}:
        has_marks = wire == "messages"
        dialect = msgspec.structs.replace(
            dialect, wire=wire, cache_marks=has_marks, cache_hours=has_marks
        )
    if settings.cache_marks:  # Only the user knows whether the endpoint accepts hours.
        has_hours = dialect.cache_hours or settings.cache_life == "1h"
        dialect = msgspec.structs.replace(dialect, cache_marks=True, cache_hours=has_hours)
    return msgspec.structs.replace(
        dialect,
        name=name if name != model else "",
        counts_as=counts_as,
        fields=fields_text(_fields(settings)),
    )


def _learned_wire(settings: Settings, model: str) -> WireName | None:
    try:
        return learned_wire(state_folder(os.environ), settings.base_url, model)
    except SettingsError:  # An error is reported when a session starts.
        return None


def _fields(settings: Settings) -> dict[str, object]:
    """Return the user's additional fields for the body of each request."""
    temperature = settings.temperature
    if temperature is None and is_local_model(settings.base_url):
        temperature = LOCAL_TEMPERATURE
    sampling = {"temperature": temperature, "top_p": settings.top_p, "seed": settings.seed}
    given = {name: value for name, value in sampling.items() if value is not None}
    return {**given, **settings.extra_body}


# With the default of `max_output`, the sum in tokens is what makers of models recommend.
THINKING = 24_000


def _max_output(settings: Settings, window: int, limit: int | None) -> int:
    """Return the limit of tokens of a reply with its reasoning: at most a quarter of the window.

    Args:
        settings: The settings of the model's endpoint.
        window: Tokens of the model's window.
        limit: The model's own limit, or None if unknown.
    """
    from indwell.providers.wires.messages import thinks

    wire = dialect_of(settings, settings.model).wire
    name = settings.counts_as or settings.model
    is_long = wire == "responses" or (wire == "messages" and thinks(name) == "adaptive")
    wanted = settings.max_output + (THINKING if is_long else 0)
    return min(wanted, window // 4, limit or wanted)


def _other_model(endpoints: _Endpoints, main: Settings, name: str) -> OtherModel | None:
    """Create another model, at the same endpoint (with its connections) or a named endpoint."""
    from indwell.providers.pricing import cost

    if not name or name == main.model:
        return None
    settings = _settings_of_other(endpoints, main, name)
    is_apart = endpoint_of(settings) != endpoint_of(main)
    facts = facts_of(settings)
    prices = _prices(settings, facts)
    window = settings.window or facts.window
    return OtherModel(
        endpoints.provider(settings if is_apart else main),
        name,
        window,
        _max_output(settings, window, facts.output_limit),
        partial(cost, prices=prices),
        _rates(prices),
        facts.images is True if settings.pictures is None else settings.pictures,
    )


def _settings_of_other(endpoints: _Endpoints, main: Settings, name: str) -> Settings:
    """Return the settings for another model, without values that apply only to the main model."""
    settings = endpoints.settings_of(name)
    if endpoint_of(settings) != endpoint_of(main) or is_editors(name):
        return settings
    return msgspec.structs.replace(settings, **_UNSAID)


_UNSAID: Mapping[str, str | None] = {
    "counts_as": "",
    "window": None,
    "pictures": None,
    "price_in": None,
    "price_out": None,
    "price_cached": None,
    "price_cache_write": None,
}


def _rates(prices: Prices | None, life: CacheLife = "") -> TokenRates:
    if prices is None:
        return TokenRates()
    one = prices.rates
    written = one.for_an_hour if life else one.cache_write
    return TokenRates(one.input, one.cached, written, one.output)
