"""The known facts about an endpoint's models: from its list, data sets and the user's settings."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from indwell.errors import SettingsError, UserError
from indwell.providers.models import OfferedModel
from indwell.service.endpoint.editor_models import NO_EDITOR, EditorModels
from indwell.service.stored_keys import extras_of, key_store, with_stored_key
from indwell.settings.endpoints import EDITOR, in_force, is_editors, split_name
from indwell.settings.load import lacking
from indwell.settings.model import Settings
from indwell.settings.paths import user_file

if TYPE_CHECKING:
    from indwell.providers.facts import ModelFacts  # at run time it takes a third of a second


async def offered_models(
    settings: Settings, editor: EditorModels = NO_EDITOR
) -> tuple[OfferedModel, ...]:
    """List the models of the user's endpoints; the user's own window and prices take precedence.

    A model at a named endpoint is followed by the endpoint's name. With several endpoints, one that
    does not answer is left out. The editor's own models count as those of an endpoint.

    Raises:
        UserError: No endpoint answers, or no endpoint is set.
    """
    if settings.provider == "scripted":
        from indwell.providers.scripted import DEMO_MODEL

        return (OfferedModel(DEMO_MODEL, price_in=0.0, price_out=0.0, tools=True, source="demo"),)
    # Any model represents its endpoint; the chosen one is asked first.
    places = [settings.model, "any", *(f"any@{name}" for name in settings.endpoints)]
    asked = {split_name(place, settings.endpoints)[1]: place for place in reversed(places)}
    asked.setdefault(EDITOR, "")
    answers = await asyncio.gather(
        *(
            editor.offered() if name == EDITOR else _offered_at(settings, asked[name], name)
            for name in _chosen_first(asked, settings)
        ),
        return_exceptions=True,
    )
    found: list[OfferedModel] = []
    problem: BaseException | None = None
    for answer in answers:
        if isinstance(answer, UserError):
            problem = problem or answer
        elif isinstance(answer, BaseException):
            raise answer
        else:
            found += answer
    if not found and problem is not None:
        raise problem
    return tuple(found)


def _chosen_first(asked: Iterable[str], settings: Settings) -> list[str]:
    """Return the names of endpoints, that of the chosen model first, the editor's else last."""
    names = [name for name in reversed(tuple(asked)) if name != EDITOR]
    return [EDITOR, *names] if is_editors(settings.model) else [*names, EDITOR]


async def _offered_at(settings: Settings, model: str, endpoint: str) -> tuple[OfferedModel, ...]:
    """List the models of the endpoint of ``model``.

    Raises:
        UserError: The endpoint does not answer, or is not set.
    """
    from indwell.providers.listing import list_models

    here = in_force(settings, model)
    with_key = await asyncio.to_thread(with_stored_key, here, key_store())
    if with_key.base_url is None and with_key.api_key is None:
        raise SettingsError(lacking(with_key, str(user_file())))
    key = with_key.api_key.reveal() if with_key.api_key else None
    listed = await list_models(with_key.base_url, key, extras=extras_of(with_key))
    if endpoint:
        listed = tuple(
            msgspec.structs.replace(one, name=f"{one.name}@{endpoint}") for one in listed
        )
    return with_own(listed, with_key)


def facts_of(settings: Settings) -> ModelFacts:
    """Return what the data sets have on the model of ``settings``, at its endpoint."""
    from indwell.providers.facts import facts_for

    settings = in_force(settings)
    name, _ = split_name(settings.model, settings.endpoints)
    if is_editors(settings.model):  # its provider has sizes and prices of its own
        name = ""
    now = datetime.now(UTC)
    return facts_for(name, settings.base_url, now=now, counts_as=settings.counts_as)


def with_own(models: tuple[OfferedModel, ...], settings: Settings) -> tuple[OfferedModel, ...]:
    """Return ``models`` with the user's settings for the one in use. Pure."""
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
