"""Stores which API an endpoint requires, so that only one request is refused.

    <state>/wires.json    {"<digest of the address>": {"<model>": "responses"}} and a version

An address may hold a secret, so only its digest is kept. All functions block for one small file. If
the file cannot be read or written, the endpoint refuses one request of each session.
"""

from __future__ import annotations

import hashlib
import logging
from pathlib import Path
from typing import TypeAlias

import msgspec

from indwell.compatibility import StoredForm
from indwell.errors import NewerVersion, ToolError
from indwell.files.append_log import make_private_folder
from indwell.files.private import read_own, replace_own
from indwell.files.spelling import quoted
from indwell.providers.endpoint import OPENAI_URL
from indwell.providers.wires.dialect import WireName

_FILE = "wires.json"
_MOST_B = 1 << 20
_MOST_MODELS = 200  # The oldest of more than 200 models are deleted.

_Wires: TypeAlias = dict[str, dict[str, WireName]]
FORM: StoredForm[_Wires] = StoredForm("wires", _Wires, "the list of learned APIs", member="wires")
_log = logging.getLogger(__name__)


def learned_wire(state: Path, base_url: str | None, model: str) -> WireName | None:
    """Return the API that the endpoint has asked for, or None if there was no such answer."""
    return _read(state).get(_digest(base_url), {}).get(model)


def keep_wire(state: Path, base_url: str | None, model: str, wire: WireName | None) -> None:
    """Store the API that the endpoint asked for; None deletes the stored API."""
    kept = _writable(state)
    if kept is None:
        return
    models = kept.pop(_digest(base_url), {})
    if models.get(model) == wire:
        return
    models.pop(model, None)
    if wire is not None:
        models[model] = wire
    kept[_digest(base_url)] = models
    _store(state, kept)


def share_wires(source: Path, target: Path) -> None:
    """Store in ``target`` what the endpoints have told ``source``; both are folders of state."""
    kept = _writable(target)
    if kept is None:
        return
    learned = {place: {**kept.get(place, {}), **models} for place, models in _read(source).items()}
    if any(kept.get(place) != models for place, models in learned.items()):
        _store(target, {**kept, **learned})


def _store(state: Path, kept: _Wires) -> None:
    while sum(map(len, kept.values())) > _MOST_MODELS:
        oldest = next(iter(kept.values()))
        del oldest[next(iter(oldest))]
        kept = {place: found for place, found in kept.items() if found}
    try:
        make_private_folder(state)
        replace_own(state / _FILE, FORM.encode(kept))
    except OSError as error:
        _log.warning("the API of a model could not be kept: %s", error)


def _read(state: Path) -> _Wires:
    return _writable(state) or {}


def _writable(state: Path) -> _Wires | None:
    """Return the stored APIs, or None if a newer Indwell wrote the file, which then stays."""
    try:
        return FORM.decode(read_own(state / _FILE, _MOST_B), quoted(state / _FILE))
    except NewerVersion as error:
        _log.info("%s", error)
        return None
    except (OSError, ToolError, msgspec.DecodeError, UnicodeDecodeError):
        return {}


def _digest(base_url: str | None) -> str:
    url = (base_url or OPENAI_URL).rstrip("/")
    return hashlib.sha256(url.encode("utf-8", "replace")).hexdigest()[:32]
