"""Named endpoints: each has its own address, key, headers and limits. Pure.

``config.toml`` has a table for each endpoint, and a model's name ends with the endpoint's name::

    model = "gpt-5.4@work" small_model = "qwen3-coder@local"

    [endpoints.work] base_url = "https://gateway.example/v1" api_key_variable = "WORK_KEY" headers =
    { "x-team" = "search" }

A model without such an ending belongs to the unnamed endpoint. Values for one address, such as the
key and the headers, never go to another address. ``MODEL@vscode`` is one of the editor's own
models, which have no address and need no key.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from indwell.errors import SettingsError
from indwell.lazy_pattern import lazy_pattern
from indwell.settings.credentials import EDITOR_URL, Secret, origin_of
from indwell.settings.model import Settings

ADDRESS_BOUND = (
    *("base_url", "api_key", "api_key_variable", "key_header", "headers", "query", "proxy"),
    *("wire", "counts_as", "window", "cache_marks", "pictures", "extra_body", "fallback"),
    *("price_in", "price_out", "price_cached", "price_cache_write"),
)
"""Settings for one address; a named endpoint never gets these values from another endpoint."""

SHARED = (
    "max_output",
    "effort",
    "verbosity",
    "cache_life",
    "temperature",
    "top_p",
    "seed",
    "stall_timeout_s",
    "first_token_timeout_s",
    "profile",
)
"""Settings that a named endpoint may override; if not, the common values apply."""

MOST_ENDPOINTS = 50
NAME = lazy_pattern(r"[a-z][a-z0-9_-]{0,39}")
EDITOR = "vscode"
"""The name of the endpoint for the editor's own models; no table may have this name."""

_NOT_OURS = frozenset({"default", "latest"})  # Google's Vertex gives its models these endings.


def split_name(model: str, endpoints: Mapping[str, object]) -> tuple[str, str]:
    """Split a model's name into the endpoint's name of the model, and the endpoint's name.

    Returns:
        Both names; the second is empty for the unnamed endpoint.

    Raises:
        SettingsError: The name ends with the name of an endpoint that does not exist, so the
            request would go to a wrong address.
    """
    bare, sign, endpoint = model.rpartition("@")
    if not sign or not bare:
        return model, ""
    if endpoint == EDITOR or endpoint in endpoints:
        return bare, endpoint
    if NAME.fullmatch(endpoint) and endpoint not in _NOT_OURS and endpoints:
        known = ", ".join(map(repr, endpoints))
        raise SettingsError(
            f"the model {model!r} names the endpoint {endpoint!r}, and your settings have only "
            f"{known}; write [endpoints.{endpoint}] with its base_url, or correct the name"
        )
    return model, ""


def in_force(settings: Settings, model: str = "") -> Settings:
    """Return the settings with the values of a model's endpoint.

    The result has the model's whole name; ``split_name`` returns the endpoint's name of the model.

    Args:
        settings: The user's settings, as read.
        model: The model; if empty, the model of the settings.

    Raises:
        SettingsError: The endpoint is not known, or one of its headers comes from a variable that
            is not set.
    """
    if model and model != settings.model:
        settings = msgspec.structs.replace(settings, model=model)
    _, name = split_name(settings.model, settings.endpoints)
    if name == EDITOR:
        settings = _at(settings, {"base_url": EDITOR_URL})
    elif name:
        settings = _at(settings, settings.endpoints[name])
    missing = [value.reveal() for value in settings.headers.values() if is_variable(value)]
    if missing:
        where = f"[endpoints.{name}]" if name else "your settings"
        raise SettingsError(
            f"a header in {where} is {missing[0]!r}, and there is no such variable; set it where "
            "the editor starts, or write the value"
        )
    return settings


def _at(settings: Settings, own: Mapping[str, Any]) -> Settings:
    """Return the settings with a named endpoint's values in place of the current endpoint's."""
    usual = Settings()
    bound = {name: getattr(usual, name) for name in ADDRESS_BOUND}
    same_place = origin_of(settings.base_url) == origin_of(own.get("base_url"))
    if same_place and settings.api_key is not None:
        bound["api_key"] = settings.api_key
    return msgspec.structs.replace(settings, **{**bound, **own})


def is_editors(model: str) -> bool:
    """Return whether a model is one of the editor's own models."""
    bare, sign, endpoint = model.rpartition("@")
    return bool(sign and bare) and endpoint == EDITOR


def editor_name(vendor: str, id_: str) -> str:
    """Return the name of an editor's model in the form for settings and lists."""
    return f"{vendor}/{id_}@{EDITOR}"


def is_variable(value: Secret) -> bool:
    """Return whether a header's value is the name of a variable that was not read yet."""
    return value.reveal().startswith("$")


def with_variables(settings: Settings, environment: Mapping[str, str]) -> Settings:
    """Replace the names of variables with their values: keys, and headers such as ``$TEAM``.

    The name of an unset variable is kept; ``in_force`` refuses the name at the first use.
    """
    own = _looked_up({name: getattr(settings, name) for name in _OF_VARIABLES}, environment)
    endpoints = {
        name: _looked_up(endpoint, environment) for name, endpoint in settings.endpoints.items()
    }
    return msgspec.structs.replace(settings, **own, endpoints=endpoints)


_OF_VARIABLES = ("api_key", "api_key_variable", "headers")


def _looked_up(endpoint: Mapping[str, Any], environment: Mapping[str, str]) -> dict[str, Any]:
    found = dict(endpoint)
    variable = endpoint.get("api_key_variable", "")
    if variable and endpoint.get("api_key") is None:
        value = environment.get(variable, "").strip()
        found["api_key"] = Secret(value) if value else None
    if endpoint.get("headers"):
        found["headers"] = {
            name: Secret(environment.get(value.reveal()[1:], "").strip() or value.reveal())
            if is_variable(value)
            else value
            for name, value in endpoint["headers"].items()
        }
    return found
