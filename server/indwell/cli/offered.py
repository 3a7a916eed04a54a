"""The models that the chosen endpoint offers, asked with the key that is stored for it."""

from __future__ import annotations

import asyncio

from indwell.cli.stored_keys import key_store, with_stored_key
from indwell.providers.models import OfferedModel
from indwell.settings.model import Settings


async def offered_models(settings: Settings) -> tuple[OfferedModel, ...]:
    """What the endpoint of ``settings`` offers.

    Raises:
        UserError: It cannot be asked.
    """
    if settings.provider == "scripted":
        from indwell.demo.model import NAME

        return (OfferedModel(NAME, price_in=0.0, price_out=0.0, tools=True, source="demo"),)
    from indwell.providers.listing import list_models

    with_key = await asyncio.to_thread(with_stored_key, settings, key_store())
    key = with_key.api_key.reveal() if with_key.api_key else None
    return await list_models(settings.base_url, key)
