"""Puts a configuration into the text of an editor's file, and takes it out again. Pure.

Nothing of the user's is changed: text is added between marks, as a file of its own, or as entries
of TOML or JSON. What cannot be merged without losing something is refused, and then printed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT, Array

from indwell.cli.setup.targets import How

SERVER = "indwell"
_BEGIN = "{} >>> indwell setup (this part is written by `indwell setup`; --remove takes it out)"
_END = "{} <<< indwell setup"


class CannotMerge(Exception):
    """The file cannot take it without losing something; the text says why, for people."""


def merged(how: How, before: str | None, text: str, comment: str) -> str:
    """The file with the configuration; equal to ``before`` if it stands there already.

    Raises:
        CannotMerge: See there.
    """
    match how:
        case "own file":
            return _marked_text(text, comment)
        case "marked":
            return _put_marked(before or "", text, comment)
        case "toml":
            return _put_toml(before or "", text)
        case "json":
            return _put_json(before or "", json.loads(text))


def without(how: How, before: str, text: str, comment: str) -> str | None:
    """The file without it; None if nothing else is in it.

    Raises:
        CannotMerge: The file is not as it was written, so the user takes it out.
    """
    match how:
        case "own file":
            if not before.startswith(_BEGIN.format(comment)):
                raise CannotMerge("it was not written by `indwell setup`")
            return None
        case "marked":
            rest = _cut(before, comment)
        case "toml":
            rest = _take_toml(before)
        case "json":
            rest = _take_json(before, json.loads(text))
    return rest if rest.strip() not in {"", "{}"} else None


def _marked_text(text: str, comment: str) -> str:
    return f"{_BEGIN.format(comment)}\n{text.rstrip()}\n{_END.format(comment)}\n"


def _put_marked(before: str, text: str, comment: str) -> str:
    rest = _cut(before, comment)
    gap = "" if not rest or rest.endswith("\n\n") else "\n" if rest.endswith("\n") else "\n\n"
    return rest + gap + _marked_text(text, comment)


def _cut(before: str, comment: str) -> str:
    begin, end = _BEGIN.format(comment), _END.format(comment)
    if before.count(begin) != before.count(end) or before.count(begin) > 1:
        raise CannotMerge("the marks of an earlier setup are damaged")
    if begin not in before:
        return before
    head, _, tail = before.partition(begin)
    _, _, tail = tail.partition(end)
    return head.removesuffix("\n") + tail.removeprefix("\n") if tail.strip() else head


def _put_toml(before: str, text: str) -> str:
    document, ours = _toml(before), tomlkit.parse(text)
    servers = document.setdefault("language-server", tomlkit.table(is_super_table=True))
    servers[SERVER] = ours["language-server"][SERVER]
    languages = document.get("language")
    if languages is None:
        languages = document["language"] = tomlkit.aot()
    if not isinstance(languages, AoT):
        raise CannotMerge("its languages are not written as [[language]]")
    for wanted in ours["language"]:
        found = [one for one in languages if one.get("name") == wanted["name"]]
        if not found:
            languages.append(wanted)
        elif "language-servers" not in found[0]:
            found[0]["language-servers"] = wanted["language-servers"]
        elif SERVER not in _names(found[0]["language-servers"]):
            found[0]["language-servers"].append(SERVER)
    return tomlkit.dumps(document)


def _take_toml(before: str) -> str:
    document = _toml(before)
    servers = document.get("language-server", {})
    if SERVER in servers:
        del servers[SERVER]
    for language in document.get("language", ()):
        listed = language.get("language-servers")
        if isinstance(listed, Array) and SERVER in _names(listed):
            listed.remove(SERVER)
    return tomlkit.dumps(document)


def _names(listed: Iterable[object]) -> list[str]:
    """Helix takes names, and tables with a name."""
    return [str(one["name"]) if isinstance(one, Mapping) else str(one) for one in listed]


def _toml(text: str) -> tomlkit.TOMLDocument:
    try:
        return tomlkit.parse(text)
    except TOMLKitError as error:
        raise CannotMerge(f"it is not valid TOML ({error})") from error


def _put_json(before: str, ours: Mapping[str, Any]) -> str:
    if not before.strip():
        return json.dumps(ours, indent=2, ensure_ascii=False) + "\n"
    value, indent, tail = _json(before)
    _add(value, ours)
    return json.dumps(value, indent=indent, ensure_ascii=False) + tail


def _take_json(before: str, ours: Mapping[str, Any]) -> str:
    value, indent, tail = _json(before)
    _drop(value, ours)
    return json.dumps(value, indent=indent, ensure_ascii=False) + tail


def _json(text: str) -> tuple[dict[str, Any], int | str, str]:
    """The value and how it is written; only if writing it gives the same text again."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise CannotMerge("it has comments or trailing commas, or is not valid JSON") from error
    tail = text[len(text.rstrip()) :]
    for indent in (2, 4, "\t"):
        if json.dumps(value, indent=indent, ensure_ascii=False) + tail == text:
            if isinstance(value, dict):
                return value, indent, tail
            raise CannotMerge("it is no JSON object")
    raise CannotMerge("it is formatted in a way that writing it again would change")


def _add(value: dict[str, Any], ours: Mapping[str, Any]) -> None:
    """Objects are merged; of anything else that is there already and differs, the user decides."""
    for key, wanted in ours.items():
        if isinstance(wanted, Mapping) and isinstance(value.get(key), dict):
            _add(value[key], wanted)
        elif key in value and value[key] != wanted and key != "command":
            raise CannotMerge(f"it has another {key!r} already")
        else:
            value[key] = wanted


def _drop(value: dict[str, Any], ours: Mapping[str, Any]) -> None:
    for key, wanted in ours.items():
        if isinstance(wanted, Mapping) and isinstance(value.get(key), dict):
            _drop(value[key], wanted)
            if not value[key]:
                del value[key]
        elif value.get(key) == wanted or key == "command":
            value.pop(key, None)
