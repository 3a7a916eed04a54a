"""Hides secrets that lie across several chunks of one recorded stream. Pure.

A stream is the output of a program, the answer of a model, or a text that the server sends to the
editor piece by piece. The mark of such a secret is spread over the same chunks, in proportion, and
no chunk becomes empty. The joined text has the whole mark, however the server joins the chunks.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple, TypeAlias

import msgspec

from indwell.cli.cassette.file_format import CassetteEvent, packed, unpacked
from indwell.lazy_pattern import lazy_pattern
from indwell.secrets import FoundSecret, mark

FindSecrets: TypeAlias = Callable[[str], Sequence[FoundSecret]]

_DATA = lazy_pattern(r"(?m)^data:[ \t]*([^\r\n]*)")  # an event of a streamed answer
_STRING = lazy_pattern(r'"((?:[^"\\]|\\.)*)"')
# UTF-8 has no form of these; the others are bytes that are no UTF-8.
_LONE = lazy_pattern("[\ud800-\udc7f\udd00-\udfff]")
_EVENT = "indwell/event"
_GROWING = frozenset({"text", "thinking", "toolOutput"})
"""The types of the server's events that tell a text piece by piece."""


class _Edit(NamedTuple):
    start: int
    stop: int
    text: str


def is_piece(event: CassetteEvent) -> bool:
    """Return whether an event is a piece of a longer text."""
    return event.kind in {"chunk", "part"} or _growing(event) is not None


def hide_split(events: Sequence[CassetteEvent], find: FindSecrets) -> list[CassetteEvent]:
    """Return the events of whole streams, in the same order, without secrets across events.

    A secret inside one event stays, for the caller to hide.
    """
    result = list(events)
    streams: dict[tuple[str, int], list[int]] = defaultdict(list)
    growing: dict[object, list[int]] = defaultdict(list)
    for at, event in enumerate(events):
        if event.kind in {"chunk", "part"}:
            streams[event.kind, event.n].append(at)
        elif event.kind == "ran" and isinstance(event.body, dict):
            result[at] = _ended(event, find)
        elif (key := _growing(event)) is not None:
            growing[key].append(at)
    for places in streams.values():
        texts = _hide_in_answer([_text(unpacked(events[at].body)) for at in places], find)
        for at, text in zip(places, hide_across(texts, find), strict=True):
            result[at] = msgspec.structs.replace(events[at], body=packed(_bytes(text)))
    for places in growing.values():
        texts = [events[at].body["params"]["event"]["text"] for at in places]
        for at, text in zip(places, hide_across(texts, find), strict=True):
            result[at] = _with_text(events[at], text)
    return result


def hide_across(pieces: Sequence[str], find: FindSecrets) -> list[str]:
    """Return the pieces of a text with the mark of each secret that lies across pieces."""
    ends = tuple(accumulate(map(len, pieces)))
    edits = [
        _Edit(one.start, one.stop, _long_mark(one.kind, one.stop - one.start))
        for one in find("".join(pieces))
        if any(one.start < end < one.stop for end in ends)
    ]
    return _edited(pieces, edits) if edits else list(pieces)


def _long_mark(kind: str, length: int) -> str:
    """Return a mark of at least ``length`` characters, the length of the secret."""
    short = mark(kind)
    return f"{short[:-1]}{'.' * (length - len(short))}]"


def _edited(pieces: Sequence[str], edits: Sequence[_Edit]) -> list[str]:
    """Replace spans of the joined text; each piece gets its share of a span across pieces."""
    result = []
    start = 0
    for piece in pieces:
        stop = at = start + len(piece)
        words, at = [], start
        for edit in edits:
            first, last = max(edit.start, start), min(edit.stop, stop)
            if first < last:
                size = edit.stop - edit.start
                share = (len(edit.text) * (one - edit.start) // size for one in (first, last))
                words += [piece[at - start : first - start], edit.text[slice(*share)]]
                at = last
        result.append("".join([*words, piece[at - start :]]))
        start = stop
    return result


def _hide_in_answer(pieces: Sequence[str], find: FindSecrets) -> list[str]:
    """Hide secrets across the texts of a streamed answer, whose events are JSON."""
    whole = "".join(pieces)
    texts: dict[object, list[_Edit]] = defaultdict(list)
    for data in _DATA.finditer(whole):
        try:
            value = json.loads(data[1])
        except (ValueError, RecursionError):
            continue
        told = list(_strings((), value))
        found = list(_STRING.finditer(whole, data.start(1), data.end(1)))
        if len(told) == len(found):
            kind = value.get("type") if isinstance(value, dict) else None
            for (path, text), token in zip(told, found, strict=True):
                if path is not None:
                    texts[kind, path].append(_Edit(*token.span(1), text))
    edits = []
    for known in texts.values():
        hidden = hide_across([one.text for one in known], find)
        for one, text in zip(known, hidden, strict=True):
            if text != one.text:
                edits.append(_Edit(one.start, one.stop, _escaped(text)))
    return _edited(pieces, sorted(edits)) if edits else list(pieces)


def _strings(path: tuple[object, ...], value: Any) -> Iterator[tuple[object, str]]:  # noqa: ANN401
    """Yield each text of JSON data with its path, in order; the path of a name is None."""
    items: Iterable[tuple[object, Any]] = ()
    match value:
        case str():
            yield path, value
        case dict():
            for name, one in value.items():
                yield None, name
                yield from _strings((*path, name), one)
        case list():
            items = enumerate(value)
    for place, one in items:
        yield from _strings((*path, place), one)


def _escaped(text: str) -> str:
    """Return a text as it is between the quotes of JSON."""
    written = json.dumps(text, ensure_ascii=False)[1:-1]
    return _LONE.sub(lambda found: f"\\u{ord(found[0]):04x}", written)


def _ended(event: CassetteEvent, find: FindSecrets) -> CassetteEvent:
    """Hide a secret across the two halves of an output from which nothing was cut."""
    body: Mapping[str, Any] = event.body
    if body.get("cut_b") != 0:
        return event
    names = ("head", "tail")
    halves = hide_across([_text(unpacked(body[name])) for name in names], find)
    new = {name: packed(_bytes(one)) for name, one in zip(names, halves, strict=True)}
    return msgspec.structs.replace(event, body={**body, **new})


def _growing(event: CassetteEvent) -> object | None:
    """Return what identifies the text that a message to the editor continues, or None."""
    if event.kind != "out" or not isinstance(event.body, dict):
        return None
    params = event.body.get("params")
    if event.body.get("method") != _EVENT or not isinstance(params, dict):
        return None
    told = params.get("event")
    if not isinstance(told, dict) or told.get("type") not in _GROWING:
        return None
    return (params.get("session"), *(told.get(one) for one in ("type", "turn", "agent", "id")))


def _with_text(event: CassetteEvent, text: str) -> CassetteEvent:
    params = event.body["params"]
    told = {**params["event"], "text": text}
    return msgspec.structs.replace(event, body={**event.body, "params": {**params, "event": told}})


def _text(data: bytes) -> str:
    """Return bytes as text; a byte that is no UTF-8, such as half a character, is kept."""
    return data.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
