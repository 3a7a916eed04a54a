"""Merges a configuration into the text of TOML or JSON. Pure.

Nothing of the user's is changed; what cannot be merged without losing something is refused.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping, MutableMapping
from typing import Any, Literal

import tomlkit
from tomlkit.exceptions import TOMLKitError

from indwell.cli.setup.refusing import CannotMerge

SERVER = "indwell"
Data = Literal["toml", "json"]
_ODD = (TOMLKitError, ValueError, TypeError, AttributeError, LookupError, RecursionError)


def merged(how: Data, before: str, text: str) -> str:
    """The text with the configuration; equal to ``before`` if all of it stands there already.

    Raises:
        CannotMerge: See there.
    """
    return _put_toml(before, text) if how == "toml" else _put_json(before, text)


def check(how: Data, text: str) -> None:
    """Return if it can be read; an empty text can.

    Raises:
        CannotMerge: It cannot.
    """
    if not text.strip():
        return
    if how == "toml":
        _toml(text)
        return
    try:
        json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CannotMerge("what would be left is no valid JSON") from error


def _put_toml(before: str, text: str) -> str:
    wanted, ours = _toml(before), tomllib.loads(text)
    if _is_in_helix(wanted, ours):
        return before
    _put_helix(wanted, ours)
    try:
        ended = before if not before or before.endswith("\n") else before + "\n"
        document = tomlkit.parse(ended)
        _put_helix(document, tomlkit.parse(text))
        after = tomlkit.dumps(document)
        is_right = tomllib.loads(after) == wanted
    except _ODD as error:  # tomlkit meets forms that it cannot change
        raise CannotMerge("its languages are written in a form that setup cannot add to") from error
    if not is_right:
        raise CannotMerge("its languages are written in a form that setup cannot add to")
    return after


def _is_in_helix(there: Mapping[str, Any], ours: Mapping[str, Any]) -> bool:
    copied = json.loads(json.dumps(there, default=str))
    _put_helix(copied, ours)
    return bool(copied == json.loads(json.dumps(there, default=str)))


def _put_helix(document: MutableMapping[str, Any], ours: Mapping[str, Any]) -> None:
    """Add the server, and its name to the servers of languages; also checks what is there."""
    if "language-server" not in document:
        is_parsed = isinstance(document, tomlkit.TOMLDocument)
        document["language-server"] = tomlkit.table(is_super_table=True) if is_parsed else {}
    servers = document["language-server"]
    if not isinstance(servers, MutableMapping):
        raise CannotMerge("its 'language-server' is no table")
    wanted = ours["language-server"][SERVER]
    if SERVER not in servers:
        servers[SERVER] = wanted
    elif servers[SERVER] != wanted:
        raise CannotMerge(f"it has a language server {SERVER!r} of its own already")
    if "language" not in document:
        document["language"] = tomlkit.aot() if isinstance(document, tomlkit.TOMLDocument) else []
    languages = document["language"]
    if not isinstance(languages, list) or not all(isinstance(it, Mapping) for it in languages):
        raise CannotMerge("its languages are not written as [[language]]")
    for language in ours["language"]:
        _put_language(languages, language)


def _put_language(languages: list[Any], wanted: Mapping[str, Any]) -> None:
    found = [one for one in languages if one.get("name") == wanted["name"]]
    if not found:
        languages.append(wanted)
        return
    servers = found[0].get("language-servers")
    if servers is None:
        found[0]["language-servers"] = wanted["language-servers"]
    elif not isinstance(servers, list):
        raise CannotMerge(f"the 'language-servers' of {str(wanted['name'])!r} are no list")
    elif SERVER not in _names(servers):
        servers.append(SERVER)


def _names(listed: Iterable[object]) -> list[str]:
    """Helix takes names, and tables with a name."""
    return [str(one.get("name")) if isinstance(one, Mapping) else str(one) for one in listed]


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise CannotMerge(f"it is not valid TOML ({error})") from error


def _put_json(before: str, text: str) -> str:
    ours = json.loads(text)
    if not before.strip():
        return before + json.dumps(ours, indent=2, ensure_ascii=False) + "\n"
    value, indent, tail = _json(before)
    _add(value, ours, ())
    return json.dumps(value, indent=indent, ensure_ascii=False) + tail


def _json(text: str) -> tuple[dict[str, Any], int | str, str]:
    """The value and how it is written; only if writing it gives the same text again."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CannotMerge("it has comments or trailing commas, or is not valid JSON") from error
    if not isinstance(value, dict):
        raise CannotMerge("it is no JSON object")
    tail = text[len(text.rstrip()) :]
    for indent in (2, 4, "\t"):
        if json.dumps(value, indent=indent, ensure_ascii=False) + tail == text:
            return value, indent, tail
    raise CannotMerge("it is formatted in a way that writing it again would change")


def _add(value: dict[str, Any], ours: Mapping[str, Any], within: tuple[str, ...]) -> None:
    """Objects are merged; of anything else that is there already and differs, the user decides."""
    for key, wanted in ours.items():
        there = value.get(key)
        if isinstance(wanted, Mapping) and isinstance(there, dict):
            _add(there, wanted, (*within, key))
        elif key in value and there != wanted:
            raise CannotMerge(f"it has another {'.'.join((*within, key))!r} already")
        else:
            value[key] = wanted
