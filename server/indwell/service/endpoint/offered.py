"""Lists the models of the chosen endpoint, with its stored key."""

from __future__ import annotations

import asyncio

import msgspec

from indwell.errors import SettingsError
from indwell.providers.models import OfferedModel
from indwell.service.stored_keys import key_store, with_stored_key
from indwell.settings.load import lacking
from indwell.settings.model import Settings
from indwell.settings.paths import user_file


async def offered_models(settings: Settings) -> tuple[OfferedModel, ...]:
    """What the endpoint of ``settings`` offers; window and prices of the user's own count.

    Raises:
        UserError: It cannot be asked, or nobody has chosen an endpoint yet.
    """
    if settings.provider == "scripted":
        from indwell.providers.scripted import DEMO_MODEL

        return (OfferedModel(DEMO_MODEL, price_in=0.0, price_out=0.0, tools=True, source="demo"),)
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
