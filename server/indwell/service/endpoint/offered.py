"""Lists the models of the chosen endpoint, with its stored key."""

from __future__ import annotations

import asyncio

import msgspec

from indwell.agent.restore.resume import HeldWith
from indwell.errors import SettingsError, UserError
from indwell.providers.models import OfferedModel
from indwell.service.stored_keys import key_store, with_stored_key
from indwell.settings.load import lacking
from indwell.settings.model import Settings
from indwell.settings.paths import user_file

LISTING_S = 5.0  # for the endpoint to say what it offers; who does not say is believed


async def offered_models(settings: Settings) -> tuple[OfferedModel, ...]:
    """What the endpoint of ``settings`` offers; window and prices of the user's own count.

    Raises:
        UserError: It cannot be asked, or nobody has chosen an endpoint yet.
    """
    if settings.provider == "scripted":
        from indwell.demo.model import NAME

        return (OfferedModel(NAME, price_in=0.0, price_out=0.0, tools=True, source="demo"),)
    from indwell.providers.listing import list_models

    with_key = await asyncio.to_thread(with_stored_key, settings, key_store())
    if with_key.base_url is None and with_key.api_key is None:
        raise SettingsError(lacking(with_key, str(user_file())))
    key = with_key.api_key.reveal() if with_key.api_key else None
    return with_own(await list_models(settings.base_url, key), settings)


def with_own(models: tuple[OfferedModel, ...], settings: Settings) -> tuple[OfferedModel, ...]:
    """``models`` with what the user's settings say of the one in use. Pure."""
    own = {
        "window": settings.window,
        "price_in": settings.price_in,
        "price_out": settings.price_out,
    }
    given = {name: value for name, value in own.items() if value is not None}
    return tuple(
        msgspec.structs.replace(one, **given, source="settings")
        if given and one.name == settings.model
        else one
        for one in models
    )


async def held_with(settings: Settings, model: str) -> HeldWith:
    """The model of a session, and whether it can still be asked.

    Args:
        settings: The user's own.
        model: As the log names it.
    """
    own = tuple(dict.fromkeys(filter(None, (settings.model, *settings.models))))
    if settings.provider == "scripted" or model in {"", settings.model}:
        return HeldWith(settings.model, instead=own)
    was = f"this session was held with the model {model!r}, which"
    if model not in own:
        named = ", ".join(map(repr, own)) or "none"
        return HeldWith(model, f"{was} your settings do not name any more (they name {named})", own)
    try:
        async with asyncio.timeout(LISTING_S):
            offered = {one.name for one in await offered_models(settings)}
    except (UserError, TimeoutError):
        offered = set()
    if not offered or {model, f"{model}:latest"} & offered:
        return HeldWith(model, instead=own)
    others = tuple(one for one in own if one != model)
    return HeldWith(model, f"{was} the endpoint no longer offers", others)
