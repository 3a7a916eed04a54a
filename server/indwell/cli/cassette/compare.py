"""Compares what a replay sends with what was recorded, message by message.

The comparison reads no file but Indwell's own catalogues of translations.
Messages of one kind keep their order: the answers to one request, the notifications of one method
about one file, the programs with one name. Between kinds the order may differ, because tasks and
threads run side by side; a later input still waits for every earlier output.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import PurePath
from typing import Any, NamedTuple

import msgspec

from indwell.cli.cassette.file_format import CassetteEvent, bytes_of, each_text
from indwell.lazy_pattern import lazy_pattern
from indwell.lsp.prompts.code_actions import STOP_TITLE
from indwell.secrets import MARK
from indwell.translation import Translation

_SHOWN = 300  # the limit of characters of a shown value
_MAY_VARY = frozenset({"$/progress"})


class OutputKey(NamedTuple):
    """The kind of an output: outputs of one kind have an order."""

    kind: str
    name: str
    about: str = ""


def key_of(event: CassetteEvent) -> OutputKey:
    """Return the kind of an output."""
    if event.kind == "run":
        return OutputKey("program", event.name)
    if event.kind == "ask":
        return OutputKey("model", event.name)
    body = event.body if isinstance(event.body, dict) else {}
    method = body.get("method")
    if method is None:
        return OutputKey("answer", repr(body.get("id")))
    params = body.get("params")
    about = params if isinstance(params, dict) else {}
    names = (str(about[name]) for name in ("uri", "token", "session") if name in about)
    return OutputKey("request" if "id" in body else "notification", method, " ".join(names))


def may_vary(event: CassetteEvent) -> bool:
    """Return whether time decides if this message is sent: a report of progress."""
    body = event.body if isinstance(event.body, dict) else {}
    if body.get("method") not in _MAY_VARY:
        return False
    params = body.get("params")
    value = params.get("value") if isinstance(params, dict) else None
    return isinstance(value, dict) and value.get("kind") == "report"


# How Indwell looks for protected files in a repository: all of these only read.
_LOOKS = (
    ["ls-files", "--stage"],
    ["rev-list", "--stdin"],
    ["diff-tree", "--stdin"],
    ["cat-file", "--batch-check"],
)
_OPTION = "-c"


def may_miss(event: CassetteEvent) -> bool:
    """Return whether the replay may leave out an output: Indwell's own look into a repository.

    Indwell looks when git's files have other times than at the last look, which an earlier session
    may have kept. A cassette contains neither these times nor earlier sessions. The command of an
    agent is a text and no list of words, so a missing command is always a difference.
    """
    if event.kind != "run" or not event.name.startswith('["git","--git-dir='):
        return False
    try:
        words = msgspec.json.decode(event.name.encode(), type=list[str])[2:]
    except msgspec.DecodeError:
        return False
    while words[:1] == [_OPTION]:
        words = words[2:]
    return any(words[: len(one)] == one for one in _LOOKS)


def is_empty(recorded: CassetteEvent, sent: CassetteEvent) -> bool:
    """Return whether one of two answers is null, as a command's is that takes longer than 0.3 s."""
    bodies = (recorded.body, sent.body)
    return any(isinstance(one, dict) and one.get("result", one) is None for one in bodies)


def compared(event: CassetteEvent) -> bytes:
    """Return the bytes of an output that are compared."""
    body = _plain(event)
    if isinstance(body, dict) and "method" in body:
        body = {name: value for name, value in body.items() if name != "id"}
    if isinstance(body, dict) and body.get("method") == "$/cancelRequest":
        body = {"method": "$/cancelRequest"}  # ids of requests are compared with the requests
    return bytes_of(body)


_DIGEST = lazy_pattern(r"(?<![0-9A-Za-z])[0-9a-f]{8,64}(?![0-9A-Za-z])")


def overtaken(events: Sequence[CassetteEvent]) -> frozenset[int]:
    """Return the answers, by identity, that came after a later message of the editor.

    The server worked on the request meanwhile, so the answer may tell of the later message or not.
    """
    open_requests: dict[str, bool] = {}
    found = set()
    for event in events:
        body = event.body if isinstance(event.body, dict) else {}
        if event.kind == "in":
            open_requests = dict.fromkeys(open_requests, True)
            if "method" in body and "id" in body:
                open_requests[repr(body["id"])] = False
        elif event.kind == "out" and open_requests.pop(repr(body.get("id")), False):
            found.add(id(event))
    return frozenset(found)


class DigestNames:
    """Pairs the digests of a cassette with those of a replay.

    A digest of a path differs, because the folders differ. Each digest of the cassette must
    always have the same partner.
    """

    def __init__(self) -> None:
        self._now: dict[str, str] = {}
        self._recorded: dict[str, str] = {}

    def are_same(self, recorded: CassetteEvent, sent: CassetteEvent) -> bool:
        """Return whether two outputs are the same, apart from partners; learn new partners."""
        recorded, sent = _without_stop(recorded, sent)
        old, new = compared(recorded).decode(), compared(sent).decode()
        if _DIGEST.sub("", old) != _DIGEST.sub("", new):
            return False
        pairs = zip(_DIGEST.findall(old), _DIGEST.findall(new), strict=True)
        return all(
            self._now.setdefault(one, other) == other
            and self._recorded.setdefault(other, one) == one
            for one, other in pairs
        )

    def now(self, text: str) -> str:
        """Return a recorded text with the digests of the replay."""
        return _DIGEST.sub(lambda found: self._now.get(found[0], found[0]), text)


def opening_of(answer: Any) -> bytes:  # noqa: ANN401 - plain JSON
    """Return what is compared of the answer to ``initialize``: without versions and names."""
    result = dict(answer.get("result", {})) if isinstance(answer, Mapping) else {}
    result.pop("serverInfo", None)
    capabilities = dict(result.get("capabilities", {}))
    capabilities.pop("experimental", None)
    capabilities.pop("executeCommandProvider", None)
    return bytes_of({**result, "capabilities": capabilities})


def _conversation(body: Any) -> Any:  # noqa: ANN401 - plain JSON
    """Return the messages of a request to a model, without the system prompt and the tools."""
    if not isinstance(body, dict):
        return body
    messages = body.get("messages", body.get("input"))
    if not isinstance(messages, list):
        return body
    return [
        one
        for one in messages
        if not (isinstance(one, dict) and one.get("role") in {"system", "developer"})
    ]


def title_of(event: CassetteEvent) -> str:
    """Return an output in words."""
    key = key_of(event)
    about = f" about {key.about}" if key.about else ""
    match key.kind:
        case "program":
            return f"the start of the program {key.name[:_SHOWN]}"
        case "model":
            return f"the request {key.name}"
        case "answer":
            return f"the answer to the editor's request {key.name}"
        case _:
            return f"the {key.kind} {key.name}{about}"


def difference(recorded: CassetteEvent, sent: CassetteEvent) -> str:
    """Return the first difference of two outputs of one kind in words."""
    was, now = _plain(recorded), _plain(sent)
    plainer = [each_text(one, lambda text: _DIGEST.sub("…", text)) for one in (was, now)]
    if plainer[0] != plainer[1]:  # a digest explains nothing
        was, now = plainer
    place, old, new = _first("", was, now)
    at = f" at {place}" if place else ""
    if isinstance(old, str) and isinstance(new, str) and "\n" in old + new:
        lines = difflib.unified_diff(
            old.splitlines(), new.splitlines(), "recorded", "now", lineterm="", n=1
        )
        return f"differs{at}:\n" + "\n".join(list(lines)[:40])
    return f"differs{at}:\n  recorded: {_short(old)}\n  now:      {_short(new)}"


def _plain(event: CassetteEvent) -> Any:  # noqa: ANN401 - plain JSON
    return _steady(_conversation(event.body) if event.kind == "ask" else event.body)


# Durations, and numbers of tokens: an estimate contains the system prompt, the tools and the paths
# of the replay, none of which is compared.
_VARYING = frozenset({"seconds", "used", "tokens", "gen_ai.usage.input_tokens"})
_DURATION = lazy_pattern(r"\b\d+(?:\.\d+)? (?:ms|s)\b")

_LONG_MARK = lazy_pattern(rf"({re.escape(MARK)}[^\].]*)\.+\]")


def _without_stop(
    recorded: CassetteEvent, sent: CassetteEvent
) -> tuple[CassetteEvent, CassetteEvent]:
    """Return two answers without the code action that stops a turn, if only one has it.

    A turn counts as running until a moment after its end. A menu has a limit of actions, so the
    longer list is cut, too.
    """
    lists = [
        body.get("result") if isinstance(body := one.body, dict) else None
        for one in (recorded, sent)
    ]
    if not all(isinstance(one, list) for one in lists):
        return recorded, sent
    without = [[one for one in found or () if not _is_stop(one)] for found in lists]
    if all(found == left for found, left in zip(lists, without, strict=True)):
        return recorded, sent
    shorter = min(map(len, without))
    recorded, sent = (
        msgspec.structs.replace(one, body={**one.body, "result": left[:shorter]})
        for one, left in zip((recorded, sent), without, strict=True)
    )
    return recorded, sent


def _is_stop(value: Any) -> bool:  # noqa: ANN401 - plain JSON
    return isinstance(value, dict) and value.get("title") == STOP_TITLE


def _steady(value: Any) -> Any:  # noqa: ANN401 - plain JSON
    """Return JSON data without durations, which differ from run to run.

    The mark of a secret across chunks is longer than the mark that the server itself writes.
    """
    match value:
        case str():
            value = _LONG_MARK.sub(r"\1]", value)
            return _tokens().sub("N tokens", _DURATION.sub("N s", value))
        case list():
            return [_steady(one) for one in value]
        case dict() if "headroom" in value:  # the answer of `indwell/context`, all estimates
            return sorted(value)
        # the estimate for a stopped reply, and a turn's total, which can contain an estimate
        case {"input": _, "reported": False} | {"input": _, "cached": _, "output": _, "cost": _}:
            return sorted(value)
        case dict():
            return {name: 0 if name in _VARYING else _steady(one) for name, one in value.items()}
        case _:
            return value


@cache
def _tokens() -> re.Pattern[str]:
    """Return what matches a number of tokens, with its cost, in each language of Indwell."""
    catalogues = files("indwell").joinpath("languages").iterdir()
    languages = ["", *sorted(PurePath(one.name).stem for one in catalogues)]
    sentences = [
        Translation(language).of(sentence)
        for sentence in ("0 tokens, $0", "0 tokens")  # the longer sentence comes first
        for language in languages
    ]
    any_of = "|".join(re.escape(one).replace("0", r"\d[\d,.]*") for one in sentences)
    return re.compile(rf"(?:{any_of})(?![A-Za-z])")


def _first(place: str, old: Any, new: Any) -> tuple[str, Any, Any]:  # noqa: ANN401 - plain JSON
    if isinstance(old, dict) and isinstance(new, dict):
        for name in dict.fromkeys((*old, *new)):
            if old.get(name) != new.get(name) and not (not place and name == "id"):
                return _first(f"{place}.{name}".lstrip("."), old.get(name), new.get(name))
    if isinstance(old, list) and isinstance(new, list):
        for number in range(max(len(old), len(new))):
            one = old[number] if number < len(old) else None
            other = new[number] if number < len(new) else None
            if one != other:
                return _first(f"{place}[{number}]", one, other)
    return place, old, new


def _short(value: Any) -> str:  # noqa: ANN401 - plain JSON
    text = "(nothing)" if value is None else bytes_of(value).decode("utf-8", "replace")
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]} … ({len(text):,} characters)"
