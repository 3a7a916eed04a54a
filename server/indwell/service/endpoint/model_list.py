"""What is known about an endpoint's models, from its list, data sets and the user's settings.

Before a session begins with a model that is on no list, the model's endpoint is asked for the
window and the prices. Only the user can choose the endpoint, because a folder's settings cannot
name an address.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from indwell.compatibility import StoredForm
from indwell.errors import NewerVersion, ProviderError, SettingsError, ToolError, UserError
from indwell.files.append_log import make_private_folder
from indwell.files.private import read_own, replace_own
from indwell.providers.catalogue import LOOPBACK
from indwell.providers.endpoint import OPENAI_URL, host_of
from indwell.providers.offered_models import OfferedModel
from indwell.service.endpoint.editor_models import NO_EDITOR, EditorModels
from indwell.service.stored_keys import extras_of, key_store, with_stored_key
from indwell.settings.endpoints import EDITOR, in_force, is_editors, split_name
from indwell.settings.load import lacking
from indwell.settings.model import Settings
from indwell.settings.paths import state_folder, user_file

if TYPE_CHECKING:
    # The import comes late, because it takes a third of a second.
    from indwell.providers.facts import ModelFacts


async def offered_models(
    settings: Settings, editor: EditorModels = NO_EDITOR
) -> tuple[OfferedModel, ...]:
    """List the models of the user's endpoints; the user's own window and prices take precedence.

    The name of a named endpoint's model ends with the endpoint's name. With several endpoints, an
    endpoint without an answer is left out. The editor's own models count as those of an endpoint.

    Raises:
        UserError: No endpoint answers, or no endpoint is set.
    """
    if settings.provider == "scripted":
        from indwell.providers.scripted import DEMO_MODEL

        return (OfferedModel(DEMO_MODEL, price_in=0.0, price_out=0.0, tools=True, source="demo"),)
    # Any model represents its endpoint; the chosen model's endpoint is asked first.
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
        if not is_editors(settings.model):
            raise problem
        editor.need_connection(settings.model)
    return tuple(found)


def _chosen_first(asked: Iterable[str], settings: Settings) -> list[str]:
    """Return the names of endpoints: the chosen model's comes first, and the editor's last."""
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
    """Return what is known about the model of ``settings``, without using the network.

    The data sets come first, then the endpoint's answers (``ask_for_facts``), then a guess.
    """
    from indwell.providers.facts import told_facts

    facts = _listed_facts(settings)
    told = None if facts.is_listed else _known(_place(settings))
    if told is None or told.model is None:
        return facts
    return told_facts(facts, told.model, at=told.at)


def _listed_facts(settings: Settings) -> ModelFacts:
    from indwell.providers.facts import facts_for

    settings = in_force(settings)
    name, _ = split_name(settings.model, settings.endpoints)
    if is_editors(settings.model):  # The editor's models have other sizes and prices.
        name = ""
    now = datetime.now(UTC)
    return facts_for(name, settings.base_url, now=now, counts_as=settings.counts_as)


ASK_S = 3.0  # A session may wait 3 s for all answers, once a day.
# Operators of a gateway change its models, so an answer is kept for a day.
LIFE = timedelta(days=1)
RETRY = timedelta(minutes=5)  # After no answer, the next request follows in 5 minutes.
MOST_KEPT = 200
_FILE = "models.json"
_LIMIT_B = 1 << 20
_log = logging.getLogger(__name__)


class Told(msgspec.Struct, frozen=True, omit_defaults=True):
    """An endpoint's answer about a model, with the time; ``model`` is empty if no answer came."""

    at: datetime
    model: OfferedModel | None = None


FORM: StoredForm[dict[str, Told]] = StoredForm(
    "models", dict[str, Told], "the list of model facts", member="models"
)


# The answers that this process knows are stored by the digest of model and endpoint.
_told: dict[str, Told] = {}


def ask_for_facts(models: Sequence[Settings], *, timeout_s: float = ASK_S) -> None:
    """Ask the endpoints of models that are on no list; block for at most ``timeout_s``.

    A gateway is asked once a day, and its answer is kept on disk. A server on this machine is asked
    each time, because its window may have changed. If an endpoint does not answer, the model's
    window and prices stay unknown.

    Call this function in a thread without an event loop.

    Args:
        models: The settings of each model's endpoint, with its key.
        timeout_s: Seconds for all requests together.
    """
    wanted = {_place(one): one for one in models if _is_unknown(one)}
    if wanted:
        asyncio.run(_ask_all(wanted, timeout_s))


def _is_unknown(settings: Settings) -> bool:
    own = (settings.window, settings.price_in, settings.price_out)
    is_elsewhere = settings.provider == "scripted" or is_editors(settings.model)
    if is_elsewhere or None not in own or _listed_facts(settings).is_listed:
        return False
    return _is_here(settings) or not any(map(_is_fresh, _answers(_place(settings))))


def _is_here(settings: Settings) -> bool:
    return host_of(settings.base_url or OPENAI_URL) in LOOPBACK


def _is_fresh(told: Told) -> bool:
    life = RETRY if told.model is None else LIFE
    return timedelta(0) <= datetime.now(UTC) - told.at < life


async def _ask_all(wanted: Mapping[str, Settings], timeout_s: float) -> None:
    from indwell.providers.listing import told_of

    async def ask(settings: Settings) -> Told:
        name, _ = split_name(settings.model, settings.endpoints)
        key = settings.api_key.reveal() if settings.api_key else None
        extras = extras_of(settings)
        try:
            async with asyncio.timeout(timeout_s):
                model = await told_of(
                    name, settings.base_url, key, timeout_s=timeout_s, extras=extras
                )
        except (ProviderError, SettingsError, TimeoutError) as error:
            _log.info("nothing was told of %r: %s", name, type(error).__name__)
            return Told(datetime.now(UTC))
        return Told(datetime.now(UTC), model)

    answers = await asyncio.gather(*map(ask, wanted.values()))
    _told.update(zip(wanted, answers, strict=True))
    lasting = {
        place: told
        for place, told in zip(wanted, answers, strict=True)
        if told.model is not None and not _is_here(wanted[place])
    }
    if lasting:
        _keep(lasting)


def _place(settings: Settings) -> str:
    """Return a digest of a model and its endpoint, because an address may contain a secret."""
    settings = in_force(settings)
    name, _ = split_name(settings.model, settings.endpoints)
    place = f"{(settings.base_url or OPENAI_URL).rstrip('/')} {name}"
    return hashlib.sha256(place.encode("utf-8", "replace")).hexdigest()[:32]


def _known(place: str) -> Told | None:
    """Return the newest answer that names a model, even if the answer is old."""
    return max(_answers(place), key=lambda one: (one.model is not None, one.at), default=None)


def _answers(place: str) -> tuple[Told, ...]:
    return tuple(one for one in (_told.get(place), _kept().get(place)) if one is not None)


def _kept() -> Mapping[str, Told]:
    return _writable() or {}


def _writable() -> Mapping[str, Told] | None:
    """Return the stored answers, or None if a newer Indwell wrote the file, which then stays."""
    try:
        return FORM.decode(read_own(_file(), _LIMIT_B))
    except NewerVersion as error:
        _log.info("%s", error)
        return None
    except FileNotFoundError:
        return {}
    except (SettingsError, ToolError, OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        _log.info("what endpoints told is not read: %s", error)
        return {}


def _keep(told: Mapping[str, Told]) -> None:
    """Store the newest answers on disk; if that fails, the next process asks again."""
    kept = _writable()
    if kept is None:
        return
    newest = sorted({**kept, **told}.items(), key=lambda one: one[1].at)[-MOST_KEPT:]
    try:
        path = _file()
        make_private_folder(path.parent)
        replace_own(path, FORM.encode(dict(newest)))
    except (SettingsError, OSError) as error:
        _log.info("what endpoints told is not kept: %s", error)


def _file() -> Path:
    return state_folder(os.environ) / _FILE


def with_own(models: tuple[OfferedModel, ...], settings: Settings) -> tuple[OfferedModel, ...]:
    """Return ``models`` with the user's settings for the model in use. Pure.

    The settings of a named endpoint apply to all its models.
    """
    own = {
        "window": settings.window,
        "price_in": settings.price_in,
        "price_out": settings.price_out,
    }
    given = {name: value for name, value in own.items() if value is not None}
    return tuple(
        msgspec.structs.replace(one, **given, source="settings")
        if given and (one.name == settings.model or split_name(one.name, settings.endpoints)[1])
        else one
        for one in models
    )
